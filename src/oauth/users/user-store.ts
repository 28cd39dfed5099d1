import type { ServiceRecord } from "../../platform/built-in.ts";
import { DATABASE_NOW_MS } from "../../platform/database.ts";
import { randomId, type Random } from "../../platform/random.ts";
import type { SignInTimes } from "../model/authorization.ts";

/** Users and where they belong. Asked each time: a user's rights are never older than the token that they get. */
export interface UserRecord {
  readonly email: string;
  /** How tokens and `/userinfo` name the user: `sub`. */
  readonly subject: string;
  readonly name: string;
  /** Sign-ins of this moment or before count no more. */
  readonly signedOutAtMs: number;
  /** Living tenants, by id. */
  readonly tenants: readonly TenantMembership[];
  readonly organizations: readonly OrganizationMembership[];
  /** When this was read, by the database's clock. */
  readonly asOfMs: number;
}

export interface Membership {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** The scopes of the user's roles there. */
  readonly scopes: readonly string[];
}

export interface TenantMembership extends Membership {
  /** Registered services that the tenant's packages include. */
  readonly subscribed: readonly string[];
}

export interface OrganizationMembership extends Membership {
  /** Registered services that are essential or owned by a tenant of the organization. */
  readonly services: readonly ServiceRecord[];
}

export interface Credential {
  /** Undefined for a user without a password. */
  readonly passwordHash: string | undefined;
  readonly disabled: boolean;
  /** Sign-ins of this moment or before count no more. */
  readonly signedOutAtMs: number;
}

/** A session that is not over, with the user that it belongs to. */
export interface SignedIn extends SignInTimes {
  readonly user: UserRecord;
  readonly sid: string;
  readonly provider: string;
}

/** What `sub` is: the address, or a text that says nothing and is never given to another user. */
export type Subject = "email" | "opaque";

export interface UserStore {
  /** Undefined for an unknown user and for a disabled one. One round trip. */
  find(email: string): Promise<UserRecord | undefined>;
  /** The user of a session, by the hash of its cookie. One round trip. */
  findBySession(sessionHash: string, nowMs: number): Promise<SignedIn | undefined>;
  /** The same by the id that tokens carry. */
  findBySessionId(sid: string, nowMs: number): Promise<SignedIn | undefined>;
  /** Undefined for an unknown user. */
  credential(email: string): Promise<Credential | undefined>;
  /**
   * Stores another password's hash unless the one that was proven is the user's no more, or the sign-in of who asks counts
   * no more, and signs the user out: everything of this moment or before counts no more. That moment; undefined where
   * nothing was changed. `beside`: statements of the same transaction, the first of which sees by `changes()` whether it was.
   */
  changePassword(
    change: {
      readonly email: string;
      readonly authenticatedAtMs: number;
      readonly from: string;
      readonly to: string;
      readonly nowMs: number;
    },
    beside: readonly D1PreparedStatement[],
  ): Promise<number | undefined>;
  /** Stores a hash made with today's cost, unless the password changed meanwhile. */
  upgradeHash(email: string, from: string, to: string): Promise<void>;
}

const AS_OF = `SELECT ${DATABASE_NOW_MS} AS as_of`;
const session = (key: SessionKey) => `
  SELECT sid, provider, authenticated_at, proven_at FROM session WHERE ${key} = ?1 AND expires_at > ?2`;
/** Who is meant, as the statements below compare with it. */
const BY_EMAIL = `?1`;
const bySession = (key: SessionKey) => `(SELECT email FROM session WHERE ${key} = ?1 AND expires_at > ?2)`;
type SessionKey = "id_hash" | "sid";
const user = (who: string) => `
  SELECT email, name, subject, signed_out_at FROM user WHERE email = ${who} AND disabled = 0`;
const tenants = (who: string) => `
  SELECT tenant.id, tenant.name,
    (SELECT json_group_array(scope.value) FROM tenant_member_role AS held
      JOIN role ON role.name = held.role JOIN json_each(role.scopes) AS scope
      WHERE held.tenant = tenant_member.tenant AND held.email = tenant_member.email) AS scopes,
    (SELECT json_group_array(DISTINCT package_service.service) FROM subscription
      JOIN package_service ON package_service.package = subscription.package
      WHERE subscription.tenant = tenant.id) AS subscribed
  FROM tenant_member JOIN tenant ON tenant.id = tenant_member.tenant
  WHERE tenant_member.email = ${who} AND tenant.disabled = 0 ORDER BY tenant.id`;
const organizations = (who: string) => `
  SELECT organization.id, organization.name,
    (SELECT json_group_array(scope.value) FROM organization_member_role AS held
      JOIN role ON role.name = held.role JOIN json_each(role.scopes) AS scope
      WHERE held.organization = member.organization AND held.email = member.email) AS scopes,
    (SELECT json_group_array(json_object('name', name, 'proxyPath', proxy_path, 'scopes', json(scopes),
        'essential', json(iif(essential = 1, 'true', 'false')), 'tenant', tenant))
      FROM service WHERE name IN (
        SELECT name FROM service WHERE essential = 1
        UNION SELECT service.name FROM tenant JOIN service ON service.tenant = tenant.id
          WHERE tenant.organization = member.organization)) AS services
  FROM organization_member AS member JOIN organization ON organization.id = member.organization
  WHERE member.email = ${who} ORDER BY organization.id`;
