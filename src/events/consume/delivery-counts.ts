/**
 * Counts how often each event of a shard was delivered to a client (header `delivery-attempt`).
 *
 * Every batch starts at the cursor, so an event was delivered once for each batch that reached it. A few steps record
 * this for all events: `[end, count]` means that `count` batches ended at position `end`. Sorted by end.
 */
export type DeliveryCounts = readonly (readonly [end: number, count: number])[];

export const deliveryCount = (counts: DeliveryCounts, seq: number): number =>
  counts.reduce((times, [end, count]) => (end >= seq ? times + count : times), 0);

/** Counts one more batch up to `end`. Beyond `maxSteps`, merges the last two steps, which overstates some counts. */
export function countBatch(counts: DeliveryCounts, end: number, maxSteps: number): DeliveryCounts {
  const known = counts.find(([at]) => at === end);
  const others = counts.filter(([at]) => at !== end);
  const steps = [...others, [end, (known?.[1] ?? 0) + 1] as const].toSorted(([a], [b]) => a - b);
  const last = steps.at(-1);
  const previous = steps.at(-2);
  if (steps.length <= maxSteps || last === undefined || previous === undefined) return steps;
  return [...steps.slice(0, -2), [last[0], previous[1] + last[1]]];
}

/** Drops counts that are no longer needed once everything up to `cursor` is committed. */
export const withoutCommitted = (counts: DeliveryCounts, cursor: number): DeliveryCounts =>
  counts.filter(([end]) => end > cursor);
