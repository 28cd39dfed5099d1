import { clientAnchor } from "../homes/anchor-store.ts";
import type { EndpointHealth } from "../../platform/delivery/endpoint-health.ts";
import type { AttemptError } from "../../platform/delivery/response.ts";
import type { Progress } from "../../platform/delivery/retry-schedule.ts";

/** A client that must be told when a person's session ends. */
export interface SessionClient {
  /** The session id in the client's tokens. */
  readonly sid: string;
  readonly clientId: string;
  readonly email: string;
  /** The person's `sub` in the client's tokens. */
  readonly subject: string;
  readonly issuer: string;
}

/** A notice to a client that a session ended. */
export interface LogoutNotice {
  /** The logout token's `jti`, the same in each attempt. */
  readonly id: string;
  readonly clientId: string;
  readonly subject: string;
  readonly sid: string;
  readonly issuer: string;
  /** The session's end, or the operator's wish to send it again. */
  readonly waitsSinceMs: number;
  /** All attempts before this one. */
  readonly attempts: number;
  /** The position in its schedule. */
  readonly progress: Progress;
  /** Empty if the client is not told any more. */
  readonly address: string;
  readonly isFapi: boolean;
  /** The health of the address when this was read. */
  readonly health: StoredHealth | undefined;
}

/** The health of an address with its stored text, so that a change is one conditional write. */
export interface StoredHealth {
  readonly text: string;
  readonly health: EndpointHealth;
}

/** An attempt that did not tell the client. */
export interface FailedAttempt {
  readonly atMs: number;
  /** Undefined without a response. */
  readonly status: number | undefined;
  readonly error: AttemptError;
}

/** State of a notice after a failed attempt. `dead`: nothing is sent any more unless the operator asks for it. */
export type AfterFailure =
  | { readonly state: "dead" }
  | { readonly state: "pending"; readonly dueAtMs: number; readonly progress: Progress };

/** Only a client with an address, while the session lives. */
const REMEMBER = `
  INSERT INTO session_client (sid, client, session, email, subject, issuer)
  SELECT ?1, client.id, session.sid, ?3, ?4, ?5 FROM client, session
  WHERE client.id = ?2 AND client.backchannel_logout_uri <> '' AND session.sid = ?1 AND session.email = ?3
  ON CONFLICT (sid, client) DO NOTHING`;
/** For a shard, where the client is an anchor: its address is read when the notice is sent. */
const REMEMBER_ELSEWHERE = `
  INSERT INTO session_client (sid, client, session, email, subject, issuer)
  SELECT ?1, ?2, session.sid, ?3, ?4, ?5 FROM session
  WHERE id_hash >= ?1 AND id_hash < ?1 || 'g' AND session.email = ?3
  ON CONFLICT (sid, client) DO NOTHING`;
/** Only one drain at a time brings a notice to the directory. If that drain breaks off, another one repeats it. */
const CLAIM = `
  UPDATE logout_notice SET next_at = ?2
  WHERE id IN (SELECT id FROM logout_notice WHERE next_at <= ?1 ORDER BY next_at LIMIT ?3)
  RETURNING id, client, subject, sid, issuer, created_at AS createdAt`;
/** Leaves out clients that are gone. */
const ADOPT = `
  INSERT INTO logout_notice (id, client, subject, sid, issuer, created_at, next_at)
  SELECT value ->> 'id', client.id, value ->> 'subject', value ->> 'sid', value ->> 'issuer', value ->> 'createdAt', 0
  FROM json_each(?1) JOIN client ON client.id = value ->> 'client' WHERE true
  ON CONFLICT (id) DO NOTHING`;
const DROP = `DELETE FROM logout_notice WHERE id IN (SELECT value ->> 'id' FROM json_each(?1))`;
/** Moves the clients of the last session to the new one, when the person signed in again in this browser. */
const CARRY_ON = `
  UPDATE session_client SET session = ?2
  WHERE session = (SELECT sid FROM session WHERE id_hash = ?1 AND email = ?3)
    AND EXISTS (SELECT 1 FROM session WHERE id_hash = ?4)`;
/** Expired sessions need no notice, since clients know how long a session lives. A void session did not expire. */
const FORGET_EXPIRED = `
  DELETE FROM session_client WHERE session IN (
    SELECT sid FROM session WHERE id_hash >= ?3 AND id_hash < ?4 AND expires_at <= ?1 AND expires_at > 0 LIMIT ?2)`;
/** Leaves out notices to a paused endpoint, unless they have waited too long. */
const DUE = `
  SELECT notice.id, notice.client AS clientId, subject, sid, issuer, coalesce(resent_at, notice.created_at) AS waitsSinceMs,
    attempts, step, named,
    backchannel_logout_uri AS address, profile = 'fapi2' AS isFapi, endpoint.health
  FROM logout_notice AS notice JOIN client ON client.id = notice.client
  LEFT JOIN logout_endpoint AS endpoint
    ON endpoint.client = notice.client AND endpoint.address = client.backchannel_logout_uri
  WHERE next_at <= ?1 AND (coalesce(endpoint.paused_until, 0) <= ?1 OR coalesce(resent_at, notice.created_at) <= ?3)
  ORDER BY next_at LIMIT ?2`;
