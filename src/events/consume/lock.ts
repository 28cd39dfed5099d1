import type { Position } from "../log/event-id.ts";
import type { NotLocked } from "../model/failure.ts";

/**
 * The lock of one client on one topic, as pure rules.
 *
 *   unlocked ── acquire (a read, 200) ───────────→ locked           epoch + 1, a new token
 *   unlocked ── acquire with autoCommit ─────────→ unlocked         cursor moves at once, no token
 *   locked   ── the same read again, by key ─────→ locked           the same batch and token
 *   locked   ── another read ────────────────────→ locked           refused: 409 with the remaining time
 *   locked   ── commit with the lock's token ────→ unlocked         cursor moves to the end of the batch
 *   locked   ── extend with the lock's token ────→ locked           expires later, or earlier
 *   locked   ── release with the lock's token ───→ unlocked         cursor moves into the batch, or stays
 *   locked   ── ttlMs pass ──────────────────────→ lock expired     cursor stays: the batch is read again
 *   expired  ── acquire ─────────────────────────→ locked           under a new epoch
 *   unlocked, expired ── seek ───────────────────→ unlocked         cursor as asked
 *
 * Every other call changes nothing. A token starts with its epoch and only the current epoch counts, so a slow client
 * can never commit what another one is reading now. Except for `seek`, the cursor moves only over delivered events:
 * nothing is skipped.
 */
export interface ConsumerState {
  /** Position of each shard's last committed event; before the first commit, where reading started. */
  readonly cursor: readonly number[];
  /** Increases with every lock. */
  readonly epoch: number;
  readonly lock: Lock | undefined;
  /** How the last locks ended, the latest last. */
  readonly outcomes: readonly Outcome[];
}

interface Lock {
  readonly token: string;
  readonly expiresAtMs: number;
  /** Duration at the last acquire or extend. More remaining time than this means that the clock was set back. */
  readonly ttlMs: number;
  readonly batch: Batch;
  /** The read that took the lock, if it had a key. */
  readonly keyed?: KeyedRead | undefined;
}

export type KeyedLock = Lock & { readonly keyed: KeyedRead };

/** A read with an idempotency key, and the delivery attempt of its first event. */
export interface KeyedRead extends AskedRead {
  readonly key: string;
  readonly attempt: number;
}

/** Parameters that must be equal in a repeat. */
export interface AskedRead {
  readonly numEvents: number;
  readonly ttlMs: number;
}

/** The delivered events in order, as runs: from where the shard's last run ended, or its cursor, to a position. */
export type Batch = readonly Run[];
export type Run = readonly [shard: number, lastSeq: number];

export interface Outcome {
  readonly token: string;
  /** `released`: a part of the batch was committed; the rest is read again. */
  readonly end: "already_committed" | "lock_expired" | "released";
}

/** Cursor of a shard that was never read. The first read starts at the oldest event of that moment. */
export const UNREAD = -1;

export const unread = (shards: number): ConsumerState => ({
  cursor: Array.from({ length: shards }, () => UNREAD),
  epoch: 0,
  lock: undefined,
  outcomes: [],
});

/**
 * Time for which the topic stays locked; 0 if it is not. A lock ends at the millisecond of its expiry. It also counts
 * as expired if the clock was set back to before its last grant, since it would otherwise last that much longer.
 */
export function lockedForMs({ lock }: ConsumerState, nowMs: number): number {
  if (lock === undefined) return 0;
  const leftMs = lock.expiresAtMs - nowMs;
  return leftMs > lock.ttlMs ? 0 : Math.max(0, leftMs);
}

/**
 * The lock whose batch a repeated read gets again; "other_request" if its key was used with other parameters.
 * Undefined if the read is not a repeat: no lock, another key, or no key.
 */
export function repeated(
  state: ConsumerState,
  read: AskedRead & { readonly key?: string | undefined; readonly autoCommit: boolean },
  nowMs: number,
): KeyedLock | "other_request" | undefined {
  const { lock } = state;
  const keyed = lock?.keyed;
  if (lock === undefined || keyed === undefined || keyed.key !== read.key || lockedForMs(state, nowMs) === 0)
    return undefined;
  const isSame = !read.autoCommit && read.numEvents === keyed.numEvents && read.ttlMs === keyed.ttlMs;
  return isSame ? { ...lock, keyed } : "other_request";
}

/** The cursor after a batch. */
export function cursorAfter(cursor: readonly number[], batch: Batch): readonly number[] {
  const moved = [...cursor];
  for (const [shard, lastSeq] of batch) moved[shard] = lastSeq;
  return moved;
}

