import { err, ok, type Result } from "../../platform/model/result.ts";

/**
 * The private address for a public one: the source, then the rest of the path and the query as the caller sent them. No
 * input of a caller leads to another host, or above the source's path; the error is the reason of the refusal. `source`
 * has no slash at the end. Path and query come from a parsed URL.
 */
export function targetOf(source: string, rest: string, search: string): Result<string, string> {
  if (escapesBase(rest)) return err("The path leads above the service with encoded slashes or dots.");
  // Without a slash, the rest would extend the host name. The registry matches whole segments, so this never happens.
  if (rest !== "" && !rest.startsWith("/")) return err("The path is not a path.");
  return ok(`${source}${rest}${search}`);
}

/** Number of times that servers behind the gateway may decode a path. */
const DECODINGS = 4;

/**
 * True if a path leads above its base for a server that reads `%2f`, `%5c` or `\` as a slash or `%2e` as a dot, or
 * ignores the text after `;`. The URL parser has removed plain dot segments already.
 */
function escapesBase(path: string): boolean {
  if (!/[%;\\]/.test(path)) return false;
  let decoded = path;
  for (let times = 0; times < DECODINGS; times++) {
    decoded = decoded.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    if (lowestLevel(decoded) < 0) return true;
  }
  return false;
}

/** The lowest level that a path reaches; negative if that is above its base. */
function lowestLevel(path: string): number {
  let level = 0;
  for (const segment of path.split(/[/\\]/)) {
    const name = segment.split(";")[0];
    if (name === "..") level -= 1;
    else if (name !== "" && name !== ".") level += 1;
    if (level < 0) return level;
  }
  return level;
}
