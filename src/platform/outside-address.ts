import { isGlobalIp, isIp, isLoopbackIp } from "./ip-range.ts";
import { err, ok, type Result } from "./result.ts";

/** Longer addresses than this are refused; nobody's are. */
const MAX_CHARS = 2000;
/** Names that never leave a machine or a local network (RFC 6761, RFC 6762, ICANN's `internal`). */
const LOCAL_NAMES: readonly string[] = ["localhost", "local", "internal"];

/**
 * An address outside that the platform may call or send people to (contract 3.5): https, no user and no fragment, the
 * host no IP address outside the global ranges and no name of a local network. `allowLoopback` makes one exception: hosts
 * of this very machine, plain http included. The error says what must be different, to stand behind the field's name.
 */
export function readOutsideAddress(text: string, allowLoopback: boolean): Result<URL, string> {
  const url = URL.parse(text);
  if (url === null || text.length > MAX_CHARS || !text.isWellFormed() || /[\s\p{Cc}\\]/u.test(text))
    return err("must be an absolute address");
  if (url.username !== "" || url.password !== "" || /^[^/]*\/\/[^/?#]*@/.test(text)) return err("must name no user");
  if (text.includes("#")) return err("must have no fragment");
  // Dots at the end of a fully qualified name change nothing about where it leads.
  const host = url.hostname.replace(/\.+$/, "");
  const loopback = isLoopbackIp(host) || host === "localhost" || host.endsWith(".localhost");
  if (allowLoopback && loopback && (url.protocol === "https:" || url.protocol === "http:")) return ok(url);
  if (url.protocol !== "https:") return err("must start with https://");
  if (isIp(host) && !isGlobalIp(host)) return err("must not name an IP address of a private or special range");
  if (LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`)))
    return err("must not name a host of a local network");
  return ok(url);
}
