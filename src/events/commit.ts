import * as z from "zod/mini";
import type { Principal } from "../http/auth.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { positionOf } from "./event-id.ts";
import type { Failure } from "./failure.ts";
import { ttlMs, type ConsumePorts } from "./read.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";
import type { LockOutcome } from "./topic-consumer.ts";
import { consumerOf, type TopicId } from "./topic.ts";

const token = z.string().check(z.minLength(1));

/** Specification, "Commit request body". */
export const commitBody = z.object({ token });
/** Contract 3.4. */
export const extendBody = z.object({ token, ttlMs });
export const releaseBody = z.object({ token, commitThrough: z.optional(z.string()) });

type Done = Promise<Result<void, Failure>>;

/** Commits the batch that was read under a token. The caller may consume the topic. */
export const commit = (
  ports: ConsumePorts,
  id: TopicId,
  principal: Principal,
  body: z.infer<typeof commitBody>,
  nowMs: number,
): Done => onLock(ports, id, principal, nowMs, (consumer) => consumer.commit(body.token));

/** Lets the batch's lock last `ttlMs` from now. */
export const extend = (
  ports: ConsumePorts,
  id: TopicId,
  principal: Principal,
  body: z.infer<typeof extendBody>,
  nowMs: number,
): Done => onLock(ports, id, principal, nowMs, (consumer) => consumer.extend(body.token, body.ttlMs));

/** Commits the batch up to and with the event `commitThrough`, or nothing of it, and lets the rest be read again. */
export async function release(
  ports: ConsumePorts,
  id: TopicId,
  principal: Principal,
  body: z.infer<typeof releaseBody>,
  nowMs: number,
): Done {
  const { commitThrough } = body;
  const through = commitThrough === undefined ? undefined : positionOf(commitThrough);
  // What is no event id is in no batch either.
  if (commitThrough !== undefined && through === undefined) return err({ kind: "not_in_batch" });
  return onLock(ports, id, principal, nowMs, (consumer) => consumer.release(body.token, through));
}

async function onLock(
  ports: ConsumePorts,
  id: TopicId,
  principal: Principal,
  nowMs: number,
  run: (consumer: DurableObjectStub<TopicConsumer>) => Promise<LockOutcome>,
): Done {
  const outcome = await ports.directory.onActive(id, nowMs, (topic) =>
    run(consumerOf(ports.consumers, topic, principal.clientId)),
  );
  switch (outcome?.kind) {
    case undefined:
      return err({ kind: "no_topic" });
    case "done":
      return ok(undefined);
    case "not_locked":
      return err({ kind: "topic_not_locked", why: outcome.why });
    case "not_in_batch":
      return err({ kind: "not_in_batch" });
  }
}