/** Takes the lock for a batch. The topic must not be locked. */
export function acquire(
  state: ConsumerState,
  given: {
    readonly batch: Batch;
    readonly autoCommit: boolean;
    readonly ttlMs: number;
    readonly nonce: string;
    readonly keyed?: KeyedRead | undefined;
  },
  nowMs: number,
  maxOutcomes: number,
): ConsumerState {
  const free = withoutLock(state, maxOutcomes);
  if (given.autoCommit) return { ...free, cursor: cursorAfter(free.cursor, given.batch) };
  const epoch = free.epoch + 1;
  const { ttlMs, batch, keyed } = given;
  const lock = { token: `${epoch}.${given.nonce}`, expiresAtMs: nowMs + ttlMs, ttlMs, batch, keyed };
  return { ...free, epoch, lock };
}

/** Result of a call with a token. */
export type LockChange =
  | { readonly kind: "done"; readonly state: ConsumerState }
  | { readonly kind: "not_locked"; readonly why: NotLocked }
  /** The event given by `commitThrough` is not in the batch. */
  | { readonly kind: "not_in_batch" };

export function commit(state: ConsumerState, token: string, nowMs: number, maxOutcomes: number): LockChange {
  const lock = heldLock(state, token, nowMs);
  if (typeof lock === "string") return { kind: "not_locked", why: lock };
  const unlocked = end(state, lock, "already_committed", maxOutcomes);
  return { kind: "done", state: { ...unlocked, cursor: cursorAfter(state.cursor, lock.batch) } };
}

export function extend(state: ConsumerState, token: string, ttlMs: number, nowMs: number): LockChange {
  const lock = heldLock(state, token, nowMs);
  if (typeof lock === "string") return { kind: "not_locked", why: lock };
  return { kind: "done", state: { ...state, lock: { ...lock, expiresAtMs: nowMs + ttlMs, ttlMs } } };
}

/** Ends a lock early. `through` commits the batch up to and including that event. */
export function release(
  state: ConsumerState,
  token: string,
  through: Position | undefined,
  nowMs: number,
  maxOutcomes: number,
): LockChange {
  const lock = heldLock(state, token, nowMs, through === undefined ? "lock_expired" : "already_committed");
  if (typeof lock === "string") return { kind: "not_locked", why: lock };
  if (through === undefined) return { kind: "done", state: end(state, lock, "lock_expired", maxOutcomes) };
  const batch = batchThrough(state.cursor, lock.batch, through);
  if (batch === undefined) return { kind: "not_in_batch" };
  const cursor = cursorAfter(state.cursor, batch);
  const isWhole = cursorAfter(state.cursor, lock.batch).every((seq, shard) => seq === cursor[shard]);
  const unlocked = end(state, lock, isWhole ? "already_committed" : "released", maxOutcomes);
  return { kind: "done", state: { ...unlocked, cursor } };
}

/** Moves the cursor. The topic must not be locked. */
export const seek = (state: ConsumerState, cursor: readonly number[], maxOutcomes: number): ConsumerState => ({
  ...withoutLock(state, maxOutcomes),
  cursor,
});

/**
 * The lock that this token holds, or why it holds none. After a partial commit the rest of the batch is unlocked. A
 * repeated partial release then gets `already_committed`, and other calls get `lock_expired` (`ofReleased`).
 */
function heldLock(
  state: ConsumerState,
  token: string,
  nowMs: number,
  ofReleased: NotLocked = "lock_expired",
): Lock | NotLocked {
  const { lock } = state;
  if (lock?.token === token) return lockedForMs(state, nowMs) > 0 ? lock : "lock_expired";
  const end = state.outcomes.find((outcome) => outcome.token === token)?.end ?? "unknown_token";
  return end === "released" ? ofReleased : end;
}

/** The batch up to and including one of its events; undefined if the event is not in it. */
function batchThrough(cursor: readonly number[], batch: Batch, at: Position): Batch | undefined {
  let seen = cursor[at.shard] ?? Infinity;
  for (const [index, [shard, lastSeq]] of batch.entries()) {
    if (shard !== at.shard) continue;
    if (at.seq > seen && at.seq <= lastSeq) return [...batch.slice(0, index), [shard, at.seq]];
    seen = lastSeq;
  }
  return undefined;
}

/** Ends the lock, if any, as expired: before another lock, before a seek, and in a backup. */
export const withoutLock = (state: ConsumerState, maxOutcomes: number): ConsumerState =>
  state.lock === undefined ? state : end(state, state.lock, "lock_expired", maxOutcomes);

const end = (state: ConsumerState, lock: Lock, how: Outcome["end"], maxOutcomes: number): ConsumerState => ({
  ...state,
  lock: undefined,
  outcomes: [...state.outcomes, { token: lock.token, end: how }].slice(-maxOutcomes),
});
