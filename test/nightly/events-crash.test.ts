import { rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startReceiver, type Received, type Receiver } from "../../examples/tour/receiver.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";
import { must, openShop, TENANTS, type Answer, type Shop, type WireEvent } from "../acceptance/support/pubsub.ts";
import { makeWorld, OPERATOR_SECRET } from "../acceptance/support/world.ts";

/**
 * The platform is killed again and again while events are published, read and pushed, and started again on the same
 * state. What was acknowledged is what counts: it is read exactly once and in order, and pushed at least once.
 *
 * A publisher whose request got no answer repeats it when it has a key, and goes on with the next one when it has none:
 * those events may be there or not. Of each tenant there is one publisher, so its order is known.
 */
const KILLS = 5;
/** No further kill after this, on a machine where each start takes long. */
const KILLING_MS = 30_000;
const SHARDS = 2;
const PATIENCE_MS = 30_000;
/** Of a lock: some outlive a restart, some do not. */
const TTL_MS = 3_000;
const KEYED = TENANTS.slice(0, 2);
const UNKEYED = TENANTS.slice(2);

const stateDir = newStateDir();
let platform: Platform | undefined;
let receiver: Receiver;
let shop: Shop;
let topic: string;

/** Number `n` of a tenant. */
const payloadOf = (tenant: string, n: number): string => `${tenant}-${n}`;

/** Events that the receiver took. */
const taken = new Set<string>();
const refusedOnce = new Set<string>();

/** Takes its time, so that deliveries are under way when a kill comes, and refuses some at first. */
async function receive({ headers }: Received, response: ServerResponse): Promise<void> {
  const id = headers["webhook-id"] ?? "";
  await sleep(Math.random() * 20);
  const refused = receiver.received.length % 40 === 0 && !refusedOnce.has(id);
  if (refused) refusedOnce.add(id);
  // Who called may be dead by now, and has to come again.
  else if (!response.destroyed) taken.add(id);
  response.writeHead(refused ? 500 : 200).end();
}

const start = (port?: number): Promise<Platform> =>
  startPlatform({
    STATE_DIR: stateDir,
    OPERATOR_CLIENT_SECRET: OPERATOR_SECRET,
    ...(port !== undefined && { PORT: String(port) }),
  });

beforeAll(async () => {
  receiver = await startReceiver(receive);
  platform = await start();
  shop = await openShop(await makeWorld(platform, ""), "crash-shop");
  topic = await shop.topic("survivors", SHARDS);
  const basicAuth = { username: "crash", password: "test" };
  const pushConfig = { endpoint: `${receiver.origin}/`, basicAuth };
  must(await shop.call("POST", `${topic}/subscriptions`, { name: "push", pushConfig }), 201);
}, 60_000);

afterAll(async () => {
  if (platform !== undefined) await stopGroup(platform, "SIGKILL");
  await receiver.close();
  rmSync(stateDir, { recursive: true, force: true });
});

