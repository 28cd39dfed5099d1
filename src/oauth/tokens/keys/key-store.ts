/** Signing keys in D1. Of a row, only the end of its publication and its seal ever change, so copies stay correct. */
export interface PublicJwk extends JsonWebKey {
  readonly kid: string;
}

export interface NewKey {
  readonly kid: string;
  readonly alg: string;
  /** With `kid`, `alg` and `use`, as `/jwks` shows it. */
  readonly publicJwk: PublicJwk;
  readonly sealedPrivateJwk: string;
}

/** The times that decide the state of a key (key-life.ts). */
export interface KeyTimes {
  readonly kid: string;
  readonly alg: string;
  /** Grows from key to key of an algorithm, regardless of clock differences. */
  readonly createdAtMs: number;
  readonly signsFromMs: number;
  /** Undefined until a later key exists. */
  readonly publishedUntilMs: number | undefined;
}

export interface KeyPage {
  /** The last key of the previous page. Undefined: start with the newest. */
  readonly before: { readonly createdAtMs: number; readonly kid: string } | undefined;
  readonly limit: number;
  readonly skip: number;
}

export interface KeyPlan {
  readonly keys: readonly NewKey[];
  readonly signsFromMs: number;
  /** The end of publication of earlier keys of these algorithms. An earlier end stays. */
  readonly earlierUntilMs: number;
  /** An audit row, written if the keys are. */
  readonly audit: D1PreparedStatement;
}

/** Prevents keys from being added. The condition is part of the write, so one of two writers wins. */
export type KeyCondition =
  /** There is a published key of the algorithm that signs from a later time. */
  | { readonly unless: "signs after"; readonly timeMs: number }
  /** There are this many published keys of any one algorithm. */
  | { readonly unless: "published"; readonly count: number };

/** Shared with trust-store.ts. `now`: the name of a parameter. */
export const isPublished = (now: string): string => `(published_until IS NULL OR published_until > ${now})`;

const COLUMNS = "kid, alg, created_at AS createdAtMs, signs_from AS signsFromMs, published_until AS publishedUntilMs";

const ADD = `
  INSERT INTO signing_key (kid, alg, public_jwk, sealed_private_jwk, created_at, signs_from)
  SELECT added.value ->> 'kid', added.value ->> 'alg', added.value -> 'publicJwk', added.value ->> 'sealedPrivateJwk',
    max(?2, coalesce((SELECT max(created_at) + 1 FROM signing_key WHERE alg = added.value ->> 'alg'), 0)), ?3
  FROM json_each(?1) AS added WHERE NOT EXISTS `;
const UNLESS: Readonly<Record<KeyCondition["unless"], string>> = {
  "signs after": `(SELECT 1 FROM signing_key WHERE alg = added.value ->> 'alg' AND signs_from > ?4 AND ${isPublished("?2")})`,
  published: `(SELECT 1 FROM signing_key WHERE ${isPublished("?2")} GROUP BY alg HAVING count(*) >= ?4)`,
};

const RETIRE = `
  UPDATE signing_key SET published_until = min(coalesce(published_until, ?2), ?2) WHERE EXISTS (
    SELECT 1 FROM json_each(?1) AS added JOIN signing_key AS later ON later.kid = added.value ->> 'kid'
    WHERE later.alg = signing_key.alg AND later.kid <> signing_key.kid)`;

const PUBLISHED = `SELECT ${COLUMNS} FROM signing_key WHERE ${isPublished("?1")}`;
const PAGE = `
  SELECT ${COLUMNS} FROM signing_key WHERE (created_at, kid) < (?1, ?2)
  ORDER BY created_at DESC, kid DESC LIMIT ?3 OFFSET ?4`;
const DELETE_ENDED = `DELETE FROM signing_key WHERE published_until <= ?1`;

export type KeyStore = ReturnType<typeof createKeyStore>;

export const createKeyStore = (db: D1Database) => ({
  /** Adds all keys or none, and sets the end of the earlier keys' publication, in one transaction. */
  async add(
    { keys, signsFromMs, earlierUntilMs, audit }: KeyPlan,
    condition: KeyCondition,
    nowMs: number,
  ): Promise<readonly KeyTimes[]> {
    const bound = condition.unless === "published" ? condition.count : condition.timeMs;
    const json = JSON.stringify(keys);
    const sql = `${ADD}${UNLESS[condition.unless]} RETURNING ${COLUMNS}`;
    const [added] = await db.batch<Row>([
      db.prepare(sql).bind(json, nowMs, signsFromMs, bound),
      audit,
      db.prepare(RETIRE).bind(json, earlierUntilMs),
    ]);
    return toTimes(added);
  },
  async published(nowMs: number): Promise<readonly KeyTimes[]> {
    return toTimes(await db.prepare(PUBLISHED).bind(nowMs).all<Row>());
  },
  /** Keys, the newest first, and all published ones, as of the same moment. */
  async page(
    { before, limit, skip }: KeyPage,
    nowMs: number,
  ): Promise<Record<"rows" | "published", readonly KeyTimes[]>> {
    const { createdAtMs, kid } = before ?? { createdAtMs: Number.MAX_SAFE_INTEGER, kid: "" };
    const [rows, published] = await db.batch<Row>([
      db.prepare(PAGE).bind(createdAtMs, kid, limit, skip),
      db.prepare(PUBLISHED).bind(nowMs),
    ]);
    return { rows: toTimes(rows), published: toTimes(published) };
  },
  /** Deletes keys, private halves too, whose publication ended at this time or before. */
  async deleteEnded(endedMs: number): Promise<void> {
    await db.prepare(DELETE_ENDED).bind(endedMs).run();
  },
});

type Row = Omit<KeyTimes, "publishedUntilMs"> & { readonly publishedUntilMs: number | null };

const toTimes = (result: D1Result<Row> | undefined): readonly KeyTimes[] =>
  (result?.results ?? []).map((row) => ({ ...row, publishedUntilMs: row.publishedUntilMs ?? undefined }));
