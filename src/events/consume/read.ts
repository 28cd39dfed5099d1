import * as z from "zod/mini";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Reader } from "../access/reader.ts";
import type { Failure } from "../model/failure.ts";
import { refusedKey } from "../model/idempotency-key.ts";
import { PUBLISH, READ } from "../model/limits.ts";
import { addressOf, type TopicId } from "../model/topic.ts";
import { askConsumer, failureOf } from "./ask.ts";
import type { ConsumePorts } from "./stub.ts";
import type { ConsumerReadOutcome } from "./types.ts";

/** Duration of a lock. */
export const ttlMs = z.int().check(z.gte(READ.minTtlMs), z.lte(READ.maxTtlMs));

/** `numEvents` may be any whole number; `READ.maxEvents` bounds the response. */
export const readBody = z.object({
  numEvents: z.optional(
    z.number().check(
      z.gte(1),
      z.refine((value) => Number.isInteger(value), "must be a whole number"),
    ),
  ),
  ttlMs: z.optional(ttlMs),
  autoCommit: z.optional(z.boolean()),
});

export type ReadBody = z.infer<typeof readBody>;

const eventsAsked = ({ numEvents = READ.defaultEvents }: ReadBody): number => Math.min(numEvents, READ.maxEvents);

/** Bytes of memory to reserve for the answer to a read. Events with many escaped characters may take more. */
export const bytesFor = (body: ReadBody): number =>
  Math.min(eventsAsked(body) * (PUBLISH.maxPayloadBytes + PUBLISH.maxMetadataBytes), READ.maxPayloadBytes);

/** Result of a successful read. */
export type ReadAnswer = Extract<ConsumerReadOutcome, { kind: "batch" | "empty" }>;

interface Asked {
  readonly body: ReadBody;
  /** The `Idempotency-Key`: a repeat with it gets the batch of that lock again. */
  readonly key: string | null;
  /** Bounds the batch if memory is short. */
  readonly maxChars?: number | undefined;
}

/** Reads the next events and locks the topic for the reader. The caller has checked that it may read the topic. */
export async function read(
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  { body, key, maxChars }: Asked,
  nowMs: number,
): Promise<Result<ReadAnswer, Failure>> {
  const refused = refusedKey(key);
  if (refused !== undefined) return err(refused);
  const outcome = await askConsumer(ports, id, reader, nowMs, async (consumer, topic): Promise<ConsumerReadOutcome> =>
    consumer.read({
      topic: addressOf(topic),
      consumer: reader.name,
      onlyTenant: reader.onlyTenant,
      numEvents: eventsAsked(body),
      ttlMs: body.ttlMs ?? READ.defaultTtlMs,
      autoCommit: body.autoCommit ?? false,
      key: key ?? undefined,
      maxChars,
    }),
  );
  switch (outcome?.kind) {
    case "batch":
    case "empty":
      return ok(outcome);
    case "key_used":
      return err({ kind: "key_used" });
    default:
      return err(failureOf(outcome, reader, nowMs));
  }
}
