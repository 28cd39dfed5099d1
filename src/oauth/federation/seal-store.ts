import { describeError, type Log } from "../../platform/runtime/log.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { macSealContext } from "../clients/mac-secret.ts";
import { totpSealContext } from "../factors/secret.ts";
import { keySealContext } from "../tokens/keys/signing-key.ts";
import { providerSealContext } from "./providers.ts";

/** Secrets that are stored sealed. Sealed sign-ins in progress are not among them: they expire within minutes. */
export type SealedKind = keyof typeof TABLES;

interface SealedText {
  readonly id: string;
  readonly sealed: string;
}

const TABLES = {
  identityProviders: { table: "identity_provider", id: "id", column: "sealed_client_secret" },
  signingKeys: { table: "signing_key", id: "kid", column: "sealed_private_jwk" },
  secondFactors: { table: "totp", id: "email", column: "sealed_secret" },
  clientSecrets: { table: "client_secret", id: "digest", column: "sealed" },
} as const;

/** The id of the key stands before the first dot of a sealed text. A deployment refuses to lose a key in use. */
export const SEALED_COLUMNS: readonly { readonly table: string; readonly column: string }[] = Object.values(TABLES);

const SEAL_CONTEXTS: Readonly<Record<SealedKind, (id: string) => string>> = {
  identityProviders: providerSealContext,
  signingKeys: keySealContext,
  secondFactors: totpSealContext,
  clientSecrets: macSealContext,
};

const statements = ({ table, id, column }: (typeof TABLES)[SealedKind]) => {
  const key = `substr(${column}, 1, instr(${column}, '.') - 1)`;
  return {
    // In random order, so a text that does not open never blocks the others.
    underOtherKey: `SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${id} IN (
      SELECT ${id} FROM ${table} WHERE ${key} < ?1 OR ${key} > ?1 ORDER BY random() LIMIT ?2)`,
    replace: `UPDATE ${table} SET ${column} = given.value ->> 'resealed' FROM json_each(?1) AS given
      WHERE ${table}.${id} = given.value ->> 'id' AND ${column} = given.value ->> 'sealed'`,
    nextKey: `SELECT min(${key}) AS key FROM ${table} WHERE ${key} > ?1`,
    count: `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE ${key} = ?1 LIMIT ?2)`,
  };
};
const SQL = {
  identityProviders: statements(TABLES.identityProviders),
  signingKeys: statements(TABLES.signingKeys),
  secondFactors: statements(TABLES.secondFactors),
  clientSecrets: statements(TABLES.clientSecrets),
} as const;

/** Our choice: the rows of each kind that one run of the cron seals again. 100,000 second factors take eight hours. */
const ROWS_PER_RUN = 1_000;
/** More keys than are ever in use at the same time. */
const MAX_KEYS = 20;

export const createSealStore = (db: D1Database, sealer: Sealer, log: Log) => ({
  /**
   * Seals again, under the current key, texts that are sealed under another one. Once none is found, the other key can
   * be removed. A text that does not open stays as it is; the others are still sealed again.
   */
  async reseal(): Promise<void> {
    for (const [kind, context] of Object.entries(SEAL_CONTEXTS) as [SealedKind, (id: string) => string][]) {
      const { underOtherKey, replace } = SQL[kind];
      const found = await db.prepare(underOtherKey).bind(sealer.keyId, ROWS_PER_RUN).all<SealedText>();
      const resealed: (SealedText & { readonly resealed: string })[] = [];
      for (const { id, sealed } of found.results) {
        try {
          const plain = await sealer.open(sealed, context(id));
          if (plain === undefined) throw new Error("SEAL_KEYS lacks the key that sealed it");
          resealed.push({ id, sealed, resealed: await sealer.seal(plain, context(id)) });
        } catch (thrown) {
          log.error("not sealed anew", { kind, id, error: describeError(thrown) });
        }
      }
      if (found.results.length === 0) continue;
      await db.prepare(replace).bind(JSON.stringify(resealed)).run();
      const failed = found.results.length - resealed.length;
      log.info("sealed anew", { kind, count: resealed.length, failed });
    }
  },
  /** The number of texts sealed under each key, counted up to `most` per key. */
  async count(kind: SealedKind, most: number): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const { nextKey, count } = SQL[kind];
    for (let key: string | null = ""; counts.size < MAX_KEYS;) {
      key = await db.prepare(nextKey).bind(key).first<string>("key");
      if (key === null) break;
      counts.set(key, (await db.prepare(count).bind(key, most).first<number>("n")) ?? 0);
    }
    return counts;
  },
});
