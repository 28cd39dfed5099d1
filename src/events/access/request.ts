import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { isProblem, type Problem } from "../../http/errors/errors.ts";
import type { Answer, Call } from "../../http/route.ts";
import { matching } from "../../http/input/validate.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { isObjectAway } from "../../platform/runtime/object-away.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import { PATTERNS, type Names } from "../../platform/model/names.ts";
import { err, type Result } from "../../platform/model/result.ts";
import { toProblem, unreachable, type Failure } from "../model/failure.ts";
import type { TopicId } from "../model/topic.ts";
import type { Reach, TopicAccess } from "./access.ts";
import { CONSUMER_NAME, readerOf, type Reader } from "./reader.ts";

/** Dependencies of requests on a topic. */
export interface RequestPorts {
  readonly names: Names;
  readonly log: Log;
  readonly access: TopicAccess;
  readonly meter: Meter;
}

/** The path parameters of one topic. */
export const topicParams = z.object({
  topicOwnerClient: matching(PATTERNS.clientName),
  eventType: matching(PATTERNS.eventType),
});

/** The caller, as an audit row names it. */
export const callerOf = ({
  principal,
  requestId,
}: Pick<Call<unknown, unknown, unknown, Principal>, "principal" | "requestId">) => ({
  actor: principal.clientId,
  requestId,
});

/** The author and time of a change that a request makes. */
export const changeBy = (
  call: Pick<Call<unknown, unknown, unknown, Principal>, "principal" | "requestId" | "nowMs" | "waitUntil">,
) => ({ by: callerOf(call), nowMs: call.nowMs, waitUntil: call.waitUntil });

interface TopicCall {
  readonly request: Request;
  readonly principal: Principal;
  readonly params: z.infer<typeof topicParams>;
  readonly nowMs: number;
}

type Reading = (topic: TopicId, reader: Reader) => Promise<Result<Answer, Failure | Problem>>;
type Operation = (topic: TopicId) => Promise<Result<Answer, Failure | Problem>>;

/** Runs an operation if the caller may read the topic. */
export function asReader(ports: RequestPorts, call: TopicCall, run: Reading): Promise<Answer> {
  return withRetryAfter(ports, async () => {
    const topic = topicOf(call);
    const allowed = await ports.access.mayRead(call.principal, topic, call.nowMs);
    return allowed.ok ? asNamed(call, allowed.value, (reader) => run(topic, reader)) : allowed;
  });
}

/** Runs an operation if the caller may consume the topic; a person never may. */
export function asConsumer(ports: RequestPorts, call: TopicCall, run: Reading): Promise<Answer> {
  return withRetryAfter(ports, async () => {
    const topic = topicOf(call);
    const allowed = await ports.access.mayConsume(call.principal, topic, call.nowMs);
    return allowed.ok ? asNamed(call, "all", (reader) => run(topic, reader)) : allowed;
  });
}

/** Chooses the caller's consumer, by its name if the request has one. */
async function asNamed<T>(
  { request, principal }: TopicCall,
  reach: Reach,
  run: (reader: Reader) => Promise<Result<T, Failure | Problem>>,
): Promise<Result<T, Failure | Problem>> {
  const consumer = request.headers.get("consumer");
  if (consumer !== null && !CONSUMER_NAME.test(consumer)) return err({ kind: "consumer_malformed" });
  return run(await readerOf(principal, reach, consumer));
}

/** Runs an operation if the caller owns the topic and may publish. */
export function asOwner(ports: RequestPorts, call: TopicCall, run: Operation): Promise<Answer> {
  return withRetryAfter(ports, async () => {
    const topic = topicOf(call);
    const allowed = await ports.access.mayOwn(call.principal, topic, call.nowMs);
    return allowed.ok ? run(topic) : allowed;
  });
}

/** Runs an operation if the caller owns the topic, without needing a scope. */
export function asOverseer(ports: RequestPorts, call: TopicCall, run: Operation): Promise<Answer> {
  return withRetryAfter(ports, async () => {
    const topic = topicOf(call);
    const allowed = ports.access.mayOversee(call.principal, topic);
    return allowed.ok ? run(topic) : allowed;
  });
}

/** Runs an operation on objects. Responds with 503 and `Retry-After` if an object is temporarily unavailable. */
export async function withRetryAfter(
  ports: RequestPorts,
  run: () => Promise<Result<Answer, Failure | Problem>>,
): Promise<Answer> {
  try {
    const outcome = await run();
    if (outcome.ok) return outcome.value;
    return isProblem(outcome.error) ? outcome.error : toProblem(outcome.error, ports.names);
  } catch (thrown) {
    if (!isObjectAway(thrown)) throw thrown;
    ports.log.warn("topic object unavailable", {
      overloaded: (thrown as { readonly overloaded?: boolean }).overloaded === true,
      error: describeError(thrown),
    });
    return unreachable();
  }
}

const topicOf = (call: TopicCall): TopicId => ({
  owner: call.params.topicOwnerClient,
  eventType: call.params.eventType,
});
