import { consumeEach, processAll, type ConsumeOptions, type ProcessOptions } from "./consume.ts";
import { ConflictError, ForbiddenError, NotFoundError, PlinthError } from "./errors.ts";
import type { Batch, ConsumedEvent, NewEvent, StoredEvent } from "./event.ts";
import { segment, type Transport } from "./transport.ts";

export interface TopicStatus {
  readonly topicOwnerClient: string;
  readonly eventType: string;
  readonly description: string;
  readonly createdAt: number;
  readonly shards: number;
  readonly state: "active" | "deleting";
  /** Null, like `lag`, for a caller who sees only the events of its own tenant. */
  readonly storedEvents: number | null;
  readonly oldestEventAt: number | null;
  readonly newestEventAt: number | null;
  /** Stored events that the caller has not committed. */
  readonly lag: number | null;
}

export interface TopicOptions {
  /**
   * The name of a consumer with a cursor and lock of its own; at most 100 on a topic. Two programs of a client share
   * the events under one name; under two names, each gets all of them.
   */
  readonly consumer?: string;
}

export interface ReadOptions {
  /** The most events, 100 by default. */
  readonly numEvents?: number;
  /** Duration of the lock, 60 s by default. */
  readonly ttlMs?: number;
  /** How long to wait for a first event, 0 by default. */
  readonly waitSec?: number;
  readonly signal?: AbortSignal;
}

export type Topic = ReturnType<typeof createTopic>;

/** The most that one publish takes. */
const MAX_EVENTS = 1_000;
const MAX_CHARS = 1_500_000;
/** The longest time for which an aborted read tries to free its topic. */
const FREE_MS = 2_000;

/**
 * One topic: `plinth.topic("acme.shop", "orderPlaced")`.
 *
 * A publish has an idempotency key, so it is repeated after a lost answer and stores its events once. There are three
 * ways to read: `consume` for a loop, `process` for a handler with concurrency, `read` and `commit` by hand.
 */
