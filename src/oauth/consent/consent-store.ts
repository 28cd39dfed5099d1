import { toScopeWords, type ScopeWords } from "./scope-words.ts";

/** The scopes that a user allows a client in one place (consent.ts). */
export interface Consent {
  readonly email: string;
  readonly clientId: string;
  /** The tenant of the client. If the client moves to another one, the consent is void. */
  readonly clientTenant: string;
  /** The place is a tenant (`org` is empty), an organization (`tenant` is empty), or neither (both are). */
  readonly tenant: string;
  readonly org: string;
  /** Service scopes, and those of OpenID Connect. */
  readonly scopes: readonly string[];
}

/** The place in the column `org`. No organization has an id with `=`. */
const placeOf = ({ tenant, org }: Pick<Consent, "tenant" | "org">): string =>
  tenant === "" ? org : `tenant=${tenant}`;

export interface StoredConsent {
  /** The name of the client's tenant. */
  readonly tenantName: string;
  /** Undefined: the user allowed nothing there. */
  readonly scopes: readonly string[] | undefined;
}

/** The most scopes in one consent, and in a request. If old and new ones together are more, only the new ones stay. */
const MAX_SCOPES = 200;

/** A consent is void once its user was signed out everywhere, even before it is removed. */
export const isInForce = (email: string): string =>
  `consent.given_at > (SELECT signed_out_at FROM user WHERE user.email = ${email})`;
const FIND = `
  SELECT tenant.name AS tenantName, consent.scopes FROM client JOIN tenant ON tenant.id = client.tenant
    LEFT JOIN consent ON consent.email = ?1 AND consent.client = client.id AND consent.org = ?3
      AND consent.tenant = client.tenant AND ${isInForce("?1")}
  WHERE client.id = ?2 AND client.tenant = ?4`;
const ALLOW = `
  INSERT INTO consent (email, client, org, tenant, scopes, given_at)
  SELECT user.email, client.id, ?3, client.tenant, ?5, ?6 FROM user JOIN client
  WHERE user.email = ?1 AND user.disabled = 0 AND user.signed_out_at < ?7 AND client.id = ?2 AND client.tenant = ?4
  ON CONFLICT (email, client, org) DO UPDATE SET
    tenant = excluded.tenant, given_at = excluded.given_at,
    scopes = iif(consent.tenant = excluded.tenant
      AND ${isInForce("excluded.email")}, (
      SELECT iif(count(*) > ${MAX_SCOPES}, excluded.scopes, json_group_array(value)) FROM (
        SELECT value FROM json_each(consent.scopes) UNION SELECT value FROM json_each(excluded.scopes))
    ), excluded.scopes)`;
const WORDS = `
  SELECT words.key AS scope, words.value AS words FROM service, json_each(service.scope_descriptions) AS words
  WHERE service.name IN (SELECT value FROM json_each(?1)) ORDER BY service.name`;
const REVOKE = `DELETE FROM consent WHERE email = ?1 AND client = ?2`;

export type ConsentStore = ReturnType<typeof createConsentStore>;

export const createConsentStore = (db: D1Database) => ({
  /** Undefined if the client is gone or belongs to another tenant now. One round trip. */
  async find(consent: Omit<Consent, "scopes">): Promise<StoredConsent | undefined> {
    const { email, clientId, clientTenant } = consent;
    const statement = db.prepare(FIND).bind(email, clientId, placeOf(consent), clientTenant);
    const row = await statement.first<{ tenantName: string; scopes: string | null }>();
    return row === null
      ? undefined
      : { ...row, scopes: row.scopes === null ? undefined : (JSON.parse(row.scopes) as string[]) };
  },
  /**
   * Adds the scopes to those that are allowed already. Does nothing if the user or client is gone, or the sign-in is
   * not valid any more. `beside`: statements of the same transaction; `changes()` tells them the result.
   */
  async allow(
    consent: Consent,
    { authenticatedAtMs, nowMs }: { readonly authenticatedAtMs: number; readonly nowMs: number },
    beside: readonly D1PreparedStatement[],
  ): Promise<void> {
    const { email, clientId, clientTenant, scopes } = consent;
    const values = [email, clientId, placeOf(consent), clientTenant, JSON.stringify(scopes), nowMs, authenticatedAtMs];
    await db.batch([db.prepare(ALLOW).bind(...values), ...beside]);
  },
  /** The descriptions that these services registered for their scopes. */
  async words(services: readonly string[]): Promise<ScopeWords> {
    if (services.length === 0) return new Map();
    const { results } = await db.prepare(WORDS).bind(JSON.stringify(services)).all<{ scope: string; words: string }>();
    return toScopeWords(results);
  },
  /** Removes everything that the user allowed the client, as part of the caller's transaction. */
  revokeStatement: (email: string, clientId: string): D1PreparedStatement => db.prepare(REVOKE).bind(email, clientId),
});
