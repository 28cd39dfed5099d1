import * as z from "zod/mini";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { tenantFilter, type Reader } from "../access/reader.ts";
import { askLog } from "../log/client.ts";
import { positionOf } from "../log/event-id.ts";
import { maskId } from "../log/hidden-ids.ts";
import type { Failure } from "../model/failure.ts";
import type { Topic, TopicId } from "../model/topic.ts";
import { ttlMs } from "./read.ts";
import { consumerOf, type ConsumePorts } from "./stub.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";
import type { LockOutcome } from "./types.ts";

const token = z.string().check(z.minLength(1));

export const commitBody = z.object({ token });
export const extendBody = z.object({ token, ttlMs });
export const releaseBody = z.object({ token, commitThrough: z.optional(z.string()) });

type Done = Promise<Result<void, Failure>>;

/** Commits the batch of a token. The caller has checked that the reader may read the topic. */
export const commit = (
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  body: z.infer<typeof commitBody>,
  nowMs: number,
): Done => onLock(ports, id, reader, nowMs, (consumer) => consumer.commit(body.token));

/** Sets the lock's expiry to `ttlMs` from now. */
export const extend = (
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  body: z.infer<typeof extendBody>,
  nowMs: number,
): Done => onLock(ports, id, reader, nowMs, (consumer) => consumer.extend(body.token, body.ttlMs));

/** Commits the batch up to and including the event `commitThrough`, or none of it, and releases the rest. */
export async function release(
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  body: z.infer<typeof releaseBody>,
  nowMs: number,
): Done {
  const { commitThrough } = body;
  if (commitThrough === undefined)
    return onLock(ports, id, reader, nowMs, (consumer) => consumer.release(body.token, undefined));
  // A text that is not an event id is in no batch.
  if (positionOf(commitThrough) === undefined) return err({ kind: "not_in_batch" });
  return onLock(ports, id, reader, nowMs, async (consumer, topic) => {
    const own = tenantFilter(reader, topic);
    const eventId = own === undefined ? commitThrough : maskId(commitThrough, own)!;
    const through = positionOf(eventId);
    if (through === undefined) return { kind: "not_in_batch" };
    // The lock knows positions only, so the log must confirm that this id is at this position.
    const time =
      through.shard < topic.shards
        ? await askLog(ports.logs, topic, through.shard, async (log): Promise<number | "unknown" | "gone"> =>
            log.timeOf(through.seq, eventId),
          )
        : "unknown";
    if (time === undefined) return { kind: "failed" };
    if (time === "gone") return undefined;
    return time === "unknown" ? { kind: "not_in_batch" } : consumer.release(body.token, through);
  });
}

async function onLock(
  ports: ConsumePorts,
  id: TopicId,
  reader: Reader,
  nowMs: number,
  run: (
    consumer: DurableObjectStub<TopicConsumer>,
    topic: Topic,
  ) => Promise<LockOutcome | { readonly kind: "failed" } | undefined>,
): Done {
  const ask = () =>
    ports.directory.onActive(id, nowMs, (topic) => run(consumerOf(ports.consumers, topic, reader.name), topic));
  let outcome = await ask();
  if (outcome?.kind === "never_read") {
    // The topic may have been deleted and created again since this isolate cached it.
    ports.directory.forget(id);
    outcome = await ask();
  }
  switch (outcome?.kind) {
    case undefined:
      return err({ kind: "no_topic" });
    case "done":
      return ok(undefined);
    case "not_locked":
      return err({ kind: "topic_not_locked", why: outcome.why });
    case "never_read":
      return err({ kind: "topic_not_locked", why: "unknown_token" });
    case "not_in_batch":
      return err({ kind: "not_in_batch" });
    case "failed":
      return err({ kind: "unavailable" });
  }
}
