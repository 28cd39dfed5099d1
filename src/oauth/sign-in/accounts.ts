import { StoreUnavailable } from "../../platform/database.ts";
import type { AuditRecord, AuditTrail } from "../../platform/audit.ts";
import { normalizeEmail } from "../../platform/email.ts";
import { sha256Hex } from "../../platform/hash.ts";
import type { Log } from "../../platform/log.ts";
import { hashPassword, isOutdated } from "../../platform/password-hash.ts";
import { nfkc } from "../../platform/text.ts";
import type { Random } from "../../platform/random.ts";
import type { AnyCall } from "../context.ts";
import type { AttemptOutcome, LoginAttempts } from "../login-attempts.do.ts";
import type { Credential, UserStore } from "../store/user-store.ts";

/** `email` is the one spelling that accounts are known by. */
export type SignIn =
  | { readonly kind: "ok"; readonly email: string }
  | { readonly kind: "wrong" }
  | { readonly kind: "blocked" };

/** `hash`: the stored one that the password was held against. */
export type Confirmation = { readonly kind: "ok"; readonly hash: string } | { readonly kind: "wrong" | "blocked" };

/**
 * Users who show who they are by address and password: at the sign-in page, at the token endpoint and before they change
 * the password, with one count of failures for all (contract 2.6).
 *
 * Unknown, disabled and password-less users answer as a wrong password does and cost the same: one read, one turn of the
 * account's object, one scrypt. So does text that is no address, but for the read: it can be nobody's.
 *
 * A password that changes between the read and the check still signs in by the old one. Whoever makes something of the
 * sign-in therefore compares its time, the call's `nowMs`, with the user's `signedOutAtMs`, which the change sets.
 */
export interface Accounts {
  signIn(address: string, password: string, call: AnyCall): Promise<SignIn>;
  /** Whether the password of a signed-in user is this one. `action`: what it is asked for, for the audit log. */
  confirm(email: string, password: string, action: string, call: AnyCall): Promise<Confirmation>;
  /** Forgets failures and ends a block, for the operator. */
  unlock(email: string): Promise<void>;
}

export interface AccountsDeps {
  readonly users: UserStore;
  readonly attempts: DurableObjectNamespace<LoginAttempts>;
  readonly audit: AuditTrail;
  readonly log: Log;
  readonly random: Random;
}

/** What is no address has an account as well, in name: of its first characters. */
const MAX_NAME_CHARS = 512;

export function createAccounts({ users, attempts, audit, log, random }: AccountsDeps): Accounts {
  /** An attempt may have been counted when its answer is lost, so none is made twice. */
  const onAccount = async <T>(name: string, ask: (account: DurableObjectStub<LoginAttempts>) => Promise<T>) => {
    const account = attempts.getByName(await sha256Hex(name));
    try {
      return await ask(account);
    } catch (thrown) {
      throw new StoreUnavailable("the object of an account did not answer", { cause: thrown });
    }
  };

  const upgrade = async (email: string, from: string, password: string): Promise<void> =>
    users.upgradeHash(email, from, hashPassword(password, random));

  /** `actor`: who is known already; `email` is undefined for text that is no address. */
  async function attempt(
    {
      email,
      name,
      actor,
      action,
    }: { readonly email: string | undefined; readonly name: string } & Pick<AuditRecord, "actor" | "action">,
    password: string,
    call: AnyCall,
  ): Promise<Confirmation> {
    const credential = email === undefined ? undefined : await users.credential(email);
    const hash = credential?.disabled === false ? credential.passwordHash : undefined;
    const outcome = await onAccount(name, async (account): Promise<AttemptOutcome> => account.attempt(hash, password));
    if (outcome.kind === "ok" && hash !== undefined) return { kind: "ok", hash };
    const { requestId, nowMs: atMs } = call;
    const reason = reasonOf(outcome, email, credential);
    log.info(`${action} refused`, { requestId, user: email, reason });
    // Text that is no address is not kept: it may be a password in the wrong field.
    const subject = email === undefined ? "" : `users/${email}`;
    const known = credential !== undefined;
    const row: AuditRecord = { atMs, requestId, actor, action, subject, known, outcome: "refused", reason };
    // Fifteen verifications stand behind a block, so its row needs no other bound and is never merely counted.
    const begins = outcome.kind === "wrong" && outcome.blockedFromNow;
    call.after(begins ? audit.statement("always", row).run() : audit.note(row));
    return { kind: outcome.kind === "blocked" ? "blocked" : "wrong" };
  }

  return {
    async signIn(address, password, call) {
      const email = normalizeEmail(address);
      const who = { email, name: email ?? nameOfNoAddress(address), actor: "", action: "sign in" };
      const confirmed = await attempt(who, password, call);
      if (confirmed.kind !== "ok" || email === undefined)
        return { kind: confirmed.kind === "blocked" ? "blocked" : "wrong" };
      log.info("signed in", { requestId: call.requestId, user: email });
      if (isOutdated(confirmed.hash)) call.after(upgrade(email, confirmed.hash, password));
      return { kind: "ok", email };
    },

    confirm: (email, password, action, call) =>
      attempt({ email, name: email, actor: `user ${email}`, action }, password, call),

    unlock: (email) => onAccount(email, async (account) => account.unlock()),
  };
}

const nameOfNoAddress = (text: string): string =>
  nfkc(text.trim().slice(0, MAX_NAME_CHARS), MAX_NAME_CHARS)?.toLowerCase() ?? "";

/** For the operator's eyes alone. */
function reasonOf(outcome: AttemptOutcome, email: string | undefined, credential: Credential | undefined): string {
  if (outcome.kind === "blocked") return "the account is blocked";
  const reason =
    email === undefined
      ? "not an e-mail address"
      : credential === undefined
        ? "unknown user"
        : credential.disabled
          ? "disabled user"
          : credential.passwordHash === undefined
            ? "user without a password"
            : "wrong password";
  return outcome.kind === "wrong" && outcome.blockedFromNow ? `${reason}; the account is blocked from now on` : reason;
}
