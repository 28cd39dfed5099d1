import { DATABASE_NOW_MS } from "../../platform/storage/database.ts";
import { ACCESS_TOKEN_LIFETIME_SEC } from "./lifetimes.ts";

/**
 * Bounds the revocations of the whole platform, because each isolate holds all of them.
 *
 *   up to 100,000   nothing
 *   more            a person with over 10 rows of a client loses all that the client got of it: one row replaces them.
 *                   So nobody ends tokens of others by ending very many of their own
 *   still more      all tokens of the clients with the most rows end: one row replaces all rows of such a client, until
 *                   75,000 are left
 *   still more      rows without a client, such as those of users: the whole platform's tokens end, by one row
 *
 * A cut-off includes a row if it was made when every token that the row revokes had
 * been issued. A row without an end may revoke a token that is being issued at the same time; a request takes at most
 * a minute for that (LATE_ISSUE_SEC), so a row is included from the age of a minute on. Its age follows from its
 * expiry. So a row is only deleted beside a cut-off that revokes as much, whoever else writes at the same time.
 *
 * The rows of sessions stay in any case: they stop codes too (code-store.ts). They are not counted, so that people who
 * end very many of their sessions end nothing of others. Each costs a sign-in and lives for an hour, and a person has
 * 1,000 of them at most (grants/revocation/revoke-all.ts).
 *
 * The rows that an organization's administrators make are 5,000 at most (trust-store.ts), since no cut-off but the last
 * includes them. They register clients up to 10,000 in all (organization-clients.ts), since only the last includes one
 * row of each of very many clients.
 *
 * Counting reads every row. So one row remembers a count and the newest number at that time: numbers only grow, so the
 * difference to the newest one bounds the number of rows since. It counts milliseconds too, so a count of fewer rows
 * than the bound is made again after some seconds to minutes, by the next revocation.
 */
export const REVOCATION_BOUND = {
  rows: 100_000,
  collapsedFrom: 90_000,
  left: 75_000,
  gainAtLeast: 10_000,
  few: 10,
} as const;
export type RevocationBound = { readonly [name in keyof typeof REVOCATION_BOUND]: number };

/** The key of the row that revokes the tokens of all tenants, of organizations and of none. No tenant has this name. */
export const EVERY_TENANT = "*";

/**
 * The number of a new row: milliseconds of the database's clock, or the next one after the greatest ever given.
 *
 * Isolates and locations only read numbers above the ones they have. A restored database has forgotten its greatest
 * number, but the clock has gone on since, so no number is given twice and every copy finds each row made later.
 * Exception: n rows written at once are n ms ahead of the clock, so numbers repeat if a restore ends within that time.
 * Isolates read everything again after a restore, so they get these rows too.
 */
export const NEXT_REVOCATION = `
  row_number() OVER () + max(${DATABASE_NOW_MS}, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'revocation'), 0))`;

const NEWEST = "(SELECT coalesce(max(seq), 0) FROM revocation)";
const NOW_SEC = "unixepoch()";
const RECOUNT = `
  UPDATE revocation_bound SET seq = ${NEWEST},
    living = (SELECT count(*) FROM revocation WHERE expires_sec > ${NOW_SEC} AND kind <> 'session')`;
