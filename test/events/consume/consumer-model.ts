import { expect } from "vitest";
import { positionOf } from "../../../src/events/log/event-id.ts";
import { shardFor } from "../../../src/events/model/topic.ts";

/**
 * The model of a topic and its readers: a list of events, and for each reader the events that are done, the batch that
 * it holds and the end of its lock. It knows nothing of cursors, epochs, segments or memory. `answer` checks if the
 * world allows an answer to a call, and changes the world.
 */
export interface World {
  readonly shards: number;
  nowMs: number;
  exists: boolean;
  /** Shards that readers cannot reach. */
  failing: readonly number[];
  events: Stored[];
  keys: Map<string, { readonly body: string; readonly ids: readonly string[] }>;
  readers: Reader[];
}

interface Stored {
  readonly id: string;
  readonly payload: string;
  readonly shard: number;
  readonly atMs: number;
  /** True if retention removed it. */
  trimmed: boolean;
}

export interface Reader {
  /** Ids of committed events, and of events skipped because they were lost. */
  readonly done: Set<string>;
  held: Held | undefined;
  /** Deliveries of each event, and their batches. */
  readonly handed: Map<string, number>;
  batches: number;
  /** Ends of locks, the latest last. */
  readonly ends: Map<string, string>;
  /** Every token that it ever got, also from deleted topics. */
  tokens: readonly string[];
  /** Shards that it has read. It lost nothing of the others. */
  readonly begun: Set<number>;
  /** True if the topic has registered it. */
  isKnown: boolean;
}

interface Held {
  readonly token: string;
  untilMs: number;
  readonly batch: readonly Stored[];
  /** The batch, and the events lost in between. */
  readonly passed: readonly Stored[];
  readonly asked: Read;
  readonly attempt: number;
}

interface Read {
  readonly do: "read";
  readonly numEvents: number;
  readonly ttlMs: number;
  readonly autoCommit: boolean;
  readonly key: string | undefined;
}

/** A client's request; `by` is the reader. */
export type Call = { readonly by: number } & (
  | Read
  | {
      readonly do: "publish";
      readonly events: readonly { readonly tenant: string; readonly payload: string }[];
      readonly key: string | undefined;
    }
  | { readonly do: "commit"; readonly token: string }
  | { readonly do: "extend"; readonly token: string; readonly ttlMs: number }
  | { readonly do: "release"; readonly token: string; readonly through: string | undefined }
  | { readonly do: "seek"; readonly to: "oldest" | "newest" | number }
);

/**
 * Makes an event much larger than its name in the model, so that it fills a shard's part of an answer. An answer has
 * room for five, the most that the reads of a schedule request.
 */
export const enlarged = (payload: string): string =>
  payload.startsWith(LARGE) ? payload.padEnd(256 * 1024, "\u0001") : payload;
export const reduced = (payload: string): string => {
  const name = payload.split("\u0001", 1)[0]!;
  expect(payload === enlarged(name)).toBe(true);
  return name;
};
export const LARGE = "large ";

/** The response, from either driver. */
export type Answer =
  | {
      readonly is: "batch";
      readonly events: readonly { readonly id: string; readonly payload: string }[];
      readonly token: string | undefined;
      readonly attempt: number;
      readonly lost: number;
    }
  | { readonly is: "empty"; readonly more: boolean; readonly lost: number }
  | { readonly is: "stored"; readonly ids: readonly string[] }
  | { readonly is: "done" }
  /** The problem's detail or type; of a lock with the seconds until it expires. */
  | { readonly is: "refused"; readonly why: string };

/** Number of ended locks, and ended batches, that an object remembers. */
const REMEMBERED = 16;

const newReader = (tokens: readonly string[]): Reader => ({
  done: new Set(),
  held: undefined,
  handed: new Map(),
  batches: 0,
  ends: new Map(),
  tokens,
  begun: new Set(),
  isKnown: false,
});

export const newWorld = (shards: number, readers: number, nowMs: number): World => ({
  shards,
  nowMs,
  exists: true,
  failing: [],
  events: [],
  keys: new Map(),
  readers: Array.from({ length: readers }, () => newReader([])),
});

/** Removes the topic with everything that belongs to it. Clients keep their tokens. */
export function forget(world: World): void {
  Object.assign(world, { exists: false, events: [], keys: new Map() });
  world.readers = world.readers.map((reader) => newReader(reader.tokens));
}

const isLocked = (world: World, reader: Reader): boolean => world.nowMs < (reader.held?.untilMs ?? 0);

