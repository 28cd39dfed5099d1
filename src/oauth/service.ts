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
 *   signing keys       tokens/key-life.ts, tokens/key-rotation.ts
 *
 * An access token is valid for 3600 s. A row in `revocation` ends it earlier: its own, written by `/revoke`; its
 * grant's, written when a refresh token is revoked or deleted, or a code or refresh token is used twice; or one for its
 * client, tenant, user or session, written by the operator service in the transaction that disables, removes, renames
 * or revokes it. That last kind of row revokes every token issued from the old record, in every isolate, and no token
 * issued from the new one.
 */
import type { Principal } from "../http/callers/auth.ts";
import { problem } from "../http/errors/errors.ts";
import type { RateLimit } from "../http/callers/rate-limit.ts";
import type { AuditTrail } from "../platform/ports/audit.ts";
import type { BuiltIn } from "../platform/model/built-in.ts";
import { toSec } from "../platform/runtime/clock.ts";
import type { CommonPasswords } from "../platform/secrets/common-passwords.ts";
import { sha256Hex } from "../platform/secrets/hash.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { LocationCache } from "../platform/copies/location-cache.ts";
import { describeError, type Log } from "../platform/runtime/log.ts";
import type { Tracing } from "../platform/ports/tracing.ts";
import type { Meter } from "../platform/ports/metrics.ts";
import type { Names } from "../platform/model/names.ts";
import type { Random } from "../platform/runtime/random.ts";
import type { Shards } from "../platform/storage/shards.ts";
import { err, ok } from "../platform/model/result.ts";
import type { Sealer } from "../platform/secrets/seal.ts";
import { redactSecrets } from "../platform/text/text.ts";
import { createPushedStore } from "./authorize/pushed/pushed-store.ts";
import { createAssertionStore } from "./clients/assertion-store.ts";
import { createClientKeys, type FetchKeySet } from "./clients/client-keys.ts";
import { sealSecret } from "./clients/mac-secret.ts";
import { ACCOUNT_BASE } from "./account/notice.ts";
import { createDirectoryStore } from "./clients/directory-store.ts";
import { createDirectory } from "./clients/directory.ts";
import { createConsentStore } from "./consent/consent-store.ts";
import { createExplainStore } from "./explain/explain-store.ts";
import { explain, type ExplainQuestion, type Explanation } from "./explain/explain.ts";
import { FETCH_LIMITS, tracedFetchJson, type FetchJson } from "./federation/fetch-json.ts";
import { createFactorStore } from "./factors/factor-store.ts";
import { createFederation } from "./federation/federation.ts";
import { createSealStore } from "./federation/seal-store.ts";
import { createPasskeyStore } from "./passkeys/passkey-store.ts";
import { relyingPartyOf } from "./passkeys/relying-party.ts";
import { createCodes } from "./grants/codes.ts";
import { createHeldTokens, type HeldKind } from "./homes/held-token.ts";
import type { EndedWhere } from "./homes/home.ts";
import { createDeviceStore } from "./grants/device-store.ts";
import { createGrantListStore } from "./grants/grant-list-store.ts";
import type { PasswordGrant } from "./grants/grant-step.ts";
import { createElsewhere } from "./homes/elsewhere.ts";
import { createGrantLists } from "./grants/grant-lists.ts";
import { createRefreshGrants } from "./grants/refresh-grants.ts";
import { createRevokeAll } from "./grants/revoke-all.ts";
import { createRevokeAllStore } from "./grants/revoke-all-store.ts";
import type { AnyCall, Issuer } from "./model/call.ts";
import { oauthError } from "./model/failure.ts";
import type { FindResource } from "./model/resource.ts";
import { brandOfAddress } from "./pages/brand.ts";
import type { Mails, Pages } from "./pages/port.ts";
import { createInvitationStore } from "./recovery/invitation-store.ts";
import { invitationLink, sendInvitation } from "./recovery/invitation.ts";
import { createMailLinkStore } from "./recovery/mail-link-store.ts";
import { createLogoutShard, createLogoutStore } from "./logout/logout-store.ts";
import { createLogouts } from "./logout/logout.ts";
import { withParameters } from "./model/redirect.ts";
import type { MailNotice, SendMail } from "../platform/ports/mail.ts";
import { createOAuthServices, OAUTH_BASE, type RouteDeps } from "./routes.ts";
import type { RecoveryDeps } from "./recovery/recovery.ts";
import { createAccounts } from "./sign-in/accounts.ts";
import type { GuessCounter } from "./sign-in/guess-counter.do.ts";
import { createGuessGuard, noGuessGuard } from "./sign-in/guess-guard.ts";
import type { LoginAttempts } from "./sign-in/login-attempts.do.ts";
import { createTell } from "./sign-in/tell.ts";
import { createSessions } from "./sign-in/session-homes.ts";
import { idleSince } from "./sign-in/sessions.ts";
import { allExpiredSec, createTokenVerifier } from "./tokens/access-token.ts";
import { createKeyRotation, type EarlierKeys, type Operator } from "./tokens/key-rotation.ts";
import { createKeyStore } from "./tokens/key-store.ts";
import { createProofVerifier } from "./tokens/proof.ts";
import { createServiceTokens, type AudienceService } from "./tokens/service-token.ts";
import { makeKey } from "./tokens/signing-key.ts";
import { createRevocationCollapseStore } from "./tokens/revocation-collapse-store.ts";
import { createRevocationCollapse } from "./tokens/revocation-collapse.ts";
import { createTrustStore, type OwnerKind } from "./tokens/trust-store.ts";
import { createTrust } from "./tokens/trust.ts";
import { createDocuments } from "./unregistered/documents.ts";
import { createUnregisteredStore } from "./unregistered/unregistered-store.ts";
import { createUnregistered, type UnregisteredPolicy } from "./unregistered/unregistered.ts";
import { createUserStore, type Subject } from "./users/user-store.ts";

