import * as z from "zod/mini";
import { noSuch } from "../../../http/errors/errors.ts";
import { defineRoute, empty, type Route } from "../../../http/route.ts";
import { rowBy, type AuditTrail } from "../../../platform/ports/audit.ts";
import type { CommonPasswords } from "../../../platform/secrets/common-passwords.ts";
import type { Names } from "../../../platform/model/names.ts";
import { hashPassword, PASSWORD_CHARS, verifyPassword } from "../../../platform/secrets/password-hash.ts";
import {
  newPasswordFault,
  passwordFault,
  type PasswordFault,
  type PasswordOwner,
} from "../../../platform/secrets/password-rules.ts";
import type { Random } from "../../../platform/runtime/random.ts";
import { httpsAddress } from "../../model/brand.ts";
import { disabledFlag, displayName, email, flagOrKept, locale } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { refusal, type Fault, type RuleContext } from "../../model/rules.ts";
import { toFlag, type Resource } from "../shared/resource.ts";
import { search } from "../shared/search.ts";
import { revokeManyFirst } from "../keys/revocations.ts";
import { hasUser } from "../shared/refusals.ts";

export const params = z.object({ email });
const password = z.string().check(z.minLength(PASSWORD_CHARS.min), z.maxLength(PASSWORD_CHARS.max));
export const schema = z.object({
  name: z.optional(displayName),
  picture: z.optional(httpsAddress),
  locale: z.optional(locale),
  password: z.optional(password),
  disabled: disabledFlag,
});
type Body = z.output<typeof schema>;

const PASSWORD_FAULTS: Readonly<Record<PasswordFault, string>> = {
  length: `must have ${PASSWORD_CHARS.min} to ${PASSWORD_CHARS.max} characters`,
  common: "is too easy to guess; choose several words, or a random text",
  own: "is the address, a part of it, or the platform's name; choose several words, or a random text",
};

export function check(
  address: string | undefined,
  { password: given }: Partial<Body>,
  { names }: Pick<RuleContext, "names">,
): Fault[] {
  return toFaults(given && passwordFault(given, ownerOf(address, names)));
}

const ownerOf = (address: string | undefined, names: Names): PasswordOwner => ({
  email: address ?? "",
  platform: [names.platform],
});

const toFaults = (fault: PasswordFault | "" | undefined): Fault[] =>
  fault ? [{ type: "invalid_field", field: "password", message: `password ${PASSWORD_FAULTS[fault]}.` }] : [];

const STORED_HASH = `SELECT password_hash AS hash FROM user WHERE email = ?1`;
/**
 * SQL: `signed_out_at` ends the sessions of an earlier user with this address. Where it is `created_at`, only an
 * invitation made the account, until an operator writes it.
 */
const UPSERT = `
  INSERT INTO user (email, name, password_hash, disabled, created_at, signed_out_at, picture, locale)
  VALUES (?1, ?2, ?3, coalesce(?4, 0), ?5, ?5 - 1, coalesce(?6, ''), coalesce(?7, ''))
  ON CONFLICT (email) DO UPDATE SET
    name = excluded.name, password_hash = coalesce(excluded.password_hash, password_hash),
    signed_out_at = iif(signed_out_at = created_at, created_at - 1, signed_out_at),
    disabled = coalesce(?4, disabled), picture = coalesce(?6, picture), locale = coalesce(?7, locale)`;
const COLUMNS = `email, name, picture, locale, password_hash IS NOT NULL AS has_password,
    email_verified_at IS NOT NULL AS email_verified, second_factor_at, disabled, created_at`;
const SELECT = `SELECT ${COLUMNS} FROM user WHERE email = ?1`;
const PAGE = `
  SELECT ${COLUMNS}, email AS page_key FROM user
  WHERE email > ?1 ORDER BY email LIMIT ?2 OFFSET ?3`;
const SEARCHED = { table: "user", columns: COLUMNS, key: "email", smallKeys: true, names: ["name"] } as const;
const DELETE = `DELETE FROM user WHERE email = ?1`;

interface Deps extends Pick<RuleContext, "names"> {
  readonly db: D1Database;
  readonly random: Random;
  readonly commonPasswords: CommonPasswords;
  readonly oauth: Pick<
    OAuthPort,
    | "revokeStatement"
    | "revokeAll"
    | "cleanupStep"
    | "signOutStatement"
    | "endElsewhere"
    | "deleteSignedOut"
    | "forgetBringer"
    | "forgetElsewhere"
    | "forgetRemoved"
    | "tellByOperator"
    | "sessionsEnded"
  >;
}

/**
 * Removing a user removes the memberships. Disabling a user, or setting another password, ends all sessions, refresh
 * tokens and access tokens of the user. Setting the stored password again changes nothing.
 */
