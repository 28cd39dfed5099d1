import { sha256Hex } from "../../platform/secrets/hash.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { randomSecret } from "../../platform/runtime/random.ts";
import type { SignInTimes } from "../model/authorization.ts";
import { isBoundToTenants, type Binding, type Bindings } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { hasTwoFactors } from "../model/methods.ts";
import { SID_CHARS, type SignedIn, type UserRecord, type UserStore } from "../users/user-store.ts";
import { deleteCookie, readCookie, setCookie, type BrowserDeps } from "./browser.ts";
import type { SessionStore } from "./session-store.ts";
import { whereaboutsOf } from "./whereabouts.ts";

/** Dependencies of sessions. */
export interface SessionDeps extends BrowserDeps {
  readonly log: Log;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly federation: Bindings;
  /** A session that was not used for so long is over; undefined: none is for that. */
  readonly sessionIdleMs: number | undefined;
  /** To be called after sessions ended: clients are told beside the answer (logout/logout.ts). */
  sessionsEnded(): void;
}

/**
 * Sessions of browsers.
 *
 *   none ──sign-in──▶ signed in ──12 h · /end_session · /account · another sign-in in this browser──▶ over
 *                         ├── unused for `sessionIdleMs`, if the deployment has that: not valid any more
 *                         └── user disabled, password changed or signed out everywhere: not valid any more
 *
 * The row has the browser and its place as the account page shows them, and the last use: to the hour, written beside a
 * code (grants/code-store.ts), so that it costs no round trip. Where sessions end by idleness, each page and each
 * request of an application in the browser is a use, and is written beside the answer, to a tenth of the time.
 *
 * Each sign-in makes a new session with a new cookie and ends the old one. Tokens that the browser got stay valid by
 * their own rules.
 */
const SESSION_LIFETIME_MS = 12 * 3_600_000;
/** Writes of the last use within the time after which an unused session is over. */
const TOUCHES = 10;

export interface Session extends SignInTimes {
  readonly user: UserRecord;
  readonly sid: string;
  /** `default_idp`, `legacy_idp`, or the id of the identity provider that vouched for the user. */
  readonly provider: string;
  /** The binding of that provider. */
  readonly binding: Binding;
}

/**
 * The session of the browser's cookie, with its user's records. One round trip; none without a cookie; one more if a
 * provider vouched, to check that the provider and the link to the account are still valid.
 */
export async function findSession(deps: SessionDeps, call: AnyCall): Promise<Session | undefined> {
  const cookie = readCookie(call, "session", deps.names);
  if (cookie === undefined) return undefined;
  const idHash = await sha256Hex(cookie);
  const found = await deps.users.findBySession(idHash, call.nowMs);
  const session = await ifValid(deps, found, call.nowMs);
  const idleMs = deps.sessionIdleMs ?? Infinity;
  if (session !== undefined && found !== undefined && call.nowMs - found.seenAtMs >= idleMs / TOUCHES)
    call.waitUntil(touch(deps, call, idHash));
  return session;
}

async function touch({ sessions, log }: SessionDeps, { nowMs, requestId }: AnyCall, idHash: string): Promise<void> {
  try {
    await sessions.touch(idHash, nowMs);
  } catch (thrown) {
    log.error("use of a session not written", { requestId, error: describeError(thrown) });
  }
}

/** Sessions that were last used before this time are over. */
export const idleSince = ({ sessionIdleMs }: Pick<SessionDeps, "sessionIdleMs">, nowMs: number): number =>
  sessionIdleMs === undefined ? 0 : nowMs - sessionIdleMs;

/**
 * The session for the account page, where its user sees and changes everything. A provider bound to tenants is not
 * enough, nor is one factor of a user with two.
 */
export async function findAccountSession(deps: SessionDeps, call: AnyCall): Promise<Session | undefined> {
  const session = await findSession(deps, call);
  return session === undefined || isBoundToTenants(session.binding) || needsCode(session) ? undefined : session;
}

/** The user has set up a second factor and has not shown it. */
export const needsCode = ({ user, methods }: Session): boolean => user.hasSecondFactor && !hasTwoFactors(methods);