export interface OAuthDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  /** The directory, and shards with sign-ins. */
  readonly shards: Shards;
  readonly loginAttempts: DurableObjectNamespace<LoginAttempts>;
  /** Undefined: sign-ins are not counted by network and password. */
  readonly guessCounters: DurableObjectNamespace<GuessCounter> | undefined;
  /** Limits the authentications of one client. */
  readonly clientLimit: RateLimit;
  readonly sealer: Sealer;
  readonly isolate: Isolate;
  readonly location?: LocationCache;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly tracing: Tracing;
  readonly pathPrefix: string;
  readonly publicUrl: string;
  /** The origin of the pages if they have their own host, else empty. */
  readonly authUrl: string;
  /** Finds the service behind a public path (RFC 8707). */
  readonly findResource: FindResource;
  /** The clients that may come although nobody registered them. */
  readonly unregisteredClients: UnregisteredPolicy;
  /** Each of them is accepted. */
  readonly operatorSecrets: readonly string[];
  /** Allows identity providers on loopback hosts and plain http. */
  readonly allowLoopback: boolean;
  /** The callers that may use the password grant. */
  readonly passwordGrant: PasswordGrant;
  readonly commonPasswords: CommonPasswords;
  /** The form of a user's `sub`. */
  readonly subject: Subject;
  readonly audit: AuditTrail;
  readonly pages: Pages;
  /** The database was restored: forget what is kept of it. */
  readonly onRestored?: () => void;
  readonly mails: Mails;
  /** Undefined: the platform sends no mail. */
  readonly sendMail: SendMail | undefined;
  /** A browser session that was not used for so long is over; undefined: only its age counts. */
  readonly sessionIdleMs: number | undefined;
  /** People may sign in by passkeys. */
  readonly usesPasskeys: boolean;
  /** The notices that people get by mail. */
  readonly mailNotices: readonly MailNotice[];
  /** Tags of the pages' languages. */
  readonly uiLocales: readonly string[];
}

/**
 * Rows of one step of the sweep, steps of one run, and the pause between two: nothing else can use the database during
 * a step. D1 allows 1,000 statements in one invocation, which other sweeps share.
 */
const SWEEP = { rows: 500, steps: 100, pauseMs: 50 } as const;

export type OAuth = ReturnType<typeof createOAuth>;