export const users = ({ db, names, random, commonPasswords, oauth }: Deps): Resource<Body> => ({
  noun: "user",
  collection: "/users",
  key: "email",
  params,
  schema,
  row: ({ email: address }) => ({ sql: SELECT, values: [address] }),
  searched: true,
  page: (_, page) => search(db, SEARCHED).page(PAGE, page),
  toJson: (row) => ({
    email: row["email"],
    name: row["name"],
    picture: row["picture"],
    locale: row["locale"],
    hasPassword: toFlag(row["has_password"]),
    ...(toFlag(row["email_verified"]) ? { emailVerified: true } : {}),
    ...(row["second_factor_at"] === null ? {} : { secondFactorAt: row["second_factor_at"] }),
    disabled: toFlag(row["disabled"]),
    createdAt: row["created_at"],
  }),
  logged: {
    name: { value: "name" },
    picture: { value: "picture" },
    locale: { value: "locale" },
    password: { secret: "SELECT password_hash FROM user WHERE email = shown.email" },
    disabled: { flag: "disabled" },
  },
  async validate({ params: { email: address }, body }) {
    const given = body.password;
    return refusal(toFaults(given && (await newPasswordFault(given, ownerOf(address, names), commonPasswords))));
  },
  async put({ params: { email: address = "" }, body: user, nowMs, call }, write) {
    const stored = await db.prepare(STORED_HASH).bind(address).first<{ hash: string | null }>();
    const hash = newHash(user.password, stored?.hash ?? "", random);
    const upsert = db
      .prepare(UPSERT)
      .bind(
        address,
        user.name ?? address,
        hash,
        flagOrKept(user.disabled),
        nowMs,
        user.picture ?? null,
        user.locale ?? null,
      );
    if (hash === null && user.disabled !== true) return write([upsert]);
    const { statements, mostRows } = oauth.cleanupStep("user", address, nowMs);
    const revoke = oauth.revokeStatement("user", address, nowMs, "if changed");
    const written = await write([oauth.signOutStatement(address, nowMs), revoke, ...statements, upsert]);
    // The remaining grants are revoked already, so a failed attempt to remove them matters to nobody.
    if (written.changes.some((rows) => rows >= mostRows)) await oauth.deleteSignedOut(address);
    else await oauth.endElsewhere(address);
    oauth.sessionsEnded({ email: address });
    if (hash !== null && !written.isNew) oauth.tellByOperator(call, "password", address);
    return written;
  },
  async remove({ params: { email: address = "" }, nowMs, record }, remove) {
    const unfinished = await revokeManyFirst({ kind: "user", key: address, nowMs, record }, oauth);
    if (unfinished !== undefined) return unfinished;
    await oauth.forgetElsewhere("user", address);
    const removed = await remove(db.prepare(DELETE).bind(address), {
      before: [await oauth.forgetBringer(address)],
      after: oauth.revokeStatement("user", address, nowMs, "if changed"),
    });
    await oauth.forgetRemoved("user", address);
    oauth.sessionsEnded({ email: address });
    return removed;
  },
});

/** Returns the hash to store; null: the password stays. */
const newHash = (given: string | undefined, stored: string, random: Random): string | null =>
  given === undefined || verifyPassword(given, stored) ? null : hashPassword(given, random);

interface AccountDeps {
  readonly db: D1Database;
  readonly audit: Pick<AuditTrail, "statement">;
  readonly oauth: Pick<OAuthPort, "unlock" | "secondFactorRemoval" | "tellByOperator">;
}

export const userUnlockRoute = ({ db, audit, oauth }: AccountDeps): Route =>
  defineRoute({
    method: "POST",
    path: "/users/{email}/unlock",
    summary: "End the block of the user's account and forget its failed sign-ins",
    operation: "unlockUser",
    params,
    produces: "any",
    handle: async (call) => {
      const address = call.params.email;
      if (!(await hasUser(db, address))) return noSuch("user");
      await oauth.unlock(address);
      await audit.statement("always", rowBy(call, "unlock", `users/${address}`)).run();
      return empty(204);
    },
  });

/** An operator helps a person who lost the app and the recovery codes, and must check the identity of that person. */
export const secondFactorRoute = ({ db, audit, oauth }: AccountDeps): Route =>
  defineRoute({
    method: "DELETE",
    path: "/users/{email}/second-factor",
    summary: "Remove the user's second factor and its recovery codes",
    operation: "removeSecondFactor",
    params,
    produces: "any",
    handle: async (call) => {
      const address = call.params.email;
      const record = audit.statement("if changed", rowBy(call, "remove second factor", `users/${address}`));
      const done = await db.batch([...oauth.secondFactorRemoval(address), record]);
      if (done.at(-1)?.meta.changes === 0) return noSuch("second factor");
      oauth.tellByOperator(call, "factorOff", address);
      return empty(204);
    },
  });
