import { isGlobalIp, isIp, isLoopbackHost } from "./ip-range.ts";
import { err, ok, type Result } from "../model/result.ts";

/** Maximum length of an address. Real ones are shorter. */
const MAX_CHARS = 2000;
/** Names that never leave a machine or a local network (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`). */
const LOCAL_NAMES: readonly string[] = ["localhost", "localdomain", "local", "internal", "home.arpa"];
/**
 * Ports of other protocols, such as mail, whose servers could read an HTTP request as their own commands: the list of
 * the Fetch standard, "Port blocking", and port 0.
 */
const FOREIGN_PORTS = new Set(
  (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 " +
    "135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 " +
    "995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
  ).split(" "),
);

/**
 * Parses an address that the platform may call or send people to: https, no user, no fragment, a port of HTTP, and as
 * host neither an IP address outside the global ranges nor a name of a local network. `allowLoopback` admits hosts of
 * this machine too, with plain http and every port. The error is to follow the name of the field. A name is resolved at
 * each call; a deployed Worker cannot reach a private network.
 */
export function parseOutboundUrl(text: string, allowLoopback: boolean): Result<URL, string> {
  if (text.length > MAX_CHARS) return err("must be an absolute address");
  const url = URL.parse(text);
  if (url === null || !text.isWellFormed() || /[\s\p{Cc}\\]/u.test(text)) return err("must be an absolute address");
  // `URL` corrects the number of slashes and accepts capitals, so the text itself is checked.
  if (!/^https?:\/\/[^/]/.test(text)) return err("must start with https://");
  if (url.username !== "" || url.password !== "" || /^[^/]*\/\/[^/?#]*@/.test(text)) return err("must name no user");
  if (text.includes("#")) return err("must have no fragment");
  // A dot at the end leads to the same host. With more dots it is not a name, and `URL` does not notice that `127.1..`
  // could be an IP address.
  const host = url.hostname.replace(/\.$/, "");
  if (host.split(".").includes("")) return err("must be an absolute address");
  if (allowLoopback && isLoopbackHost(host)) return ok(url);
  if (url.protocol !== "https:") return err("must start with https://");
  if (FOREIGN_PORTS.has(url.port)) return err("must not name a port of another protocol");
  if (isIp(host)) return isGlobalIp(host) ? ok(url) : err("must not name an IP address of a private or special range");
  if (!host.includes(".") || LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`)))
    return err("must not name a host of a local network");
  return ok(url);
}
