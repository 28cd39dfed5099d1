/**
 * The lock of one client on one topic, as pure rules (specification, "Lock on a topic"; contract 3.4).
 *
 *   unlocked ── take (a read, 200) ──────────────→ locked           epoch + 1, a new token
 *   unlocked ── take with autoCommit ────────────→ unlocked         cursor moves at once, no token
 *   locked   ── commit with the lock's token ────→ unlocked         cursor moves to the end of the batch
 *   locked   ── ttlMs pass ──────────────────────→ lock expired     cursor stays: the batch is read again
 *   expired  ── take ────────────────────────────→ locked           under a new epoch
 *
 * Every other commit changes nothing. A token starts with its epoch and only the current one commits, so a client that
 * was too slow can never commit what somebody else reads now. The cursor moves in `commit` and in `take` with
 * autoCommit, nowhere else, and only to the end of what was handed out: nothing is skipped.
 */
export interface ConsumerState {
  /** For each shard the position of the last event that was committed; 0 when none was. */
  readonly cursor: readonly number[];
  /** Grows with every lock. */
  readonly epoch: number;
  readonly lock: Lock | undefined;
  /** How the last locks ended, the latest last. */
  readonly outcomes: readonly Outcome[];
}

export interface Lock {
  readonly token: string;
  readonly expiresAtMs: number;
  /** For each shard the position of the last event of the batch. */
  readonly upTo: readonly number[];
}

export interface Outcome {
  readonly token: string;
  readonly end: "already_committed" | "lock_expired";
}

export type NotLocked = Outcome["end"] | "unknown_token";

export const unread = (shards: number): ConsumerState => ({
  cursor: Array.from({ length: shards }, () => 0),
  epoch: 0,
  lock: undefined,
  outcomes: [],
});

/** How long the topic stays locked; 0 when it is not. A lock is over at the very millisecond that it expires. */
export const lockedForMs = (state: ConsumerState, nowMs: number): number =>
  Math.max(0, (state.lock?.expiresAtMs ?? 0) - nowMs);

/** Hands out everything up to `upTo`. Only for a topic that is not locked. */
export function take(
  state: ConsumerState,
  batch: {
    readonly upTo: readonly number[];
    readonly autoCommit: boolean;
    readonly ttlMs: number;
    readonly nonce: string;
  },
  nowMs: number,
  maxOutcomes: number,
): ConsumerState {
  const free = expire(state, maxOutcomes);
  if (batch.autoCommit) return { ...free, cursor: batch.upTo };
  const epoch = free.epoch + 1;
  const lock = { token: `${epoch}.${batch.nonce}`, expiresAtMs: nowMs + batch.ttlMs, upTo: batch.upTo };
  return { ...free, epoch, lock };
}

export type CommitOutcome =
  | { readonly kind: "committed"; readonly state: ConsumerState }
  | { readonly kind: "not_locked"; readonly why: NotLocked };

export function commit(state: ConsumerState, token: string, nowMs: number, maxOutcomes: number): CommitOutcome {
  const { lock } = state;
  if (lock?.token !== token) {
    const earlier = state.outcomes.find((outcome) => outcome.token === token);
    return { kind: "not_locked", why: earlier?.end ?? "unknown_token" };
  }
  if (lockedForMs(state, nowMs) === 0) return { kind: "not_locked", why: "lock_expired" };
  const unlocked = end(state, lock, "already_committed", maxOutcomes);
  return { kind: "committed", state: { ...unlocked, cursor: lock.upTo } };
}

const expire = (state: ConsumerState, maxOutcomes: number): ConsumerState =>
  state.lock === undefined ? state : end(state, state.lock, "lock_expired", maxOutcomes);

const end = (state: ConsumerState, lock: Lock, how: Outcome["end"], maxOutcomes: number): ConsumerState => ({
  ...state,
  lock: undefined,
  outcomes: [...state.outcomes, { token: lock.token, end: how }].slice(-maxOutcomes),
});
