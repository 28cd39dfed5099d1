import { ConflictError, NotFoundError, RateLimitError, UnavailableError } from "./errors.ts";
import type { Batch, ConsumedEvent, StoredEvent } from "./event.ts";
import { backoffMs, wait } from "./wait.ts";

/**
 * Reads a topic in an endless loop:
 *
 *   read ──batch──▶ deliver each ──all acknowledged──▶ commit ──▶ read …
 *     │                 │ renew the lock at half its time
 *     │                 ├─ left, failed, stopped ──▶ release through the last acknowledged event in order
 *     │                 └─ lock lost (another reader may have the events) ──▶ read: the events come again
 *     ├─ nothing for 20 s ──▶ read: the platform waits, so an event comes at once
 *     ├─ locked by another worker of this client ──▶ wait
 *     └─ no answer, after all attempts ──▶ wait longer each time; if nothing was ever read, the loop ends with the error
 *
 * An event is handled at least once: again after a crash, a lost lock or a failed handler.
 */
export interface ConsumeOptions {
  /** Events in one read, 100 by default. */
  readonly batchSize?: number;
  /**
   * Duration of the lock, which is renewed at half of it; 60 s by default. After a crash, other workers wait for it.
   */
  readonly lockMs?: number;
  /** The longest wait while another worker of this client has the lock; 1 s by default. */
  readonly maxIdleMs?: number;
  /** Ends the loop. The event that is being handled is finished; the others of the batch are given back. */
  readonly signal?: AbortSignal;
  /** Called with the number of events that retention removed before they were read. */
  readonly onLost?: (count: number) => void;
  /**
   * Called each time when the platform does not answer, after all attempts of a request; the loop goes on when it does.
   * If this function throws or rejects, the loop ends with it.
   */
  readonly onUnavailable?: (error: UnavailableError | RateLimitError) => unknown;
}

export interface ProcessOptions extends ConsumeOptions {
  /** Events that are handled at the same time; 1 by default. */
  readonly concurrency?: number;
  /** Called when a handler fails. The event comes again. If this function throws or rejects, `process` ends with it. */
  readonly onError?: (error: unknown, event: StoredEvent) => unknown;
}

/** The operations of a topic that the loop uses. */
interface Source {
  read(options: {
    numEvents: number;
    ttlMs: number;
    waitSec: number;
    signal?: AbortSignal;
  }): Promise<Batch | undefined>;
  commit(token: string): Promise<void>;
  extend(token: string, ttlMs: number, signal?: AbortSignal): Promise<void>;
  release(token: string, commitThrough?: string): Promise<void>;
}

/** Proxies may cut a connection that is quiet for longer. */
const WAIT_SEC = 20;
/** The first pause after a read that came back at once without events, as it does while a shard fails. */
const FIRST_IDLE_MS = 50;
const FAILED_MAX_MS = 10_000;
const OUTAGE_MAX_MS = 30_000;
/** Of a `Retry-After`, so that a loop notices what is changed by hand. */
const RETRY_MAX_MS = 300_000;

export async function* consumeEach(
  source: Source,
  options: ConsumeOptions,
): AsyncGenerator<ConsumedEvent, void, undefined> {
  const outages = outagesOf(options);
  for (;;) {
    const held = await nextBatch(source, options, outages);
    if (held === undefined) return;
    let goesOn = false;
    try {
      for (const event of held.events) {
        if (held.isLost() || hasStopped(options.signal)) break;
        yield event;
        event.ack();
      }
      goesOn = !hasStopped(options.signal);
    } finally {
      await (goesOn ? held.end().catch(outages.pass) : held.end());
    }
    if (hasStopped(options.signal)) return;
  }
}

export async function processAll(
  source: Source,
  handle: (event: ConsumedEvent) => unknown,
  options: ProcessOptions,
): Promise<void> {
  const { concurrency = 1, onError, signal } = options;
  const outages = outagesOf(options);
  let failures = 0;
  for (;;) {
    const held = await nextBatch(source, options, outages);
    if (held === undefined) return;
    const queue = held.events.values();
    let hasFailed = false;
    const work = async (): Promise<void> => {
      for (const event of queue) {
        if (hasFailed || held.isLost() || hasStopped(signal)) return;
        try {
          await handle(event);
          event.ack();
        } catch (thrown) {
          hasFailed = true;
          await onError?.(thrown, event);
        }
      }
    };
    // Each worker ends before the batch does, since its event may still count as handled.
    const ends = await Promise.allSettled(Array.from({ length: Math.max(1, concurrency) }, work));
    let goesOn = false;
    try {
      for (const end of ends) if (end.status === "rejected") throw end.reason;
      goesOn = !hasStopped(signal);
    } finally {
      await (goesOn ? held.end().catch(outages.pass) : held.end());
    }
    failures = hasFailed ? failures + 1 : 0;
    // A failing event comes again at once, so it waits longer each time.
    if (hasFailed) await wait(backoffMs(failures, 500, FAILED_MAX_MS) + 100, signal).catch(() => undefined);
    if (hasStopped(signal)) return;
  }
}