/** The user has a second factor or a passkey, and the session has shown neither: it changes none of them. */
export const lacksProof = ({ user, methods }: Session): boolean =>
  (user.hasSecondFactor || user.hasPasskey) && !hasTwoFactors(methods);

/** The session of this id, in any browser. As many round trips. */
export const findSessionById = async (deps: SessionDeps, sid: string, nowMs: number): Promise<Session | undefined> =>
  ifValid(deps, await deps.users.findBySessionId(sid, nowMs), nowMs);

async function ifValid(deps: SessionDeps, found: SignedIn | undefined, nowMs: number): Promise<Session | undefined> {
  if (found === undefined || found.authenticatedAtMs <= found.user.signedOutAtMs) return undefined;
  if (found.seenAtMs <= idleSince(deps, nowMs)) return undefined;
  const binding = await deps.federation.findBinding(found.user.email, found);
  return binding && { ...found, binding };
}

/** Half of the hash of a cookie of 256 bits: it finds the row by its key, and nobody the cookie. */
const sidOf = (idHash: string): string => idHash.slice(0, SID_CHARS);

export interface NewSignIn extends Partial<SignInTimes> {
  readonly email: string;
  readonly provider: string;
}

export interface NewSession {
  readonly sid: string;
  readonly cookie: string;
}

/** A session whose row is not written yet: with its first code, or alone. */
export interface PreparedSession extends NewSession {
  /** The key of its row. */
  readonly idHash: string;
  /** The first begins it, if its user may sign in. */
  readonly statements: readonly D1PreparedStatement[];
  /** Takes the result of the first, from the transaction that ran them all. */
  tookEffect(result: D1Result | undefined): boolean;
  /** Writes the row unless it is written. False if the user has just been disabled, signed out or removed. */
  start(): Promise<boolean>;
}

/** Undefined if the user has just been disabled, signed out or removed. */
export async function startSession(
  deps: SessionDeps,
  call: AnyCall,
  newSignIn: NewSignIn,
): Promise<NewSession | undefined> {
  const session = await prepareSession(deps, call, newSignIn);
  return (await session.start()) ? session : undefined;
}

/** `authenticatedAtMs`: the time of the call if absent. */
export async function prepareSession(
  deps: SessionDeps,
  call: AnyCall,
  { email, provider, authenticatedAtMs = call.nowMs, provenAtMs, methods }: NewSignIn,
): Promise<PreparedSession> {
  const { names, random } = deps;
  const secret = randomSecret(random);
  const replaced = readCookie(call, "session", names);
  const idHash = await sha256Hex(secret);
  const sid = sidOf(idHash);
  const statements = deps.sessions.startStatements(
    {
      idHash,
      email,
      sid,
      provider,
      authenticatedAtMs,
      provenAtMs,
      methods,
      expiresAtMs: authenticatedAtMs + SESSION_LIFETIME_MS,
      seenAtMs: call.nowMs,
      ...whereaboutsOf(call),
    },
    replaced === undefined ? undefined : await sha256Hex(replaced),
  );
  let started: boolean | undefined;
  const tookEffect = (result: D1Result | undefined): boolean => {
    started = result?.meta.changes === 1;
    if (replaced !== undefined) deps.sessionsEnded();
    if (started) deps.log.info("session started", { requestId: call.requestId, user: email, provider, sessionId: sid });
    return started;
  };
  return {
    sid,
    idHash,
    cookie: setCookie(call, "session", secret, names),
    statements,
    tookEffect,
    start: async () => started ?? tookEffect((await deps.sessions.run(statements))[0]),
  };
}

/** Ends the browser's session, if any, and returns the cookie that removes it from the browser. */
export async function endBrowserSession(deps: SessionDeps, call: AnyCall): Promise<string> {
  const cookie = readCookie(call, "session", deps.names);
  if (cookie !== undefined) {
    await deps.sessions.end(await sha256Hex(cookie));
    deps.sessionsEnded();
  }
  return deleteCookie(call, "session", deps.names);
}
