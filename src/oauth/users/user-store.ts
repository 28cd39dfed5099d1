import type { ServiceRecord } from "../../platform/model/built-in.ts";
import { AS_OF, DATABASE_NOW_MS } from "../../platform/storage/database.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import type { SignInTimes } from "../model/authorization.ts";
import { toMethods } from "../model/methods.ts";
import type { Profile } from "../model/profile.ts";

/** A user with all memberships. */
export interface UserRecord extends Profile {
  readonly email: string;
  /** The user in tokens and `/userinfo`: `sub`. */
  readonly subject: string;
  /** The person used a link in a mail to the address. */
  readonly emailVerified: boolean;
  /** The user has set up one, so two factors are needed everywhere. */
  readonly hasSecondFactor: boolean;
  readonly hasPasskey: boolean;
  /** Sign-ins up to this time are invalid. */
  readonly signedOutAtMs: number;
  /** Tenants that are not disabled, by id. */
  readonly tenants: readonly TenantMembership[];
  readonly organizations: readonly OrganizationMembership[];
  /** The database's time of this read. */
  readonly asOfMs: number;
}

export interface Membership {
  readonly id: string;
  /** For display. */
  readonly name: string;
  /** The scopes of the user's roles there. */
  readonly scopes: readonly string[];
  /** One of these roles asks for two factors. */
  readonly asksTwoFactors: boolean;
}

export interface TenantMembership extends Membership {
  /** The tenant's own. */
  readonly organization: string;
  /** Registered services in the tenant's packages. */
  readonly subscribed: readonly string[];
  /** JSON (platform/model/brand.ts). */
  readonly brand: string;
}

interface OrganizationMembership extends Membership {
  /** Registered services that are essential or owned by a tenant of the organization. */
  readonly services: readonly ServiceRecord[];
}

export interface Credential {
  /** Undefined for a user without a password. */
  readonly passwordHash: string | undefined;
  readonly disabled: boolean;
  readonly hasSecondFactor: boolean;
  /** Sign-ins up to this time are invalid. */
  readonly signedOutAtMs: number;
}

/** A session that has not expired, with its user. */
export interface SignedIn extends SignInTimes {
  readonly user: UserRecord;
  readonly sid: string;
  /** The database with its row (homes/home.ts). */
  readonly shard: number;
  readonly provider: string;
  /** The last use that was written: to the hour, or better where sessions end by idleness (sign-in/sessions.ts). */
  readonly seenAtMs: number;
}

/** The form of `sub`: the address, or an opaque text that is never given to another user. */
export type Subject = "email" | "opaque";

/** Rows of a statement, and the user to whom they belong. */
export interface WithUser<T> {
  readonly rows: readonly T[];
  /** Undefined for an unknown or disabled user. Asks the database only to give the user a subject. */
  user(): Promise<UserRecord | undefined>;
}

export interface PasswordChange {
  readonly email: string;
  readonly authenticatedAtMs: number;
  readonly from: string;
  readonly to: string;
  readonly nowMs: number;
}

/** The session id of a session is the beginning of its key. */
export const SID_CHARS = 32;
/** Keys of the sessions with the session id `?1`. Earlier versions stored a separate id, which has an index. */
export const SESSIONS_OF_SID = `
  SELECT id_hash FROM session WHERE id_hash >= ?1 AND id_hash < ?1 || 'g' AND +sid = ?1
  UNION ALL SELECT id_hash FROM session WHERE sid = ?1 AND sid <> substr(id_hash, 1, ${SID_CHARS})`;
/** A session that changes how its person signs in, as a statement names it. */
export interface ChangingSession {
  readonly sid: string;
  /** The time of the sign-in, if the session's row is in another database; null: it is in the directory. */
  readonly elsewhereSinceMs: number | null;
}

export const changingSession = ({
  sid,
  shard,
  authenticatedAtMs,
}: Pick<SignedIn, "sid" | "shard" | "authenticatedAtMs">): ChangingSession => ({
  sid,
  elsewhereSinceMs: shard === 0 ? null : authenticatedAtMs,
});

/**
 * For a statement on `user`: the person is not disabled, and this session of theirs is valid still. One that lies
 * elsewhere was read before; what an operator or the person ended meanwhile is in the directory.
 */
