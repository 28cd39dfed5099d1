import type { Binding } from "../model/binding.ts";
import { isSignedIn, type ChangingSession } from "../users/user-store.ts";

/** An account at an identity provider. */
export interface Account {
  readonly provider: string;
  /** Another issuer under the same provider id has other accounts. */
  readonly issuer: string;
  /** The claim `sub`. */
  readonly subject: string;
}

/** The person who links an account at a provider, and the session in which they do. */
export interface LinkFor {
  readonly email: string;
  readonly sid: string;
}

/** `password`: by the person, after their password or in a session. */
export type LinkedBy = "password" | "verified_email";

export interface NewLink extends Account {
  readonly email: string;
  readonly by: LinkedBy;
  readonly vouchedAtMs: number;
  readonly nowMs: number;
}

export interface Candidate {
  readonly hasPassword: boolean;
  /** The user is linked to an account at this provider already. */
  readonly isLinked: boolean;
}

const FIND_USER = `
  SELECT linked.email FROM user_identity AS linked JOIN identity_provider AS provider ON provider.id = linked.provider
  WHERE linked.provider = ?1 AND linked.subject = ?2 AND provider.issuer = ?3`;
const CANDIDATE = `
  SELECT password_hash IS NOT NULL AS hasPassword,
    EXISTS (SELECT 1 FROM user_identity WHERE email = user.email AND provider = ?2) AS isLinked
  FROM user WHERE email = ?1 AND disabled = 0`;
const LINK = `
  INSERT INTO user_identity (email, provider, subject, linked_by, linked_at)
  SELECT user.email, provider.id, ?4, ?5, ?7 FROM user JOIN identity_provider AS provider
  WHERE user.email = ?1 AND user.disabled = 0 AND user.signed_out_at < ?7
    AND provider.id = ?2 AND provider.issuer = ?3 AND provider.trusted_since <= ?6
  ON CONFLICT DO NOTHING`;
/** As `mayVouchFor`, for the address ?1. */
export const MAY_VOUCH = `(provider.domains = '[]' OR EXISTS (
    SELECT 1 FROM json_each(provider.domains) WHERE json_each.value = substr(?1, instr(?1, '@') + 1)))`;
/** The session, not only the user, has to be valid still: the person may just have ended it. */
const LINK_IN_SESSION = `
  INSERT INTO user_identity (email, provider, subject, linked_by, linked_at)
  SELECT user.email, provider.id, ?3, 'password', ?6
  FROM user JOIN identity_provider AS provider ON provider.id = ?2
  WHERE user.email = ?1 AND ${isSignedIn("?4", "?6", "?7")} AND provider.issuer = ?5 AND provider.linking <> 'operator' AND provider.tenants = '[]'
    AND provider.trusted_since <= ?6 AND ${MAY_VOUCH}
  ON CONFLICT DO NOTHING`;
/** Keeps one way to sign in: a password, a passkey, or a provider that reaches all of the account. */
const UNLINK = `
  DELETE FROM user_identity WHERE email = ?1 AND provider = ?2 AND (
    EXISTS (SELECT 1 FROM user WHERE email = ?1 AND password_hash IS NOT NULL)
    OR EXISTS (SELECT 1 FROM passkey WHERE email = ?1)
    OR EXISTS (
      SELECT 1 FROM user_identity AS other JOIN identity_provider AS provider ON provider.id = other.provider
      WHERE other.email = ?1 AND other.provider <> ?2 AND provider.tenants = '[]' AND ${MAY_VOUCH}))`;
const BINDING = `
  SELECT provider.tenants, provider.domains
  FROM user_identity AS linked JOIN identity_provider AS provider ON provider.id = linked.provider
  WHERE linked.email = ?1 AND linked.provider = ?2 AND linked.linked_at <= ?3 AND provider.trusted_since <= ?3`;

/** Links between accounts at identity providers and users here. */
export const createIdentityStore = (db: D1Database) => ({
  /** The address of the user whom the account is linked to. */
  async findUser({ provider, issuer, subject }: Account): Promise<string | undefined> {
    return (await db.prepare(FIND_USER).bind(provider, subject, issuer).first<string>("email")) ?? undefined;
  },
  /** The user of this address if they may sign in. */
  async candidate(email: string, provider: string): Promise<Candidate | undefined> {
    const row = await db.prepare(CANDIDATE).bind(email, provider).first<Record<keyof Candidate, number>>();
    return row === null ? undefined : { hasPassword: row.hasPassword === 1, isLinked: row.isLinked === 1 };
  },
  /**
   * Links the account. False if the account or the user is linked already, the user was disabled or signed out, or the
   * provider changed since it vouched. `beside`: statements of the same transaction; `changes()` tells them the
   * result.
   */
  async link(
    { provider, issuer, subject, email, by, vouchedAtMs, nowMs }: NewLink,
    beside: readonly D1PreparedStatement[],
  ): Promise<boolean> {
    const link = db.prepare(LINK).bind(email, provider, issuer, subject, by, vouchedAtMs, nowMs);
    const [linked] = await db.batch([link, ...beside]);
    return linked?.meta.changes === 1;
  },
  /** Links the account to the user of a session that is valid still, unless either is linked already. */
  async linkInSession(
    { provider, issuer, subject }: Account,
    email: string,
    { sid, elsewhereSinceMs }: ChangingSession,
    nowMs: number,
    beside: readonly D1PreparedStatement[],
  ): Promise<void> {
    const linkTo = db.prepare(LINK_IN_SESSION).bind(email, provider, subject, sid, issuer, nowMs, elsewhereSinceMs);
    await db.batch([linkTo, ...beside]);
  },
  /** Returns false if the account is not linked, or is the only way to sign in. */
  async unlink(email: string, provider: string, beside: readonly D1PreparedStatement[]): Promise<boolean> {
    const [removed] = await db.batch([db.prepare(UNLINK).bind(email, provider), ...beside]);
    return removed?.meta.changes === 1;
  },
  /** The provider's binding, or undefined if a sign-in that it vouched for at that time is not valid any more. */
  async findBinding(email: string, provider: string, vouchedAtMs: number): Promise<Binding | undefined> {
    const row = await db.prepare(BINDING).bind(email, provider, vouchedAtMs).first<Record<keyof Binding, string>>();
    return row === null ? undefined : readBinding(row);
  },
});

/** Parses the columns of `identity_provider`. */
export const readBinding = ({ tenants, domains }: Record<keyof Binding, string>): Binding => ({
  tenants: JSON.parse(tenants) as string[],
  domains: JSON.parse(domains) as string[],
});
