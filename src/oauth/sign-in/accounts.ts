import type { AuditRecord, AuditTrail } from "../../platform/ports/audit.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import { normalizeEmail } from "../../platform/text/email.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Log } from "../../platform/runtime/log.ts";
import { hashPassword, isOutdated } from "../../platform/secrets/password-hash.ts";
import type { Random } from "../../platform/runtime/random.ts";
import { nfkc } from "../../platform/text/text.ts";
import type { AnyCall } from "../model/call.ts";
import type { Credential, UserRecord, UserStore } from "../users/user-store.ts";
import { UNCOUNTED, type GuessGuard } from "./guess-guard.ts";
import type { GuessKind } from "./guesses.ts";
import type { AttemptOutcome, LoginAttempts } from "./login-attempts.do.ts";

/** `untilMs`: when the account, the network or the password may be tried again. */
export type Refused = { readonly kind: "wrong" } | { readonly kind: "blocked"; readonly untilMs: number };

/**
 * `email`: the normalized address. `device`: the user signed in by this browser before. `needsCode`: the user has a
 * second factor, which is asked for next.
 */
export type SignIn = SignedInUser | Refused;
interface SignedInUser {
  readonly kind: "ok";
  readonly email: string;
  readonly device: boolean;
  readonly needsCode: boolean;
  /** The user as read with the password's hash, before the password was checked. */
  user(): Promise<UserRecord | undefined>;
}

/** `hash`: the stored hash that the password was checked against. */
export type Confirmation = (Omit<SignedInUser, "email"> & { readonly hash: string }) | Refused;

/** A browser in which a user signed in before (device.ts). */
export interface Device {
  readonly id: string;
  /** The time of that sign-in. */
  readonly sinceMs: number;
}

/** A sign-in attempt. `device`: the browser, if the user signed in by it before. */
export interface Attempt {
  readonly password: string;
  readonly device?: Device | undefined;
  /** An authenticated client passes the password on, so the network is the client's and not the guesser's. */
  readonly byClient?: boolean;
}

export interface AccountsDeps {
  readonly users: UserStore;
  readonly attempts: DurableObjectNamespace<LoginAttempts>;
  readonly guesses: GuessGuard;
  readonly audit: AuditTrail;
  readonly log: Log;
  readonly random: Random;
}

/** Text that is not an address is counted too, under its first characters. */
const MAX_NAME_CHARS = 512;

export type Accounts = ReturnType<typeof createAccounts>;

/**
 * Checks the passwords of users: on the sign-in page, at the token endpoint and before a password change. All of them
 * count failures together. A browser in which the user signed in before is counted by itself (device.ts). All others
 * are limited by network and by password too (guess-guard.ts).
 *
 * The right password of a user with a second factor does not end the count of failures: the code does.
 *
 * An unknown, disabled or password-less user gets the same response as a wrong password, at the same cost: one read,
 * one call of the account's object, one scrypt. Text that is not an address costs the same except for the read.
 *
 * If a password changes between the read and the check, the old one still signs in. Callers therefore compare the
 * call's `nowMs` with the user's `signedOutAtMs`, which a password change sets.
 */