export function createTopic(
  transport: Transport,
  ownName: () => Promise<string | undefined>,
  owner: string,
  eventType: string,
  { consumer }: TopicOptions = {},
) {
  const asConsumer: Readonly<Record<string, string>> = consumer === undefined ? {} : { consumer };
  const path = `/pubsub/v1/topics/${segment("owner of a topic", owner)}/${segment("type of events", eventType)}`;

  async function publishPart(events: readonly WireEvent[], key: string, signal?: AbortSignal): Promise<string[]> {
    const { ids } = await transport.json<{ ids: string[] }>("POST", `${path}/publish`, {
      json: events,
      headers: { "idempotency-key": key },
      repeatable: true,
      signal,
    });
    return ids;
  }

  async function readUnder(key: string, options: ReadOptions): Promise<Batch | undefined> {
    const { numEvents = 100, ttlMs = 60_000, waitSec = 0, signal } = options;
    const response = await transport.send("POST", `${path}/read`, {
      json: { numEvents, ttlMs },
      headers: {
        ...asConsumer,
        "idempotency-key": key,
        ...(waitSec > 0 && { prefer: `wait=${Math.ceil(waitSec)}` }),
      },
      repeatable: true,
      extraMs: waitSec * 1_000,
      signal,
    });
    if (response.status === 204) return undefined;
    const { events, token } = response.body as { events: StoredEvent[]; token: string };
    const count = (suffix: string): number | undefined => numberOf(response.headers, suffix);
    return { events, token, attempt: count("-delivery-attempt") ?? 1, lost: count("-events-lost") ?? 0 };
  }

  /** Releases the batch that an aborted read may have locked. A read with the same key returns it once more. */
  async function freeRead(key: string, options: ReadOptions): Promise<void> {
    try {
      const again = { ...options, waitSec: 0, signal: AbortSignal.timeout(FREE_MS) };
      const batch = await readUnder(key, again);
      if (batch !== undefined) await topic.release(batch.token);
    } catch {
      // Ignored: nothing is locked, or the lock expires by itself.
    }
  }

  const topic = {
    owner,
    eventType,

    /**
     * Creates the topic. An existing one stays as it is. Returns true if this call created it. Throws while an earlier
     * topic of this name is being deleted, and if another client owns it: the platform would make one of the caller's.
     */
    async create(options: { readonly description?: string; readonly shards?: number } = {}): Promise<boolean> {
      const caller = await ownName();
      if (caller !== undefined && caller !== owner) {
        const message = `Only ${owner} creates its topics. This client makes those of ${caller}: name that as the owner.`;
        throw new ForbiddenError({ status: 403, type: "insufficient_permissions", message });
      }
      try {
        await transport.send("POST", "/pubsub/v1/topics", { json: { ...options, eventType } });
        return true;
      } catch (thrown) {
        if (thrown instanceof ConflictError && thrown.has("topic_exists")) return false;
        throw thrown;
      }
    },

    status: (): Promise<TopicStatus> => transport.json("GET", path, { headers: asConsumer }),

    /** Deletes the topic with its events. Does nothing if there is no such topic. */
    async delete(): Promise<void> {
      await transport.send("DELETE", path).catch((thrown: unknown) => {
        if (!(thrown instanceof NotFoundError)) throw thrown;
      });
    },

    /**
     * Publishes one event or many, in order; returns their ids. With `idempotencyKey`, the same events are stored once
     * even after a crash.
     *
     * More than 1,000 events, or 1.5 million characters, are sent in parts, each under a key of its own. A part that
     * fails ends the call; the parts before it are stored. To send the rest without storing those again, give an
     * `idempotencyKey` and repeat the call with the same key and events.
     */
    async publish(
      events: NewEvent | readonly NewEvent[],
      options: { readonly idempotencyKey?: string; readonly signal?: AbortSignal } = {},
    ): Promise<string[]> {
      const key = options.idempotencyKey ?? crypto.randomUUID();
      const parts = partsOf((isList(events) ? events : [events]).map(toWire), (event) => event);
      const ids: string[] = [];
      for (const [at, part] of parts.entries())
        ids.push(...(await publishPart(part, parts.length === 1 ? key : `${key}.${at}`, options.signal)));
      return ids;
    },

    /**
     * Collects single events and publishes them together: after `maxDelayMs` (20), or when `maxEvents` (100) wait.
     * `publish` resolves with the event's id when it is stored. Call `close` before the program ends.
     *
     * It rejects if this event is refused; then it is not stored, and the others of its request are. Without an answer
     * after all attempts, it rejects for each event of that request, and these may be stored.
     */
    publisher(options: { readonly maxEvents?: number; readonly maxDelayMs?: number } = {}): Publisher {
      return createPublisher((events) => publishPart(events, crypto.randomUUID()), options);
    },

    /**
     * Locks and returns the next events; undefined if there are none. `waitSec` waits for the first one, at most 30 s.
     * Commit the batch when its events are handled. A read that `signal` aborts leaves nothing locked.
     */
    async read(options: ReadOptions = {}): Promise<Batch | undefined> {
      options.signal?.throwIfAborted();
      const key = crypto.randomUUID();
      try {
        return await readUnder(key, options);
      } catch (thrown) {
        if (options.signal?.aborted === true) await freeRead(key, options);
        throw thrown;
      }
    },

    /** Ends a batch: its events are not read again. A repeat does no harm. */
    async commit(token: string, signal?: AbortSignal): Promise<void> {
      await transport
        .send("POST", `${path}/commit`, { headers: asConsumer, json: { token }, repeatable: true, signal })
        .catch(ignore("already_committed"));
    },

    /** Keeps a batch locked for `ttlMs` from now on. */
    async extend(token: string, ttlMs: number, signal?: AbortSignal): Promise<void> {
      await transport.send("POST", `${path}/extend`, {
        headers: asConsumer,
        json: { token, ttlMs },
        repeatable: true,
        signal,
      });
    },

    /**
     * Gives a batch back. `commitThrough`: the id of the last event that was handled; the events up to it are
     * committed. Without it, a batch whose lock has ended is back already.
     */
    async release(token: string, commitThrough?: string): Promise<void> {
      const json = { token, ...(commitThrough !== undefined && { commitThrough }) };
      await transport
        .send("POST", `${path}/release`, { headers: asConsumer, json, repeatable: true })
        .catch(ignore("already_committed", ...(commitThrough === undefined ? ["lock_expired"] : [])));
    },

    /** Moves this consumer's cursor: to the oldest event, after the newest one, or to a time in ms. */
    async seek(to: "oldest" | "newest" | number): Promise<void> {
      await transport.send("POST", `${path}/seek`, { headers: asConsumer, json: { to }, repeatable: true });
    },

    /** Names of this client's named consumers. */
    async consumers(): Promise<string[]> {
      const found = await transport.json<{ name: string }[]>("GET", `${path}/consumers`);
      return found.map(({ name }) => name);
    },

    /** Removes a named consumer with its cursor and lock. */
    async removeConsumer(name: string): Promise<void> {
      await transport.send("DELETE", `${path}/consumers/${segment("name of a consumer", name)}`);
    },

    /** Stored events in order, without a lock and without moving a cursor. `after`: an event's id. */
    async *peek(options: { readonly after?: string; readonly signal?: AbortSignal } = {}): AsyncGenerator<StoredEvent> {
      let { after } = options;
      for (;;) {
        const page = await transport.json<{ events: StoredEvent[]; next: string | null }>("GET", `${path}/events`, {
          query: { after, limit: 100 },
          signal: options.signal,
        });
        yield* page.events;
        if (page.next === null) return;
        after = page.next;
      }
    },

    /**
     * Returns events as they come, until `signal` aborts:
     *
     *   for await (const event of topic.consume()) await handle(event.json());
     *
     * Asking for the next event acknowledges the one before. Leaving the loop by `break`, `return` or an error does
     * not: that event comes again, unless `event.ack()` was called. The lock is renewed while the loop works. While the
     * platform does not answer, the loop waits and goes on when it does (`onUnavailable`); but it ends with the error if
     * its first read fails.
     */
    consume: (options: ConsumeOptions = {}): AsyncGenerator<ConsumedEvent, void, undefined> =>
      consumeEach(topic, options),

    /**
     * Calls `handle` with each event, `concurrency` of them at the same time, until `signal` aborts; then waits for
     * running handlers. An event whose handler throws comes again, with later events that are not handled yet.
     */
    process: (handle: (event: ConsumedEvent) => unknown, options: ProcessOptions = {}): Promise<void> =>
      processAll(topic, handle, options),
  };
  return topic;
}