export const isSignedIn = (sid: string, nowMs: string, elsewhereSince: string): string => `user.disabled = 0
  AND iif(${elsewhereSince} IS NULL, EXISTS (
    SELECT 1 FROM session WHERE session.email = user.email AND session.sid = ${sid} AND session.expires_at > ${nowMs}
      AND session.authenticated_at > user.signed_out_at),
    ${elsewhereSince} > max(user.signed_out_at, user.created_at - 1)
      AND NOT EXISTS (SELECT 1 FROM revocation WHERE kind = 'session' AND key = ${sid}))`;
const WITH_KEY = { id_hash: "id_hash = ?1", sid: `id_hash IN (${SESSIONS_OF_SID})` } as const;
/** The valid session with a key `?1`, in the database that has it. */
export const session = (key: SessionKey): string => `
  SELECT email, sid, provider, authenticated_at AS authenticatedAtMs, proven_at AS provenAtMs, amr,
    max(seen_at, authenticated_at) AS seenAtMs
  FROM session WHERE ${WITH_KEY[key]} AND expires_at > ?2`;
/** Expressions for the user's address in the statements below. */
const BY_EMAIL = `?1`;
const bySession = (key: SessionKey) => `(SELECT email FROM session WHERE ${WITH_KEY[key]} AND expires_at > ?2)`;
export type SessionKey = "id_hash" | "sid";
/** A grant in another database may outlive its person: a sign-in before the person was added is another's. */
const user = (email: string) => `
  SELECT email, name, picture, locale, subject AS storedSubject, max(signed_out_at, created_at - 1) AS signedOutAtMs,
    email_verified_at IS NOT NULL AS emailVerified,
    second_factor_at IS NOT NULL AS hasSecondFactor, passkey_at IS NOT NULL AS hasPasskey
  FROM user WHERE email = ${email} AND disabled = 0`;
/** One pass over the roles of a member. A role without scopes counts too. */
const ROLES = `json_object('asked', max(role.second_factor),
    'scopes', json_group_array(scope.value) FILTER (WHERE scope.value IS NOT NULL))`;
const tenants = (email: string) => `
  SELECT tenant.id, tenant.name, tenant.brand, tenant.organization,
    (SELECT ${ROLES} FROM tenant_member_role AS held
      JOIN role ON role.name = held.role LEFT JOIN json_each(role.scopes) AS scope
      WHERE held.tenant = tenant_member.tenant AND held.email = tenant_member.email) AS roles,
    (SELECT json_group_array(DISTINCT package_service.service) FROM subscription
      JOIN package_service ON package_service.package = subscription.package
      WHERE subscription.tenant = tenant.id) AS subscribed
  FROM tenant_member JOIN tenant ON tenant.id = tenant_member.tenant
  WHERE tenant_member.email = ${email} AND tenant.disabled = 0 ORDER BY tenant.id`;
const organizations = (email: string) => `
  SELECT organization.id, organization.name,
    (SELECT ${ROLES} FROM organization_member_role AS held
      JOIN role ON role.name = held.role LEFT JOIN json_each(role.scopes) AS scope
      WHERE held.organization = member.organization AND held.email = member.email) AS roles,
    (SELECT json_group_array(json_object('name', name, 'proxyPath', proxy_path, 'scopes', json(scopes),
        'essential', json(iif(essential = 1, 'true', 'false')), 'tenant', tenant))
      FROM service WHERE name IN (
        SELECT name FROM service WHERE essential = 1
        UNION SELECT service.name FROM tenant JOIN service ON service.tenant = tenant.id
          WHERE tenant.organization = member.organization)) AS services
  FROM organization_member AS member JOIN organization ON organization.id = member.organization
  WHERE member.email = ${email} ORDER BY organization.id`;
const RECORDS = [user, tenants, organizations] as const;
const CREDENTIAL = `SELECT password_hash AS passwordHash, disabled, signed_out_at AS signedOutAtMs,
  second_factor_at IS NOT NULL AS hasSecondFactor FROM user WHERE email = ?1`;
/**
 * Sign-ins up to this time are invalid. It is the later of two clocks, because the call began before its password was
 * hashed. One millisecond of the database's clock is left for the sign-in that follows.
 */
export const signedOutAt = (nowMs: string): string => `max(${nowMs}, ${DATABASE_NOW_MS} - 1)`;

const CHANGE_PASSWORD = `
  UPDATE user SET password_hash = ?3, signed_out_at = ${signedOutAt("?4")}
  WHERE email = ?1 AND password_hash = ?2 AND disabled = 0 AND signed_out_at < ?5 RETURNING signed_out_at`;
