import type { GivenHeaders } from "../model/headers.ts";

/**
 * What keeps a service's pages apart from those of others, which have the same origin: for a browser all that has one
 * origin is one application. A service that the operator has not called trusted gets none of it:
 *
 * - Its documents are in a sandbox without `allow-same-origin`: what runs in them reads no cookie and no answer of anybody
 *   else. Of what is fetched by a script, shown as an image and the like, a browser does not ask for this header.
 * - Its cookies come back to it alone: their path is its own.
 * - It gives no script for a service worker, which would answer in the place of pages.
 */
export interface Apart {
  /** Of the public address, with the prefix. */
  readonly publicPath: string;
  /** Of the service's own address. Both without a slash at the end. */
  readonly sourcePath: string;
}

const POLICY = "content-security-policy";
const SANDBOX =
  "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads";

/** Beside the service's own policies, all of which a browser keeps to. */
export function sandboxOf(status: number, given: GivenHeaders): Record<string, string> {
  const own = given.get(POLICY);
  // What a 304 says takes the place of what is stored, which may be a document: a policy must not take the sandbox away.
  const isNeeded = status === 304 ? own !== undefined : isDocument(given.get("content-type") ?? "");
  if (!isNeeded) return {};
  return { [POLICY]: own === undefined ? SANDBOX : `${SANDBOX}, ${own}` };
}

const RUNS = /html|xml|svg|xsl|multipart|rfc822|unknown/;
const TYPE = /^\s*[\w!#$&^.+-]+\/[\w!#$&^.+-]+/;

/**
 * Whether a browser would take it for a document in which scripts run, or for no type at all. Of several types some take
 * the first and some the last.
 */
function isDocument(contentType: string): boolean {
  return contentType.split(",").some((type) => !TYPE.test(type) || RUNS.test(type.toLowerCase()));
}

/** A browser ignores a longer one, and the cookie would be all services' (RFC 6265bis 5.6). */
const MAX_PATH_CHARS = 1_000;

/** A `Set-Cookie` of the service as it goes out; undefined for one that would be everybody's and cannot be less. */
export function ownCookie(cookie: string, { publicPath, sourcePath }: Apart): string | undefined {
  const [pair = "", ...attributes] = cookie.split(";");
  // A browser takes it with `Path=/` alone.
  if (/^[\s=]*__host-/i.test(pair)) return undefined;
  const nameOf = (attribute: string): string => (attribute.split("=")[0] ?? "").trim().toLowerCase();
  const kept = attributes.filter((attribute) => !["path", "domain"].includes(nameOf(attribute)));
  const given = attributes.findLast((attribute) => nameOf(attribute) === "path");
  const path = given?.slice(given.indexOf("=") + 1).trim() ?? "";
  const below = (base: string): boolean => `${path}/`.startsWith(`${base}/`);
  const rest = below(publicPath)
    ? path.slice(publicPath.length)
    : below(sourcePath)
      ? path.slice(sourcePath.length)
      : "";
  const own = `${publicPath}${rest.replace(/\/+$/, "")}`;
  return [pair, ...kept, ` Path=${own.length > MAX_PATH_CHARS ? publicPath : own}`].join(";");
}