/** Checks an answer, and brings the world to its state after the call. */
function answer(world: World, call: Call, seen: Answer): void {
  if (!world.exists) return refused(seen, "no_topic");
  const reader = world.readers[call.by]!;
  switch (call.do) {
    case "publish":
      return publish(world, call, seen);
    case "read":
      return read(world, reader, call, seen);
    case "commit":
    case "extend":
    case "release":
      return change(world, reader, call, seen);
    case "seek":
      return seek(world, reader, call.to, seen);
  }
}

/**
 * Checks the answers to parallel calls: some order of the calls must allow each of them. Answers may leave the order
 * open, so this works on all worlds that are possible before and after.
 */
export function answerAll(worlds: readonly World[], calls: readonly Call[], seen: readonly Answer[]): World[] {
  const after = new Map<string, World>();
  const complaints: unknown[] = [];
  const goOn = (world: World, left: readonly number[]): void => {
    if (left.length === 0) return void after.set(JSON.stringify(world, plain), world);
    for (const at of left) {
      const then = calls.length === 1 ? world : structuredClone(world);
      try {
        answer(then, calls[at]!, seen[at]!);
      } catch (thrown) {
        complaints.push(thrown);
        continue;
      }
      goOn(
        then,
        left.filter((other) => other !== at),
      );
    }
  };
  for (const world of worlds) goOn(world, [...calls.keys()]);
  if (after.size === 0) throw complaints[0];
  return [...after.values()];
}

const plain = (_: string, value: unknown): unknown =>
  value instanceof Map || value instanceof Set ? [...value] : value;

function publish(world: World, call: Call & { do: "publish" }, seen: Answer): void {
  const { key, events } = call;
  const body = JSON.stringify(events);
  const known = key === undefined ? undefined : world.keys.get(key);
  if (known !== undefined && known.body !== body) return refused(seen, "key_used");
  if (known !== undefined) return expect(seen).toEqual({ is: "stored", ids: known.ids });
  const ids = seen.is === "stored" ? seen.ids : expect.fail(`not stored: ${JSON.stringify(seen)}`);
  expect(ids.length).toBe(events.length);
  for (const [at, { tenant, payload }] of events.entries()) {
    expect(world.events.some((event) => event.id === ids[at])).toBe(false);
    const shard = shardFor(tenant, world.shards);
    const before = world.events.findLast((event) => event.shard === shard);
    if (before !== undefined) expect(positionOf(ids[at]!)!.seq).toBe(positionOf(before.id)!.seq + 1);
    world.events.push({ id: ids[at]!, payload, shard, atMs: world.nowMs, trimmed: false });
  }
  if (key !== undefined) world.keys.set(key, { body, ids });
}

function read(world: World, reader: Reader, call: Call & Read, seen: Answer): void {
  const { held } = reader;
  if (held !== undefined && isLocked(world, reader)) {
    if (call.key === undefined || call.key !== held.asked.key)
      return refused(seen, `topic_locked ${Math.ceil((held.untilMs - world.nowMs) / 1000)}`);
    const { numEvents, ttlMs } = held.asked;
    if (call.autoCommit || call.numEvents !== numEvents || call.ttlMs !== ttlMs) return refused(seen, "key_used");
    if (held.batch.some((event) => world.failing.includes(event.shard))) return refused(seen, "unavailable");
    const left = held.batch.filter((event) => !event.trimmed);
    const { token, attempt } = held;
    const lost = held.passed.length - left.length;
    return expect(seen).toEqual({ is: "batch", events: left.map(wire), token, attempt, lost });
  }
  const undone = world.events.filter((event) => !reader.done.has(event.id));
  const within = undone.filter((event) => !event.trimmed && !world.failing.includes(event.shard));
  // An unregistered reader gets nothing while shard 0 cannot be reached. A failed seek may have registered it.
  const mayBeUnknown = !reader.isKnown && world.failing.includes(0);
  if (seen.is === "empty") {
    if (!mayBeUnknown) expect(within).toEqual([]);
    expect(seen.more).toBe(world.failing.length > 0);
    if (world.failing.length > 0) return;
    // Nothing is left, so everything undone was lost.
    expect(seen.lost).toBe(undone.length);
    reader.isKnown = true;
    for (let shard = 0; shard < world.shards; shard++) reader.begun.add(shard);
    return;
  }
  if (seen.is === "refused" && seen.why === "unavailable" && world.failing.length > 0)
    return mayBeUnknown ? undefined : expect(within).toEqual([]);
  if (seen.is !== "batch") return expect.fail(`no batch: ${JSON.stringify(seen)}`);
  const { events: batch, token, attempt, lost } = seen;
  expect(batch.length).toBeLessThanOrEqual(call.numEvents);
  expect(batch.length).toBeGreaterThanOrEqual(Math.max(1, Math.min(call.numEvents, within.length)));
  const events = batch.map(({ id }) => undone.find((event) => event.id === id) ?? expect.fail(`not undone: ${id}`));
  expect(batch).toEqual(events.map(wire));
  const passed = passedBy(undone, events);
  expect(lost).toBe(passed.length - batch.length);
  const known = Math.max(0, ...events.slice(0, 1).map(({ id }) => reader.handed.get(id) ?? 0));
  // With many batches the count is less exact.
  if (reader.batches < REMEMBERED) expect(attempt).toBe(known + 1);
  else expect(attempt).toBeGreaterThan(known);

  end(reader, "lock_expired");
  reader.isKnown = true;
  reader.batches += 1;
  for (const { id, shard } of events) {
    reader.handed.set(id, (reader.handed.get(id) ?? 0) + 1);
    reader.begun.add(shard);
  }
  if (call.autoCommit) {
    expect(token).toBeUndefined();
    for (const { id } of passed) reader.done.add(id);
    return;
  }
  expect(reader.tokens).not.toContain(token);
  reader.tokens = [...reader.tokens, token!];
  reader.held = { token: token!, untilMs: world.nowMs + call.ttlMs, batch: events, passed, asked: call, attempt };
}