const UPGRADE_HASH = `UPDATE user SET password_hash = ?3 WHERE email = ?1 AND password_hash = ?2`;

const PROFILE = `SELECT name, picture, locale, email_verified_at IS NOT NULL AS emailVerified FROM user WHERE email = ?1`;

/** If several requests come at once, the first subject stays. */
const GIVE_SUBJECT = `
  UPDATE user SET subject = coalesce(subject, ?2) WHERE email = ?1 RETURNING subject`;

export type UserStore = ReturnType<typeof createUserStore>;

/** Users and their memberships. Reads the database each time: a user's rights are never older than the token. */
export function createUserStore(db: D1Database, subject: Subject, random: Random) {
  /** Undefined if the user has just been removed. */
  async function withSubject(found: UserWithoutSubject | undefined): Promise<UserRecord | undefined> {
    if (found === undefined || subject === "email") return found && { ...found, subject: found.email };
    const { email, storedSubject } = found;
    const own =
      storedSubject ?? (await db.prepare(GIVE_SUBJECT).bind(email, randomId(random)).first<string>("subject"));
    return own === null ? undefined : { ...found, subject: own };
  }

  const recordsOf = (key: string, email: string): readonly D1PreparedStatement[] =>
    RECORDS.map((sql) => db.prepare(sql(email)).bind(key));

  /** Runs a statement with the key `?1`, and reads the user whose address the expression `email` gives for it. */
  async function findBeside<T>(sql: string, key: string, email: string = BY_EMAIL): Promise<WithUser<T>> {
    const [times, found, ...records] = await db.batch([
      db.prepare(AS_OF),
      db.prepare(sql).bind(key),
      ...recordsOf(key, email),
    ]);
    return { rows: (found?.results ?? []) as T[], user: async () => withSubject(toUser(times, records)) };
  }

  async function findBySessionKey(key: SessionKey, value: string, nowMs: number): Promise<SignedIn | undefined> {
    const [times, sessions, ...records] = await db.batch([
      db.prepare(AS_OF),
      ...[session(key), ...RECORDS.map((sql) => sql(bySession(key)))].map((sql) => db.prepare(sql).bind(value, nowMs)),
    ]);
    const [row] = (sessions?.results ?? []) as SessionRow[];
    const found = await withSubject(toUser(times, records));
    if (row === undefined || found === undefined) return undefined;
    return toSignedIn(row, found, 0);
  }

  return {
    /** Undefined for an unknown or disabled user. One round trip. */
    async find(email: string): Promise<UserRecord | undefined> {
      const [times, ...records] = await db.batch([db.prepare(AS_OF), ...recordsOf(email, BY_EMAIL)]);
      return withSubject(toUser(times, records));
    },
    /** Credential and user, in one round trip that is the same for an unknown address. */
    async findForSignIn(email: string): Promise<ForSignIn> {
      const found = await findBeside<CredentialRow>(CREDENTIAL, email);
      return { credential: toCredential(found.rows[0]), user: found.user };
    },
    findBeside,
    /** Sign-ins of the user up to this time are invalid. Undefined for an unknown or disabled user. */
    async signedOutAt(email: string): Promise<number | undefined> {
      const sql = `SELECT max(signed_out_at, created_at - 1) AS atMs FROM user WHERE email = ?1 AND disabled = 0`;
      return (await db.prepare(sql).bind(email).first<number>("atMs")) ?? undefined;
    },
    /** The user of a session of the directory, by the hash of its cookie. One round trip. */
    findBySession: (sessionHash: string, nowMs: number) => findBySessionKey("id_hash", sessionHash, nowMs),
    /** The same by the session id in tokens. One round trip. */
    findBySessionId: (sid: string, nowMs: number) => findBySessionKey("sid", sid, nowMs),
    /** Undefined for an unknown user. */
    async profile(email: string): Promise<StoredProfile | undefined> {
      const row = await db.prepare(PROFILE).bind(email).first<ProfileRow>();
      return row === null ? undefined : { ...row, emailVerified: row.emailVerified === 1 };
    },
    /** Undefined for an unknown user. */
    async credential(email: string): Promise<Credential | undefined> {
      return toCredential((await db.prepare(CREDENTIAL).bind(email).first<CredentialRow>()) ?? undefined);
    },
    /**
     * Replaces the password hash and signs the user out everywhere. Does nothing if the password changed since it was
     * checked or the sign-in of the caller is not valid any more. Returns the time up to which sign-ins are invalid, or
     * undefined if nothing changed. `beside`: statements of the same transaction; `changes()` tells the first the
     * result.
     */
    async changePassword(
      { email, authenticatedAtMs, from, to, nowMs }: PasswordChange,
      beside: readonly D1PreparedStatement[],
    ): Promise<number | undefined> {
      const change = db.prepare(CHANGE_PASSWORD).bind(email, from, to, nowMs, authenticatedAtMs);
      const [changed] = await db.batch<{ signed_out_at: number }>([change, ...beside]);
      return changed?.results[0]?.signed_out_at;
    },
    /** Stores a hash made at today's cost unless the password has just changed. */
    async upgradeHash(email: string, from: string, to: string): Promise<void> {
      await db.prepare(UPGRADE_HASH).bind(email, from, to).run();
    },
  };
}

