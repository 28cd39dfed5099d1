import { runInDurableObject } from "cloudflare:test";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { positionOf } from "../../../src/events/log/event-id.ts";
import { DELIVERY } from "../../../src/events/model/limits.ts";
import type { PushSubscriptionObject } from "../../../src/events/push/push-subscription.do.ts";
import { modelRuns } from "../../support/model-runs.ts";
import { stopTheClock } from "../support/push/push-clock.ts";
import { limits } from "../support/push/push-limits.ts";
import { makePush, type TestPush } from "../support/push/test-push.ts";
import { until } from "../support/until.ts";
import { pushStore } from "../support/push/push-store.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

/**
 * Random schedules of publishing, waking, answers, time, crashes, redeliveries, changes and deletion, against a model
 * that says which events may be sent at each moment. The endpoint is played inside the runtime, so that it sees each
 * attempt begin and end.
 */
beforeEach(() => {
  stopTheClock();
  // Without jitter it is known which attempts a change brings forward.
  // Checkpoints and rows of packs are small, so that crashes fall between them.
  limits({ attemptMs: 3, jitter: 0, unsaved: 2, packed: 3 });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Behaviour = { readonly status: number; readonly retryAfterSec?: number } | "hangs" | "refuses";

/** Known state of one event. */
interface Known {
  state: "pending" | "delivered" | "dead";
  step: number;
  tries: number;
  /** Attempts whose outcome was written. */
  count: number;
  /** When it is due by its schedule; a change lets it be sent before that. */
  scheduledMs: number;
  notBeforeMs: number;
  /** The attempt, by its number, whose 410 closed the subscription. */
  closedBy?: number;
}

const NEW = { state: "pending", step: 0, tries: 0, scheduledMs: 0, notBeforeMs: 0 } as const;

class World {
  readonly events = new Map<string, Known>();
  readonly violations: string[] = [];
  behaviours: readonly Behaviour[] = [{ status: 200 }];
  endpoint = "";
  /** Grows with every change by the client. */
  version = 0;
  /** True if nothing may be sent: disabled, or deleted. */
  closed = false;
  /** True during a publish: an event may be sent before its publisher knows its id. */
  publishing = false;
  holding = false;
  /** Number of calls that are answered while the others are held. */
  free = 0;
  inFlight = 0;
  begun = 0;
  delivered = 0;
  /** Attempts in a row without any answer; NaN: not known since a crash. */
  silent = 0;
  /** Increases when the object crashes, so that earlier work is ignored. */
  life = 0;

  async call(to: string, init: RequestInit): Promise<Response> {
    const { life, version } = this;
    const begunMs = Date.now();
    const headers = init.headers as Record<string, string>;
    const id = headers["webhook-id"]!;
    const number = this.begun++;
    const behaviour = this.behaviours[number % this.behaviours.length]!;
    this.inFlight += 1;
    if (this.inFlight > 6) this.violations.push(`${this.inFlight} at once`);
    const event = id.startsWith("test-") ? undefined : this.#known(id);
    if (event !== undefined) this.#mayBegin(id, event, to, headers);
    try {
      await scheduler.wait(0);
      while (this.holding && number >= this.free && life === this.life) await scheduler.wait(1);
      return await this.#answer(behaviour, init.signal!);
    } finally {
      if (life === this.life) {
        this.inFlight -= 1;
        // A test without a response tells nothing about the endpoint.
        if (event === undefined && typeof behaviour !== "string") this.silent = 0;
        if (event !== undefined) this.#learn(event, behaviour, version, begunMs);
      }
    }
  }

  crash(): void {
    this.life += 1;
    this.inFlight = 0;
    this.silent = NaN;
  }

  /** The client changed the subscription: what failed may be sent at once. */
  changed(): void {
    this.version += 1;
    this.closed = false;
    this.silent = 0;
    for (const event of this.events.values()) event.notBeforeMs = 0;
  }

  published(id: string): Known {
    const event = this.events.get(id) ?? { ...NEW, count: 0 };
    this.events.set(id, event);
    return event;
  }

  #known(id: string): Known {
    if (!this.publishing && !this.events.has(id)) this.violations.push(`nobody published ${id}`);
    return this.published(id);
  }

  #mayBegin(id: string, event: Known, to: string, headers: Record<string, string>): void {
    const wrong = (what: string) => this.violations.push(`${id}: ${what}`);
    if (this.closed) wrong("sent though the subscription is disabled or gone");
    if (to !== this.endpoint) wrong(`sent to ${to}`);
    if (event.state !== "pending") wrong(`sent though ${event.state}`);
    if (Date.now() < event.notBeforeMs) wrong(`sent ${event.notBeforeMs - Date.now()} ms too early`);
    // A silent endpoint is probed with the least tried event.
    if (this.silent >= 6)
      for (const other of this.events.values())
        if (other.state === "pending" && other.scheduledMs <= Date.now() && other.tries < event.tries)
          wrong(`probes though tried ${event.tries} times, and another one ${other.tries} times`);
    if (headers["plat-delivery-attempt"] !== String(event.count + 1)) wrong("wrong number of the attempt");
  }

  async #answer(behaviour: Behaviour, signal: AbortSignal): Promise<Response> {
    if (behaviour === "refuses") throw new TypeError("connection refused");
    if (behaviour === "hangs") {
      while (!signal.aborted) await scheduler.wait(1);
      throw new DOMException("aborted", "AbortError");
    }
    const { status, retryAfterSec } = behaviour;
    return new Response(null, {
      status,
      headers: retryAfterSec === undefined ? [] : [["retry-after", `${retryAfterSec}`]],
    });
  }

  #learn(event: Known, behaviour: Behaviour, version: number, begunMs: number): void {
    event.count += 1;
    event.tries += 1;
    if (version === this.version) this.silent = typeof behaviour === "string" ? this.silent + 1 : 0;
    const status = typeof behaviour === "string" ? 0 : behaviour.status;
    if (status >= 200 && status < 300) {
      event.state = "delivered";
      this.delivered += 1;
      return;
    }
    const later = status === 429 && typeof behaviour !== "string" ? behaviour.retryAfterSec : undefined;
    // A response to one version tells nothing about another.
    if (status === 410 && version === this.version) {
      this.closed = true;
      event.closedBy = event.count;
    }
    const spared = status === 410 || (later !== undefined && event.tries - 1 - event.step < 10);
    const isNamed = spared && later !== undefined;
    const isEarly = begunMs < event.scheduledMs;
    if (!spared && !isEarly && event.step >= 8) {
      event.state = "dead";
      return;
    }
    const waitMs = isNamed ? 0 : DELIVERY.retryMs[spared ? 0 : event.step]!;
    const fromMs = isEarly && !isNamed ? event.scheduledMs : Date.now() + waitMs;
    event.scheduledMs = Math.max(fromMs, Date.now() + (later ?? 0) * 1000);
    event.notBeforeMs = event.scheduledMs;
    // It counts as a failure before the change.
    if (version !== this.version) event.notBeforeMs = 0;
    if (!spared && !isEarly) event.step += 1;
  }
}

