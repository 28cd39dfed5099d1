import { sha256Hex } from "../../platform/secrets/hash.ts";
import { DAY_MS, HOUR_MS } from "../../platform/runtime/clock.ts";

/**
 * Clients that nobody registered.
 *
 *   known ──a person allows it──▶ adopted ──90 days without use, or a day and nobody's consent──▶ gone
 *     └── registered itself, and a day went by, or there are too many and it is the oldest: gone
 *
 * An adopted client has a row in `client`, to which codes, grants and consents refer. The row belongs to a tenant that
 * nobody can name, has no rights and is disabled. So code that does not know such clients gives them nothing.
 */
export const UNREGISTERED_TENANT = "~";

const TENANT = UNREGISTERED_TENANT;
const ADD_ORGANIZATION = `INSERT INTO organization (id, name, created_at) VALUES ('${TENANT}', '', ?1) ON CONFLICT DO NOTHING`;
const ADD_TENANT = `
  INSERT INTO tenant (id, organization, name, disabled, created_at) VALUES ('${TENANT}', '${TENANT}', '', 1, ?1)
  ON CONFLICT DO NOTHING`;
const TOUCHED_EVERY_MS = HOUR_MS;
/**
 * `?5`: 1 if the client must be known already, so that a request with an old copy does not restore a removed client.
 */
const IS_KNOWN = `(?5 = 0 OR EXISTS (SELECT 1 FROM unregistered_client WHERE id = ?1))`;
const HAS_ROW = `EXISTS (SELECT 1 FROM client WHERE id = ?1)`;
/** Our choice: the most clients at once that one person was the first to allow. Each is some 16 KB. */
export const MOST_OF_PERSON = 100;
const ADOPT = `
  INSERT INTO client (id, name, display_name, tenant, confidential, redirect_uris, post_logout_redirect_uris,
    grant_types, scopes, require_pkce, disabled, third_party, created_at)
  SELECT ?1, '${TENANT}' || ?1, ?2, '${TENANT}', ?3, '[]', '[]', '[]', '[]', 1, 1, 1, ?4
  WHERE ${IS_KNOWN} AND (${HAS_ROW}
    OR (SELECT count(*) FROM unregistered_client WHERE brought_by = ?6) < ${MOST_OF_PERSON})
  ON CONFLICT (id) DO UPDATE SET display_name = excluded.display_name, confidential = excluded.confidential
  WHERE client.display_name <> excluded.display_name OR client.confidential <> excluded.confidential`;
const KEEP = `
  INSERT INTO unregistered_client (id, metadata, read_at, used_at, brought_by)
  SELECT ?1, ?2, ?3, ?4, ?6 WHERE ${IS_KNOWN} AND ${HAS_ROW}
  ON CONFLICT (id) DO UPDATE SET metadata = excluded.metadata, read_at = excluded.read_at, used_at = excluded.used_at,
    brought_by = coalesce(unregistered_client.brought_by, excluded.brought_by)
  WHERE unregistered_client.metadata <> excluded.metadata OR unregistered_client.brought_by IS NULL
    OR unregistered_client.used_at < excluded.used_at - ${TOUCHED_EVERY_MS}`;
const ADOPTED = `
  SELECT ${HAS_ROW} AS isAdopted, EXISTS (SELECT 1 FROM unregistered_client WHERE id = ?1) AS isKnown`;
/** Our choice: the most clients that no person allowed. The others are bounded by the number of people. */
const MOST_UNUSED = 5_000;
const MOST_OF_NETWORK = 20;
const REGISTERED_AND_UNUSED = `network IS NOT NULL AND used_at = read_at AND brought_by IS NULL`;
const OF_NETWORK = `SELECT count(*) FROM unregistered_client WHERE network = ?3 AND read_at >`;
/** A person needs so long to allow a client. */
const SPARED_MS = 600_000;
/**
 * Our choice: a network that makes others leave has at most so many that are spared. So strangers need some 1,700
 * networks to have all of the places.
 */
const MOST_SPARED = 3;
/** If all places are taken, the oldest client that nobody allowed leaves, once it is ten minutes old. */
const MAKE_ROOM = `
  DELETE FROM unregistered_client WHERE (${OF_NETWORK} ?5) < ${MOST_OF_NETWORK}
    AND (${OF_NETWORK} ?4 - ${SPARED_MS}) < ${MOST_SPARED}
    AND id = (SELECT id FROM (
      SELECT id, min(used_at) AS since, count(*) AS unused FROM unregistered_client WHERE ${REGISTERED_AND_UNUSED})
      WHERE unused >= ${MOST_UNUSED} AND since <= ?4 - ${SPARED_MS})`;
const REGISTER = `
  INSERT INTO unregistered_client (id, metadata, network, read_at, used_at)
  SELECT ?1, ?2, ?3, ?4, ?4
  WHERE (${OF_NETWORK} ?5) < ${MOST_OF_NETWORK}
    AND (SELECT count(*) FROM unregistered_client WHERE ${REGISTERED_AND_UNUSED}) < ${MOST_UNUSED}`;
/** An address, even hashed, is personal data: it does not outlive its person. */
const FORGET_BRINGER = `UPDATE unregistered_client SET brought_by = NULL WHERE brought_by = ?1`;
const FIND = `SELECT metadata, read_at AS readAtMs FROM unregistered_client WHERE id = ?1`;

const UNUSED_MS = DAY_MS;
const IDLE_MS = 90 * DAY_MS;
const IDLE = `SELECT id FROM unregistered_client WHERE used_at <= ?1 ORDER BY used_at LIMIT ?2`;
/** `?1`: JSON, the last uses of grants in other shards. */
const TOUCH_USED_ELSEWHERE = `
  UPDATE unregistered_client SET used_at = max(used_at, (
    SELECT value ->> 1 FROM json_each(?1) WHERE value ->> 0 = unregistered_client.id))
  WHERE id IN (SELECT value ->> 0 FROM json_each(?1))`;
