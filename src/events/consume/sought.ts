import { askLogs } from "../log/client.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Place, ReadOutcome } from "../log/types.ts";
import { shardsOf, type TopicAddress } from "../model/topic.ts";

/** A position in each shard's log, with the last reset of each log (log/resets.ts). */
interface Sought {
  readonly cursor: readonly number[];
  readonly seenResets: readonly (string | null)[];
}

/** Finds a place in all logs of a topic. "failed": one of them did not answer. */
export async function findPlace(
  logs: DurableObjectNamespace<TopicLog>,
  topic: TopicAddress,
  to: Place,
): Promise<Sought | "gone" | "failed"> {
  const shards = shardsOf(topic);
  // Read the resets first. A reset between the two calls is then not yet seen, so the next read applies it.
  const ends = await askLogs(logs, topic, shards, async (log): Promise<ReadOutcome> =>
    log.read(Number.MAX_SAFE_INTEGER, 1, 0, 1),
  );
  const answers = await askLogs(logs, topic, shards, async (log): Promise<number | "gone"> => log.positionBefore(to));
  const [cursor, seenResets]: [number[], (string | null)[]] = [[], []];
  for (const [shard, answer] of answers.entries()) {
    const end = ends[shard];
    if (answer === undefined || end === undefined) return "failed";
    if (answer === "gone" || end.kind === "gone") return "gone";
    cursor.push(answer);
    seenResets.push(end.resets?.at(-1)?.id ?? null);
  }
  return { cursor, seenResets };
}
