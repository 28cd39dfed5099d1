/** Signing keys in D1. A row is never changed but for the end of its publication and its seal, so that copies of it stay right. */
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

/** What decides about the state of a key (tokens/key-life.ts). */
export interface KeyTimes {
  readonly kid: string;
  readonly alg: string;
  /** Grows from key to key of an algorithm, whatever the clocks of those who made them say. */
  readonly createdAtMs: number;
  readonly signsFromMs: number;
  /** Undefined until a later key is there. */
  readonly publishedUntilMs: number | undefined;
}

export interface KeyPage {
  /** The last key of the page before; undefined: from the newest. */
  readonly before: { readonly createdAtMs: number; readonly kid: string } | undefined;
  readonly limit: number;
  readonly skip: number;
}

export interface KeyPlan {
  readonly keys: readonly NewKey[];
  readonly signsFromMs: number;
  /** When the earlier keys of these algorithms are published no longer; one that ends sooner anyway keeps its end. */
  readonly earlierUntilMs: number;
  /** A row for the audit log, written if the keys are. */
  readonly audit: D1PreparedStatement;
}

/** What keeps keys from being added: the condition is part of the write, so of two writers one wins. */
export type KeyCondition =
  /** A published key of the algorithm that signs from a later time on. */
  | { readonly unless: "signs after"; readonly timeMs: number }
  /** So many published keys of any one algorithm. */
  | { readonly unless: "published"; readonly count: number };

export interface KeyStore {
  /** Adds all of the keys or none, and says until when the earlier ones are published, in one transaction. */
  add(plan: KeyPlan, condition: KeyCondition, nowMs: number): Promise<readonly KeyTimes[]>;
  published(nowMs: number): Promise<readonly KeyTimes[]>;
  /** Keys from the newest on, and all published ones, as of one moment. */
  page(page: KeyPage, nowMs: number): Promise<{ rows: readonly KeyTimes[]; published: readonly KeyTimes[] }>;
  /** Removes keys, private halves too, whose publication ended at this time or before. */
  deleteEnded(endedMs: number): Promise<void>;
}

/** Shared with the copy that isolates hold (trust-store.ts). `now` is a parameter's name. */
export const isPublished = (now: string): string => `(published_until IS NULL OR published_until > ${now})`;

const COLUMNS = "kid, alg, created_at, signs_from, published_until";

const ADD = `
  INSERT INTO signing_key (kid, alg, public_jwk, sealed_private_jwk, created_at, signs_from)
  SELECT made.value ->> 'kid', made.value ->> 'alg', made.value -> 'publicJwk', made.value ->> 'sealedPrivateJwk',
    max(?2, coalesce((SELECT max(created_at) + 1 FROM signing_key WHERE alg = made.value ->> 'alg'), 0)), ?3
  FROM json_each(?1) AS made WHERE NOT EXISTS `;
const UNLESS: Readonly<Record<KeyCondition["unless"], string>> = {
  "signs after": `(SELECT 1 FROM signing_key WHERE alg = made.value ->> 'alg' AND signs_from > ?4 AND ${isPublished("?2")})`,
  published: `(SELECT 1 FROM signing_key WHERE ${isPublished("?2")} GROUP BY alg HAVING count(*) >= ?4)`,
};

const RETIRE = `
  UPDATE signing_key SET published_until = min(coalesce(published_until, ?2), ?2) WHERE EXISTS (
    SELECT 1 FROM json_each(?1) AS made JOIN signing_key AS later ON later.kid = made.value ->> 'kid'
    WHERE later.alg = signing_key.alg AND later.kid <> signing_key.kid)`;

const PUBLISHED = `SELECT ${COLUMNS} FROM signing_key WHERE ${isPublished("?1")}`;
const PAGE = `
  SELECT ${COLUMNS} FROM signing_key WHERE (created_at, kid) < (?1, ?2)
  ORDER BY created_at DESC, kid DESC LIMIT ?3 OFFSET ?4`;
const FORGET = `DELETE FROM signing_key WHERE published_until <= ?1`;

export function createKeyStore(db: D1Database): KeyStore {
  return {
    async add({ keys, signsFromMs, earlierUntilMs, audit }, condition, nowMs) {
      const bound = condition.unless === "published" ? condition.count : condition.timeMs;
      const made = JSON.stringify(keys);
      const sql = `${ADD}${UNLESS[condition.unless]} RETURNING ${COLUMNS}`;
      const [added] = await db.batch<Row>([
        db.prepare(sql).bind(made, nowMs, signsFromMs, bound),
        audit,
        db.prepare(RETIRE).bind(made, earlierUntilMs),
      ]);
      return (added?.results ?? []).map(toTimes);
    },
    async published(nowMs) {
      return (await db.prepare(PUBLISHED).bind(nowMs).all<Row>()).results.map(toTimes);
    },
    async page({ before, limit, skip }, nowMs) {
      const { createdAtMs, kid } = before ?? { createdAtMs: Number.MAX_SAFE_INTEGER, kid: "" };
      const [rows, published] = await db.batch<Row>([
        db.prepare(PAGE).bind(createdAtMs, kid, limit, skip),
        db.prepare(PUBLISHED).bind(nowMs),
      ]);
      return { rows: (rows?.results ?? []).map(toTimes), published: (published?.results ?? []).map(toTimes) };
    },
    async deleteEnded(endedMs) {
      await db.prepare(FORGET).bind(endedMs).run();
    },
  };
}

interface Row {
  kid: string;
  alg: string;
  created_at: number;
  signs_from: number;
  published_until: number | null;
}

const toTimes = (row: Row): KeyTimes => ({
  kid: row.kid,
  alg: row.alg,
  createdAtMs: row.created_at,
  signsFromMs: row.signs_from,
  publishedUntilMs: row.published_until ?? undefined,
});