export function createAccounts({ users, attempts, guesses, audit, log, random }: AccountsDeps) {
  /** Never retries: the attempt may have been counted although its response was lost. */
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

  async function check(
    { email, name, actor, action }: Subject,
    { password, device: sentDevice, byClient = false }: Attempt,
    call: AnyCall,
  ): Promise<Confirmation> {
    const guess = { request: byClient ? undefined : call.request, account: name, password };
    const [found, early] = await Promise.all([
      email === undefined ? undefined : users.findForSignIn(email),
      sentDevice === undefined ? guesses.begin(guess) : undefined,
    ]);
    const credential = found?.credential;
    const isKnown =
      credential !== undefined && sentDevice !== undefined && sentDevice.sinceMs > credential.signedOutAtMs;
    const device = isKnown ? sentDevice : undefined;
    const admission = early ?? (isKnown ? UNCOUNTED : await guesses.begin(guess));
    const hash = credential?.disabled === false ? credential.passwordHash : undefined;
    const needsCode = credential?.hasSecondFactor === true;
    const outcome: GuardedOutcome = admission.admitted
      ? await onAccount(name, async (account): Promise<AttemptOutcome> =>
          account.attempt(hash, password, device?.id, needsCode),
        )
      : { kind: "held", by: admission.by, untilMs: admission.allowedAtMs };
    if (admission.admitted) call.waitUntil(admission.settle(outcome.kind === "wrong"));
    if (outcome.kind === "ok" && hash !== undefined && found !== undefined)
      return { kind: "ok", hash, device: isKnown, needsCode, user: found.user };
    const reason = refusalReason(outcome, wrongReason(email, credential), isKnown);
    return refuse({ email, actor, action, known: credential !== undefined }, outcome, reason, call);
  }

  function refuse(
    { email, actor, action, known }: Omit<Subject, "name"> & { readonly known: boolean },
    outcome: GuardedOutcome,
    reason: string,
    call: AnyCall,
  ): Refused {
    const { requestId, nowMs: atMs } = call;
    log.info(`${action} refused`, { requestId, user: email, reason });
    // Text that is not an address is not logged: it may be a password typed into the wrong field.
    const subject = email === undefined ? "" : `users/${email}`;
    const row: AuditRecord = { atMs, requestId, actor, action, subject, known, outcome: "refused", reason };
    // A block needs fifteen failures, so its audit row needs no other limit and is always written.
    const begins = outcome.kind === "wrong" && outcome.blockedFromNow;
    call.waitUntil(begins ? audit.statement("always", row).run() : audit.note(row));
    return "untilMs" in outcome ? { kind: "blocked", untilMs: outcome.untilMs } : { kind: "wrong" };
  }

  return {
    async signIn(address: string, attempt: Attempt, call: AnyCall): Promise<SignIn> {
      const email = normalizeEmail(address);
      const subject = { email, name: email ?? accountNameFor(address), actor: "", action: "sign in" };
      const confirmed = await check(subject, attempt, call);
      if (confirmed.kind !== "ok") return confirmed;
      if (email === undefined) return { kind: "wrong" };
      log.info("signed in", { requestId: call.requestId, user: email });
      if (isOutdated(confirmed.hash)) call.waitUntil(upgrade(email, confirmed.hash, attempt.password));
      const { device, needsCode, user } = confirmed;
      return { kind: "ok", email, device, needsCode, user };
    },

    /** Checks the password of a signed-in user. `action`: the reason, for the audit log. */
    confirm: (email: string, attempt: Attempt, action: string, call: AnyCall): Promise<Confirmation> =>
      check({ email, name: email, actor: `user ${email}`, action }, attempt, call),

    /**
     * Counts a code of the second factor, or a passkey, with the passwords. The caller learns whether it was admitted
     * before it uses the proof up. `wrong`: the reason, for the audit log.
     */
    async countCode(
      email: string,
      {
        isRight,
        device,
        wrong = "wrong code",
      }: { readonly isRight: boolean; readonly device: Device | undefined; readonly wrong?: string | undefined },
      action: string,
      call: AnyCall,
    ): Promise<{ readonly kind: "ok" } | Refused> {
      const outcome = await onAccount(email, async (account): Promise<AttemptOutcome> =>
        account.attemptCode(isRight, device?.id),
      );
      if (outcome.kind === "ok") return outcome;
      const reason = refusalReason(outcome, wrong, device !== undefined);
      return refuse({ email, actor: `user ${email}`, action, known: true }, outcome, reason, call);
    },

    /** The end of the account's block; undefined: it has none. */
    blockedUntil: (email: string): Promise<number | undefined> =>
      onAccount(email, async (account) => account.blockedUntil()),

    /** Clears the failures of an account and ends its block, for the operator or after a password reset. */
    unlock: (email: string): Promise<void> => onAccount(email, async (account) => account.unlock()),
  };
}

/** `actor`: the user, if known already. `email` is undefined for text that is not an address. */
interface Subject extends Pick<AuditRecord, "actor" | "action"> {
  readonly email: string | undefined;
  readonly name: string;
}

const accountNameFor = (text: string): string =>
  nfkc(text.trim().slice(0, MAX_NAME_CHARS), MAX_NAME_CHARS)?.toLowerCase() ?? "";

type GuardedOutcome = AttemptOutcome | { readonly kind: "held"; readonly by: GuessKind; readonly untilMs: number };

const HELD: Readonly<Record<GuessKind, string>> = {
  network: "too many accounts failed from this network",
  password: "too many accounts failed with this password",
};

/** For the operator only. */
function refusalReason(outcome: GuardedOutcome, wrong: string, isKnown: boolean): string {
  const blocked = isKnown ? "the account is blocked for this known browser" : "the account is blocked";
  if (outcome.kind === "held") return HELD[outcome.by];
  if (outcome.kind === "blocked") return blocked;
  return outcome.kind === "wrong" && outcome.blockedFromNow ? `${wrong}; ${blocked} from now on` : wrong;
}

function wrongReason(email: string | undefined, credential: Credential | undefined): string {
  if (email === undefined) return "not an e-mail address";
  if (credential === undefined) return "unknown user";
  if (credential.disabled) return "disabled user";
  return credential.passwordHash === undefined ? "user without a password" : "wrong password";
}
