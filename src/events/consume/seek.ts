import * as z from "zod/mini";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Reader } from "../access/reader.ts";
import type { Failure } from "../model/failure.ts";
import { addressOf, type TopicId } from "../model/topic.ts";
import { askConsumer, failureOf } from "./ask.ts";
import type { ConsumePorts } from "./stub.ts";
import type { SeekOutcome } from "./types.ts";

/** If `to` is a time in milliseconds, the next read starts at the first event at or after it. */
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
  const outcome = await askConsumer(ports, id, reader, nowMs, async (consumer, topic): Promise<SeekOutcome> =>
    consumer.seek(addressOf(topic), reader.name, to),
  );
  return outcome?.kind === "done" ? ok(undefined) : err(failureOf(outcome, reader, nowMs));
}
