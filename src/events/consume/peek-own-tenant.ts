import { systemRandom } from "../../platform/random.ts";
import { newEventIds, positionOf } from "../log/event-id.ts";
import { masked, type OwnTenant } from "../log/hidden-ids.ts";
import { READ } from "../model/limits.ts";
import { idOf, unpackSegment } from "../log/segments.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { ReadOutcome } from "../log/types.ts";
import { shardFor, type Topic } from "../model/topic.ts";
import { logOf } from "../log/client.ts";
import { fitting, type View } from "./view.ts";

/**
 * A look at one tenant's events, which all lie in one shard. `next` is the id to show of the last one, or of a place where
 * no event is: where this look had passed over enough of others. "unknown": `after` is no such id.
 */
export async function lookAtOwn(
  logs: DurableObjectNamespace<TopicLog>,
  topic: Topic,
  own: OwnTenant,
  after: string | undefined,
  limit: number,
): Promise<View | "unknown" | undefined> {
  const shard = shardFor(own.tenant, topic.shards);
  const from = after === undefined ? { shard, seq: 0 } : positionOf(masked(after, own) ?? "");
  if (from?.shard !== shard) return "unknown";
  const answer: ReadOutcome = await logOf(logs, topic, shard).readTenant(own, {
    afterSeq: from.seq,
    minEvents: limit + 1,
    aheadChars: 0,
    maxChars: READ.maxAnswerChars,
  });
  if (answer.kind === "gone") return undefined;
  if (answer.atEnd && from.seq > answer.endSeq) return "unknown";
  const found = answer.segments.flatMap((segment) => unpackSegment(segment, from.seq));
  const shown = fitting(found, limit);
  const behind = (): string => masked(newEventIds(1, shard, answer.endSeq, systemRandom)[0]!, own)!;
  const isCut = shown.length < found.length;
  return {
    events: shown.map(({ text }) => text).join(","),
    next: isCut ? idOf(shown.at(-1)!.text) : answer.atEnd ? null : behind(),
  };
}
