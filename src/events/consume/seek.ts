import * as z from "zod/mini";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { lockedBy, type Reader } from "../access/reader.ts";
import type { Failure } from "../model/failure.ts";
import { READ } from "../model/limits.ts";
import { addressOf, type TopicId } from "../model/topic.ts";
import { admitConsumer } from "./named-consumers.ts";
import type { ConsumePorts } from "./read.ts";
import { consumerOf } from "./stub.ts";
import type { SeekOutcome } from "./types.ts";

/** A number is a time in milliseconds; the next read starts at the first event at or after it. */
export const seekBody = z.object({
  to: z.union(
    [z.enum(["oldest", "newest"]), z.int().check(z.gte(0))],
    "must be oldest, newest or a time in milliseconds",
  ),
});

/** Moves the reader's cursor. The caller has checked that the reader may consume the topic. */
export async function seek(
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  { to }: z.infer<typeof seekBody>,
  nowMs: number,
): Promise<Result<void, Failure>> {
  const outcome = await ports.directory.onActive(id, nowMs, async (topic) => {
    const admitted = await admitConsumer(ports.logs, topic, reader);
    if (admitted !== "admitted") return admitted === "gone" ? undefined : { kind: admitted };
    const answer: SeekOutcome = await consumerOf(ports.consumers, topic, reader.name).seek(
      addressOf(topic),
      reader.name,
      to,
    );
    return answer.kind === "gone" ? undefined : answer;
  });
  switch (outcome?.kind) {
    case undefined:
      return err({ kind: "no_topic" });
    case "done":
      return ok(undefined);
    case "locked":
      return err(lockedBy(reader, outcome.retryAfterMs, nowMs));
    case "too_many_consumers":
      return err({ kind: "too_many_consumers", most: READ.namedConsumers });
    case "failed":
      return err({ kind: "unavailable" });
  }
}
