import type { VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * All tenants share one queue. Each has a lane: at most `LIMITS.sentPerLane` of its variants have a message there, and
 * the others wait as rows. So a tenant that starts very many makes its own variants wait, and others, and deletions,
 * wait for a hundred messages of it at most.
 *
 *   started ──→ pending, waits ── there is room in the lane ──→ pending, sent ──→ ready, failed or removed
 *                                        ↑                                                │
 *                                        └──────────────────── room ──────────────────────┘
 *
 * - A variant always starts as one that waits. The same batch then fills the lane, in the order of requests, and the
 *   messages of what it returns are sent after it. So the limit costs no round trip, and requests at the same time
 *   cannot exceed it: `send` counts and takes in one statement.
 * - The consumer ends a variant and fills the lane in one batch, too.
 * - A message that is lost keeps its place until the sweep sends it again, after `LIMITS.variantResendMs`; it brings
 *   the next one. A lane can be left without any message: those of removed variants were lost, or a release without
 *   lanes made them. The sweep then sends the first that waits (`wake`). Nothing is refused.
 * - Rows are counted, not messages. A lost or repeated message changes no count. A variant that is deleted with a
 *   message on the way keeps its row and place until that is received or counts as lost, alone or with its file. Else
 *   a tenant that starts and deletes variants, again and again, would fill the queue with messages.
 * - `lane` is the tenant, and so the same in every shard. While a move holds a tenant, its lane sends nothing. The
 *   copies of its pending variants in the new shard have no message: they wait until the sweep wakes the lane there.
 * - Rows of an older release, and of repairs, have no lane: their messages are sent, and nobody counts them. If that
 *   release runs again, its sweep sends what has waited for `LIMITS.variantWaitMs`. The sweep of this one postpones it.
 * - A batch may fill the lane although its change is refused. So whoever runs such a batch sends what it returns in any
 *   case, and at once if something follows that may fail (`SendTaken`). A commit that is repeated sends its variants
 *   once more, and no more than once.
 */
export type LaneStore = ReturnType<typeof createLaneStore>;

/** SQL: the variant's file is there and visible, and its tenant is not just changing its shard (moves/mover.ts). */
const IS_LIVE = `file.state = 'committed' AND owner.erasure_id IS NULL AND NOT EXISTS (
  SELECT 1 FROM moving_tenant WHERE moving_tenant.tenant = owner.tenant AND moving_tenant.state <> 'leaving')`;

/** Rows that a look at a lane reads at most: variants of a retired owner wait for its deletion and are passed over. */
const PASSED_OVER = 1_000;

/** SQL: names the index of lanes, which needs exactly this term. A release without lanes leaves those that it ends. */
const IN_A_LANE = "state IN ('pending', 'removed')";
const WAITS = `${IN_A_LANE} AND state = 'pending'`;

/** SQL: the live variants that wait in a lane. */
const waitingIn = (lane: string): string => `
  (SELECT file_id, nonce FROM variant WHERE ${WAITS} AND lane = ${lane} AND waits = 1
    ORDER BY created_at LIMIT ${PASSED_OVER}) AS page
  CROSS JOIN file ON file.id = page.file_id CROSS JOIN owner ON owner.id = file.owner_id AND ${IS_LIVE}`;

/** SQL: the variants of a lane that have a message. */
const sentIn = (lane: string): string =>
  `SELECT 1 FROM variant WHERE ${IN_A_LANE} AND lane = ${lane} AND waits = 0 AND due_at IS NOT NULL`;

/** SQL: removes variants, at the time `now`. Those with a message are due when it counts as lost. */
export const removeFromLane = (now: string): string => `state = 'removed', waits = 0,
  due_at = ${now} + iif(state = 'pending' AND lane IS NOT NULL AND waits = 0, ${LIMITS.variantResendMs}, 0),
  lane = iif(state = 'pending' AND waits = 0, lane, NULL)`;

/** SQL: sends what has room in a lane. ?2: when their messages count as lost; ?3: the room of a lane. */
const send = (lane: string): string => `
  UPDATE variant SET waits = 0, due_at = ?2 WHERE state = 'pending' AND (file_id, nonce) IN (
    SELECT page.file_id, page.nonce FROM ${waitingIn(lane)} LIMIT ?3 - (SELECT count(*) FROM (
      ${sentIn(lane)} LIMIT ?3)))
  RETURNING file_id AS fileId, nonce`;

const SQL = {
  send: send("?1"),
  // A retired owner may have no row any more.
  sendOfFile: send(`coalesce((SELECT own.lane FROM variant AS own WHERE own.file_id = ?1 AND own.nonce = ?4),
    (SELECT owner.tenant FROM file JOIN owner ON owner.id = file.owner_id WHERE file.id = ?1))`),
  // Walks from lane to lane, whatever number of variants they have.
  wake: `WITH RECURSIVE walk (lane) AS (
      SELECT min(lane) FROM variant WHERE ${WAITS} AND lane IS NOT NULL
      UNION ALL SELECT (SELECT min(lane) FROM variant WHERE ${WAITS} AND lane > walk.lane)
        FROM walk WHERE walk.lane IS NOT NULL)
    UPDATE variant SET waits = 0, due_at = ?1 WHERE state = 'pending' AND (file_id, nonce) IN (
      SELECT first.file_id, first.nonce FROM walk
      CROSS JOIN variant AS first ON (first.file_id, first.nonce) = (
        SELECT page.file_id, page.nonce FROM ${waitingIn("walk.lane")} LIMIT 1)
      WHERE NOT EXISTS (${sentIn("walk.lane")})
      LIMIT ?2)
    RETURNING file_id AS fileId, nonce`,
} as const;

const sending = (db: D1Database, sql: string, nowMs: number, of: string, ...more: unknown[]): D1PreparedStatement =>
  db.prepare(sql).bind(of, nowMs + LIMITS.variantResendMs, LIMITS.sentPerLane, ...more);

/** Fills the lane of a tenant, in the batch of the change that makes room or needs it. `jobsOf` reads the result. */
export const sendInLane = (db: D1Database, tenant: string, nowMs: number): D1PreparedStatement =>
  sending(db, SQL.send, nowMs, tenant);

/** The same for the lane of a variant that keeps it, or else of its file's tenant. */
export const sendInLaneOf = (db: D1Database, fileId: string, nowMs: number, nonce: string): D1PreparedStatement =>
  sending(db, SQL.sendOfFile, nowMs, fileId, nonce);

/** The variants whose messages are to be sent now. */
export const jobsOf = (sent: D1Result | undefined): readonly VariantJob[] => (sent?.results ?? []) as VariantJob[];

export function createLaneStore(db: D1Database) {
  return {
    /** Takes the first variant of each lane in which variants wait and none has a message. */
    async wake(nowMs: number, maxLanes: number): Promise<readonly VariantJob[]> {
      return jobsOf(
        await db
          .prepare(SQL.wake)
          .bind(nowMs + LIMITS.variantResendMs, maxLanes)
          .all(),
      );
    },
  };
}
