import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { consumerOf } from "../../../src/events/consume/stub.ts";
import { logOf } from "../../../src/events/log/client.ts";
import { shardsOf } from "../../../src/events/model/topic.ts";
import { eventsApp } from "../support/events-app.ts";
import type { ProblemView } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, topicAt } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { adversaryOf, type Stolen } from "./adversary.ts";
import { enlarged, reduced, type Answer, type Call } from "./consumer-model.ts";
import type { Driver } from "./schedules.ts";

/**
 * Everything as clients see it: HTTP, D1, two isolates and two readers, the first of which owns the topic. An adversary
 * tries something after each step.
 */
export async function overHttp(shards: number, run: (driver: Driver) => Promise<void>): Promise<void> {
  const isolates = [eventsApp(), eventsApp()];
  const made = await makeTopic(isolates[0]!, { shards });
  const { owner, path } = made;
  for (const app of isolates)
    for (const tenant of ["tenant2", "tenant3", "tenant5"]) app.actsFor.add(`${owner.clientId} ${tenant}`);
  const clients = [owner, someClient({ scopes: ["plat.pubsub.topic=*"] })];
  const topics = isolates.map((app) => topicAt(app, owner, path));
  const { attack, consumers } = await adversaryOf(made);
  const records = [(await objectsOf(made)).record];
  let stolen: Stolen = { token: undefined, eventId: undefined };
  const ask = async (call: Call, isolate: number): Promise<Answer> => {
    const topic = topics[isolate]!;
    const as = clients[call.by]!;
    const headers: Record<string, string> = { "content-type": "application/json" };
    if ("key" in call && call.key !== undefined) headers["idempotency-key"] = call.key;
    switch (call.do) {
      case "publish":
        return seenOf(
          await topic.publish(
            call.events.map(({ tenant, payload }) => ({ tenant, payload: enlarged(payload) })),
            { headers },
          ),
        );
      case "read": {
        const { numEvents, ttlMs, autoCommit } = call;
        return seenOf((await topic.read({ numEvents, ttlMs, autoCommit }, { as, headers })).response);
      }
      default:
        return seenOf(await topic.post(call.do, bodyOf(call), { as }));
    }
  };
  await run({
    readers: clients.length,
    retentionMs: undefined,
    async call(call, isolate) {
      const answer = await ask(call, isolate);
      if (answer.is === "batch") stolen = { token: answer.token ?? stolen.token, eventId: answer.events.at(-1)?.id };
      await attack(stolen);
      return answer;
    },
    async evict(what) {
      // An object that does not run, or whose topic is gone, has nothing to lose.
      const found = await objectsOf(made, clients["reader" in what ? what.reader : 0]).catch(() => undefined);
      if (found === undefined) return;
      const object = "reader" in what ? found.consumer : found.logs[what.shard]!;
      await evictDurableObject(object).catch(() => undefined);
    },
    delay: () => {},
    fail: () => [],
    trim: async () => {},
    async delete(isolate) {
      const { status } = await isolates[isolate]!.call(path, { as: owner, method: "DELETE" });
      if (status !== 202) throw new Error(`not deleted: ${status}`);
      await attack(stolen);
    },
    async create(isolate) {
      const json = { eventType: path.split("/").at(-1), shards };
      const { status } = await isolates[isolate]!.call("/pubsub/v1/topics", { as: owner, json });
      if (status === 201) records.push((await objectsOf(made)).record);
      return status === 201;
    },
  });
  // Thousands of topics would keep too many files open.
  const names = [...clients.map(({ clientId }) => clientId), ...consumers];
  for (const record of records)
    for (const object of [
      ...names.map((name) => consumerOf(env.TOPIC_CONSUMER, record, name)),
      ...shardsOf(record).map((shard) => logOf(env.TOPIC_LOG, record, shard)),
    ])
      await evictDurableObject(object).catch(() => undefined);
}

function bodyOf(call: Exclude<Call, { do: "read" | "publish" }>): object {
  switch (call.do) {
    case "commit":
      return { token: call.token };
    case "extend":
      return { token: call.token, ttlMs: call.ttlMs };
    case "release":
      return { token: call.token, commitThrough: call.through };
    case "seek":
      return { to: call.to };
  }
}

async function seenOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const body: any = text === "" ? undefined : JSON.parse(text);
  const header = (name: string) => response.headers.get(name);
  const lost = Number(header("plat-events-lost") ?? 0);
  switch (response.status) {
    case 200: {
      if (body === undefined) return { is: "done" };
      const events = (body.events as { id: string; payload: string }[]).map(({ id, payload }) => ({
        id,
        payload: reduced(payload),
      }));
      return { is: "batch", events, token: body.token, attempt: Number(header("plat-delivery-attempt")), lost };
    }
    case 201:
      return { is: "stored", ids: body.ids };
    case 204:
      return { is: "empty", more: header("link") !== null, lost };
    default:
      return { is: "refused", why: whyOf(body, response) };
  }
}

function whyOf(body: ProblemView & { type: string }, response: Response): string {
  const detail = body.details[0]?.type;
  if (response.status === 404) return "no_topic";
  if (body.type === "topic_locked") return `topic_locked ${response.headers.get("retry-after")}`;
  if (detail === "idempotency_key_used") return "key_used";
  if (detail === "invalid_field") return "not_in_batch";
  return detail ?? body.type;
}