type Disturbance =
  | { readonly do: "publish"; readonly shard: number; readonly count: number; readonly woken: boolean }
  | { readonly do: "redeliver"; readonly which: number }
  | { readonly do: "change"; readonly elsewhere: boolean }
  | { readonly do: "disable" }
  | { readonly do: "crash" }
  | { readonly do: "test" }
  | { readonly do: "wake" };

type Step =
  | Disturbance
  | { readonly do: "answer"; readonly with: readonly Behaviour[] }
  | { readonly do: "drive"; readonly ms: number }
  | { readonly do: "evict" }
  | { readonly do: "crash after"; readonly answers: number }
  | { readonly do: "during a run"; readonly what: Disturbance };

const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Behaviour>({ status: 200 }) },
  { weight: 3, arbitrary: fc.constantFrom<Behaviour>({ status: 500 }, { status: 302 }, { status: 503 }) },
  { weight: 2, arbitrary: fc.constantFrom(1, 60, 5000).map((retryAfterSec) => ({ status: 429, retryAfterSec })) },
  { weight: 2, arbitrary: fc.constantFrom<Behaviour>("hangs", "refuses") },
  { weight: 1, arbitrary: fc.constant<Behaviour>({ status: 410 }) },
);
const disturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("publish" as const),
      shard: fc.nat(2),
      count: fc.integer({ min: 1, max: 9 }),
      woken: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("redeliver" as const), which: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("change" as const), elsewhere: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ do: "disable" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "crash" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "test" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "wake" as const }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: disturbance },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      with: fc.array(behaviour, { minLength: 1, maxLength: 5 }),
    }),
  },
  // Long enough to be silent.
  { weight: 2, arbitrary: fc.constant({ do: "answer" as const, with: ["refuses" as const] }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("drive" as const),
      ms: fc.oneof(fc.nat(10_000), fc.nat(3_600_000), fc.nat(DAY_MS)),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "evict" as const }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("crash after" as const), answers: fc.nat(12) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("during a run" as const), what: disturbance }) },
);

