import { useSyncExternalStore } from "react";
import { CONSOLE_PATH, configNow } from "./config.ts";
import {
  authorizationUrl,
  endSessionUrl,
  forgetAsked,
  hasAsked,
  holderOf,
  isAwaited,
  redeem,
  renew,
  SignInError,
  type Tokens,
} from "./oidc.ts";

/**
 * The session: who is signed in, with the tokens only in memory. README.md has its states.
 *
 *   signedOut ──▶ signedIn ──(renewal refused)──▶ expired ──(a window signs in again)──▶ signedIn
 */
export type Session =
  | { readonly state: "signedOut" }
  | { readonly state: "signedIn" | "expired"; readonly person: Person };

export interface Person {
  /** The account's address. */
  readonly user: string;
  readonly organization: string;
  readonly rights: Rights;
}

/** The person's rights, from the scopes of the token. `write` includes `read`. */
export interface Rights {
  readonly read: boolean;
  readonly write: boolean;
  /** True if the rights are limited to the tenants of the organization. */
  readonly tenantsOnly: boolean;
}

/** Tokens are renewed this long before their end. */
const EARLY_MS = 60_000;
const ORGANIZATION = "plinth-console-organization";
const SIGNED_IN_AGAIN = "plinth-console-signed-in";
const HEARD = "heard";
/** The page that asked hears at once, if there is one. */
const HEARING_MS = 2_000;

let session: Session = { state: "signedOut" };
let tokens: Tokens | undefined;
let renewing: Promise<void> | undefined;
/** Requests that wait until the person has signed in again. */
let waiting: (() => void)[] = [];
const listeners = new Set<() => void>();

function set(next: Session): void {
  session = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const useSession = (): Session => useSyncExternalStore(subscribe, () => session);
export const sessionNow = (): Session => session;

/** The signed-in person. Only for pages that need a session. */
export function usePerson(): Person {
  const now = useSession();
  if (now.state === "signedOut") throw new Error("nobody is signed in");
  return now.person;
}

/** The organization that the person acts for: the last one, or that of the platform's operators. */
export const lastOrganization = (): string => localStorage.getItem(ORGANIZATION) ?? "operators";

/** Goes to the platform's sign-in page. */
export async function signIn(returnTo: string, organization = lastOrganization()): Promise<void> {
  location.assign(await authorizationUrl({ organization, returnTo }));
}

/** Asks the platform for a session without showing a page. Returns here with or without one. */
export async function signInSilently(returnTo: string): Promise<void> {
  location.replace(await authorizationUrl({ organization: lastOrganization(), returnTo, silent: true }));
}

/** Handles the return from the platform. Returns the path that the person wanted to open. */
export async function land(answer: URLSearchParams): Promise<string> {
  const landed = await redeem(answer);
  localStorage.setItem(ORGANIZATION, landed.organization);
  try {
    await take(landed.tokens, landed.organization);
  } catch {
    throw new SignInError("unreachable", "", landed.returnTo);
  }
  return landed.returnTo;
}

async function take(next: Tokens, organization: string): Promise<void> {
  const { user, scopes } = await holderOf(next);
  // The page, what was typed there and the requests that wait are another person's.
  if (session.state === "expired" && session.person.user !== user) return location.reload();
  tokens = next;
  const holds = (scope: string) => scopes.includes(`${configNow().platform}.${scope}`);
  const write = holds("admin_write");
  const read = write || holds("admin_read");
  set({
    state: "signedIn",
    person: { user, organization, rights: { read, write, tenantsOnly: !read && holds("admin_tenant") } },
  });
  for (const go of waiting.splice(0)) go();
}

/** A token for a request. While the session has expired it waits, so that no request and no typed text is lost. */
export async function token(refused?: string): Promise<string> {
  for (;;) {
    if (session.state === "signedOut") throw new Error("nobody is signed in");
    if (session.state === "expired") await new Promise<void>((resolve) => waiting.push(resolve));
    else if (tokens !== undefined && tokens.accessToken !== refused && Date.now() < tokens.endsMs - EARLY_MS)
      return tokens.accessToken;
    else await (renewing ??= renewNow().finally(() => (renewing = undefined)));
  }
}

async function renewNow(): Promise<void> {
  if (tokens === undefined || session.state !== "signedIn") return;
  const next = await renew(tokens);
  if (next === undefined) return set({ ...session, state: "expired" });
  tokens = next;
}

/**
 * Signs in again in a window of its own, so that the page keeps its input. Ends when the person is signed in; throws if
 * that is not possible.
 */
export async function signInAgain(): Promise<void> {
  if (session.state === "signedOut") return;
  const { organization } = session.person;
  // The new window gets a copy of this tab's storage, in which it must not find an earlier attempt of its own.
  forgetAsked();
  // Opened before the first `await`: later, the browser would block it as a pop-up.
  const window_ = window.open("", "plinth-sign-in", "popup,width=520,height=720");
  let url: string;
  try {
    url = await authorizationUrl({ organization, returnTo: SIGNED_IN_AGAIN });
  } catch (thrown) {
    window_?.close();
    throw thrown;
  }
  if (window_ === null) return location.assign(url);
  const channel = new BroadcastChannel(SIGNED_IN_AGAIN);
  const answered = new Promise<URLSearchParams>((resolve) => {
    channel.addEventListener("message", ({ data }: MessageEvent<string>) => {
      const answer = new URLSearchParams(data);
      // Another tab may sign in again at the same time.
      if (!isAwaited(answer)) return;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
      channel.postMessage(HEARD);
      channel.close();
      resolve(answer);
    });
  });
  window_.location.assign(url);
  await land(await answered);
}

/**
 * Runs in the window that signs in again: hands the answer to the page that asked, which has the verifier. Returns
 * whether this is that window. If no page hears it, this is a page that was loaded again.
 */
export async function handBack(answer: URLSearchParams): Promise<boolean> {
  if (hasAsked()) return false;
  const channel = new BroadcastChannel(SIGNED_IN_AGAIN);
  const isHeard = await new Promise<boolean>((resolve) => {
    channel.addEventListener("message", ({ data }: MessageEvent<string>) => data === HEARD && resolve(true));
    setTimeout(() => resolve(false), HEARING_MS);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
    channel.postMessage(answer.toString());
  });
  channel.close();
  if (isHeard) window.close();
  return isHeard;
}

/** Signs out and leaves the page, so that its tokens are gone. */
export async function signOut(): Promise<void> {
  try {
    location.assign(await endSessionUrl());
  } catch {
    location.assign(`${CONSOLE_PATH}/sign-in`);
  }
}
