/**
 * How often each event of a shard was handed out to a client (contract 3.4, header `delivery-attempt`).
 *
 * Every batch begins behind the cursor, so an event has been handed out once for each batch that reached it, and a
 * few steps say it for all of them: `[end, count]` means that `count` batches ended at position `end`. Sorted by end.
 */
export type Handouts = readonly (readonly [end: number, count: number])[];

export const timesHandedOut = (handouts: Handouts, seq: number): number =>
  handouts.reduce((times, [end, count]) => (end >= seq ? times + count : times), 0);

/** One more batch, up to `end`. With more than `maxSteps` the two farthest ones become one, which overstates a little. */
export function handOut(handouts: Handouts, end: number, maxSteps: number): Handouts {
  const known = handouts.find(([at]) => at === end);
  const others = handouts.filter(([at]) => at !== end);
  const steps = [...others, [end, (known?.[1] ?? 0) + 1] as const].toSorted(([a], [b]) => a - b);
  const last = steps.at(-1);
  const previous = steps.at(-2);
  if (steps.length <= maxSteps || last === undefined || previous === undefined) return steps;
  return [...steps.slice(0, -2), [last[0], previous[1] + last[1]]];
}

/** What is left to know when everything up to `cursor` is committed. */
export const forgetCommitted = (handouts: Handouts, cursor: number): Handouts =>
  handouts.filter(([end]) => end > cursor);
