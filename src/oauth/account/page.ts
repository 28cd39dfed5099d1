import { sha256Hex } from "../../platform/secrets/hash.ts";
import { DEFAULT_PROVIDER, LEGACY_PROVIDER } from "../../platform/model/names.ts";
import { toScopeView } from "../consent/scope-words.ts";
import type { Application } from "../homes/listed-grant.ts";
import { isBoundToTenants } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { oidcScopes } from "../model/authorization.ts";
import { brandOfPerson } from "../pages/brand.ts";
import { readParameters } from "../model/parameters.ts";
import type { ListedPasskey } from "../passkeys/passkey-store.ts";
import { pageContext } from "../pages/page.ts";
import type { AccountApplication, AccountFault } from "../pages/views/account.ts";
import type { ScopeView } from "../pages/views/consent.ts";
import { csrfToken, readCookie, withCookie } from "../sign-in/browser.ts";
import type { ListedSession } from "../sign-in/session-store.ts";
import { findSession, idleSince, needsCode, type Session } from "../sign-in/sessions.ts";
import type { Membership, UserRecord } from "../users/user-store.ts";
import type { AccountDeps } from "./deps.ts";
import { accountAddress, readNotice, accountErrorPage, requestedLocales } from "./notice.ts";
import { accountCodePage } from "./code-page.ts";
import { formKey } from "./form-key.ts";
import { accountSignInForm, accountSignInPage, strangerToProvider } from "./sign-in.ts";

/** Our choice: people use fewer, and a page cannot show more. */
const MOST_APPLICATIONS = 100;
const MOST_SESSIONS = 50;
const LOCAL: readonly string[] = [DEFAULT_PROVIDER, LEGACY_PROVIDER];

/** `GET /account`: the page, or the sign-in for it. */
export async function account(deps: AccountDeps, call: AnyCall): Promise<Response> {
  const session = await findSession(deps, call);
  if (session !== undefined && !isBoundToTenants(session.binding))
    return needsCode(session)
      ? accountCodePage(deps, call, session, undefined)
      : accountPage(deps, call, session, undefined);
  const parameters = readParameters(call.url.searchParams, deps.names);
  if (!parameters.ok) {
    const { description: detail, reason } = parameters.error;
    return accountErrorPage(deps, call, "account", { detail, reason });
  }
  const provider = parameters.value.get(deps.names.parameter("id_provider"));
  if (provider === undefined) return accountSignInForm(deps, call);
  return LOCAL.includes(provider)
    ? accountSignInPage(deps, call, { email: "", fault: undefined })
    : strangerToProvider(deps, call, provider);
}

