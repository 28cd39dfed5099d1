import * as z from "zod/mini";
import { hashPassword, PASSWORD_CHARS, verifyPassword } from "../../platform/password-hash.ts";
import { passwordFault, type PasswordFault } from "../../platform/password-rules.ts";
import { invalid } from "../../http/errors.ts";
import type { Random } from "../../platform/random.ts";
import { endManyFirst } from "./end-all.ts";
import { disabledFlag, displayName, email, flagOrKept } from "../fields.ts";
import { toFlag, type Resource } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

const password = z.string().check(z.minLength(PASSWORD_CHARS.min), z.maxLength(PASSWORD_CHARS.max));
const body = z.object({ name: z.optional(displayName), password: z.optional(password), disabled: disabledFlag });

const REFUSED: Readonly<Record<PasswordFault, string>> = {
  length: `must have ${PASSWORD_CHARS.min} to ${PASSWORD_CHARS.max} characters`,
  common: "is one of those that are guessed first; choose several words, or a random text",
  own: "is the address, a part of it, or the platform's name; choose several words, or a random text",
};

const STORED_HASH = `SELECT password_hash FROM user WHERE email = ?1`;
/** A password and `disabled` stay as they are where they are left out. A new user has never signed in, whoever had the address before. */
const UPSERT = `
  INSERT INTO user (email, name, password_hash, disabled, created_at, signed_out_at) VALUES (?1, ?2, ?3, coalesce(?4, 0), ?5, ?5 - 1)
  ON CONFLICT (email) DO UPDATE SET
    name = excluded.name, password_hash = coalesce(excluded.password_hash, password_hash),
    disabled = coalesce(?4, disabled)`;
const SELECT = `
  SELECT email, name, password_hash IS NOT NULL AS has_password, disabled, created_at FROM user WHERE email = ?1`;
const PAGE = `
  SELECT email, name, password_hash IS NOT NULL AS has_password, disabled, created_at, email AS page_key FROM user
  WHERE email > ?1 ORDER BY email LIMIT ?2 OFFSET ?3`;
const DELETE = `DELETE FROM user WHERE email = ?1`;

/**
 * A user's memberships go with the user. Disabling and another password end what the user signed in to: sessions,
 * refresh tokens, access tokens. The password that is stored already changes nothing.
 */
export const users = (deps: AdminDeps): Resource<z.output<typeof body>> => {
  const { db, names, random, voidStatement, forget, signOutStatement } = deps;
  return {
    noun: "user",
    collection: "/users",
    key: "email",
    params: z.object({ email }),
    body,
    async put({ params, body: user, nowMs }) {
      const address = params["email"] ?? "";
      const fault = user.password && passwordFault(user.password, { email: address, platform: [names.platform] });
      if (fault) return invalid("invalid_field", "password", `password ${REFUSED[fault]}.`);
      const stored = await db.prepare(STORED_HASH).bind(address).first<{ password_hash: string | null }>();
      const hash = newHash(user.password, stored?.password_hash ?? "", random);
      const write = db.prepare(UPSERT).bind(address, user.name ?? address, hash, flagOrKept(user.disabled), nowMs);
      if (hash === null && user.disabled !== true) return { writes: [write] };
      const signOut = signOutStatement(address, nowMs);
      const voided = voidStatement("user", address, nowMs, "if changed");
      const { statements, mostRows } = forget("user", address, nowMs);
      return {
        writes: [signOut, voided, ...statements, write],
        // What is left over is dead since the first transaction, so the answer may be 200 whatever becomes of it.
        goOn: async (changes) => {
          if (changes.some((rows) => rows >= mostRows)) await deps.endAll("user", address, nowMs, undefined);
        },
      };
    },
    row: (params) => ({ sql: SELECT, values: [params["email"]] }),
    logged: {
      name: { value: "name" },
      password: { secret: "SELECT password_hash FROM user WHERE email = shown.email" },
      disabled: { flag: "disabled" },
    },
    page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
    toJson: (row) => ({
      email: row["email"],
      name: row["name"],
      hasPassword: toFlag(row["has_password"]),
      disabled: toFlag(row["disabled"]),
      createdAt: row["created_at"],
    }),
    remove: ({ email: address = "" }, nowMs) => ({
      first: (record) => endManyFirst("user", address, nowMs, record, deps),
      delete: db.prepare(DELETE).bind(address),
      andThen: voidStatement("user", address, nowMs, "if changed"),
    }),
  };
};

/** Null: the password stays as it is. */
const newHash = (given: string | undefined, stored: string, random: Random): string | null =>
  given === undefined || verifyPassword(given, stored) ? null : hashPassword(given, random);
