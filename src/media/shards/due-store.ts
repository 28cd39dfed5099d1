import { ERASURE_DUE_MS, PROVEN_MS } from "../dead/backlog-store.ts";
import { LIMITS } from "../model/limits.ts";

/** SQL: each kind of work of media/sweep.ts, of moves that broke off and of changes of owners has its query here. */
const DUE = [
  ...["committed", "removed"].map(
    (state) => `SELECT min(due_at) FROM file WHERE state = '${state}' AND due_at IS NOT NULL`,
  ),
  `SELECT min(due_at) FROM variant WHERE due_at IS NOT NULL`,
  `SELECT min(due_at) FROM erasure WHERE due_at IS NOT NULL`,
  `SELECT requested_at + ${LIMITS.erasureKeptMs} FROM erasure WHERE due_at IS NULL ORDER BY id LIMIT 1`,
  `SELECT min(moved_at) FROM moved_file WHERE row IS NOT NULL`,
  `SELECT min(begun_at) FROM closing`,
  `SELECT min(failed_at) + ${LIMITS.deadWork.keptMs} FROM dead_work`,
];

const EXPIRY = [
  `SELECT min(due_at) FROM file WHERE state = 'pending' AND due_at IS NOT NULL`,
  `SELECT min(created_at) + ${LIMITS.uncommittedTtlMs} FROM file INDEXED BY file_pending
    WHERE state = 'pending' AND due_at IS NULL`,
];
/** SQL: kept reports are due much later, so their index entries are not read. */
const PROOF = `SELECT min(requested_at) + ${PROVEN_MS} FROM erasure
  WHERE due_at <= ?1 + ${ERASURE_DUE_MS} AND verified_at IS NULL`;

/** Later than every time. */
const NEVER = Number.MAX_SAFE_INTEGER;
const earliest = (queries: readonly string[]): string =>
  `SELECT nullif(min(${queries.map((query) => `coalesce((${query}), ${NEVER})`).join(", ")}), ${NEVER}) AS dueAt`;

/**
 * SQL: the earliest time at which the sweep of a database has something to do, as `dueAt`; NULL: nothing will be due.
 * An alarm of a tenant object comes then (platform/storage/tenant-objects.ts). It may be early, never late.
 */
export const NEXT_DUE = earliest([...DUE, ...EXPIRY]);

/**
 * SQL: the same for deep health, which warns if that time has passed for long. So it has the proofs of deletions too.
 * After a restore, files are held that would have expired: they are due from now (`?1`) on.
 */
export const REPORTED_DUE = earliest([...DUE, ...EXPIRY.map((query) => `SELECT max((${query}), ?1)`), PROOF]);