export type SessionRow = Omit<SignedIn, "user" | "shard" | "provenAtMs" | "methods"> & {
  readonly email: string;
  readonly provenAtMs: number | null;
  readonly amr: string | null;
};
type CredentialRow = Pick<Credential, "signedOutAtMs"> & {
  readonly passwordHash: string | null;
  readonly disabled: number;
  readonly hasSecondFactor: number;
};
type StoredProfile = Profile & Pick<UserRecord, "emailVerified">;
type ProfileRow = Profile & { readonly emailVerified: number };
type UserRow = Pick<UserRecord, "email" | "signedOutAtMs"> &
  ProfileRow & {
    /** Null until a token needs one. */
    readonly storedSubject: string | null;
    readonly hasSecondFactor: number;
    readonly hasPasskey: number;
  };
type UserWithoutSubject = Omit<UserRow, "emailVerified" | "hasSecondFactor" | "hasPasskey"> &
  Omit<UserRecord, "subject">;
interface ForSignIn extends Pick<WithUser<unknown>, "user"> {
  /** Undefined for an unknown user. */
  readonly credential: Credential | undefined;
}
/** Lists are JSON. */
type MembershipRow = Pick<Membership, "id" | "name"> &
  Record<"roles" | "subscribed" | "services" | "brand" | "organization", string>;

/** `shard`: where the row is. */
export const toSignedIn = (row: SessionRow, whose: UserRecord, shard: number): SignedIn => ({
  user: whose,
  shard,
  sid: row.sid,
  provider: row.provider,
  authenticatedAtMs: row.authenticatedAtMs,
  seenAtMs: row.seenAtMs,
  methods: toMethods(row.amr),
  ...(row.provenAtMs === null ? {} : { provenAtMs: row.provenAtMs }),
});

const toCredential = (row: CredentialRow | undefined): Credential | undefined =>
  row && {
    ...row,
    passwordHash: row.passwordHash ?? undefined,
    disabled: row.disabled === 1,
    hasSecondFactor: row.hasSecondFactor === 1,
  };

function toUser(times: D1Result | undefined, records: readonly D1Result[]): UserWithoutSubject | undefined {
  const [users, tenantRows, organizationRows] = records.map(({ results }) => results);
  const [row] = users as UserRow[];
  if (row === undefined) return undefined;
  const [time] = (times?.results ?? []) as { asOfMs: number }[];
  return {
    ...row,
    emailVerified: row.emailVerified === 1,
    hasSecondFactor: row.hasSecondFactor === 1,
    hasPasskey: row.hasPasskey === 1,
    tenants: (tenantRows as MembershipRow[]).map((tenant) => ({
      ...toMembership(tenant),
      subscribed: JSON.parse(tenant.subscribed) as string[],
      brand: tenant.brand,
      organization: tenant.organization,
    })),
    organizations: (organizationRows as MembershipRow[]).map((organization) => ({
      ...toMembership(organization),
      services: JSON.parse(organization.services) as ServiceRecord[],
    })),
    asOfMs: time?.asOfMs ?? 0,
  };
}

function toMembership({ id, name, roles }: MembershipRow): Membership {
  const { scopes, asked } = JSON.parse(roles) as { readonly scopes: string[]; readonly asked: number | null };
  return { id, name, scopes, asksTwoFactors: asked === 1 };
}
