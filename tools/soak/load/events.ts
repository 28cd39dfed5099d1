import type { NewEvent, ReadEvent } from "../ledgers/events.ts";
import { expectStatus, isSentAgain, type Operation, type Stage, type Turn } from "./operation.ts";

/** A lock's life: some survive a restart, some do not. */
const TTL_MS = 3_000;
const BATCH = 20;
const READ = 100;

interface Held {
  readonly token: string;
  readonly events: readonly ReadEvent[];
}

export interface EventsLoad {
  readonly operations: readonly Operation[];
  /** Reads and commits until the topic is empty. */
  drain(turn: Turn): Promise<void>;
}

/**
 * Publishes (half of them with an idempotency key, and then retried until answered), and one consumer that reads,
 * commits, extends and releases in any order: reads of a locked topic, abandoned locks, late commits.
 */
export function eventsLoad(stage: Stage): EventsLoad {
  const { world, caller, events } = stage;
  const held: Held[] = [];
  let made = 0;

  const post = async (who: "shop" | "billing", verb: string, kind: string, json: unknown, key?: string) => ({
    kind: `events: ${kind}`,
    method: "POST",
    path: `${world.topic}/${verb}`,
    headers: { authorization: await world.authorization(who), ...(key !== undefined && { "idempotency-key": key }) },
    json,
  });

  const publish = async (turn: Turn, size: number, kind: string): Promise<void> => {
    const { dueMs, random } = turn;
    const tenant = random.pick(world.tenants);
    const batch = Array.from({ length: size }, (): NewEvent => ({ payload: `${world.run}-${made++}`, tenant }));
    const key = random.chance(0.5) ? `publish-${made}` : undefined;
    const ask = { ...(await post("shop", "publish", kind, size === 1 ? batch[0] : batch, key)), dueMs };
    const reply = key === undefined ? await caller.once(ask, random) : await caller.insist(ask, random);
    if (reply === undefined) return events.unknown(batch);
    if (!expectStatus(stage, "publish", reply, [201])) return;
    events.acknowledged(batch, reply.body.ids, reply.sentMs, reply.answeredMs);
    if (key === undefined || !isSentAgain(stage, turn)) return;
    const again = await caller.once({ ...ask, dueMs: performance.now() }, random);
    const isSame = again === undefined || again.body?.ids?.join() === reply.body.ids.join();
    stage.violations.expect("a publish that is repeated answers the same ids", isSame, () => `key ${key}`);
  };

  /** Returns true if the topic is empty. */
  const read = async ({ dueMs, random }: Turn): Promise<boolean> => {
    const key = random.chance(0.5) ? `read-${random.below(2 ** 32)}` : undefined;
    const json = { numEvents: 1 + random.below(READ), ttlMs: TTL_MS };
    const ask = { ...(await post("billing", "read", "read", json, key)), dueMs };
    const reply = key === undefined ? await caller.once(ask, random) : await caller.insist(ask, random);
    if (reply === undefined || !expectStatus(stage, "read", reply, [200, 204, 409])) return false;
    if (reply.status === 204) return reply.headers.link === undefined;
    if (reply.status === 409) return false;
    const { token, events: found } = reply.body as { token: string; events: ReadEvent[] };
    events.read(token, found, { sentMs: reply.sentMs, answeredMs: reply.answeredMs, ttlMs: TTL_MS });
    held.push({ token, events: found });
    return false;
  };

  /** Ends the oldest lock: commits all of its batch, or a part up to `through`. */
  const end = async (turn: Turn, verb: "commit" | "release", isWhole = true): Promise<void> => {
    const { dueMs, random } = turn;
    const batch = held.shift();
    if (batch === undefined) return;
    const done = isWhole ? batch.events : batch.events.slice(0, 1 + random.below(batch.events.length));
    const through = done.at(-1)?.id;
    const json = verb === "commit" ? { token: batch.token } : { token: batch.token, commitThrough: through };
    const ask = { ...(await post("billing", verb, verb, json)), dueMs };
    events.ending(batch.token, performance.now());
    const reply = await caller.insist(ask, random);
    if (reply === undefined) return events.undecided(batch.events);
    if (!expectStatus(stage, verb, reply, [200, 409])) return;
    const why = reply.status === 200 ? "already_committed" : reply.body.details[0].type;
    // The platform has forgotten the token, so the outcome is unknown.
    if (why === "unknown_token") return events.undecided(batch.events);
    if (why !== "already_committed") return;
    events.commit(batch.token, done, reply.answeredMs);
    if (!isSentAgain(stage, turn)) return;
    const again = await caller.once({ ...ask, dueMs: performance.now() }, random);
    const isKnown = again === undefined || again.body?.details?.[0]?.type === "already_committed";
    stage.violations.expect("a repeated commit is told that it was done", isKnown, () => JSON.stringify(again?.body));
  };

  const extend = async ({ dueMs, random }: Turn): Promise<void> => {
    const batch = held.at(-1);
    if (batch === undefined) return;
    const ask = { ...(await post("billing", "extend", "extend", { token: batch.token, ttlMs: TTL_MS })), dueMs };
    const reply = await caller.once(ask, random);
    if (reply === undefined || !expectStatus(stage, "extend", reply, [200, 409])) return;
    if (reply.status === 200) events.extended(batch.token, reply.sentMs + TTL_MS);
  };

  const isHolding = (): boolean => held.length > 0;
  return {
    operations: [
      { weight: 10, run: (turn) => publish(turn, 1, "publish one") },
      { weight: 3, run: (turn) => publish(turn, 2 + turn.random.below(BATCH), "publish a batch") },
      { weight: 7, run: async (turn) => void (await read(turn)) },
      { weight: 7, isReady: isHolding, run: (turn) => end(turn, "commit") },
      { weight: 2, isReady: isHolding, run: (turn) => end(turn, "release", false) },
      { weight: 2, isReady: isHolding, run: extend },
    ],
    async drain({ random }) {
      const turn = (): Turn => ({ dueMs: performance.now(), random });
      for (const endMs = performance.now() + 60_000; performance.now() < endMs;) {
        if (isHolding()) await end(turn(), "commit");
        else if (await read(turn())) return;
        else if (!isHolding()) await new Promise((resolve) => setTimeout(resolve, 100));
      }
      stage.violations.add("a topic that nobody publishes to is read to its end", world.topic);
    },
  };
}
