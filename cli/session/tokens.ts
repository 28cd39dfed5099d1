import { UserError } from "../../scripts/lib/user-error.ts";
import { discover } from "./discover.ts";
import { renew } from "./sign-in.ts";
import type { Session, SessionStore } from "./store.ts";

/** Renews a token this much before its end, so that it outlives the request that it is for. */
const EARLY_MS = 60_000;

/** The sign-in has ended: the person must sign in again. */
class SignedOut extends UserError {
  override name = "SignedOut";
}

/**
 * Valid access tokens of a sign-in. The file is read for each token, because another program may have renewed it. One
 * renewal at a time serves every caller in this program.
 */
export function createSessionTokens(
  store: SessionStore,
  { base, kind }: Pick<Session, "base" | "kind">,
  nowMs: () => number,
) {
  let renewing: Promise<string> | undefined;

  async function next(scope?: string): Promise<string> {
    const session = readSession();
    const tokens = await renew(await discover(base), session.clientId, session.refreshToken, scope);
    if (tokens === undefined) return afterEnd(session);
    const { accessToken, expiresInSec, refreshToken } = tokens;
    // A token with fewer scopes is for one caller, so it is not stored.
    const kept = scope === undefined ? { accessToken, expiresAtMs: nowMs() + expiresInSec * 1_000 } : {};
    store.write({ ...session, ...kept, refreshToken });
    return accessToken;
  }

  /** Handles a refused refresh token: another program has replaced it, or the sign-in has ended. */
  function afterEnd(used: Session): string {
    const session = store.read(base, kind);
    if (session !== undefined && session.refreshToken !== used.refreshToken) return session.accessToken;
    store.remove({ base, kind });
    throw new SignedOut(
      `The sign-in of ${used.user} has ended. Sign in again: npm run plat -- login --${kind} ${used.place}`,
    );
  }

  function readSession(): Session {
    const session = store.read(base, kind);
    if (session === undefined) throw new SignedOut(`Nobody is signed in at ${base}. Sign in: npm run plat -- login`);
    return session;
  }

  return {
    /** A valid token. `refused`: a token that the platform refused, and that must not be returned again. */
    async get(refused?: string): Promise<string> {
      const { accessToken, expiresAtMs } = readSession();
      if (accessToken !== refused && nowMs() < expiresAtMs - EARLY_MS) return accessToken;
      renewing ??= next().finally(() => (renewing = undefined));
      return renewing;
    },
    /** A token with only these scopes. */
    narrow: (scope: string): Promise<string> => next(scope),
  };
}
