import * as z from "zod/mini";
import { hashPassword } from "../../platform/password-hash.ts";
import { displayName, email, flag } from "../fields.ts";
import { toFlag, type Resource } from "../resource.ts";
import type { AdminDeps } from "../routes.ts";

/** NIST SP 800-63B 3.1.1: length counts, rules of composition do not; the upper end bounds the work of hashing. */
const password = z.string().check(z.minLength(8), z.maxLength(256));
const body = z.object({ name: z.optional(displayName), password: z.optional(password), disabled: flag });

/** Left out: the password stays as it is. */
const UPSERT = `
  INSERT INTO user (email, name, password_hash, disabled, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (email) DO UPDATE SET
    name = excluded.name, password_hash = coalesce(excluded.password_hash, password_hash), disabled = excluded.disabled`;
const SELECT = `
  SELECT email, name, password_hash IS NOT NULL AS has_password, disabled, created_at FROM user WHERE email = ?1`;
const PAGE = `
  SELECT email, name, password_hash IS NOT NULL AS has_password, disabled, created_at, email AS page_key FROM user
  WHERE email > ?1 ORDER BY email LIMIT ?2 OFFSET ?3`;
const DELETE = `DELETE FROM user WHERE email = ?1`;

/** A user's memberships go with the user. */
export const users = ({ db, random, voidStatement }: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "user",
  collection: "/users",
  key: "email",
  params: z.object({ email }),
  body,
  async put({ params, body: user, nowMs }) {
    const address = params["email"] ?? "";
    const hash = user.password === undefined ? null : hashPassword(user.password, random);
    const write = db.prepare(UPSERT).bind(address, user.name ?? address, hash, Number(user.disabled), nowMs);
    return { writes: user.disabled ? [write, voidStatement("user", address, nowMs, "always")] : [write] };
  },
  select: (params) => db.prepare(SELECT).bind(params["email"]),
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({
    email: row["email"],
    name: row["name"],
    hasPassword: toFlag(row["has_password"]),
    disabled: toFlag(row["disabled"]),
    createdAt: row["created_at"],
  }),
  remove: ({ email: address = "" }, nowMs) => ({
    delete: db.prepare(DELETE).bind(address),
    andThen: voidStatement("user", address, nowMs, "if changed"),
  }),
});