interface StoredRow extends Record<string, SqlStorageValue> {
  event_id: string;
  state: Known["state"];
  at: number;
  step: number;
  tries: number;
  attempt_count: number;
}

interface Snapshot {
  readonly events: ReadonlyMap<string, Known>;
  readonly closed: boolean;
}

/** State after a crash: an outcome on its way to the disk may be missing, and nothing else may differ. */
async function resync(push: TestPush, world: World, before: Snapshot): Promise<void> {
  world.closed = before.closed;
  const { rows, cursor } = await runInDurableObject(push.stub, (_: PushSubscriptionObject, { storage: { sql } }) => ({
    rows: sql.exec<StoredRow>(`SELECT event_id, state, at, step, tries, attempt_count FROM delivery`).toArray(),
    cursor: JSON.parse(sql.exec<{ cursor: string }>(`SELECT cursor FROM subscription`).one().cursor) as number[],
  }));
  const stored = new Map(rows.map((row) => [row.event_id, row]));
  for (const [id, event] of world.events) {
    const row = stored.get(id);
    const least = before.events.get(id)?.count ?? 0;
    if (row === undefined) {
      const { shard, seq } = positionOf(id)!;
      if (seq > cursor[shard]!) {
        // The log delivers it again. The outcomes of earlier runs are saved.
        if (least > 0) world.violations.push(`${id}: its outcome was not saved`);
        Object.assign(event, NEW, { count: 0 });
      } else if (event.state !== "delivered") world.violations.push(`${id}: forgotten`);
      continue;
    }
    if (row.attempt_count < least || row.attempt_count > event.count)
      world.violations.push(`${id}: ${row.attempt_count} attempts written, ${least} to ${event.count} made`);
    // A stored 410 holds, even if D1 was not told of it.
    if (event.closedBy !== undefined && event.closedBy > least && event.closedBy <= row.attempt_count)
      world.closed = true;
    if (row.attempt_count === event.count) continue;
    const notBeforeMs = row.state === "pending" ? row.at : 0;
    Object.assign(event, { ...row, count: row.attempt_count, scheduledMs: notBeforeMs, notBeforeMs });
  }
}

async function story(shards: number, steps: readonly Step[], deleted: boolean): Promise<void> {
  const push = await makePush({ shards });
  const fetching = vi.spyOn(globalThis, "fetch");
  try {
    await tell(push, shards, steps, deleted, (endpoint) => {
      fetching.mockImplementation((to, init) => endpoint(to instanceof URL ? to.href : JSON.stringify(to), init!));
    });
  } finally {
    fetching.mockRestore();
  }
}

