import type { Binding } from "../model/binding.ts";
import { readBinding } from "./identity-store.ts";

/** Identity providers, which the operator service writes, and the sign-ins that are under way at them. */
export interface ProviderRow extends Binding {
  readonly id: string;
  readonly issuer: string;
  /** The platform as the provider knows it. */
  readonly clientId: string;
  readonly sealedClientSecret: string;
  readonly scopes: readonly string[];
  /** Who says that an account there is a user's here, at its first sign-in. */
  readonly linking: Linking;
}

/**
 * `confirm`: the user, by the password here. `operator`: an operator, before. `verified_email`: the provider, by the address
 * that it verified; for those of its domains alone.
 */
export type Linking = "confirm" | "operator" | "verified_email";

/** A sign-in under way; the hashes are SHA-256 in hex. */
export interface FederationRow {
  readonly stateHash: string;
  readonly browserHash: string;
  readonly provider: string;
  readonly sealed: string;
  readonly expiresAtMs: number;
}

export interface FederationStore {
  provider(id: string): Promise<ProviderRow | undefined>;
  /** False: the provider was removed meanwhile. */
  begin(row: FederationRow): Promise<boolean>;
  /** Takes the row away and gives it: a state is good once, whoever comes with it. */
  take(stateHash: string): Promise<FederationRow | undefined>;
  /** Removes at most `limit` that are over; returns how many. */
  deleteExpired(nowMs: number, limit: number): Promise<number>;
}

const PROVIDER = `SELECT id, issuer, client_id, sealed_client_secret, scopes, tenants, domains, linking FROM identity_provider WHERE id = ?1`;
const BEGIN = `
  INSERT INTO federation (state_hash, browser_hash, provider, sealed, expires_at)
  SELECT ?1, ?2, id, ?4, ?5 FROM identity_provider WHERE id = ?3`;
const TAKE = `
  DELETE FROM federation WHERE state_hash = ?1 RETURNING state_hash, browser_hash, provider, sealed, expires_at`;
const FORGET = `
  DELETE FROM federation WHERE state_hash IN (SELECT state_hash FROM federation WHERE expires_at <= ?1 LIMIT ?2)`;

type Row = Record<string, string | number>;

export function createFederationStore(db: D1Database): FederationStore {
  return {
    async provider(id) {
      const row = await db.prepare(PROVIDER).bind(id).first<Row>();
      if (row === null) return undefined;
      return {
        id: String(row["id"]),
        issuer: String(row["issuer"]),
        clientId: String(row["client_id"]),
        sealedClientSecret: String(row["sealed_client_secret"]),
        scopes: JSON.parse(String(row["scopes"])) as string[],
        linking: String(row["linking"]) as Linking,
        ...readBinding({ tenants: String(row["tenants"]), domains: String(row["domains"]) }),
      };
    },
    async begin({ stateHash, browserHash, provider, sealed, expiresAtMs }) {
      const result = await db.prepare(BEGIN).bind(stateHash, browserHash, provider, sealed, expiresAtMs).run();
      return result.meta.changes === 1;
    },
    async take(stateHash) {
      const row = await db.prepare(TAKE).bind(stateHash).first<Row>();
      if (row === null) return undefined;
      return {
        stateHash: String(row["state_hash"]),
        browserHash: String(row["browser_hash"]),
        provider: String(row["provider"]),
        sealed: String(row["sealed"]),
        expiresAtMs: Number(row["expires_at"]),
      };
    },
    async deleteExpired(nowMs, limit) {
      return (await db.prepare(FORGET).bind(nowMs, limit).run()).meta.changes;
    },
  };
}
