/** The scopes that a user allowed a client of a tenant that they are not a member of (consent.ts). */
export interface Consent {
  readonly email: string;
  readonly clientId: string;
  /** Empty outside any organization. */
  readonly org: string;
  /** The client's tenant. If the client moves to another tenant, the consent is void. */
  readonly tenant: string;
  /** `openid` and service scopes. */
  readonly scopes: readonly string[];
}

export interface StoredConsent {
  /** For display. */
  readonly tenantName: string;
  /** Undefined: the user allowed nothing there. */
  readonly scopes: readonly string[] | undefined;
}

/** Scopes that a person can allow one client in one organization. A request names no more. */
const MAX_SCOPES = 200;

const FIND = `
  SELECT tenant.name AS tenantName, consent.scopes FROM client JOIN tenant ON tenant.id = client.tenant
    LEFT JOIN consent ON consent.email = ?1 AND consent.client = client.id AND consent.org = ?3
      AND consent.tenant = client.tenant
  WHERE client.id = ?2 AND client.tenant = ?4`;
const ALLOW = `
  INSERT INTO consent (email, client, org, tenant, scopes, given_at)
  SELECT user.email, client.id, ?3, client.tenant, ?5, ?6 FROM user JOIN client
  WHERE user.email = ?1 AND user.disabled = 0 AND user.signed_out_at < ?7 AND client.id = ?2 AND client.tenant = ?4
  ON CONFLICT (email, client, org) DO UPDATE SET
    tenant = excluded.tenant, given_at = excluded.given_at,
    scopes = iif(consent.tenant = excluded.tenant, (
      SELECT iif(count(*) > ${MAX_SCOPES}, excluded.scopes, json_group_array(value)) FROM (
        SELECT value FROM json_each(consent.scopes) UNION SELECT value FROM json_each(excluded.scopes))
    ), excluded.scopes)`;
const REVOKE = `DELETE FROM consent WHERE email = ?1 AND client = ?2`;

export type ConsentStore = ReturnType<typeof createConsentStore>;

export const createConsentStore = (db: D1Database) => ({
  /** Undefined if the client is gone or belongs to another tenant now. One round trip. */
  async find({ email, clientId, org, tenant }: Omit<Consent, "scopes">): Promise<StoredConsent | undefined> {
    const statement = db.prepare(FIND).bind(email, clientId, org, tenant);
    const row = await statement.first<{ tenantName: string; scopes: string | null }>();
    return row === null
      ? undefined
      : { ...row, scopes: row.scopes === null ? undefined : (JSON.parse(row.scopes) as string[]) };
  },
  /**
   * Adds to the scopes that are allowed already. Does nothing if the user or the client is gone or the sign-in is not
   * valid any more. `beside`: statements of the same transaction; `changes()` tells them the result.
   */
  async allow(
    { email, clientId, org, tenant, scopes }: Consent,
    { authenticatedAtMs, nowMs }: { readonly authenticatedAtMs: number; readonly nowMs: number },
    beside: readonly D1PreparedStatement[],
  ): Promise<void> {
    const values = [email, clientId, org, tenant, JSON.stringify(scopes), nowMs, authenticatedAtMs];
    await db.batch([db.prepare(ALLOW).bind(...values), ...beside]);
  },
  /** Removes everything that the user allowed the client, as part of the caller's transaction. */
  revokeStatement: (email: string, clientId: string): D1PreparedStatement => db.prepare(REVOKE).bind(email, clientId),
});
