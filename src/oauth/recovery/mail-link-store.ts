import { signedOutAt } from "../users/user-store.ts";
import { dropInvited, type EndedLink } from "./invitation-store.ts";
import { HOUR_MS } from "../../platform/runtime/clock.ts";

/** `reset`: the person chooses a new password. `verify`: the person proves that they read mail at the address. */
export type Purpose = "reset" | "verify";

/** A link that may still be used, and the browser that it works in. */
export interface MailLink {
  readonly email: string;
  /** SHA-256 of the browser's key (sign-in/browser.ts), in hex. */
  readonly browserHash: string;
  /** The authorization request to continue with. May be empty. */
  readonly request: string;
}

export interface NewMailLink extends MailLink {
  readonly purpose: Purpose;
  readonly tokenHash: string;
  readonly networkHash: string;
  /** The time since which this browser is known as the person's (sign-in/device.ts). 0: it is not known. */
  readonly knownSinceMs: number;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

/**
 * Our choice. The limits of an account keep its mailbox usable. The limit of a network stops requests for lists of
 * addresses. Browsers in which the person has signed in get more links for a password, so strangers cannot use all up.
 */
const LINK_LIMITS = { ofAccount: 3, withKnownBrowsers: 6, ofNetwork: 30, withinMs: HOUR_MS } as const;

const MAKE = `
  INSERT INTO mail_link (token_hash, purpose, email, browser_hash, network_hash, request, created_at, expires_at)
  SELECT ?1, ?9, email, ?3, ?4, ?5, ?6, ?7 FROM user
  WHERE email = ?2 AND disabled = 0 AND (?9 <> 'reset' OR password_hash IS NOT NULL)
    AND (SELECT count(*) FROM mail_link WHERE email = ?2 AND purpose = ?9 AND created_at > ?8)
      < iif(?9 = 'reset' AND ?10 > signed_out_at, ${LINK_LIMITS.withKnownBrowsers}, ${LINK_LIMITS.ofAccount})
    AND (SELECT count(*) FROM mail_link WHERE network_hash = ?4 AND created_at > ?8) < ${LINK_LIMITS.ofNetwork}`;
const usable = (purpose: Purpose): string => `purpose = '${purpose}' AND used_at IS NULL AND expires_at > ?2
  AND EXISTS (SELECT 1 FROM user WHERE user.email = mail_link.email AND disabled = 0)`;
const find = (purpose: Purpose): string => `
  SELECT email, browser_hash AS browserHash, request FROM mail_link WHERE token_hash = ?1 AND ${usable(purpose)}`;
/** The account's other links for this purpose become void too. */
const use = (purpose: Purpose): string => `
  UPDATE mail_link SET used_at = ?2 WHERE purpose = '${purpose}' AND used_at IS NULL
    AND email = (SELECT email FROM mail_link WHERE token_hash = ?1 AND browser_hash = ?3 AND ${usable(purpose)})`;
const SET_PASSWORD = `
  UPDATE user SET password_hash = ?2, signed_out_at = ${signedOutAt("?3")}, email_verified_at = coalesce(email_verified_at, ?3)
  WHERE email = ?1 AND changes() > 0
  RETURNING signed_out_at AS signedOutAtMs, second_factor_at IS NOT NULL AS hasSecondFactor`;
const VERIFY = `
  UPDATE user SET email_verified_at = coalesce(email_verified_at, ?2) WHERE email = ?1 AND changes() > 0`;
const OLD = `SELECT token_hash AS tokenHash, email FROM mail_link WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2`;
const DELETE_THESE = `DELETE FROM mail_link WHERE token_hash IN (SELECT value ->> 'tokenHash' FROM json_each(?1))`;

type UsedLink = Pick<NewMailLink, "tokenHash" | "browserHash" | "email" | "nowMs">;

export interface PasswordSet {
  /** Sign-ins up to this time are invalid. */
  readonly signedOutAtMs: number;
  readonly hasSecondFactor: boolean;
}

export type MailLinkStore = ReturnType<typeof createMailLinkStore>;

export const createMailLinkStore = (db: D1Database) => ({
  /** False if there is no such user, no password to reset, or too many links of the user or network. One round trip. */
  async make({
    purpose,
    tokenHash,
    email,
    browserHash,
    networkHash,
    knownSinceMs,
    request,
    nowMs,
    expiresAtMs,
  }: NewMailLink): Promise<boolean> {
    const values = [tokenHash, email, browserHash, networkHash, request, nowMs, expiresAtMs];
    const made = await db
      .prepare(MAKE)
      .bind(...values, nowMs - LINK_LIMITS.withinMs, purpose, knownSinceMs)
      .run();
    return made.meta.changes === 1;
  },
  /** Undefined if the link is unknown, used, void or expired, or its person is disabled. */
  find: async (purpose: Purpose, tokenHash: string, nowMs: number): Promise<MailLink | undefined> =>
    (await db.prepare(find(purpose)).bind(tokenHash, nowMs).first<MailLink>()) ?? undefined,
  /**
   * Uses the link, sets the password and verifies the address. Undefined if the link is not valid any more, or belongs
   * to another browser. `beside`: statements of the same transaction; `changes()` tells the first the result.
   */
  async setPassword(
    { tokenHash, browserHash, email, hash, nowMs }: UsedLink & { readonly hash: string },
    beside: readonly D1PreparedStatement[],
  ): Promise<PasswordSet | undefined> {
    const [, set] = await db.batch<{ signedOutAtMs: number; hasSecondFactor: number }>([
      db.prepare(use("reset")).bind(tokenHash, nowMs, browserHash),
      db.prepare(SET_PASSWORD).bind(email, hash, nowMs),
      ...beside,
    ]);
    const row = set?.results[0];
    return row && { ...row, hasSecondFactor: row.hasSecondFactor === 1 };
  },
  /** Uses the link and verifies the address. False if the link is not valid any more, or belongs to another browser. */
  async verify(
    { tokenHash, browserHash, email, nowMs }: UsedLink,
    beside: readonly D1PreparedStatement[],
  ): Promise<boolean> {
    const [, verified] = await db.batch([
      db.prepare(use("verify")).bind(tokenHash, nowMs, browserHash),
      db.prepare(VERIFY).bind(email, nowMs),
      ...beside,
    ]);
    return verified?.meta.changes === 1;
  },
  /**
   * Deletes at most `limit` links that are expired and too old for the limits, and accounts that only the invitations
   * in them made. Returns how many links.
   */
  async deleteOld(nowMs: number, limit: number): Promise<number> {
    const old = db.prepare(OLD).bind(nowMs - LINK_LIMITS.withinMs, limit);
    const { results } = await old.all<EndedLink & Record<string, unknown>>();
    if (results.length === 0) return 0;
    await db.batch([dropInvited(db, results, nowMs), db.prepare(DELETE_THESE).bind(JSON.stringify(results))]);
    return results.length;
  },
});