export interface Publisher {
  publish(event: NewEvent): Promise<string>;
  /** Sends the events that wait. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface Waiting {
  readonly event: WireEvent;
  readonly resolve: (id: string) => void;
  readonly reject: (reason: unknown) => void;
}

function createPublisher(
  publishPart: (events: readonly WireEvent[]) => Promise<string[]>,
  { maxEvents = 100, maxDelayMs = 20 }: { readonly maxEvents?: number; readonly maxDelayMs?: number },
): Publisher {
  let waiting: Waiting[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  /** Batches go one after the other, so that events keep their order. */
  let sending = Promise.resolve();

  function send(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) sending = sendAfter(sending, batch);
    return sending;
  }

  async function sendAfter(previous: Promise<void>, batch: readonly Waiting[]): Promise<void> {
    await previous;
    for (const part of partsOf(batch, ({ event }) => event)) await settle(part);
  }

  /** Publishes a part. If the platform names the events that it refuses, publishes the others once more. */
  async function settle(part: readonly Waiting[]): Promise<void> {
    try {
      const ids = await publishPart(part.map(({ event }) => event));
      for (const [at, { resolve }] of part.entries()) resolve(ids[at]!);
    } catch (thrown) {
      const refused = refusedIn(part, thrown);
      for (const { reject } of refused) reject(thrown);
      const others = part.filter((one) => !refused.has(one));
      if (others.length > 0) await settle(others);
    }
  }

  return {
    publish(event) {
      if (closed) return Promise.reject(new Error("This publisher is closed."));
      return new Promise((resolve, reject) => {
        // Rejects this promise alone if the event cannot be sent.
        waiting.push({ event: toWire(event), resolve, reject });
        if (waiting.length >= maxEvents) void send();
        else timer ??= setTimeout(() => void send(), maxDelayMs);
      });
    },
    flush: send,
    close() {
      closed = true;
      return send();
    },
  };
}

/**
 * The events that an error is about. A refused request stores none of its events, and names the bad ones, such as
 * `[2].tenant`. Any other error is about all of them.
 */
function refusedIn(part: readonly Waiting[], thrown: unknown): ReadonlySet<Waiting> {
  const details = thrown instanceof PlinthError && thrown.status < 500 ? thrown.details : [];
  const named = details.map(({ field = "" }) => part[Number(/^\[(\d+)\]/.exec(field)?.[1])]);
  const refused = new Set(named.filter((one) => one !== undefined));
  return refused.size === 0 ? new Set(part) : refused;
}

interface WireEvent {
  readonly payload: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly tenant?: string;
}

function toWire({ payload, metadata, tenant }: NewEvent): WireEvent {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  if (text === undefined) throw new TypeError("A payload must be a text or something that JSON can say.");
  return { payload: text, ...(metadata !== undefined && { metadata }), ...(tenant !== undefined && { tenant }) };
}

/** Splits events into parts that fit into a request of 5 MiB. A character takes at most three bytes in UTF-8. */
function partsOf<T>(events: readonly T[], wireOf: (event: T) => WireEvent): readonly T[][] {
  const parts: T[][] = [];
  let chars = 0;
  for (const event of events) {
    const size = JSON.stringify(wireOf(event)).length;
    const last = parts.at(-1);
    if (last === undefined || last.length >= MAX_EVENTS || chars + size > MAX_CHARS) {
      parts.push([event]);
      chars = size;
    } else {
      last.push(event);
      chars += size;
    }
  }
  return parts;
}

/** Ignores the refusal of a change that was done before: only its answer was lost. */
function ignore(...detailTypes: readonly string[]) {
  return (thrown: unknown): void => {
    if (!(thrown instanceof ConflictError && detailTypes.some((type) => thrown.has(type)))) throw thrown;
  };
}

const isList = (events: NewEvent | readonly NewEvent[]): events is readonly NewEvent[] => Array.isArray(events);

/** The header's name begins with the platform's prefix, which the operator chooses. */
function numberOf(headers: Headers, suffix: string): number | undefined {
  for (const [name, value] of headers) if (name.endsWith(suffix)) return Number(value);
  return undefined;
}