/** The row that replaces a family (revoked-tokens-store.ts): tokens and grants of a person and a client together. */
const FAMILY = "ltrim(row.client, '|')";
/** The bound comes first in each join, so that rows are read only if there are too many. */
const SQL = {
  isDue: `SELECT living + ${NEWEST} - seq > ?1 AS isDue FROM revocation_bound WHERE id = 1`,
  recountIfDue: `${RECOUNT} WHERE id = 1 AND living + ${NEWEST} - seq > ?1`,
  recountIfCollapsed: `${RECOUNT} WHERE id = 1 AND living > ?1`,
  cutOffPeople: `
    INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec, issued_to)
    SELECT ${NEXT_REVOCATION}, 'grant', name, ${DATABASE_NOW_MS}, ?3, issuedTo FROM (
      SELECT ${FAMILY} AS name, min(row.issued_to) AS issuedTo
      FROM revocation_bound AS bound CROSS JOIN revocation AS row
      WHERE bound.id = 1 AND bound.living > ?1 AND row.expires_sec > ${NOW_SEC}
        AND row.expires_sec <= ${NOW_SEC} + ${ACCESS_TOKEN_LIFETIME_SEC} AND row.client IS NOT NULL
        AND row.kind IN ('token', 'grant')
      GROUP BY name HAVING count(*) > ?2)`,
  cutOffClients: `
    INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec)
    SELECT ${NEXT_REVOCATION}, 'client', name, ${DATABASE_NOW_MS}, ?3 FROM (
      SELECT name, living, sum(size) OVER (ORDER BY size DESC, name) - size AS gained FROM (
        SELECT row.issued_to AS name, count(*) AS size, max(bound.living) AS living
        FROM revocation_bound AS bound CROSS JOIN revocation AS row
        WHERE bound.id = 1 AND bound.living > ?1 AND row.expires_sec > ${NOW_SEC}
          AND row.expires_sec <= ${NOW_SEC} + ${ACCESS_TOKEN_LIFETIME_SEC} AND row.issued_to IS NOT NULL
        GROUP BY name HAVING size > 1))
    WHERE gained < living - ?2
    RETURNING key`,
  cutOffAll: `
    INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec)
    SELECT ${NEXT_REVOCATION}, 'tenant', '${EVERY_TENANT}', ${DATABASE_NOW_MS}, ?3 FROM revocation_bound WHERE id = 1 AND living > ?1
      AND (SELECT count(*) FROM revocation
        WHERE kind <> 'session' AND expires_sec > ${NOW_SEC} AND expires_sec <= ${NOW_SEC} + ${ACCESS_TOKEN_LIFETIME_SEC}) > ?2
    RETURNING key`,
} as const;
const deleteIncluded = (cutOff: string): string => `
  DELETE FROM revocation WHERE seq IN (
    SELECT row.seq FROM revocation_bound AS bound CROSS JOIN revocation AS row CROSS JOIN revocation AS cut_off
    WHERE bound.id = 1 AND bound.living > ?1 AND row.expires_sec > 0 AND ${cutOff} AND row.expires_sec <= cut_off.expires_sec
      AND row.expires_sec * 1000 <= cut_off.until_ms + ${ACCESS_TOKEN_LIFETIME_SEC} * 1000)`;
const DELETE_OF_PEOPLE = deleteIncluded(`cut_off.kind = 'grant' AND cut_off.key = ${FAMILY}`);
const DELETE_OF_CLIENTS = deleteIncluded("cut_off.kind = 'client' AND cut_off.key = row.issued_to");
const DELETE_OF_ALL = deleteIncluded(
  `cut_off.kind = 'tenant' AND cut_off.key = '${EVERY_TENANT}' AND row.kind <> 'session'`,
);

export type RevocationCollapseStore = ReturnType<typeof createRevocationCollapseStore>;

export function createRevocationCollapseStore(db: D1Database, bound: RevocationBound = REVOCATION_BOUND) {
  return {
    /** Returns a row with `isDue` 1 if there may be too many rows. Reads two rows. */
    isDueStatement: (): D1PreparedStatement => db.prepare(SQL.isDue).bind(bound.rows),
    /**
     * Collapses rows if there are too many, in one transaction. Returns how often a person lost what a client got of
     * it, the clients whose tokens ended, and whether all tokens did. `reportStatement`: an audit row if the statement
     * before it changed a row.
     */
    async collapse(
      expiresSec: number,
      reportStatement: (whose: "people" | "clients" | "all") => D1PreparedStatement,
    ): Promise<{ readonly people: number; readonly clients: readonly string[]; readonly all: boolean }> {
      const from = bound.collapsedFrom;
      const [, people, , , , clients, , , , all] = await db.batch<{ key: string }>([
        db.prepare(SQL.recountIfDue).bind(bound.rows),
        db.prepare(SQL.cutOffPeople).bind(from, bound.few, expiresSec),
        reportStatement("people"),
        db.prepare(DELETE_OF_PEOPLE).bind(from),
        db.prepare(SQL.recountIfCollapsed).bind(from),
        db.prepare(SQL.cutOffClients).bind(from, bound.left, expiresSec),
        reportStatement("clients"),
        db.prepare(DELETE_OF_CLIENTS).bind(from),
        db.prepare(SQL.recountIfCollapsed).bind(from),
        db.prepare(SQL.cutOffAll).bind(from, bound.gainAtLeast, expiresSec),
        reportStatement("all"),
        db.prepare(DELETE_OF_ALL).bind(from),
        db.prepare(SQL.recountIfCollapsed).bind(from),
      ]);
      return {
        people: people?.meta.changes ?? 0,
        clients: (clients?.results ?? []).map(({ key }) => key),
        all: (all?.results ?? []).length > 0,
      };
    },
  };
}
