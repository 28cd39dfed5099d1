/**
 * The OAuth service.
 *
 *   POST /token        endpoints/token.ts → clients/authentication.ts → model/granted-scopes.ts → grants/ → tokens/
 *   about tokens       endpoints/: token-info.ts, introspect.ts, user-info.ts; revoke.ts; refresh-tokens.ts
 *   grants             grants/: authorization-code.ts, refresh-rotation.ts, revoke-grants.ts
 *   metadata           endpoints/discovery.ts
 *   clients, tenants   clients/directory.ts (a 30 s copy of the registrations)
 *   other clients      unregistered/unregistered.ts (described by a document at their id)
 *   account page       account/routes.ts (`/account`)
 *   logout             logout/logout.ts (tells clients that a session ended)
 *   second factors     factors/factors.ts (states), authorize/second-factor.ts, account/second-factor.ts
 *   passkeys           passkeys/passkeys.ts (states), authorize/passkey.ts, account/passkeys.ts
 *   sign-in            sign-in/: accounts.ts → login-attempts.do.ts (one account; rules in account-block.ts),
 *                      guess-guard.ts → guess-counter.do.ts (one network, one password; rules in guesses.ts)
 *   valid tokens       tokens/trust.ts (a 5 s copy of keys and revocations), tokens/jwt.ts (how a token is read)
 *   scope questions    explain/explain.ts, for the operator
 *   signing keys       tokens/keys/key-life.ts, tokens/key-rotation.ts
 *
 * An access token is valid for 3600 s. A row in `revocation` ends it earlier: its own, written by `/revoke`; its
 * grant's, written when a refresh token is revoked or deleted, or a code or refresh token is used twice; or one for its
 * client, tenant, user or session, or its user in its tenant or organization, written in the transaction that disables,
 * removes, renames or revokes it: by the operator service, the account page or a password reset. That last kind of row
 * revokes every token issued from the old record, in every isolate, and no token issued from the new one.
 */
import type { Principal } from "../http/callers/auth.ts";
import { problem } from "../http/errors/errors.ts";
import { sha256Hex } from "../platform/secrets/hash.ts";
import { describeError } from "../platform/runtime/log.ts";
import { err, ok } from "../platform/model/result.ts";
import { redactSecrets } from "../platform/text/text.ts";
import { createClientKeys, type FetchKeySet } from "./clients/client-keys.ts";
import { ACCOUNT_BASE } from "./account/notice.ts";
import { createDirectory } from "./clients/directory.ts";
import { FETCH_LIMITS, tracedFetchJson, type FetchJson } from "./federation/fetch-json.ts";
import { createFederation } from "./federation/federation.ts";
import { relyingPartyOf } from "./passkeys/relying-party.ts";
import type { EndedWhere } from "./homes/home.ts";
import { createGrantListStore } from "./grants/grant-list-store.ts";
import { createGrantLists } from "./grants/grant-lists.ts";
import { createRevokeAll } from "./grants/revocation/revoke-all.ts";
import { createRevokeAllStore } from "./grants/revocation/revoke-all-store.ts";
import type { AnyCall, Issuer } from "./model/call.ts";
import { oauthError } from "./model/failure.ts";
import { brandOfAddress } from "./pages/brand.ts";
import { invitationLink, sendInvitation } from "./recovery/invitation.ts";
import { createLogoutShard, createLogoutStore } from "./logout/logout-store.ts";
import { createLogouts } from "./logout/logout.ts";
import { withParameters } from "./model/redirect.ts";
import { createOAuthServices, OAUTH_BASE, type RouteDeps } from "./routes.ts";
import type { RecoveryDeps } from "./recovery/recovery.ts";
import { createAccounts } from "./sign-in/accounts.ts";
import { createGuessGuard, noGuessGuard } from "./sign-in/guess-guard.ts";
import { createTell } from "./sign-in/tell.ts";
import { createTokenVerifier } from "./tokens/access-token.ts";
import { createKeyRotation } from "./tokens/key-rotation.ts";
import { createProofVerifier } from "./tokens/proof.ts";
import { createServiceTokens, type AudienceService } from "./tokens/service-token.ts";
import { makeKey } from "./tokens/keys/signing-key.ts";
import { createRevocationCollapse } from "./tokens/revocation-collapse.ts";
import { createTrust } from "./tokens/trust.ts";
import { createDocuments } from "./unregistered/documents.ts";
import { createUnregistered } from "./unregistered/unregistered.ts";
import type { OAuthDeps } from "./deps.ts";
import { createOperated } from "./operated.ts";
import { createOAuthStores } from "./stores.ts";
import { createSweep } from "./sweep.ts";