/** A locked batch whose lock is renewed until `end`. */
interface Held {
  readonly events: readonly ConsumedEvent[];
  /** The lock ended before the batch did. */
  isLost(): boolean;
  /** Commits the batch, or gives back what is not acknowledged. */
  end(): Promise<void>;
}

/** The times when the platform does not answer. */
interface Outages {
  /** Notes that the platform answered. */
  end(): void;
  /**
   * Waits, if the error is an outage and the loop may go on; throws it otherwise. A loop that has never read anything
   * does not go on: its address may be wrong.
   */
  pass(thrown: unknown): Promise<void>;
}

function outagesOf({ onUnavailable, signal }: ConsumeOptions): Outages {
  let hasRead = false;
  let failures = 0;
  return {
    end() {
      hasRead = true;
      failures = 0;
    },
    async pass(thrown) {
      if (!hasRead || !(thrown instanceof UnavailableError || thrown instanceof RateLimitError)) throw thrown;
      await onUnavailable?.(thrown);
      const waitMs = Math.max(thrown.retryAfterMs ?? 0, backoffMs((failures += 1), 500, OUTAGE_MAX_MS));
      await wait(Math.min(waitMs, RETRY_MAX_MS), signal).catch(() => undefined);
    },
  };
}

/** Waits for a batch; undefined when the signal aborts. */
async function nextBatch(source: Source, options: ConsumeOptions, outages: Outages): Promise<Held | undefined> {
  const { batchSize: numEvents = 100, lockMs: ttlMs = 60_000, maxIdleMs = 1_000, signal, onLost } = options;
  for (let empty = 0; ; empty++) {
    const startedMs = Date.now();
    if (hasStopped(signal)) return undefined;
    let idleMs = Math.min(maxIdleMs, FIRST_IDLE_MS * 2 ** empty);
    let batch: Batch | undefined;
    try {
      batch = await source.read({ numEvents, ttlMs, waitSec: WAIT_SEC, ...(signal !== undefined && { signal }) });
      outages.end();
    } catch (thrown) {
      if (hasStopped(signal)) return undefined;
      if (!(thrown instanceof ConflictError) || thrown.type !== "topic_locked") {
        await outages.pass(thrown);
        empty = -1;
        continue;
      }
      // Another worker of this client has the lock, and may release it before it expires.
      outages.end();
      idleMs = Math.min(maxIdleMs, thrown.retryAfterMs ?? maxIdleMs);
    }
    if (batch !== undefined) return told(hold(source, batch, ttlMs), batch.lost, onLost);
    // The read has waited already, so the next one needs no pause.
    if (Date.now() - startedMs > maxIdleMs) continue;
    await wait(idleMs * (0.75 + Math.random() / 2), signal).catch(() => undefined);
  }
}

/** Tells of lost events. If that fails, gives the batch back. */
async function told(held: Held, lost: number, onLost: ConsumeOptions["onLost"]): Promise<Held> {
  try {
    if (lost > 0) onLost?.(lost);
    return held;
  } catch (thrown) {
    await held.end();
    throw thrown;
  }
}

function hold(source: Source, { events, token, attempt }: Batch, ttlMs: number): Held {
  const acknowledged = new Set<string>();
  let lost = false;
  const ending = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let renewing = Promise.resolve();

  const renewLater = (): void => {
    timer = setTimeout(() => void (renewing = renew()), ttlMs / 2);
  };
  async function renew(): Promise<void> {
    try {
      await source.extend(token, ttlMs, ending.signal);
      if (!ending.signal.aborted) renewLater();
    } catch (thrown) {
      // The lock or the topic is gone. After any other failure, too many requests among them, it is renewed again soon.
      if (thrown instanceof ConflictError || thrown instanceof NotFoundError) lost = true;
      else if (!ending.signal.aborted) timer = setTimeout(() => void (renewing = renew()), ttlMs / 8);
    }
  }
  renewLater();

  return {
    events: events.map((event) => ({
      ...event,
      attempt,
      json: <T>() => JSON.parse(event.payload) as T,
      ack: () => void acknowledged.add(event.id),
    })),
    isLost: () => lost,
    async end() {
      clearTimeout(timer);
      // A renewal may be waiting for its next attempt, for longer than the lock lasts.
      ending.abort();
      await renewing;
      if (lost) return;
      const done = events.findIndex(({ id }) => !acknowledged.has(id));
      try {
        if (done === -1) await source.commit(token);
        else await source.release(token, events[done - 1]?.id);
      } catch (thrown) {
        // The lock ended meanwhile: events that are not committed come again.
        if (!(thrown instanceof ConflictError)) throw thrown;
      }
    },
  };
}

/** A function, since TypeScript would assume that the value stays the same over an `await`. */
const hasStopped = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;