/** The undone events before the last ones of a batch. Checks their order, and that missing ones were lost. */
function passedBy(undone: readonly Stored[], batch: readonly Stored[]): Stored[] {
  return [...new Set(batch.map((event) => event.shard))].flatMap((shard) => {
    const got = batch.filter((event) => event.shard === shard);
    const lane = undone.filter((event) => event.shard === shard);
    const range = lane.slice(0, lane.indexOf(got.at(-1)!) + 1);
    expect(got).toEqual(range.filter((event) => got.includes(event)));
    for (const event of range) if (!got.includes(event)) expect(event.trimmed).toBe(true);
    return range;
  });
}

function change(
  world: World,
  reader: Reader,
  call: Call & { do: "commit" | "extend" | "release" },
  seen: Answer,
): void {
  const { held } = reader;
  if (held?.token !== call.token || !isLocked(world, reader)) {
    const isPart = call.do === "release" && call.through !== undefined;
    const ended = reader.ends.get(call.token) ?? "unknown_token";
    const why =
      held?.token === call.token
        ? "lock_expired"
        : ended !== "released"
          ? ended
          : isPart
            ? "already_committed"
            : "lock_expired";
    const age = [...reader.ends.keys()].toReversed().indexOf(call.token);
    if (age >= REMEMBERED && seen.is === "refused" && seen.why === "unknown_token") return;
    return refused(seen, why);
  }
  let released = "lock_expired";
  if (call.do === "release" && call.through !== undefined) {
    const at = held.batch.findIndex((event) => event.id === call.through);
    if (at < 0) return refused(seen, "not_in_batch");
    for (const { id } of passedBy(held.passed, held.batch.slice(0, at + 1))) reader.done.add(id);
    released = at === held.batch.length - 1 ? "already_committed" : "released";
  }
  expect(seen).toEqual({ is: "done" });
  if (call.do === "extend") held.untilMs = world.nowMs + call.ttlMs;
  else if (call.do === "release") end(reader, released);
  else {
    for (const { id } of held.passed) reader.done.add(id);
    end(reader, "already_committed");
  }
}

function seek(world: World, reader: Reader, to: "oldest" | "newest" | number, seen: Answer): void {
  if (world.failing.length > 0) return refused(seen, "unavailable");
  if (isLocked(world, reader))
    return refused(seen, `topic_locked ${Math.ceil((reader.held!.untilMs - world.nowMs) / 1000)}`);
  expect(seen).toEqual({ is: "done" });
  end(reader, "lock_expired");
  reader.done.clear();
  reader.handed.clear();
  reader.batches = 0;
  reader.isKnown = true;
  for (let shard = 0; shard < world.shards; shard++) reader.begun.add(shard);
  for (const event of world.events)
    if (event.trimmed || to === "newest" || (typeof to === "number" && event.atMs < to)) reader.done.add(event.id);
}

function end(reader: Reader, how: string): void {
  if (reader.held !== undefined) reader.ends.set(reader.held.token, how);
  reader.held = undefined;
}

const wire = ({ id, payload }: Stored) => ({ id, payload });
const refused = (seen: Answer, why: string): void => expect(seen).toEqual({ is: "refused", why });
