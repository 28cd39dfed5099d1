import type { Binding } from "../model/binding.ts";

/** Accounts at identity providers that sign in as users here (migration 0015). */
export interface Account {
  readonly provider: string;
  /** Whose `subject` it is: another issuer under the provider's id has accounts of its own. */
  readonly issuer: string;
  /** `sub`. */
  readonly subject: string;
}

export type LinkedBy = "password" | "verified_email";

export interface IdentityStore {
  /** The address of the user that the account signs in as. */
  findUser(account: Account): Promise<string | undefined>;
  /** A user who may sign in, and who could be linked to an account of the provider. */
  candidate(email: string, provider: string): Promise<Candidate | undefined>;
  /**
   * Links the account, unless it or the user is linked already, the user was disabled or signed out, or the provider
   * changed since it vouched. `beside`: statements of the same transaction, which see by `changes()` whether it was done.
   */
  link(
    link: Account & {
      readonly email: string;
      readonly by: LinkedBy;
      readonly vouchedAtMs: number;
      readonly nowMs: number;
    },
    beside: readonly D1PreparedStatement[],
  ): Promise<void>;
  /** What the provider is bound to that vouched for the user then; undefined: its word of then counts no more. */
  findBinding(email: string, provider: string, vouchedAtMs: number): Promise<Binding | undefined>;
}

export interface Candidate {
  readonly hasPassword: boolean;
  /** To some account of the provider. */
  readonly isLinked: boolean;
}

const USER_OF = `
  SELECT linked.email FROM user_identity AS linked JOIN identity_provider AS provider ON provider.id = linked.provider
  WHERE linked.provider = ?1 AND linked.subject = ?2 AND provider.issuer = ?3`;
const CANDIDATE = `
  SELECT password_hash IS NOT NULL AS has_password,
    EXISTS (SELECT 1 FROM user_identity WHERE email = user.email AND provider = ?2) AS is_linked
  FROM user WHERE email = ?1 AND disabled = 0`;
const LINK = `
  INSERT INTO user_identity (email, provider, subject, linked_by, linked_at)
  SELECT user.email, provider.id, ?4, ?5, ?7 FROM user JOIN identity_provider AS provider
  WHERE user.email = ?1 AND user.disabled = 0 AND user.signed_out_at < ?7
    AND provider.id = ?2 AND provider.issuer = ?3 AND provider.trusted_since <= ?6
  ON CONFLICT DO NOTHING`;
const BINDING = `
  SELECT provider.tenants, provider.domains
  FROM user_identity AS linked JOIN identity_provider AS provider ON provider.id = linked.provider
  WHERE linked.email = ?1 AND linked.provider = ?2 AND linked.linked_at <= ?3 AND provider.trusted_since <= ?3`;

export function createIdentityStore(db: D1Database): IdentityStore {
  return {
    async findUser({ provider, issuer, subject }) {
      return (await db.prepare(USER_OF).bind(provider, subject, issuer).first<string>("email")) ?? undefined;
    },
    async candidate(email, provider) {
      const row = await db
        .prepare(CANDIDATE)
        .bind(email, provider)
        .first<Record<"has_password" | "is_linked", number>>();
      return row === null ? undefined : { hasPassword: row.has_password === 1, isLinked: row.is_linked === 1 };
    },
    async link({ provider, issuer, subject, email, by, vouchedAtMs, nowMs }, beside) {
      const link = db.prepare(LINK).bind(email, provider, issuer, subject, by, vouchedAtMs, nowMs);
      await db.batch([link, ...beside]);
    },
    async findBinding(email, provider, vouchedAtMs) {
      const row = await db.prepare(BINDING).bind(email, provider, vouchedAtMs).first<Record<keyof Binding, string>>();
      return row === null ? undefined : readBinding(row);
    },
  };
}

/** As a row of `identity_provider` holds it. */
export const readBinding = (row: Record<keyof Binding, string>): Binding => ({
  tenants: JSON.parse(row.tenants) as string[],
  domains: JSON.parse(row.domains) as string[],
});
