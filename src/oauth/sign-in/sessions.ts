import { describeError, type Log } from "../../platform/runtime/log.ts";
import type { TokenPlace } from "../homes/held-token.ts";
import type { EndedWhere } from "../homes/home.ts";
import type { BeginningSession } from "../homes/beginning.ts";
import type { SignInTimes } from "../model/authorization.ts";
import { isBoundToTenants, type Binding, type Bindings } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { hasTwoFactors } from "../model/methods.ts";
import { SID_CHARS, type SignedIn, type UserRecord, type UserStore } from "../users/user-store.ts";
import { deleteCookie, readCookie, setCookie, type BrowserDeps } from "./browser.ts";
import type { Sessions } from "./session-homes.ts";
import { whereaboutsOf } from "./whereabouts.ts";
import { HOUR_MS } from "../../platform/runtime/clock.ts";

/** Dependencies of sessions. */
export interface SessionDeps extends BrowserDeps {
  readonly log: Log;
  readonly users: UserStore;
  readonly sessions: Sessions;
  readonly federation: Bindings;
  /** The time after which an unused session is over; undefined: sessions do not end by that. */
  readonly sessionIdleMs: number | undefined;
  /** Call this after sessions ended. Clients are told after the answer (logout/logout.ts). */
  sessionsEnded(where: EndedWhere): void;
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
const SESSION_LIFETIME_MS = 12 * HOUR_MS;
/** Writes of the last use within the time after which an unused session is over. */
const TOUCHES = 10;

export interface Session extends SignInTimes {
  readonly user: UserRecord;
  readonly sid: string;
  /** The database of its row, its codes and their grants. */
  readonly shard: number;
  /** `default_idp`, `legacy_idp`, or the id of the identity provider that vouched for the user. */
  readonly provider: string;
  /** The binding of that provider. */
  readonly binding: Binding;
}

/**
 * The session of the browser's cookie, with its user's records. One round trip, or one of each database at the same
 * time; none without a cookie; one more if a provider vouched, to check that the provider and the link to the account
 * are still valid.
 */
export async function findSession(deps: SessionDeps, call: AnyCall): Promise<Session | undefined> {
  const cookie = readCookie(call, "session", deps.names);
  if (cookie === undefined) return undefined;
  const token = await deps.sessions.tokens.read(cookie);
  const found = await deps.sessions.find(token, call.nowMs);
  const session = await ifValid(deps, found, call.nowMs);
  const idleMs = deps.sessionIdleMs ?? Infinity;
  if (session !== undefined && found !== undefined && call.nowMs - found.seenAtMs >= idleMs / TOUCHES)
    call.waitUntil(touch(deps, call, token));
  return session;
}

async function touch({ sessions, log }: SessionDeps, { nowMs, requestId }: AnyCall, token: TokenPlace): Promise<void> {
  try {
    await sessions.in(token).touch(token.hash, nowMs);
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

/** The session of this person and id, in any browser. */
export const findSessionById = async (
  deps: SessionDeps,
  { sid, email }: { readonly sid: string; readonly email: string },
  nowMs: number,
): Promise<Session | undefined> => ifValid(deps, await deps.sessions.findById(sid, email, nowMs), nowMs);

async function ifValid(deps: SessionDeps, found: SignedIn | undefined, nowMs: number): Promise<Session | undefined> {
  if (found === undefined || found.authenticatedAtMs <= found.user.signedOutAtMs) return undefined;
  if (found.seenAtMs <= idleSince(deps, nowMs)) return undefined;
  const binding = await deps.federation.findBinding(found.user.email, found);
  return binding && { ...found, binding };
}

/** The session id: half of the hash of the cookie. It finds the row by its key, and does not reveal the cookie. */
const sidOf = (idHash: string): string => idHash.slice(0, SID_CHARS);

/** The id of the session that the browser's cookie names, alive or over. It needs no round trip. */
export async function sidOfCookie(
  { sessions, names }: Pick<SessionDeps, "sessions" | "names">,
  call: AnyCall,
): Promise<string | undefined> {
  const cookie = readCookie(call, "session", names);
  return cookie === undefined ? undefined : sidOf((await sessions.tokens.read(cookie)).hash);
}

export interface NewSignIn extends Partial<SignInTimes> {
  readonly email: string;
  readonly provider: string;
}

export interface NewSession {
  readonly sid: string;
  readonly shard: number;
  readonly cookie: string;
}

/** A session whose row is not written yet. It is written with the first code, or alone. */
export interface PreparedSession extends NewSession, BeginningSession {
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
  const { names, sessions } = deps;
  const cookie = readCookie(call, "session", names);
  const replaced = cookie === undefined ? undefined : await sessions.tokens.read(cookie);
  const { text, hash: idHash, shard } = await sessions.newToken(email);
  const sid = sidOf(idHash);
  const record = {
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
  };
  const isBeside = replaced?.shard === shard;
  const { statements, startsAt } = sessions.in({ shard }).startStatements(record, isBeside ? replaced.hash : undefined);
  let started: boolean | undefined;
  const tookEffect = async (began: boolean): Promise<void> => {
    started = began;
    if (replaced !== undefined && !isBeside) await sessions.in(replaced).end(replaced.hash);
    if (replaced !== undefined) deps.sessionsEnded(replaced);
    if (started) deps.log.info("session started", { requestId: call.requestId, user: email, provider, sessionId: sid });
  };
  return {
    sid,
    idHash,
    shard,
    cookie: setCookie(call, "session", text, names),
    statements,
    startsAt,
    tookEffect,
    async start() {
      if (started !== undefined) return started;
      const results = await sessions.in({ shard }).run(statements);
      const began = results[startsAt]?.meta.changes === 1;
      await tookEffect(began);
      return began;
    },
  };
}

/** Ends the browser's session, if any, and returns the cookie that removes it from the browser. */
export async function endBrowserSession(deps: SessionDeps, call: AnyCall): Promise<string> {
  const cookie = readCookie(call, "session", deps.names);
  if (cookie !== undefined) {
    const token = await deps.sessions.tokens.read(cookie);
    await deps.sessions.in(token).end(token.hash);
    deps.sessionsEnded(token);
  }
  return deleteCookie(call, "session", deps.names);
}
