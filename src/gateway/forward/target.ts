import { err, ok, type Result } from "../../platform/result.ts";

/**
 * The address behind a public one: the source with the rest of the path and the query, both as they were sent. Nothing
 * that a caller writes leads to another host or above the source's own path; the error says why an address is refused.
 * `source` is without a slash at the end; path and query are of an address that was parsed, so that together they are one.
 */
export function targetOf(source: string, rest: string, search: string): Result<string, string> {
  if (climbs(rest)) return err("The path leads above the service with encoded slashes or dots.");
  // Else it would go on with the host. By construction it cannot be otherwise.
  if (rest !== "" && !rest.startsWith("/")) return err("The path is no path.");
  return ok(`${source}${rest}${search}`);
}

/** How often somebody behind us may decode what they get. */
const DECODINGS = 4;

/**
 * Whether a path climbs above where it begins, once somebody reads `%2f`, `%5c` or `\` as a slash, `%2e` as a dot, or
 * forgets what stands behind `;`. Plain dot segments are gone by now: the URL parser took them.
 */
function climbs(path: string): boolean {
  if (!/[%;\\]/.test(path)) return false;
  let plain = path;
  for (let times = 0; times < DECODINGS; times++) {
    plain = plain.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    if (depthOf(plain) < 0) return true;
  }
  return false;
}

/** The lowest level that a path reaches; below 0 is above its beginning. */
function depthOf(path: string): number {
  let depth = 0;
  for (const segment of path.split(/[/\\]/)) {
    const name = segment.split(";")[0];
    if (name === "..") depth -= 1;
    else if (name !== "" && name !== ".") depth += 1;
    if (depth < 0) return depth;
  }
  return depth;
}