const RECORDS = [user, tenants, organizations] as const;
const CREDENTIAL = `SELECT password_hash, disabled, signed_out_at FROM user WHERE email = ?1`;
/**
 * Sign-ins of this moment or before count no more, by whichever of two clocks is later: the call began before its
 * password was hashed. The database's own millisecond is left to the sign-in that follows at once.
 */
export const signedOutAt = (nowMs: string): string => `max(${nowMs}, ${DATABASE_NOW_MS} - 1)`;

const CHANGE_PASSWORD = `
  UPDATE user SET password_hash = ?3, signed_out_at = ${signedOutAt("?4")}
  WHERE email = ?1 AND password_hash = ?2 AND disabled = 0 AND signed_out_at < ?5 RETURNING signed_out_at`;
const UPGRADE_HASH = `UPDATE user SET password_hash = ?3 WHERE email = ?1 AND password_hash = ?2`;

/** Of several who come at once the first one's stays. */
const GIVE_SUBJECT = `
  UPDATE user SET subject = coalesce(subject, ?2) WHERE email = ?1 RETURNING subject`;

type Row = Record<string, string | number | null>;

export function createUserStore(db: D1Database, subject: Subject, random: Random): UserStore {
  /** Undefined: removed in this moment. */
  async function withSubject(found: UserRow | undefined): Promise<UserRecord | undefined> {
    if (found === undefined || subject === "email") return found && { ...found, subject: found.email };
    const { email, storedSubject } = found;
    const own =
      storedSubject ?? (await db.prepare(GIVE_SUBJECT).bind(email, randomId(random)).first<string>("subject"));
    return own === null ? undefined : { ...found, subject: own };
  }

  async function findBySessionKey(key: SessionKey, value: string, nowMs: number): Promise<SignedIn | undefined> {
    const [times, sessions, ...records] = await db.batch<Row>([
      db.prepare(AS_OF),
      ...[session(key), ...RECORDS.map((sql) => sql(bySession(key)))].map((sql) => db.prepare(sql).bind(value, nowMs)),
    ]);
    const row = sessions?.results[0];
    const found = await withSubject(toUser(times?.results ?? [], records));
    if (row === undefined || found === undefined) return undefined;
    return {
      user: found,
      sid: String(row["sid"]),
      provider: String(row["provider"]),
      authenticatedAtMs: Number(row["authenticated_at"]),
      ...(row["proven_at"] === null ? {} : { provenAtMs: Number(row["proven_at"]) }),
    };
  }

  return {
    async find(email) {
      const [times, ...records] = await db.batch<Row>([
        db.prepare(AS_OF),
        ...RECORDS.map((sql) => db.prepare(sql(BY_EMAIL)).bind(email)),
      ]);
      return withSubject(toUser(times?.results ?? [], records));
    },
    findBySession: (sessionHash, nowMs) => findBySessionKey("id_hash", sessionHash, nowMs),
    findBySessionId: (sid, nowMs) => findBySessionKey("sid", sid, nowMs),
    async credential(email) {
      const row = await db
        .prepare(CREDENTIAL)
        .bind(email)
        .first<{ password_hash: string | null; disabled: number; signed_out_at: number }>();
      if (row === null) return undefined;
      const { password_hash: hash, disabled, signed_out_at: signedOutAtMs } = row;
      return { passwordHash: hash ?? undefined, disabled: disabled === 1, signedOutAtMs };
    },
    async changePassword({ email, authenticatedAtMs, from, to, nowMs }, beside) {
      const change = db.prepare(CHANGE_PASSWORD).bind(email, from, to, nowMs, authenticatedAtMs);
      const [changed] = await db.batch<{ signed_out_at: number }>([change, ...beside]);
      return changed?.results[0]?.signed_out_at;
    },
    async upgradeHash(email, from, to) {
      await db.prepare(UPGRADE_HASH).bind(email, from, to).run();
    },
  };
}

/** As the rows have it. */
interface UserRow extends Omit<UserRecord, "subject"> {
  /** Null: none was needed yet. */
  readonly storedSubject: string | null;
}

function toUser(times: readonly Row[], records: readonly D1Result<Row>[]): UserRow | undefined {
  const [users = [], tenantRows = [], organizationRows = []] = records.map(({ results }) => results);
  const [row] = users;
  if (row === undefined) return undefined;
  return {
    email: String(row["email"]),
    name: String(row["name"]),
    storedSubject: typeof row["subject"] === "string" ? row["subject"] : null,
    signedOutAtMs: Number(row["signed_out_at"]),
    tenants: tenantRows.map((tenant) => ({
      ...toMembership(tenant),
      subscribed: JSON.parse(String(tenant["subscribed"])) as string[],
    })),
    organizations: organizationRows.map((organization) => ({
      ...toMembership(organization),
      services: JSON.parse(String(organization["services"])) as ServiceRecord[],
    })),
    asOfMs: Number(times[0]?.["as_of"] ?? 0),
  };
}

const toMembership = (row: Row): Membership => ({
  id: String(row["id"]),
  name: String(row["name"]),
  scopes: JSON.parse(String(row["scopes"])) as string[],
});