async function tell(
  push: TestPush,
  shards: number,
  steps: readonly Step[],
  deleted: boolean,
  play: (endpoint: (to: string, init: RequestInit) => Promise<Response>) => void,
): Promise<void> {
  const world = new World();
  world.endpoint = push.endpoint;
  const endpoints = [push.endpoint, push.endpoint.replace("/hook", "/elsewhere")];
  play((to, init) => world.call(to, init));

  const crash = async (running: Promise<unknown>, before: Snapshot) => {
    world.crash();
    await runInDurableObject(push.stub, (_: PushSubscriptionObject, state) => state.abort()).catch(() => undefined);
    await running.catch(() => undefined);
    await resync(push, world, before);
  };
  const snapshot = (): Snapshot => ({
    events: new Map([...world.events].map(([id, event]) => [id, { ...event }])),
    closed: world.closed,
  });

  const disturb = async (what: Disturbance): Promise<void> => {
    switch (what.do) {
      case "publish": {
        const payloads = Array.from({ length: what.count }, (_, at) => `${at}`);
        world.publishing = true;
        for (const id of await push.publish(payloads, what.shard % shards)) world.published(id);
        world.publishing = false;
        if (what.woken) await push.stub.wake();
        break;
      }
      case "redeliver": {
        const [id, event] = [...world.events][what.which % Math.max(1, world.events.size)] ?? [];
        if (id === undefined || event === undefined) break;
        // Noted before the call, since the object may send it before it answers.
        const before = { ...event };
        Object.assign(event, NEW);
        const outcome = await push.stub.redeliver(id);
        if (outcome !== "again") Object.assign(event, before);
        break;
      }
      case "change":
        world.endpoint = endpoints[what.elsewhere ? 1 : 0]!;
        world.changed();
        await push.change({ endpoint: world.endpoint });
        await push.stub.changed();
        break;
      case "disable":
        await push.disable();
        await push.stub.changed();
        world.closed = true;
        break;
      case "test":
        await push.stub.sendTest("tenant1");
        break;
      case "wake":
        await push.stub.wake();
        break;
      case "crash":
        await crash(Promise.resolve(), snapshot());
    }
  };

  for (const next of steps) {
    switch (next.do) {
      case "answer":
        world.behaviours = next.with;
        break;
      case "drive":
        await push.drive(next.ms);
        break;
      case "evict":
        await push.evict();
        break;
      case "crash after": {
        const before = snapshot();
        world.free = world.begun + next.answers;
        world.holding = true;
        let over = false;
        const running = push.run().then(
          () => (over = true),
          () => (over = true),
        );
        await until(() => over || world.begun > world.free);
        // The held calls are not answered before the object is gone.
        await runInDurableObject(push.stub, (_: PushSubscriptionObject, state) => state.abort()).catch(() => undefined);
        world.holding = false;
        world.free = 0;
        await crash(running, before);
        break;
      }
      case "during a run": {
        const before = snapshot();
        const begunBefore = world.begun;
        world.holding = true;
        const running = push.run();
        let over = false;
        const done = running.then(
          () => (over = true),
          () => (over = true),
        );
        await until(() => over || world.begun > begunBefore);
        if (next.what.do === "crash") {
          world.holding = false;
          await scheduler.wait(1);
          await crash(done, before);
        } else if (next.what.do === "change" || next.what.do === "disable") {
          // Let started work end first, or the model could not decide.
          await disturb(next.what);
          world.holding = false;
        } else if (next.what.do === "test") {
          const test = push.stub.sendTest("tenant1");
          await scheduler.wait(2);
          world.holding = false;
          await test;
        } else {
          await disturb(next.what);
          world.holding = false;
        }
        await done;
        break;
      }
      default:
        await disturb(next);
    }
    expect(world.violations).toEqual([]);
  }

  if (deleted) {
    world.closed = true;
    await pushStore.remove(push.id);
    await push.stub.destroy();
    world.behaviours = [{ status: 200 }];
    await push.publish(["afterwards"], 0);
    expect(await push.stub.wake()).toBe("gone");
    await push.drive(DAY_MS);
    expect(await push.alarmInMs()).toBeUndefined();
  } else {
    // At the end the endpoint works again, and every event that is not dead is delivered, whenever it was due.
    world.behaviours = [{ status: 200 }];
    world.endpoint = push.endpoint;
    world.changed();
    await push.change({ endpoint: push.endpoint });
    await push.stub.changed();
    await push.drive(600_000);
    for (const [id, { state }] of world.events)
      if (state === "pending") world.violations.push(`${id}: never delivered`);
    const rows = new Map((await push.deliveries()).map((delivery) => [delivery.eventId, delivery]));
    for (const [id, event] of world.events) {
      const row = rows.get(id);
      // The log of deliveries forgets after a week.
      if (row === undefined ? event.state === "pending" : row.state !== event.state || row.attemptCount !== event.count)
        world.violations.push(`${id}: ${JSON.stringify(row)}, not ${JSON.stringify(event)}`);
    }
    expect(await push.status()).toMatchObject({ lag: 0, eventsLost: 0 });
  }
  expect(world.violations).toEqual([]);
  expect(world.inFlight).toBe(0);
}

describe("random schedules", () => {
  it.each([1, 3])(
    "on %i shard(s): at least once, never too early, never too many, never after the end",
    async (shards) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), fc.boolean(), (steps, deleted) =>
          story(shards, steps, deleted),
        ),
        // Enough to notice at each change; many more were run when this was written.
        modelRuns("PUSH_SCHEDULES", 4),
      );
    },
    600_000,
  );
});