export type OAuth = ReturnType<typeof createOAuth>;

export function createOAuth(settings: OAuthDeps) {
  const deps = { ...settings, db: settings.shards[0].db };
  const { names, builtIn, random, log, pathPrefix, publicUrl, authUrl, audit } = deps;
  const stores = createOAuthStores(deps);
  const { users, elsewhere, factors, passkeys } = stores;
  const rotation = createKeyRotation(stores.keys, (alg) => makeKey(alg, deps.sealer), audit);
  const collapseRevocations = createRevocationCollapse(stores.revocationBound, audit, deps.isolate, log);
  const trust = createTrust({
    store: stores.trust,
    makeFirstKey: rotation.makeFirst,
    sealer: deps.sealer,
    isolate: deps.isolate,
    onFault: (thrown) => log.error("keys and revocations unread", { error: describeError(thrown) }),
    onOverfull: collapseRevocations,
    location: deps.location,
    onRestored() {
      directory.clear();
      federation.providers.clear();
      deps.onRestored?.();
    },
  });
  const operatorDigests = () => Promise.all(deps.operatorSecrets.map((secret) => sha256Hex(secret)));
  const fetchOutside = tracedFetchJson(deps.tracing);
  const unregistered = createUnregistered({
    store: stores.unregistered,
    takesRegistrations: deps.unregisteredClients === "registration",
    isolate: deps.isolate,
    documents: deps.unregisteredClients === "none" ? undefined : createDocuments(deps.isolate, fetchOutside, deps),
  });
  const directory = createDirectory({ ...deps, store: stores.directory, unregistered, operatorDigests });
  const issuerAt = (origin: string): Issuer => ({ issuer: `${origin}${pathPrefix}${OAUTH_BASE}`, audience: origin });
  const proofs = createProofVerifier(deps.sealer);
  const verifier = createTokenVerifier(trust, publicUrl === "" ? undefined : issuerAt(publicUrl), proofs);

  const serviceTokens = createServiceTokens(trust, random, deps.isolate);
  const ownIssuer = (origin: string): Issuer => issuerAt(publicUrl || origin);

  const fetchKeySet = keySetSource(fetchOutside);
  const clientKeys = createClientKeys(deps.isolate, fetchKeySet, deps.allowLoopback, FETCH_LIMITS.timeoutMs);
  const federation = createFederation(deps);
  const revocations = createRevokeAll(createRevokeAllStore(deps.db, stores.trust, audit), elsewhere, log);
  const guesses =
    deps.guessCounters === undefined ? noGuessGuard : createGuessGuard(deps.guessCounters, deps.sealer, log);
  const accounts = createAccounts({ users, attempts: deps.loginAttempts, guesses, audit, log, random });

  const logouts = createLogouts({
    store: createLogoutStore(deps.db),
    elsewhere: deps.shards.slice(1).map(({ db }) => createLogoutShard(db)),
    trust,
    isolate: deps.isolate,
    log,
    meter: deps.meter,
    tracing: deps.tracing,
    allowLoopback: deps.allowLoopback,
  });
  const sessionsEnded = (where: EndedWhere): void => {
    if (!logouts.isUsed()) return;
    deps.isolate.keepAlive(
      logouts
        .drain("nothing is soon due", where)
        .catch((thrown: unknown) => log.error("clients not told", { error: describeError(thrown) })),
    );
  };

  const noteRefusal: RouteDeps["noteRefusal"] = (call, action, { error, reason: exactly, actor, clientId }) => {
    const { requestId, nowMs: atMs } = call;
    const reason = redactSecrets(exactly);
    log.info(`${action} refused`, { requestId, error, reason, actor });
    const about = clientId === undefined ? { subject: "" } : { subject: `clients/${clientId}`, known: true };
    call.waitUntil(audit.note({ atMs, requestId, actor, action, outcome: "refused", reason, ...about }));
  };
  const pagesAt = (origin: string): string => issuerAt(authUrl || origin).issuer;
  const pagesBase = (call: AnyCall): string => pagesAt(call.url.origin);
  const { sendMail } = deps;
  const tell = createTell({
    sendMail,
    mails: deps.mails,
    log,
    notices: deps.mailNotices,
    brandOf: (email) => brandOfAddress({ users }, email),
    accountIn: (origin) => `${authUrl || publicUrl || origin}${pathPrefix}${ACCOUNT_BASE}`,
  });
  const shared: Omit<RouteDeps, "recovery" | "links"> & Pick<RecoveryDeps, "revocations"> = {
    names,
    builtIn,
    random,
    sealer: deps.sealer,
    log,
    meter: deps.meter,
    directory,
    trust,
    verifier,
    revokedTokens: stores.revokedTokens,
    findResource: deps.findResource,
    unregistered,
    unregisteredClients: deps.unregisteredClients,
    unregisteredStore: stores.unregistered,
    allowLoopback: deps.allowLoopback,
    ownOrigins: deps.ownOrigins,
    issuerFor: (call: AnyCall) => ownIssuer(call.url.origin),
    pagesBase,
    users,
    sessions: stores.sessions,
    sessionIdleMs: deps.sessionIdleMs,
    factors,
    passkeys,
    passkeySite: (call: AnyCall) => (deps.usesPasskeys ? relyingPartyOf(authUrl || publicUrl, call) : undefined),
    accounts,
    clientLimit: deps.clientLimit,
    keptLimit: deps.keptLimit,
    clientKeys,
    usedAssertions: stores.usedAssertions,
    pushedRequests: stores.pushedRequests,
    logouts,
    sessionsEnded,
    devices: stores.devices,
    guesses,
    proofs,
    passwordGrant: deps.passwordGrant,
    commonPasswords: deps.commonPasswords,
    federation,
    codes: stores.codes,
    refreshGrants: stores.refreshGrants,
    grantLists: createGrantLists(createGrantListStore(deps.db, stores.trust), elsewhere),
    consents: stores.consents,
    revocations: { ...revocations, revokeStatement: stores.trust.revokeStatement },
    audit,
    pages: deps.pages,
    tell,
    forgotAddress: (call: AnyCall) => {
      if (sendMail === undefined) return undefined;
      const wish = call.url.searchParams.get("ui_locales");
      const query = wish === null ? {} : { query: { ui_locales: wish } };
      return withParameters(`${pagesBase(call)}/forgot`, query);
    },
    uiLocales: deps.uiLocales,
    noteRefusal,
    refuse(call, action, refusal) {
      // A waiting device polls every few seconds, which would fill the logs.
      if (refusal.error !== "authorization_pending") noteRefusal(call, action, refusal);
      return oauthError(refusal, `${call.publicBase}/docs/errors`, call, names.platform);
    },
    unavailable: () =>
      problem("service_temporarily_unavailable", "Tokens cannot be checked at the moment.", {
        headers: { "retry-after": "5" },
      }),
  };
  const links = {
    ...shared,
    mails: deps.mails,
    mailLinks: stores.mailLinks,
    invitations: stores.invitations,
    // Only a local platform uses the request's origin: it comes from `Host`, which the sender chooses.
    mailBase: (origin: string) => issuerAt(authUrl || publicUrl || origin).issuer,
  };
  const recovery = sendMail && { ...links, sendMail };
  return {
    ...revocations,
    ...createOperated({ ...deps, stores, trust, rotation, federation, accounts, tell, pagesAt }),
    services: createOAuthServices({ ...shared, recovery, links }, pathPrefix),
    verifier,
    access: directory.access,
    /** For requests to this public origin. */
    issuer: (origin: string): string => ownIssuer(origin).issuer,
    /** The token that a service of another tenant gets instead of the caller's. `origin`: the request's public one. */
    serviceToken: (caller: Principal, service: AudienceService, origin: string, nowMs: number): Promise<string> =>
      serviceTokens.tokenFor(caller, service, ownIssuer(origin).issuer, nowMs),
    /** Call this after a change of clients, tenants, services, packages or subscriptions in this isolate. */
    recordsChanged() {
      directory.clear();
      federation.providers.clear();
      trust.markStale();
      logouts.recordsChanged();
    },
    sessionsEnded,
    /** Sends the link of an invitation. Undefined: the platform sends no mail. */
    sendInvitation: recovery && ((invited: Parameters<typeof sendInvitation>[1]) => sendInvitation(recovery, invited)),
    /** The address that an operator hands over. `origin`: the request's, for a local platform. */
    invitationLink: (token: string, origin: string) => invitationLink(links.mailBase(origin), token),
    /** Sends the due notices of ended sessions to clients. */
    tellClients: () => logouts.drain("nothing is due", "anywhere"),
    redeliverLogouts: logouts.redeliver,
    rotateKeys: rotation.bySchedule,
    reseal: stores.seals.reseal,
    sweep: createSweep({ ...deps, stores, federation, logouts, collapseRevocations }),
  };
}

/** Fetches keys of clients under the rules for calls to identity providers. */
const keySetSource =
  (fetchJson: FetchJson): FetchKeySet =>
  async (address) => {
    const answer = await fetchJson(address);
    if (!answer.ok) return err(answer.error.reason);
    const { status, body } = answer.value;
    return status < 300 ? ok(body) : err(`the keys at ${address}: ${status}`);
  };
