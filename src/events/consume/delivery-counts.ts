/**
 * How often each event of a shard was handed out to a client (contract 3.4, header `delivery-attempt`).
 *
 * Every batch begins behind the cursor, so an event has been handed out once for each batch that reached it, and a
 * few steps say it for all of them: `[end, count]` means that `count` batches ended at position `end`. Sorted by end.
 */
export type DeliveryCounts = readonly (readonly [end: number, count: number])[];

export const deliveryCount = (counts: DeliveryCounts, seq: number): number =>
  counts.reduce((times, [end, count]) => (end >= seq ? times + count : times), 0);

/** One more batch, up to `end`. With more than `maxSteps` the two farthest ones become one, which overstates a little. */
export function countBatch(counts: DeliveryCounts, end: number, maxSteps: number): DeliveryCounts {
  const known = counts.find(([at]) => at === end);
  const others = counts.filter(([at]) => at !== end);
  const steps = [...others, [end, (known?.[1] ?? 0) + 1] as const].toSorted(([a], [b]) => a - b);
  const last = steps.at(-1);
  const previous = steps.at(-2);
  if (steps.length <= maxSteps || last === undefined || previous === undefined) return steps;
  return [...steps.slice(0, -2), [last[0], previous[1] + last[1]]];
}

/** What is left to know when everything up to `cursor` is committed. */
export const withoutCommitted = (counts: DeliveryCounts, cursor: number): DeliveryCounts =>
  counts.filter(([end]) => end > cursor);
