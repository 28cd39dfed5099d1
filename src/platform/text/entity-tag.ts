/**
 * Tests a list of entity tags, or `*` (RFC 9110 section 8.8.3). Weak comparison ignores the prefix `W/`. A member
 * without quotes counts as a tag too, because some clients send it so.
 */
export function matchesAny(list: string, etag: string, comparison: "strong" | "weak"): boolean {
  if (list.trim() === "*") return true;
  for (const [, weak, quoted, bare] of list.matchAll(/(W\/)?(?:("[^"]*")|([^\s,"]+))/g)) {
    if (weak !== undefined && comparison === "strong") continue;
    if (quoted === etag || (bare !== undefined && `"${bare}"` === etag)) return true;
  }
  return false;
}