/** Refresh tokens are used without a person. */
const TOUCH_USED = `
  UPDATE unregistered_client SET used_at = (SELECT max(last_used_at) FROM refresh_grant WHERE client = unregistered_client.id)
  WHERE id IN (${IDLE}) AND EXISTS (
    SELECT 1 FROM refresh_grant WHERE client = unregistered_client.id AND last_used_at > ?1)`;
const DELETE_IDLE_ROWS = `DELETE FROM client WHERE tenant = '${TENANT}' AND id IN (${IDLE})`;
const DELETE_IDLE = `DELETE FROM unregistered_client WHERE id IN (${IDLE})`;
/** Without a consent, no code and no grant is valid. */
const UNUSED = `
  SELECT id FROM unregistered_client AS known WHERE used_at <= ?1 AND used_at > ?3
    AND NOT EXISTS (SELECT 1 FROM consent WHERE consent.client = known.id) ORDER BY used_at LIMIT ?2`;
const DELETE_UNUSED_ROWS = `DELETE FROM client WHERE tenant = '${TENANT}' AND id IN (${UNUSED})`;
const DELETE_UNUSED = `DELETE FROM unregistered_client WHERE id IN (${UNUSED})`;

export interface StoredMetadata {
  /** JSON. */
  readonly metadata: string;
  readonly readAtMs: number;
}

export interface AdoptedClient extends StoredMetadata {
  readonly id: string;
  /** For lists of applications. */
  readonly shownName: string;
  readonly confidential: boolean;
  /** It registered itself. If it is not known any more, it stays so. */
  readonly isKnownAlready: boolean;
}

/** `gone`: it registered itself, and is not known any more. `too many`: the person has brought too many. */
export type Adoption = "adopted" | "gone" | "too many";

export type UnregisteredStore = ReturnType<typeof createUnregisteredStore>;

const bringerOf = (person: string): Promise<string> => sha256Hex(`brings ${person}`);

export const createUnregisteredStore = (db: D1Database) => ({
  async find(id: string): Promise<StoredMetadata | undefined> {
    return (await db.prepare(FIND).bind(id).first<StoredMetadata>()) ?? undefined;
  },
  /** Adds a client that registers itself; false if there are too many. One transaction. */
  async register(
    { id, metadata, network }: { readonly id: string; readonly metadata: string; readonly network: string },
    nowMs: number,
  ): Promise<boolean> {
    const values = [id, metadata, network, nowMs, nowMs - DAY_MS];
    const results = await db.batch([MAKE_ROOM, REGISTER].map((sql) => db.prepare(sql).bind(...values)));
    return results.at(-1)!.meta.changes > 0;
  },
  /** The person allows the client. One transaction, which can be repeated. */
  async adopt(client: AdoptedClient, person: string, nowMs: number): Promise<Adoption> {
    const { id, shownName, confidential, metadata, readAtMs, isKnownAlready } = client;
    const mustBeKnown = isKnownAlready ? 1 : 0;
    const bringer = await bringerOf(person);
    const results = await db.batch<{ readonly isAdopted: number; readonly isKnown: number }>([
      db.prepare(ADD_ORGANIZATION).bind(nowMs),
      db.prepare(ADD_TENANT).bind(nowMs),
      db.prepare(ADOPT).bind(id, shownName, confidential ? 1 : 0, nowMs, mustBeKnown, bringer),
      db.prepare(KEEP).bind(id, metadata, readAtMs, nowMs, mustBeKnown, bringer),
      db.prepare(ADOPTED).bind(id),
    ]);
    const { isAdopted = 0, isKnown = 0 } = results.at(-1)?.results[0] ?? {};
    if (isKnownAlready && isKnown === 0) return "gone";
    return isAdopted === 1 ? "adopted" : "too many";
  },
  /** Part of the removal of a person. The clients stay. */
  forgetBringer: async (person: string): Promise<D1PreparedStatement> =>
    db.prepare(FORGET_BRINGER).bind(await bringerOf(person)),
  /** Some `limit` clients that nobody uses, as far as the directory knows. */
  async idle(nowMs: number, limit: number): Promise<readonly string[]> {
    const statements = [TOUCH_USED, IDLE].map((sql) => db.prepare(sql).bind(nowMs - IDLE_MS, limit));
    const found = (await db.batch<{ id: string }>(statements)).at(-1)!;
    return found.results.map(({ id }) => id);
  },
  /** Notes when grants in other shards were last used. */
  async noteUses(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size > 0)
      await db
        .prepare(TOUCH_USED_ELSEWHERE)
        .bind(JSON.stringify([...uses]))
        .run();
  },
  /** Deletes at most some `limit` clients that nobody uses or allows, with their grants, and returns how many. */
  async deleteUnused(nowMs: number, limit: number): Promise<number> {
    const idleBefore = nowMs - IDLE_MS;
    const results = await db.batch([
      db.prepare(TOUCH_USED).bind(idleBefore, limit),
      db.prepare(DELETE_IDLE_ROWS).bind(idleBefore, limit),
      db.prepare(DELETE_IDLE).bind(idleBefore, limit),
      db.prepare(DELETE_UNUSED_ROWS).bind(nowMs - UNUSED_MS, limit, idleBefore),
      db.prepare(DELETE_UNUSED).bind(nowMs - UNUSED_MS, limit, idleBefore),
    ]);
    return Math.max(...results.map(({ meta }) => meta.changes));
  },
});
