import type { ReceivedHeaders } from "../model/headers.ts";

/**
 * Isolates a service's pages from those of other services. All of them share one origin, and a browser treats an origin
 * as one application. Unless the operator marks a service as trusted:
 *
 * - Its documents run in a sandbox without `allow-same-origin`: their scripts read no cookie and no response of another
 *   service. Browsers ignore the header for images and for data that a script fetches.
 * - Its cookies are sent only to it, since their path is the service's own.
 * - It cannot deliver a script for a service worker, which could answer requests for other pages.
 */
export interface ServicePaths {
  /** Path of the public address, with the prefix. Both paths have no slash at the end. */
  readonly publicPath: string;
  /** Path of the service's own address. */
  readonly sourcePath: string;
}

const POLICY = "content-security-policy";
const SANDBOX =
  "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads";

/** Adds the sandbox to the service's own policies. A browser enforces all of them. */
export function sandboxHeaders(status: number, headers: ReceivedHeaders): Record<string, string> {
  const own = headers.get(POLICY);
  // The headers of a 304 replace those of the stored response, so its policy must not remove a document's sandbox.
  const isNeeded = status === 304 ? own !== undefined : isDocument(headers.get("content-type") ?? "");
  if (!isNeeded) return {};
  return { [POLICY]: own === undefined ? SANDBOX : `${SANDBOX}, ${own}` };
}

const RUNS_SCRIPTS = /html|xml|svg|xsl|multipart|rfc822|unknown/;
const TYPE = /^\s*[\w!#$&^.+-]+\/[\w!#$&^.+-]+/;

/**
 * True if a browser may show the content as a document with scripts, or guess its type. If there are several types,
 * some browsers use the first and some the last.
 */
function isDocument(contentType: string): boolean {
  return contentType.split(",").some((type) => !TYPE.test(type) || RUNS_SCRIPTS.test(type.toLowerCase()));
}

/** A browser ignores a longer path, and would send the cookie to all services (RFC 6265bis 5.6). */
const MAX_PATH_CHARS = 1_000;

/** A service's `Set-Cookie` with the service's own path; undefined if the cookie cannot be limited to a path. */
export function confineCookie(cookie: string, { publicPath, sourcePath }: ServicePaths): string | undefined {
  const [pair = "", ...attributes] = cookie.split(";");
  // A browser accepts a `__Host-` cookie only with `Path=/`.
  if (/^[\s=]*__host-/i.test(pair)) return undefined;
  const nameOf = (attribute: string): string => (attribute.split("=")[0] ?? "").trim().toLowerCase();
  const kept = attributes.filter((attribute) => !["path", "domain"].includes(nameOf(attribute)));
  const last = attributes.findLast((attribute) => nameOf(attribute) === "path");
  const path = last?.slice(last.indexOf("=") + 1).trim() ?? "";
  const base = [publicPath, sourcePath].find((candidate) => `${path}/`.startsWith(`${candidate}/`));
  const rest = base === undefined ? "" : path.slice(base.length);
  const confined = `${publicPath}${rest.replace(/\/+$/, "")}`;
  return [pair, ...kept, ` Path=${confined.length > MAX_PATH_CHARS ? publicPath : confined}`].join(";");
}