const ANY_CLIENT = `SELECT 1 FROM client WHERE backchannel_logout_uri > '' LIMIT 1`;
/** One drain sends a notice at a time. If that drain breaks off, the notice is due again after its lease. */
const TAKE = `
  UPDATE logout_notice SET attempts = attempts + 1, next_at = ?3
  WHERE id = ?1 AND attempts = ?2 AND dead_at IS NULL`;
const SETTLE = `DELETE FROM logout_notice WHERE id = ?1`;
/** Later than every clock, so a dead letter is never due, for release 0.1.0 either. */
const NEVER_MS = 9_007_199_254_740_991;
const FAILED = `
  UPDATE logout_notice SET next_at = ?3, step = ?4, named = ?5, dead_at = ?6, last_at = ?7, last_status = ?8, last_error = ?9
  WHERE id = ?1 AND attempts = ?2`;
const EXPIRE = `UPDATE logout_notice SET dead_at = ?2, next_at = ${NEVER_MS} WHERE id = ?1 AND dead_at IS NULL`;
const HEALTH = `SELECT health FROM logout_endpoint WHERE client = ?1 AND address = ?2`;
const BEGIN_HEALTH = `
  INSERT INTO logout_endpoint (client, address, health, paused_until) SELECT id, ?2, ?3, ?4 FROM client WHERE id = ?1
  ON CONFLICT (client) DO UPDATE SET address = excluded.address, health = excluded.health, paused_until = excluded.paused_until
  WHERE logout_endpoint.address <> excluded.address`;
const CHANGE_HEALTH = `
  UPDATE logout_endpoint SET health = ?3, paused_until = ?4 WHERE client = ?1 AND address = ?2 AND health = ?5`;
const END_HEALTH = `DELETE FROM logout_endpoint WHERE client = ?1 AND address = ?2 AND health = ?3`;
const REDELIVER = `
  UPDATE logout_notice SET dead_at = NULL, next_at = 0, step = 0, named = 0, resent_at = ?2
  WHERE id IN (SELECT id FROM logout_notice WHERE client = ?1 AND dead_at > 0 ORDER BY dead_at DESC LIMIT ?3)`;
const DELETE_DEAD = `
  DELETE FROM logout_notice WHERE id IN (SELECT id FROM logout_notice WHERE dead_at <= ?1 ORDER BY dead_at LIMIT ?2)`;
const DELETE_SURPLUS = `
  DELETE FROM logout_notice WHERE id IN (
    SELECT id FROM logout_notice WHERE dead_at > 0 ORDER BY dead_at DESC LIMIT ?1 OFFSET ?2)`;

/** A notice that waits where its session was. */
export interface WaitingNotice {
  readonly id: string;
  readonly client: string;
  readonly subject: string;
  readonly sid: string;
  readonly issuer: string;
  readonly createdAt: number;
}

/** A shard other than the directory: it has the clients of its sessions, and notices about sessions that ended. */
export const createLogoutShard = (db: D1Database) => ({
  rememberStatements: ({ sid, clientId, email, subject, issuer }: SessionClient): readonly D1PreparedStatement[] => [
    ...clientAnchor(db, clientId),
    db.prepare(REMEMBER_ELSEWHERE).bind(sid, clientId, email, subject, issuer),
  ],
  run: async (statements: readonly D1PreparedStatement[]): Promise<void> => void (await db.batch([...statements])),
  /** Claims notices for this drain until `untilMs`. */
  async claim(nowMs: number, untilMs: number, limit: number): Promise<readonly WaitingNotice[]> {
    return (await db.prepare(CLAIM).bind(nowMs, untilMs, limit).all<WaitingNotice>()).results;
  },
  async drop(notices: readonly WaitingNotice[]): Promise<void> {
    await db.prepare(DROP).bind(JSON.stringify(notices)).run();
  },
});

export type LogoutStore = ReturnType<typeof createLogoutStore>;

