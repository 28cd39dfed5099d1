import * as z from "zod/mini";
import type { Principal } from "../http/auth.ts";
import { err, ok, type Result } from "../platform/result.ts";
import type { Failure } from "./failure.ts";
import type { ConsumePorts } from "./read.ts";
import type { ConsumerCommitOutcome } from "./topic-consumer.do.ts";
import { consumerOf, type TopicId } from "./topic.ts";

/** Specification, "Commit request body". */
export const commitBody = z.object({ token: z.string().check(z.minLength(1)) });

/** Commits the batch that was read under a token. The caller may consume the topic. */
export async function commit(
  ports: ConsumePorts,
  id: TopicId,
  principal: Principal,
  token: string,
  nowMs: number,
): Promise<Result<void, Failure>> {
  const outcome = await ports.directory.onActive(id, nowMs, (topic): Promise<ConsumerCommitOutcome> =>
    consumerOf(ports.consumers, topic, principal.clientId).commit(token),
  );
  if (outcome === undefined) return err({ kind: "no_topic" });
  return outcome.kind === "committed" ? ok(undefined) : err({ kind: "topic_not_locked", why: outcome.why });
}