// shows: events/what-the-service-does/pull
// shows: running/commands/npm-start-kill-9
test("what was acknowledged survives kill -9, whenever it comes", { timeout: 120_000 }, async () => {
  const run = { publishing: true, published: false, over: false, broken: 0 };
  /** An answer that decides; undefined when there was none, or the platform was not ready for it. */
  const ask = async (path: string, json: unknown, headers?: Record<string, string>): Promise<Answer | undefined> => {
    try {
      const answer = await shop.call("POST", `${topic}/${path}`, json, headers);
      if (answer.status !== 503) return answer;
    } catch (error) {
      // Not those that only found nobody.
      if ((error as { cause?: { code?: string } }).cause?.code !== "ECONNREFUSED") run.broken++;
    }
    await sleep(100);
    return undefined;
  };
  const insist: typeof ask = async (...request) => {
    let answer: Answer | undefined;
    while (answer === undefined && !run.over) answer = await ask(...request);
    return answer;
  };
  const published = new Published();
  const committed = new Committed();

  const publishKeyed = async (tenant: string): Promise<void> => {
    for (let n = 0; run.publishing;) {
      const batch = published.next(tenant, n);
      const key = payloadOf(tenant, n);
      const answer = await insist("publish", batch, { "idempotency-key": key });
      if (answer !== undefined) published.acknowledged(batch, must(answer, 201).ids, key);
      n += batch.length;
      await sleep(Math.random() * 40);
    }
  };
  const publishUnkeyed = async (tenant: string): Promise<void> => {
    for (let n = 0; run.publishing;) {
      const batch = published.next(tenant, n);
      const answer = await ask("publish", batch);
      if (answer === undefined) published.unknown(batch);
      else published.acknowledged(batch, must(answer, 201).ids);
      n += batch.length;
      await sleep(Math.random() * 40);
    }
  };
  const consume = async (): Promise<void> => {
    for (let n = 0; !run.over; n++) {
      const request = { numEvents: 1 + Math.floor(Math.random() * 60), ttlMs: TTL_MS };
      // Half of the reads get their batch again when the answer was lost; the others wait for the lock's end.
      const complete = run.published;
      const read = await (n % 2 === 0
        ? insist("read", request, { "idempotency-key": `read-${n}` })
        : ask("read", request));
      if (read === undefined) continue;
      if (read.status === 204 && complete && !read.headers.has("link")) return;
      if (read.status !== 200) {
        if (read.status !== 204) expect(must(read, 409).type).toBe("topic_locked");
        await sleep(50);
        continue;
      }
      const { events, token } = read.body as { events: WireEvent[]; token: string };
      committed.seen(events);
      const commit = await insist("commit", { token });
      if (commit !== undefined) committed.told(events, commit);
    }
  };

  const publishAll = async (): Promise<void> => {
    await Promise.all([...KEYED.map(publishKeyed), ...UNKEYED.map(publishUnkeyed)]);
    run.published = true;
  };
  const kill = async (): Promise<void> => {
    const untilMs = performance.now() + KILLING_MS;
    for (let kills = 0; kills < KILLS && performance.now() < untilMs && !run.over; kills++) {
      await sleep(300 + Math.random() * 1_500);
      const { port } = platform!;
      await stopGroup(platform!, "SIGKILL");
      platform = await start(port);
    }
    // What was not pushed yet now goes on by itself.
    run.publishing = false;
  };
  const work = [publishAll(), consume(), kill()];
  try {
    await Promise.all(work);
  } finally {
    run.publishing = false;
    run.over = true;
    await Promise.allSettled(work);
  }

  // The kills came in the middle of something.
  expect(run.broken).toBeGreaterThan(0);
  expect(published.ids.size).toBeGreaterThan(100);

  for (const tenant of TENANTS) {
    const read = committed.events.filter((event) => event.tenant === tenant);
    const numbers = read.map(({ payload }) => Number(payload.split("-")[1]));
    expect(numbers, `order of ${tenant}`).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size, `once each of ${tenant}`).toBe(numbers.length);
  }
  const readIds = new Map(committed.events.map(({ id, payload }) => [id, payload]));
  expect(readIds.size).toBe(committed.events.length);
  const missing = [...published.ids].filter(([id, payload]) => readIds.get(id) !== payload);
  expect(missing, "acknowledged and not read").toEqual([]);
  const surplus = [...readIds].filter(([id, payload]) => !published.ids.has(id) && !published.maybe.has(payload));
  expect(surplus, "read and never published").toEqual([]);

  for (const [key, { batch, ids }] of published.keys) {
    const again = await shop.call("POST", `${topic}/publish`, batch, { "idempotency-key": key });
    expect(must(again, 201).ids).toEqual(ids);
  }

  await expect
    .poll(() => [...published.ids.keys()].filter((id) => !taken.has(id)), { timeout: PATIENCE_MS, interval: 200 })
    .toEqual([]);
  expect(
    [...taken].filter((id) => !readIds.has(id)),
    "pushed and not in the topic",
  ).toEqual([]);
  const status = must(await shop.call("GET", `${topic}/subscriptions/push`), 200);
  expect(status).toMatchObject({ state: "active", deadLetters: 0, eventsLost: 0 });
});

interface NewEvent {
  readonly payload: string;
  readonly tenant: string;
}

/** What the publishers know. */
class Published {
  /** Acknowledged: id → payload. */
  readonly ids = new Map<string, string>();
  /** Payloads whose publishing got no answer and was not repeated. */
  readonly maybe = new Set<string>();
  readonly keys = new Map<string, { readonly batch: NewEvent[]; readonly ids: string[] }>();

  next(tenant: string, n: number): NewEvent[] {
    const size = 1 + Math.floor(Math.random() * 4);
    return Array.from({ length: size }, (_, index) => ({ payload: payloadOf(tenant, n + index), tenant }));
  }

  acknowledged(batch: NewEvent[], ids: string[], key?: string): void {
    expect(ids).toHaveLength(batch.length);
    for (const [index, { payload }] of batch.entries()) this.ids.set(ids[index]!, payload);
    if (key !== undefined) this.keys.set(key, { batch, ids });
  }

  unknown(batch: NewEvent[]): void {
    for (const { payload } of batch) this.maybe.add(payload);
  }
}

/** What the consumer knows. */
class Committed {
  readonly events: WireEvent[] = [];
  readonly #ids = new Set<string>();

  /** Nothing that was committed is read again. */
  seen(events: WireEvent[]): void {
    expect(events.filter(({ id }) => this.#ids.has(id))).toEqual([]);
  }

  told(events: WireEvent[], commit: Answer): void {
    const outcome = commit.status === 200 ? "committed" : must(commit, 409).details[0].type;
    // The lock was lost while the platform was down: the events come again.
    if (outcome === "lock_expired") return;
    expect(["committed", "already_committed"]).toContain(outcome);
    this.events.push(...events);
    for (const { id } of events) this.#ids.add(id);
  }
}
