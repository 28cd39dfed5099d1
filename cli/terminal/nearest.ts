/** The longest text that is compared. A longer one is not a typing error, and comparing it would take minutes. */
const LONGEST = 300;

/** The most similar candidate; undefined if none is near. */
export function nearest(given: string, candidates: readonly string[]): string | undefined {
  if (given.length > LONGEST) return undefined;
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(given, candidate) }))
    .sort((one, other) => one.distance - other.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.max(1, given.length / 3) ? best.candidate : undefined;
}

/** " Did you mean …?", or nothing. */
export function didYouMean(given: string, candidates: readonly string[]): string {
  const found = nearest(given, candidates);
  return found === undefined ? "" : ` Did you mean ${found}?`;
}

/** The edit distance: letters inserted, removed or changed, or two neighbours swapped. A prefix is near. */
export function distanceOf(one: string, other: string): number {
  if (plain(one).length >= 3 && plain(other).startsWith(plain(one))) return 0.5;
  const rows = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const at = (up: number, left: number): number => rows[i - up]?.[j - left] ?? 0;
      const change = at(1, 1) + (one[i - 1] === other[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row.push(Math.min(at(1, 0) + 1, (row[j - 1] ?? 0) + 1, change, swapped ? at(2, 2) + 1 : Infinity));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}

const plain = (word: string): string => word.replaceAll("-", "");