export function createOAuth(settings: OAuthDeps) {
  const deps = { ...settings, db: settings.shards[0].db };
  const { names, builtIn, random, log, pathPrefix, publicUrl, authUrl, audit } = deps;
  const revocationBound = createRevocationCollapseStore(deps.db);
  const trustStore = createTrustStore(deps.db, revocationBound);
  const sealStore = createSealStore(deps.db, deps.sealer, log);
  const rotation = createKeyRotation(createKeyStore(deps.db), (alg) => makeKey(alg, deps.sealer), audit);
  const boundRevocations = createRevocationCollapse(revocationBound, audit, deps.isolate, log);
  const trust = createTrust(
    trustStore,
    rotation.makeFirst,
    deps.sealer,
    deps.isolate,
    (thrown) => log.error("keys and revocations unread", { error: describeError(thrown) }),
    boundRevocations,
    deps.location,
    () => {
      directory.clear();
      federation.providers.clear();
      deps.onRestored?.();
    },
  );
  const directoryStore = createDirectoryStore(deps.db);
  const operatorDigests = () => Promise.all(deps.operatorSecrets.map((secret) => sha256Hex(secret)));
  const fetchOutside = tracedFetchJson(deps.tracing);
  const unregisteredStore = createUnregisteredStore(deps.db);
  const unregistered = createUnregistered({
    store: unregisteredStore,
    takesRegistrations: deps.unregisteredClients === "registration",
    isolate: deps.isolate,
    documents:
      deps.unregisteredClients === "none" ? undefined : createDocuments(deps.isolate, fetchOutside, deps.allowLoopback),
  });
  const directory = createDirectory(
    directoryStore,
    builtIn,
    operatorDigests,
    deps.isolate,
    deps.location,
    unregistered,
  );
  const issuerAt = (origin: string): Issuer => ({ issuer: `${origin}${pathPrefix}${OAUTH_BASE}`, audience: origin });
  const proofs = createProofVerifier(deps.sealer);
  const verifier = createTokenVerifier(trust, publicUrl === "" ? undefined : issuerAt(publicUrl), proofs);

  const serviceTokens = createServiceTokens(trust, random, deps.isolate);
  const ownIssuer = (origin: string): Issuer => issuerAt(publicUrl || origin);

  const users = createUserStore(deps.db, deps.subject, random);
  const explainStore = createExplainStore(deps.db, builtIn);
  const heldTokens = (kind: HeldKind) => createHeldTokens(deps.sealer, random, deps.shards.length, kind);
  const sessions = createSessions(deps.shards, users, heldTokens("session"));
  const factors = createFactorStore(deps.db);
  const passkeys = createPasskeyStore(deps.db, users);
  const mailLinks = createMailLinkStore(deps.db);
  const invitations = createInvitationStore(deps.db);
  const codes = createCodes(deps.shards, users, heldTokens("code"));
  const devices = createDeviceStore(deps.db);
  const pushedRequests = createPushedStore(deps.db);
  const usedAssertions = createAssertionStore(deps.db);
  const fetchKeySet = keySetSource(fetchOutside);
  const clientKeys = createClientKeys(deps.isolate, fetchKeySet, deps.allowLoopback, FETCH_LIMITS.timeoutMs);
  const refreshGrants = createRefreshGrants(deps.shards, users, heldTokens("refresh token"));
  const elsewhere = createElsewhere(deps.shards);
  const federation = createFederation(deps);
  const revocations = createRevokeAll(createRevokeAllStore(deps.db, trustStore, audit), elsewhere, log);
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
  const pagesBase = (call: AnyCall): string => issuerAt(authUrl || call.url.origin).issuer;
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
    findResource: deps.findResource,
    unregistered,
    unregisteredClients: deps.unregisteredClients,
    unregisteredStore,
    allowLoopback: deps.allowLoopback,
    issuerFor: (call: AnyCall) => ownIssuer(call.url.origin),
    pagesBase,
    users,
    sessions,
    sessionIdleMs: deps.sessionIdleMs,
    factors,
    passkeys,
    passkeySite: (call: AnyCall) => (deps.usesPasskeys ? relyingPartyOf(authUrl || publicUrl, call) : undefined),
    accounts,
    clientLimit: deps.clientLimit,
    clientKeys,
    usedAssertions,
    pushedRequests,
    logouts,
    sessionsEnded,
    devices,
    guesses,
    proofs,
    passwordGrant: deps.passwordGrant,
    commonPasswords: deps.commonPasswords,
    federation,
    codes,
    refreshGrants,
    grantLists: createGrantLists(createGrantListStore(deps.db, trustStore), elsewhere),
    consents: createConsentStore(deps.db),
    revocations: { ...revocations, revokeStatement: trustStore.revokeStatement },
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
      // A device that waits asks every few seconds.
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
    mailLinks,
    invitations,
    // A request's own origin comes from its `Host`, which anybody chooses; only a local platform's mails name that.
    mailBase: (origin: string) => issuerAt(authUrl || publicUrl || origin).issuer,
  };
  const recovery = sendMail && { ...links, sendMail };
  return {
    ...revocations,
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
    /**
     * Revokes all that a client, tenant, user or session got by its records until now, in the caller's transaction.
     * `if changed`: only if the statement before it changed a row.
     */
    revokeStatement: (kind: OwnerKind, key: string, nowMs: number, when: "always" | "if changed") =>
      trustStore.revokeStatement(kind, key, allExpiredSec(nowMs), when),
    /** Revokes the tokens of an organization's members, in the transaction that removes it. */
    revokeMembersStatement: (organization: string, nowMs: number) =>
      trustStore.revokeMembersStatement(organization, allExpiredSec(nowMs)),
    /** Revokes the tokens of all users who have a role, if the statement before it changed a row. */
    revokeRoleHoldersStatement: (role: string, nowMs: number) =>
      trustStore.revokeRoleHoldersStatement(role, allExpiredSec(nowMs)),
    /** Sends the link of an invitation. Undefined: the platform sends no mail. */
    sendInvitation: recovery && ((invited: Parameters<typeof sendInvitation>[1]) => sendInvitation(recovery, invited)),
    /** The address that an operator hands over. `origin`: the request's, for a local platform. */
    invitationLink: (token: string, origin: string) => invitationLink(links.mailBase(origin), token),
    providerSecrets: federation.providers.secrets,
    /** Tries an identity provider as a sign-in would. `origin`: the request's, for a local platform. */
    tryProvider: (id: string, origin: string) =>
      federation.tryProvider(id, `${issuerAt(authUrl || origin).issuer}/callback/${id}`),
    /** Seals a secret of a client that signs by it. */
    sealClientSecret: (clientId: string, secret: string) => sealSecret(deps.sealer, clientId, secret),
    unlock: accounts.unlock,
    sessionsEnded,
    /** Tells clients of sessions that ended, as far as it is their time. */
    tellClients: () => logouts.drain("nothing is due", "anywhere"),
    redeliverLogouts: logouts.redeliver,
    blockedUntil: accounts.blockedUntil,
    /** Removes the user's second factor, in the operator's transaction. */
    secondFactorRemoval: factors.removalStatements,
    /** Removes a passkey, in the operator's transaction. */
    passkeyRemoval: passkeys.removalStatements,
    listPasskeys: passkeys.list,
    listSessions: (email: string, nowMs: number, limit: number) =>
      sessions.listAll(email, { nowMs, idleSinceMs: idleSince(deps, nowMs), limit }),
    tellByOperator: (call: Parameters<typeof tell>[0], notice: Parameters<typeof tell>[1], email: string): void =>
      tell(call, notice, email, "operator"),
    /** Explains whether `/token` would grant a scope, and why. Reads the records anew. */
    explain: (question: ExplainQuestion, nowMs: number): Promise<Explanation> =>
      explain(
        {
          names,
          builtIn,
          directoryStore,
          users,
          store: explainStore,
          passwordGrant: deps.passwordGrant,
          isolate: deps.isolate,
        },
        question,
        nowMs,
      ),
    /** The signing keys, for an operator to see and to replace: here at once, elsewhere within ten minutes. */
    signingKeys: {
      page: rotation.page,
      async byOperator(by: Operator, earlier: EarlierKeys) {
        try {
          return await rotation.byOperator(by, earlier);
        } finally {
          // The keys may have been written even if the response was lost.
          await trust.ensure(by.nowMs, "now");
        }
      },
    },
    rotateKeys: rotation.bySchedule,
    reseal: sealStore.reseal,
    /** The number of sealed texts of each kind under each key. */
    countSealed: async (most: number) => ({
      identityProviders: await sealStore.count("identityProviders", most),
      signingKeys: await sealStore.count("signingKeys", most),
      secondFactors: await sealStore.count("secondFactors", most),
      clientSecrets: await sealStore.count("clientSecrets", most),
    }),
    /** Deletes expired rows of every table here, and used refresh tokens. */
    async sweep(nowMs: number): Promise<void> {
      const steps: readonly ((rows: number) => Promise<number>)[] = [
        (rows) => trustStore.deleteExpired(toSec(nowMs), rows),
        (rows) => sessions.deleteExpired(nowMs, rows, elsewhere.dropAnchors),
        (rows) => federation.deleteExpired(nowMs, rows),
        (rows) => mailLinks.deleteOld(nowMs, rows),
        (rows) => invitations.deleteExpired(nowMs, rows),
        (rows) => codes.deleteExpired(nowMs, rows, elsewhere.dropAnchors),
        (rows) => usedAssertions.deleteExpired(nowMs, rows),
        (rows) => pushedRequests.deleteExpired(nowMs, rows),
        (rows) => devices.deleteExpired(nowMs, rows),
        (rows) => logouts.deleteDead(nowMs, rows),
        async (rows) => {
          if (deps.shards.length > 1) {
            const uses = await elsewhere.lastUses(await unregisteredStore.idle(nowMs, rows));
            await unregisteredStore.noteUses(uses);
            await elsewhere.endClients(await unregisteredStore.idle(nowMs, rows));
          }
          return unregisteredStore.deleteUnused(nowMs, rows);
        },
        (rows) => refreshGrants.deleteUsed(nowMs, rows),
      ];
      await boundRevocations();
      for (const deleteRows of steps)
        for (let step = 0; step < SWEEP.steps; step++) {
          if ((await deleteRows(SWEEP.rows)) < SWEEP.rows) break;
          await deps.isolate.pause(SWEEP.pauseMs);
        }
      await elsewhere.sweep(nowMs);
    },
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
