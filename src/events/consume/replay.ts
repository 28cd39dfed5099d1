import { askLogs } from "../log/client.ts";
import type { OwnTenant } from "../log/hidden-ids.ts";
import { unpackSegment, type LogEvent, type Segment } from "../log/segments.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Gone, ReadOutcome } from "../log/types.ts";
import type { TopicAddress } from "../model/topic.ts";
import { cursorAfter, type Batch } from "./lock.ts";

/** The part of a batch that the logs still have. "failed": one of them did not answer. */
export type Replay =
  | {
      readonly kind: "left";
      /** Event objects as JSON, comma-separated, in delivery order; empty if none is left. */
      readonly events: string;
      /** Number of positions of the batch without an event that the reader is shown. */
      readonly lost: number;
    }
  | { readonly kind: "failed" }
  | Gone;

/** Reads a batch again, for a read repeated after its response was lost. The batch starts at `cursor`. */
export async function replay(
  logs: DurableObjectNamespace<TopicLog>,
  topic: TopicAddress,
  cursor: readonly number[],
  batch: Batch,
  own: OwnTenant | undefined,
): Promise<Replay> {
  const ends = cursorAfter(cursor, batch);
  const shards = [...new Set(batch.map(([shard]) => shard))];
  const answers = await askLogs(logs, topic, shards, async (log, shard): Promise<ReadOutcome> => {
    const after = cursor[shard]!;
    if (own !== undefined) return readThrough(log, own, after, ends[shard]!);
    // Read as many positions as the batch spans; the first delivery bounded them.
    return log.read(after, ends[shard]! - after, 0, Infinity);
  });
  const segments = new Map<number, readonly Segment[]>();
  for (const [index, answer] of answers.entries()) {
    if (answer === undefined) return { kind: "failed" };
    if (answer.kind === "gone") return answer;
    segments.set(shards[index]!, answer.segments);
  }
  const texts = pick(cursor, batch, segments);
  const positions = ends.reduce((sum, end, shard) => sum + end - cursor[shard]!, 0);
  return { kind: "left", events: texts.join(","), lost: positions - texts.length };
}

/** Reads one tenant's events up to a position, in several calls if many events of other tenants lie between them. */
async function readThrough(
  log: DurableObjectStub<TopicLog>,
  own: OwnTenant,
  afterSeq: number,
  throughSeq: number,
): Promise<ReadOutcome> {
  const segments: Segment[] = [];
  for (let endSeq = afterSeq; ;) {
    const asked = { afterSeq: endSeq, throughSeq, minEvents: Infinity, aheadChars: Infinity, maxChars: Infinity };
    const part: ReadOutcome = await log.readTenant(own, asked);
    if (part.kind === "gone") return part;
    segments.push(...part.segments);
    endSeq = part.endSeq;
    if (part.atEnd || endSeq >= throughSeq) return { ...part, segments };
  }
}

/** Picks the batch's events from the segments of each shard. */
function pick(cursor: readonly number[], batch: Batch, segments: ReadonlyMap<number, readonly Segment[]>): string[] {
  const lanes = new Map<number, IterableIterator<LogEvent>>();
  // Next event of each shard that was not taken yet.
  const next = new Map<number, LogEvent | undefined>();
  for (const [shard, found] of segments) {
    const lane = found.flatMap((segment) => unpackSegment(segment, cursor[shard]!)).values();
    lanes.set(shard, lane);
    next.set(shard, lane.next().value);
  }
  const texts: string[] = [];
  for (const [shard, lastSeq] of batch)
    for (let event = next.get(shard); event !== undefined && event.seq <= lastSeq; event = next.get(shard)) {
      texts.push(event.text);
      next.set(shard, lanes.get(shard)!.next().value);
    }
  return texts;
}
