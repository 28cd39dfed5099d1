import type { AuditRecord, AuditTrail } from "../../platform/audit.ts";
import { StoreUnavailable } from "../../platform/database.ts";
import { normalizeEmail } from "../../platform/email.ts";
import { sha256Hex } from "../../platform/hash.ts";
import type { Log } from "../../platform/log.ts";
import { hashPassword, isOutdated } from "../../platform/password-hash.ts";
import type { Random } from "../../platform/random.ts";
import { nfkc } from "../../platform/text.ts";
import type { AnyCall } from "../model/call.ts";
import type { Credential, UserStore } from "../users/user-store.ts";
import { UNCOUNTED, type GuessGuard } from "./guess-guard.ts";
import type { GuessKind } from "./guesses.ts";
import type { AttemptOutcome, LoginAttempts } from "./login-attempts.do.ts";

/** `untilMs`: when the account, the network or the password may be tried again. */
export type Refused = { readonly kind: "wrong" } | { readonly kind: "blocked"; readonly untilMs: number };

/** `email` is the one spelling that accounts are known by. `device`: the browser is known for this user already. */
export type SignIn = { readonly kind: "ok"; readonly email: string; readonly device: boolean } | Refused;

/** `hash`: the stored one that the password was held against. */
export type Confirmation = { readonly kind: "ok"; readonly hash: string; readonly device: boolean } | Refused;

/** A browser that a user signed in by before (device.ts). */
export interface Device {
  readonly id: string;
  /** When its user signed in by it. */
  readonly sinceMs: number;
}

/** Who tries: a browser that the user signed in by before, where it is one. */
export interface Attempt {
  readonly password: string;
  readonly device?: Device | undefined;
  /** A client that proved itself passes on what it was told: the network is the client's, not that of who guesses. */
  readonly byClient?: boolean;
}

/**
 * Users who show who they are by address and password: at the sign-in page, at the token endpoint and before they change
 * the password, with one count of failures for all (contract 2.6),
 * but for browsers that the user signed in by before: each of them is counted by itself (device.ts). Whoever is counted
 * with all others is held up by network and by password too (guess-guard.ts).
 *
 * Unknown, disabled and password-less users answer as a wrong password does and cost the same: one read, one turn of the
 * account's object, one scrypt. So does text that is no address, but for the read: it can be nobody's.
 *
 * A password that changes between the read and the check still signs in by the old one. Whoever makes something of the
 * sign-in therefore compares its time, the call's `nowMs`, with the user's `signedOutAtMs`, which the change sets.
 */
export interface Accounts {
  signIn(address: string, attempt: Attempt, call: AnyCall): Promise<SignIn>;
  /** Whether the password of a signed-in user is this one. `action`: what it is asked for, for the audit log. */
  confirm(email: string, attempt: Attempt, action: string, call: AnyCall): Promise<Confirmation>;
  /** Forgets failures and ends every block of the account, for the operator. */
  unlock(email: string): Promise<void>;
}

export interface AccountsDeps {
  readonly users: UserStore;
  readonly attempts: DurableObjectNamespace<LoginAttempts>;
  readonly guesses: GuessGuard;
  readonly audit: AuditTrail;
  readonly log: Log;
  readonly random: Random;
}

/** What is no address has an account as well, in name: of its first characters. */
const MAX_NAME_CHARS = 512;

export function createAccounts({ users, attempts, guesses, audit, log, random }: AccountsDeps): Accounts {
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
    { password, device: shown, byClient = false }: Attempt,
    call: AnyCall,
  ): Promise<Confirmation> {
    const guess = { request: byClient ? undefined : call.request, account: name, password };
    const [credential, early] = await Promise.all([
      email === undefined ? undefined : users.credential(email),
      shown === undefined ? guesses.begin(guess) : undefined,
    ]);
    const isKnown = credential !== undefined && shown !== undefined && shown.sinceMs > credential.signedOutAtMs;
    const device = isKnown ? shown : undefined;
    const admission = early ?? (isKnown ? UNCOUNTED : await guesses.begin(guess));
    const hash = credential?.disabled === false ? credential.passwordHash : undefined;
    const outcome: GuardedOutcome = admission.admitted
      ? await onAccount(name, async (account): Promise<AttemptOutcome> => account.attempt(hash, password, device?.id))
      : { kind: "held", by: admission.by, untilMs: admission.allowedAtMs };
    if (admission.admitted) call.waitUntil(admission.settle(outcome.kind === "wrong"));
    if (outcome.kind === "ok" && hash !== undefined) return { kind: "ok", hash, device: isKnown };
    const { requestId, nowMs: atMs } = call;
    const reason = refusalReason(outcome, { email, credential, isKnown });
    log.info(`${action} refused`, { requestId, user: email, reason });
    // Text that is no address is not kept: it may be a password in the wrong field.
    const subject = email === undefined ? "" : `users/${email}`;
    const known = credential !== undefined;
    const row: AuditRecord = { atMs, requestId, actor, action, subject, known, outcome: "refused", reason };
    // Fifteen verifications stand behind a block, so its row needs no other bound and is never merely counted.
    const begins = outcome.kind === "wrong" && outcome.blockedFromNow;
    call.waitUntil(begins ? audit.statement("always", row).run() : audit.note(row));
    return "untilMs" in outcome ? { kind: "blocked", untilMs: outcome.untilMs } : { kind: "wrong" };
  }

  return {
    async signIn(address, given, call) {
      const email = normalizeEmail(address);
      const who = { email, name: email ?? accountNameFor(address), actor: "", action: "sign in" };
      const confirmed = await attempt(who, given, call);
      if (confirmed.kind !== "ok") return confirmed;
      if (email === undefined) return { kind: "wrong" };
      log.info("signed in", { requestId: call.requestId, user: email });
      if (isOutdated(confirmed.hash)) call.waitUntil(upgrade(email, confirmed.hash, given.password));
      return { kind: "ok", email, device: confirmed.device };
    },

    confirm: (email, given, action, call) =>
      attempt({ email, name: email, actor: `user ${email}`, action }, given, call),

    unlock: (email) => onAccount(email, async (account) => account.unlock()),
  };
}

const accountNameFor = (text: string): string =>
  nfkc(text.trim().slice(0, MAX_NAME_CHARS), MAX_NAME_CHARS)?.toLowerCase() ?? "";

type GuardedOutcome = AttemptOutcome | { readonly kind: "held"; readonly by: GuessKind; readonly untilMs: number };

const HELD: Readonly<Record<GuessKind, string>> = {
  network: "too many accounts failed from this network",
  password: "too many accounts failed with this password",
};

/** For the operator's eyes alone. */
function refusalReason(
  outcome: GuardedOutcome,
  known: {
    readonly email: string | undefined;
    readonly credential: Credential | undefined;
    readonly isKnown: boolean;
  },
): string {
  const whose = known.isKnown ? "the account is blocked for this known browser" : "the account is blocked";
  if (outcome.kind === "held") return HELD[outcome.by];
  if (outcome.kind === "blocked") return whose;
  const reason = wrongReason(known.email, known.credential);
  return outcome.kind === "wrong" && outcome.blockedFromNow ? `${reason}; ${whose} from now on` : reason;
}

function wrongReason(email: string | undefined, credential: Credential | undefined): string {
  if (email === undefined) return "not an e-mail address";
  if (credential === undefined) return "unknown user";
  if (credential.disabled) return "disabled user";
  return credential.passwordHash === undefined ? "user without a password" : "wrong password";
}