export const createLogoutStore = (db: D1Database) => ({
  /** Statements for the transaction that gives the client its tokens. */
  rememberStatements: ({ sid, clientId, email, subject, issuer }: SessionClient): readonly D1PreparedStatement[] => [
    db.prepare(REMEMBER).bind(sid, clientId, email, subject, issuer),
  ],
  run: async (statements: readonly D1PreparedStatement[]): Promise<void> => void (await db.batch([...statements])),
  /** Takes notices over from a shard. Can be repeated until the shard has dropped them. */
  async adopt(notices: readonly WaitingNotice[]): Promise<void> {
    await db.prepare(ADOPT).bind(JSON.stringify(notices)).run();
  },
  /**
   * The notices that are due, and those that wait since `oldMs`. `isUsed`: some client is registered for notices. One
   * round trip.
   */
  async due(
    nowMs: number,
    limit: number,
    oldMs: number,
  ): Promise<{ readonly due: readonly LogoutNotice[]; readonly isUsed: boolean }> {
    const [notices, clients] = await db.batch([db.prepare(DUE).bind(nowMs, limit, oldMs), db.prepare(ANY_CLIENT)]);
    const due = ((notices?.results ?? []) as NoticeRow[]).map(toNotice);
    return { due, isUsed: due.length > 0 || (clients?.results.length ?? 0) > 0 };
  },
  /** False if another drain has it. */
  async take({ id, attempts }: LogoutNotice, nextMs: number): Promise<boolean> {
    return (await db.prepare(TAKE).bind(id, attempts, nextMs).run()).meta.changes === 1;
  },
  async settle({ id }: Pick<LogoutNotice, "id">): Promise<void> {
    await db.prepare(SETTLE).bind(id).run();
  },
  /** Writes nothing if the notice was taken again, or sent again by the operator. */
  async fail({ id, attempts }: LogoutNotice, after: AfterFailure, last: FailedAttempt): Promise<void> {
    const isDead = after.state === "dead";
    const { step, tries } = isDead ? { step: 0, tries: 0 } : after.progress;
    const next = isDead ? NEVER_MS : after.dueAtMs;
    const values = [next, step, tries - step, isDead ? last.atMs : null, last.atMs, last.status ?? null, last.error];
    await db
      .prepare(FAILED)
      .bind(id, attempts + 1, ...values)
      .run();
  },
  /** Makes a notice that waited too long a dead letter. */
  async expire({ id }: LogoutNotice, nowMs: number): Promise<void> {
    await db.prepare(EXPIRE).bind(id, nowMs).run();
  },
  /** The health of an endpoint that is not well. */
  async health(clientId: string, address: string): Promise<StoredHealth | undefined> {
    const row = await db.prepare(HEALTH).bind(clientId, address).first<{ health: string }>();
    return row === null ? undefined : toHealth(row.health);
  },
  /** Changes the health. Returns false if it is not `before` any more. `after` undefined: the endpoint is well. */
  async setHealth(
    { clientId, address }: Pick<LogoutNotice, "clientId" | "address">,
    before: StoredHealth | undefined,
    after: { readonly health: EndpointHealth; readonly pausedUntilMs: number } | undefined,
  ): Promise<boolean> {
    if (before === undefined && after === undefined) return true;
    const key = [clientId, address] as const;
    const next = after === undefined ? [] : [JSON.stringify(after.health), after.pausedUntilMs];
    const statement =
      before === undefined
        ? db.prepare(BEGIN_HEALTH).bind(...key, ...next)
        : after === undefined
          ? db.prepare(END_HEALTH).bind(...key, before.text)
          : db.prepare(CHANGE_HEALTH).bind(...key, ...next, before.text);
    return (await statement.run()).meta.changes === 1;
  },
  /** Begins the schedule of dead letters again, the latest first, with the audit row. Returns their number. */
  async redeliver(clientId: string, limit: number, nowMs: number, audit: D1PreparedStatement): Promise<number> {
    const [again] = await db.batch([db.prepare(REDELIVER).bind(clientId, nowMs, limit), audit]);
    return again?.meta.changes ?? 0;
  },
  /** Removes dead letters from before `untilMs`, and the oldest beyond `most`. Returns the larger number. */
  async deleteDead(untilMs: number, most: number, limit: number): Promise<number> {
    const done = await db.batch([
      db.prepare(DELETE_DEAD).bind(untilMs, limit),
      db.prepare(DELETE_SURPLUS).bind(limit, most),
    ]);
    return Math.max(...done.map(({ meta }) => meta.changes));
  },
});

/** Runs before the deletion of as many expired sessions of the same slice. */
export const forgetExpiredStatement = (
  db: D1Database,
  {
    nowMs,
    limit,
    from,
    to,
  }: { readonly nowMs: number; readonly limit: number; readonly from: string; readonly to: string },
): D1PreparedStatement => db.prepare(FORGET_EXPIRED).bind(nowMs, limit, from, to);

/** Runs after the new session is stored, and before the replaced one is deleted. */
export const carryOnStatement = (
  db: D1Database,
  replacedHash: string,
  { idHash, sid, email }: { readonly idHash: string; readonly sid: string; readonly email: string },
): D1PreparedStatement => db.prepare(CARRY_ON).bind(replacedHash, sid, email, idHash);

interface NoticeRow extends Omit<LogoutNotice, "isFapi" | "health" | "progress"> {
  readonly step: number;
  /** Attempts that used up no step. */
  readonly named: number;
  readonly isFapi: number;
  readonly health: string | null;
}

const toNotice = ({ step, named, isFapi, health, ...row }: NoticeRow): LogoutNotice => ({
  ...row,
  progress: { step, tries: step + named },
  isFapi: isFapi === 1,
  health: health === null ? undefined : toHealth(health),
});

const toHealth = (text: string): StoredHealth => ({ text, health: JSON.parse(text) as EndpointHealth });
