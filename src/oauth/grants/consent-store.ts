/** What people allowed clients of tenants that they are no members of (consent.ts). */
export interface Consent {
  readonly email: string;
  readonly clientId: string;
  /** Empty outside any organization. */
  readonly org: string;
  /** The client's. What was allowed for another tenant's client counts no more. */
  readonly tenant: string;
  /** `openid` and service scopes. */
  readonly scopes: readonly string[];
}

export interface StoredConsent {
  /** For people. */
  readonly tenantName: string;
  /** Undefined: the user allowed nothing there. */
  readonly scopes: readonly string[] | undefined;
}

export interface ConsentStore {
  /** Undefined: the client is gone, or another tenant's now. One round trip. */
  find(consent: Omit<Consent, "scopes">): Promise<StoredConsent | undefined>;
  /**
   * Besides what stands allowed there in that moment. `beside` sees by `changes()` whether it was: nothing is where the user or
   * the client is gone, or the sign-in counts no more.
   */
  allow(
    consent: Consent,
    by: { readonly authenticatedAtMs: number; readonly nowMs: number },
    beside: readonly D1PreparedStatement[],
  ): Promise<void>;
  /** Takes back all that the user allowed the client, as a part of the caller's transaction. */
  takeBackStatement(email: string, clientId: string): D1PreparedStatement;
}

/** What a person allows a client at one place; a request names at most so many. */
const MOST_SCOPES = 200;

const FIND = `
  SELECT tenant.name, consent.scopes FROM client JOIN tenant ON tenant.id = client.tenant
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
      SELECT iif(count(*) > ${MOST_SCOPES}, excluded.scopes, json_group_array(value)) FROM (
        SELECT value FROM json_each(consent.scopes) UNION SELECT value FROM json_each(excluded.scopes))
    ), excluded.scopes)`;
const TAKE_BACK = `DELETE FROM consent WHERE email = ?1 AND client = ?2`;

export function createConsentStore(db: D1Database): ConsentStore {
  return {
    async find({ email, clientId, org, tenant }) {
      const row = await db
        .prepare(FIND)
        .bind(email, clientId, org, tenant)
        .first<{ name: string; scopes: string | null }>();
      if (row === null) return undefined;
      return { tenantName: row.name, scopes: row.scopes === null ? undefined : (JSON.parse(row.scopes) as string[]) };
    },
    async allow({ email, clientId, org, tenant, scopes }, { authenticatedAtMs, nowMs }, beside) {
      const values = [email, clientId, org, tenant, JSON.stringify(scopes), nowMs, authenticatedAtMs];
      const allow = db.prepare(ALLOW).bind(...values);
      await db.batch([allow, ...beside]);
    },
    takeBackStatement: (email, clientId) => db.prepare(TAKE_BACK).bind(email, clientId),
  };
}
