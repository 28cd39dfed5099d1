/** Signing keys and revocations in D1: everything that decides whether a token is ours and still good. */
export interface PublicJwk extends JsonWebKey {
  readonly kid: string;
}

export interface SigningKeyRow {
  readonly kid: string;
  readonly alg: string;
  /** With `kid`, `alg` and `use`, as `/jwks` shows it. */
  readonly publicJwk: PublicJwk;
  readonly sealedPrivateJwk: string;
  readonly signsFromMs: number;
}

export type RevocationKind = "token" | "grant" | "client" | "user" | "tenant" | "session";

export interface Revocation {
  readonly kind: RevocationKind;
  readonly key: string;
  /** Tokens issued at this second or before are revoked. */
  readonly issuedUntilSec: number;
  /** From here on every token that the row concerns has expired anyway. */
  readonly expiresSec: number;
}

export interface TrustNews {
  readonly keys: readonly SigningKeyRow[];
  readonly revocations: readonly Revocation[];
  /** The number of the newest revocation seen: ask for what came after it. */
  readonly lastSeq: number;
}

export interface TrustStore {
  /** Every published key, and the revocations that came after `afterSeq`: one statement, one round trip. */
  news(afterSeq: number, nowMs: number): Promise<TrustNews>;
  /** Adds the key unless one for its algorithm is there already. */
  addFirstKey(key: SigningKeyRow, nowMs: number): Promise<void>;
  revoke(revocations: readonly Revocation[]): Promise<void>;
  /** The same for one row, to be run in a caller's transaction. */
  revokeStatement(revocation: Revocation): D1PreparedStatement;
  /** Removes at most `limit` rows that concern no living token. */
  forgetExpired(nowSec: number, limit: number): Promise<void>;
}

const NEWS = `
  SELECT 0 AS seq, 'key' AS tag, json_object('kid', kid, 'alg', alg, 'publicJwk', json(public_jwk),
      'sealedPrivateJwk', sealed_private_jwk, 'signsFromMs', signs_from) AS value
    FROM signing_key WHERE published_until IS NULL OR published_until > ?2
  UNION ALL
  SELECT seq, 'revocation', json_object('kind', kind, 'key', key, 'issuedUntilSec', issued_until_sec, 'expiresSec', expires_sec)
    FROM revocation WHERE seq > ?1`;

const ADD_FIRST_KEY = `
  INSERT INTO signing_key (kid, alg, public_jwk, sealed_private_jwk, created_at, signs_from)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE alg = ?2)`;

/** A repeat keeps the later cut-off and gets a new number, so that every copy hears of it. */
const REVOKE = `
  INSERT OR REPLACE INTO revocation (kind, key, issued_until_sec, expires_sec)
  SELECT ?1, ?2, max(?3, coalesce(max(issued_until_sec), 0)), max(?4, coalesce(max(expires_sec), 0))
    FROM revocation WHERE kind = ?1 AND key = ?2`;

const FORGET = `
  DELETE FROM revocation WHERE seq IN (SELECT seq FROM revocation WHERE expires_sec <= ?1 ORDER BY expires_sec LIMIT ?2)`;

export function createTrustStore(db: D1Database): TrustStore {
  const revokeStatement = (row: Revocation): D1PreparedStatement =>
    db.prepare(REVOKE).bind(row.kind, row.key, row.issuedUntilSec, row.expiresSec);
  return {
    revokeStatement,
    async news(afterSeq, nowMs) {
      const { results } = await db
        .prepare(NEWS)
        .bind(afterSeq, nowMs)
        .all<{ seq: number; tag: string; value: string }>();
      return {
        keys: results.filter((row) => row.tag === "key").map((row) => JSON.parse(row.value) as SigningKeyRow),
        revocations: results
          .filter((row) => row.tag === "revocation")
          .map((row) => JSON.parse(row.value) as Revocation),
        lastSeq: results.reduce((last, row) => Math.max(last, row.seq), afterSeq),
      };
    },
    async addFirstKey(key, nowMs) {
      const publicJwk = JSON.stringify(key.publicJwk);
      await db
        .prepare(ADD_FIRST_KEY)
        .bind(key.kid, key.alg, publicJwk, key.sealedPrivateJwk, nowMs, key.signsFromMs)
        .run();
    },
    async revoke(revocations) {
      if (revocations.length === 0) return;
      await db.batch(revocations.map(revokeStatement));
    },
    async forgetExpired(nowSec, limit) {
      await db.prepare(FORGET).bind(nowSec, limit).run();
    },
  };
}
