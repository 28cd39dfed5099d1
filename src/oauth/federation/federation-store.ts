import type { Binding } from "../model/binding.ts";
import { readBinding } from "./identity-store.ts";

/** A registered identity provider. The operator service writes these rows. */
export interface ProviderRecord extends Binding {
  readonly id: string;
  readonly issuer: string;
  /** The platform's client id at the provider. */
  readonly clientId: string;
  readonly sealedClientSecret: string;
  readonly scopes: readonly string[];
  /** Addresses of the provider count as verified if it does not tell; an operator has decided so. */
  readonly trustsEmail: boolean;
  /** The way to link an account there to a user here at its first sign-in. */
  readonly linking: Linking;
}

/** A provider on pages. The name on its button is empty if there is none. */
export interface OfferedProvider extends Binding, Pick<ProviderRecord, "id" | "issuer" | "linking"> {
  readonly button: string;
}

/**
 * - `confirm`: the user enters the password that they have here.
 * - `operator`: an operator links the account in advance.
 * - `verified_email`: the address that the provider verified is enough, within the provider's domains.
 */
type Linking = "confirm" | "operator" | "verified_email";

/** A sign-in in progress at a provider. Hashes are SHA-256 in hex. */
export interface FederationRow {
  readonly stateHash: string;
  readonly browserHash: string;
  readonly provider: string;
  readonly sealed: string;
  readonly expiresAtMs: number;
}

const PROVIDER = `
  SELECT id, issuer, client_id AS clientId, sealed_client_secret AS sealedClientSecret, scopes, tenants, domains, linking,
    trusts_email AS trustsEmail
  FROM identity_provider WHERE id = ?1`;
/** More than any deployment has. */
const OFFERED = `id, issuer, button, tenants, domains, linking FROM identity_provider`;
const WITH_BUTTON = `SELECT ${OFFERED} WHERE button > '' ORDER BY button, id LIMIT 500`;
/** A list with a domain sorts before the empty list. */
const WITH_DOMAINS = `SELECT ${OFFERED} WHERE domains < '[]' ORDER BY domains, id LIMIT 500`;
const BEGIN = `
  INSERT INTO federation (state_hash, browser_hash, provider, sealed, expires_at)
  SELECT ?1, ?2, id, ?4, ?5 FROM identity_provider WHERE id = ?3`;
const TAKE = `
  DELETE FROM federation WHERE state_hash = ?1
  RETURNING state_hash AS stateHash, browser_hash AS browserHash, provider, sealed, expires_at AS expiresAtMs`;
const DELETE_EXPIRED = `
  DELETE FROM federation WHERE state_hash IN (SELECT state_hash FROM federation WHERE expires_at <= ?1 LIMIT ?2)`;

type ProviderRow = Omit<ProviderRecord, "scopes" | "trustsEmail" | keyof Binding> &
  Record<"scopes" | keyof Binding, string> & { readonly trustsEmail: number };

type OfferedRow = Omit<OfferedProvider, keyof Binding> & Record<keyof Binding, string>;

export type FederationStore = ReturnType<typeof createFederationStore>;

export const createFederationStore = (db: D1Database) => ({
  async provider(id: string): Promise<ProviderRecord | undefined> {
    const row = await db.prepare(PROVIDER).bind(id).first<ProviderRow>();
    return row === null
      ? undefined
      : { ...row, scopes: JSON.parse(row.scopes) as string[], trustsEmail: row.trustsEmail === 1, ...readBinding(row) };
  },
  /** The providers with a button or with domains. */
  async offered(): Promise<readonly OfferedProvider[]> {
    const found = await db.batch<OfferedRow>([WITH_BUTTON, WITH_DOMAINS].map((sql) => db.prepare(sql)));
    const rows = new Map(found.flatMap(({ results }) => results).map((row) => [row.id, row]));
    return [...rows.values()].map((row) => ({ ...row, ...readBinding(row) }));
  },
  /** Returns false if the provider has just been removed. */
  async begin({ stateHash, browserHash, provider, sealed, expiresAtMs }: FederationRow): Promise<boolean> {
    const result = await db.prepare(BEGIN).bind(stateHash, browserHash, provider, sealed, expiresAtMs).run();
    return result.meta.changes === 1;
  },
  /** Deletes the row and returns it: a state can be used once, by any browser. */
  async take(stateHash: string): Promise<FederationRow | undefined> {
    return (await db.prepare(TAKE).bind(stateHash).first<FederationRow>()) ?? undefined;
  },
  /** Deletes at most `limit` expired sign-ins and returns how many. */
  async deleteExpired(nowMs: number, limit: number): Promise<number> {
    return (await db.prepare(DELETE_EXPIRED).bind(nowMs, limit).run()).meta.changes;
  },
});
