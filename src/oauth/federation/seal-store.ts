import { describeError, type Log } from "../../platform/log.ts";
import type { Sealer } from "../../platform/seal.ts";
import { keySealContext } from "../tokens/signing-key.ts";
import { providerSealContext } from "./providers.ts";

/** What this room has sealed for good, and under which key. What lives minutes (sign-ins under way) ends by itself. */
export interface SealStore {
  /** Some that are under another key than this one, in any order: one that does not open keeps no other from it. */
  findSealedOtherwise(kind: SealedKind, keyId: string, limit: number): Promise<readonly SealedText[]>;
  /** Puts the same text under another key, unless it was changed meanwhile. */
  reseal(kind: SealedKind, text: SealedText, sealed: string): Promise<void>;
  /** How many there are under each key, up to `most` of each. */
  count(kind: SealedKind, most: number): Promise<ReadonlyMap<string, number>>;
}

export type SealedKind = keyof typeof TABLES;

export interface SealedText {
  readonly id: string;
  readonly sealed: string;
}

const TABLES = {
  identityProviders: { table: "identity_provider", id: "id", column: "sealed_client_secret" },
  signingKeys: { table: "signing_key", id: "kid", column: "sealed_private_jwk" },
} as const;

const statements = ({ table, id, column }: (typeof TABLES)[SealedKind]) => {
  const key = `substr(${column}, 1, instr(${column}, '.') - 1)`;
  return {
    otherwise: `SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${id} IN (
      SELECT ${id} FROM ${table} WHERE ${key} < ?1 OR ${key} > ?1 ORDER BY random() LIMIT ?2)`,
    reseal: `UPDATE ${table} SET ${column} = ?3 WHERE ${id} = ?1 AND ${column} = ?2`,
    nextKey: `SELECT min(${key}) AS key FROM ${table} WHERE ${key} > ?1`,
    count: `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE ${key} = ?1 LIMIT ?2)`,
  };
};
export const SEAL_SQL = {
  identityProviders: statements(TABLES.identityProviders),
  signingKeys: statements(TABLES.signingKeys),
} as const;

export const createSealStore = (db: D1Database): SealStore => ({
  async findSealedOtherwise(kind, keyId, limit) {
    return (await db.prepare(SEAL_SQL[kind].otherwise).bind(keyId, limit).all<SealedText>()).results;
  },
  async reseal(kind, { id, sealed: before }, sealed) {
    await db.prepare(SEAL_SQL[kind].reseal).bind(id, before, sealed).run();
  },
  async count(kind, most) {
    const counts = new Map<string, number>();
    const { nextKey, count } = SEAL_SQL[kind];
    for (let key: string | null = ""; counts.size < MOST_KEYS;) {
      key = await db.prepare(nextKey).bind(key).first<string>("key");
      if (key === null) break;
      counts.set(key, (await db.prepare(count).bind(key, most).first<number>("n")) ?? 0);
    }
    return counts;
  },
});

/** More keys than anybody rotates through at once. */
const MOST_KEYS = 20;

/** Of each kind in one run of the cron. */
const A_RUN = 100;

const CONTEXTS: Readonly<Record<SealedKind, (id: string) => string>> = {
  identityProviders: providerSealContext,
  signingKeys: keySealContext,
};

/**
 * Seals what is under another key than the one that seals now anew. When it finds none any more, the other key may go. One
 * that does not open is left, and does not keep the others from it.
 */
export async function reseal(store: SealStore, sealer: Sealer, log: Log): Promise<void> {
  for (const [kind, sealContext] of Object.entries(CONTEXTS) as [SealedKind, (id: string) => string][]) {
    const found = await store.findSealedOtherwise(kind, sealer.keyId, A_RUN);
    let failed = 0;
    for (const text of found) {
      try {
        const plain = await sealer.open(text.sealed, sealContext(text.id));
        if (plain === undefined) throw new Error("SEAL_KEYS lacks the key that sealed it");
        await store.reseal(kind, text, await sealer.seal(plain, sealContext(text.id)));
      } catch (thrown) {
        failed += 1;
        log.error("not sealed anew", { kind, id: text.id, error: describeError(thrown) });
      }
    }
    if (found.length > 0) log.info("sealed anew", { kind, count: found.length - failed, failed });
  }
}