/** Shows the current account, with the error of the last form, if any. */
export async function accountPage(
  deps: AccountDeps,
  call: AnyCall,
  { user, provider, authenticatedAtMs }: Session,
  fault: AccountFault | undefined,
): Promise<Response> {
  const ownHash = await sha256Hex(readCookie(call, "session", deps.names) ?? "");
  const [{ applications, words }, { hasPassword, sessions, linked }, recoveryCodes, linkable, current, passkeys] =
    await Promise.all([
      deps.grantLists.applications(user, MOST_APPLICATIONS + 1),
      deps.sessions.list(user, ownHash, {
        nowMs: call.nowMs,
        idleSinceMs: idleSince(deps, call.nowMs),
        limit: MOST_SESSIONS + 1,
      }),
      user.hasSecondFactor ? deps.factors.countRecoveryCodes(user.email) : 0,
      deps.federation.providers.linkableBy(user.email, call.nowMs),
      LOCAL.includes(provider) ? undefined : deps.federation.providers.find(provider, call.nowMs),
      user.hasPasskey ? deps.passkeys.list(user.email) : [],
    ]);
  const mayAdd = deps.passkeySite(call) !== undefined && LOCAL.includes(provider);
  const toLink = linkable.filter(({ id }) => linked.every((one) => one.provider !== id));
  const { notice, cookie } = readNotice(deps, call);
  const page = deps.pages.account({
    ...pageContext(call, requestedLocales(call), brandOfPerson(user)),
    status: fault === undefined ? 200 : 400,
    actions: {
      signOut: accountAddress(call, "/sign-out"),
      revokeAll: accountAddress(call, "/end-all"),
      removeAccess: accountAddress(call, "/remove-access"),
      password: accountAddress(call, "/password"),
      endSession: accountAddress(call, "/end-session"),
      verifyAddress: accountAddress(call, "/verify-address"),
      setUpFactor: accountAddress(call, "/second-factor/set-up"),
      removeFactor: accountAddress(call, "/second-factor/remove"),
      link: accountAddress(call, "/link"),
      unlink: accountAddress(call, "/unlink"),
      renewCodes: accountAddress(call, "/second-factor/recovery"),
      newPasskey: accountAddress(call, "/passkeys/new"),
      renamePasskey: accountAddress(call, "/passkeys/rename"),
      removePasskey: accountAddress(call, "/passkeys/remove"),
    },
    hidden: { csrf: await csrfToken(deps, formKey(deps, call)) },
    user: { email: user.email, name: user.name },
    verification: deps.recovery === undefined ? undefined : user.emailVerified ? "verified" : "open",
    signedInAtMs: authenticatedAtMs,
    provider: LOCAL.includes(provider) ? undefined : provider,
    applications: applications
      .slice(0, MOST_APPLICATIONS)
      .map((one) => toView(one, user, (scope) => toScopeView(scope, words, deps.names))),
    hasMore: applications.length > MOST_APPLICATIONS,
    secondFactor: user.hasSecondFactor ? { recoveryCodes } : undefined,
    passkeys: mayAdd || user.hasPasskey ? { list: passkeys.map(toPasskeyView), mayAdd } : undefined,
    sessions: sessions.slice(0, MOST_SESSIONS).map(toSessionView),
    hasMoreSessions: sessions.length > MOST_SESSIONS,
    hasPassword,
    linked: linked.map(({ provider: id, name }) => ({ id, name })),
    linkable: toLink.map(({ id, button }) => ({ id, name: button })),
    // Forms redirect to a provider to link an account there, or to sign in there again.
    formTargets: [...toLink, ...(current === undefined ? [] : [current])].map(({ issuer }) => issuer),
    notice: fault === undefined ? notice : undefined,
    fault,
  });
  return withCookie(page, cookie);
}

const toPasskeyView = ({ id, name, createdAtMs, lastUsedAtMs, backedUp }: ListedPasskey) => ({
  id,
  name,
  createdAtMs,
  lastUsedMs: lastUsedAtMs ?? undefined,
  isBackedUp: backedUp === 1,
});

const toSessionView = ({ provider, authenticatedAtMs, seenAtMs, isCurrent, ...where }: ListedSession) => ({
  ...where,
  provider: LOCAL.includes(provider) ? undefined : provider,
  sinceMs: authenticatedAtMs,
  lastUsedMs: seenAtMs,
  isCurrent: isCurrent === 1,
});

function toView(
  { clientId, clientName, access, createdAtMs, lastUsedAtMs }: Application,
  user: UserRecord,
  scopeView: (scope: string) => ScopeView,
) {
  // By id, because two places may have the same name.
  const places = new Map<string, { readonly place: string; readonly scopes: Set<string> }>();
  for (const { tenant, org, scopes, ...oidc } of access) {
    const key = tenant === "" ? `org ${org}` : `tenant ${tenant}`;
    const place = tenant === "" ? placeName(org, user.organizations) : placeName(tenant, user.tenants);
    const known = places.get(key) ?? { place, scopes: new Set<string>() };
    for (const scope of [...oidcScopes(oidc), ...scopes]) known.scopes.add(scope);
    places.set(key, known);
  }
  return {
    clientId,
    name: clientName,
    access: [...places.values()].map(({ place, scopes }) => ({ place, scopes: [...scopes].sort().map(scopeView) })),
    sinceMs: createdAtMs,
    lastUsedMs: lastUsedAtMs > createdAtMs ? lastUsedAtMs : undefined,
  } satisfies AccountApplication;
}

/** A place that the user left is shown by its id. */
const placeName = (id: string, places: readonly Membership[]): string =>
  places.find((one) => one.id === id)?.name ?? id;
