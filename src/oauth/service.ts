/**
 * The OAuth room. Where to look:
 *
 *   POST /token     endpoints/token.ts → clients/authentication.ts → model/scopes.ts → grants/… → tokens/access-token.ts
 *   about tokens    endpoints/: token-info.ts, introspect.ts, user-info.ts; revoke.ts; refresh-tokens.ts (a user's own grants)
 *   grants          grants/: codes.ts (the life of a code), refresh-rotation.ts (of a refresh token), revoke-grants.ts
 *   metadata        endpoints/discovery.ts
 *   who is who      clients/directory.ts (30 s copy of what the operator registered)
 *   the own page    account/routes.ts (`/account`: what people see of it, end and change)
 *   who signs in    sign-in/: accounts.ts → login-attempts.do.ts (the attempts of one account, by the rules of attempts.ts);
 *                   guess-guard.ts → guess-counter.do.ts (of one network, and with one password, by guesses.ts)
 *   what is valid   tokens/trust.ts (5 s copy of keys and revocations), tokens/own-token.ts (how a token is read)
 *   why a scope is granted or not, for the operator   explain/explain.ts
 *   which key signs tokens/key-life.ts, tokens/key-rotation.ts
 *
 * An access token is valid from its issue for 3600 s. It ends early by a row in `revocation`: its own, written by
 * `/revoke` for the client that it was issued to; its grant's, when a refresh token is revoked or deleted, or a code or
 * refresh token is used twice; or one for its client, tenant, user or session, written by the operator service in the
 * transaction that disables, removes, renames or revokes it. Such a row voids what was issued by the records as
 * they were before, in whatever isolate and however late, and nothing that was issued by the records after it.
 */
import type { ClientAccess, Principal, TokenVerifier } from "../http/auth.ts";
import { problem } from "../http/errors.ts";
import type { RateLimit } from "../http/rate-limit.ts";
import type { Service } from "../http/service.ts";
import type { AuditTrail } from "../platform/audit.ts";
import type { BuiltIn } from "../platform/built-in.ts";
import { toSec } from "../platform/clock.ts";
import { sha256Hex } from "../platform/hash.ts";
import { describeError, type Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { Sealer } from "../platform/seal.ts";
import { redactSecrets } from "../platform/text.ts";
import { createDirectoryStore } from "./clients/directory-store.ts";
import { createDirectory } from "./clients/directory.ts";
import { createExplainStore } from "./explain/explain-store.ts";
import { explain, type ExplainQuestion, type Explanation } from "./explain/explain.ts";
import { createFederation } from "./federation/federation.ts";
import type { ProviderSecrets } from "./federation/providers.ts";
import { createSealStore, type SealedKind } from "./federation/seal-store.ts";
import { createCodeStore } from "./grants/code-store.ts";
import { createConsentStore } from "./grants/consent-store.ts";
import { createRevokeAllStore, type RevokeAllStore } from "./grants/revoke-all-store.ts";
import { createGrantListStore } from "./grants/grant-list-store.ts";
import type { PasswordGrant } from "./grants/grant-step.ts";
import { createRefreshStore } from "./grants/refresh-store.ts";
import type { AnyCall, Issuer } from "./model/call.ts";
import { oauthError } from "./model/failure.ts";
import type { Pages } from "./pages/port.ts";
import { createOAuthServices, OAUTH_BASE, type RouteDeps } from "./routes.ts";
import { createAccounts } from "./sign-in/accounts.ts";
import type { GuessCounter } from "./sign-in/guess-counter.do.ts";
import { createGuessGuard, noGuessGuard } from "./sign-in/guess-guard.ts";
import type { LoginAttempts } from "./sign-in/login-attempts.do.ts";
import { createSessionStore } from "./sign-in/session-store.ts";
import { allExpiredSec, createTokenVerifier } from "./tokens/access-token.ts";
import { createKeyRotation, type KeyRotation } from "./tokens/key-rotation.ts";
import { createKeyStore } from "./tokens/key-store.ts";
import { createServiceTokens, type AudienceService } from "./tokens/service-token.ts";
import { makeKey } from "./tokens/signing-key.ts";
import { createTrustStore, type OwnerKind } from "./tokens/trust-store.ts";
import { createTrust } from "./tokens/trust.ts";
import { createUserStore, type Subject } from "./users/user-store.ts";

export interface OAuthDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly db: D1Database;
  readonly loginAttempts: DurableObjectNamespace<LoginAttempts>;
  /** Undefined: nobody is counted by network and password. */
  readonly guessCounters: DurableObjectNamespace<GuessCounter> | undefined;
  /** How often one client may authenticate. */
  readonly clientLimit: RateLimit;
  readonly sealer: Sealer;
  readonly random: Random;
  readonly log: Log;
  readonly pathPrefix: string;
  readonly publicUrl: string;
  /** Where pages are, if they have a host of their own; else empty. */
  readonly authUrl: string;
  /** Each of them does. */
  readonly operatorSecrets: readonly string[];
  /** Whether identity providers may be on loopback hosts and speak plain http. */
  readonly allowLoopback: boolean;
  /** Who may get tokens by the password grant. */
  readonly passwordGrant: PasswordGrant;
  /** What `sub` of a user is. */
  readonly subject: Subject;
  readonly audit: AuditTrail;
  readonly pages: Pages;
  /** Tags of the languages that the pages speak. */
  readonly uiLocales: readonly string[];
}

export interface OAuth extends RevokeAllStore {
  readonly services: readonly Service[];
  readonly verifier: TokenVerifier;
  readonly access: ClientAccess;
  /** What a service of another tenant gets in the place of the caller's token; `origin`: the request's public one. */
  serviceToken(caller: Principal, service: AudienceService, origin: string, nowMs: number): Promise<string>;
  /** To be called after a change of clients, tenants, services, packages or subscriptions in this isolate. */
  recordsChanged(): void;
  /**
   * Voids all that a client, tenant, user or session got by its records until now, as a part of the caller's transaction.
   * `if changed`: only when the statement before it changed a row.
   */
  revokeStatement(kind: OwnerKind, key: string, nowMs: number, when: "always" | "if changed"): D1PreparedStatement;
  /** Voids all that members of an organization got until now, as a part of the transaction that removes it. */
  revokeMembersStatement(organization: string, nowMs: number): D1PreparedStatement;
  /** The same for all who have a role, if the statement before it changed a row. */
  revokeRoleHoldersStatement(role: string, nowMs: number): D1PreparedStatement;
  /** The client secret of an identity provider, as its row holds it. */
  readonly providerSecrets: ProviderSecrets;
  /** Forgets the failed sign-ins of an account and ends its block. */
  unlock(email: string): Promise<void>;
  /** Whether `/token` would grant it, and exactly why; read anew. */
  explain(question: ExplainQuestion, nowMs: number): Promise<Explanation>;
  /** The keys that sign tokens, for an operator to see and to replace: here at once, elsewhere within ten minutes. */
  readonly signingKeys: Pick<KeyRotation, "page" | "byOperator">;
  /** Makes signing keys that are due, and removes those that are long gone. */
  rotateKeys(nowMs: number): Promise<void>;
  /** Seals what is under an old key of SEAL_KEYS anew. */
  reseal(): Promise<void>;
  /** How much of each kind is sealed under each key. */
  countSealed(most: number): Promise<Readonly<Record<SealedKind, ReadonlyMap<string, number>>>>;
  /** Forgets what is over and concerns nothing that lives: revocations, sessions, sign-ins, codes, used refresh tokens. */
  sweep(nowMs: number): Promise<void>;
}

/** Rows of one step of the sweep, and steps of one run. */
const SWEEP = { rows: 5_000, steps: 20 } as const;

export function createOAuth(deps: OAuthDeps): OAuth {
  const { names, builtIn, random, log, pathPrefix, publicUrl, authUrl, audit } = deps;
  const trustStore = createTrustStore(deps.db);
  const sealStore = createSealStore(deps.db, deps.sealer, log);
  const rotation = createKeyRotation(createKeyStore(deps.db), (alg) => makeKey(alg, deps.sealer), audit);
  const trust = createTrust(trustStore, rotation.makeFirst, deps.sealer, (thrown) =>
    log.error("keys and revocations unread", { error: describeError(thrown) }),
  );
  const directoryStore = createDirectoryStore(deps.db);
  const directory = createDirectory(directoryStore, builtIn, () =>
    Promise.all(deps.operatorSecrets.map((secret) => sha256Hex(secret))),
  );
  const issuerAt = (origin: string): Issuer => ({ issuer: `${origin}${pathPrefix}${OAUTH_BASE}`, audience: origin });
  const verifier = createTokenVerifier(trust, publicUrl === "" ? undefined : issuerAt(publicUrl));

  const serviceTokens = createServiceTokens(trust, random);
  const ownIssuer = (origin: string): Issuer => issuerAt(publicUrl || origin);

  const users = createUserStore(deps.db, deps.subject, random);
  const explainStore = createExplainStore(deps.db, builtIn);
  const sessions = createSessionStore(deps.db);
  const codes = createCodeStore(deps.db);
  const refreshGrants = createRefreshStore(deps.db);
  const federation = createFederation(deps);
  const revocations = createRevokeAllStore(deps.db, trustStore, audit);
  const guesses =
    deps.guessCounters === undefined ? noGuessGuard : createGuessGuard(deps.guessCounters, deps.sealer, log);
  const accounts = createAccounts({ users, attempts: deps.loginAttempts, guesses, audit, log, random });

  const noteRefusal: RouteDeps["noteRefusal"] = (call, action, { error, reason: exactly, actor, clientId }) => {
    const { requestId, nowMs: atMs } = call;
    const reason = redactSecrets(exactly);
    log.info(`${action} refused`, { requestId, error, reason, actor });
    const about = clientId === undefined ? { subject: "" } : { subject: `clients/${clientId}`, known: true };
    call.waitUntil(audit.note({ atMs, requestId, actor, action, outcome: "refused", reason, ...about }));
  };
  const routeDeps: RouteDeps = {
    names,
    builtIn,
    random,
    sealer: deps.sealer,
    log,
    directory,
    trust,
    verifier,
    issuerOf: (call: AnyCall) => ownIssuer(call.url.origin),
    pagesOf: (call: AnyCall) => issuerAt(authUrl || call.url.origin).issuer,
    users,
    sessions,
    accounts,
    clientLimit: deps.clientLimit,
    passwordGrant: deps.passwordGrant,
    federation,
    codes,
    refreshGrants,
    grantLists: createGrantListStore(deps.db, trustStore),
    consents: createConsentStore(deps.db),
    revocations: { ...revocations, revokeStatement: trustStore.revokeStatement },
    audit,
    pages: deps.pages,
    uiLocales: deps.uiLocales,
    noteRefusal,
    refuse(call, action, refusal) {
      noteRefusal(call, action, refusal);
      return oauthError(refusal, `${call.publicBase}/docs/errors`, call, names.platform);
    },
    unavailable: () =>
      problem("service_temporarily_unavailable", "Tokens cannot be checked at the moment.", {
        headers: { "retry-after": "5" },
      }),
  };
  return {
    services: createOAuthServices(routeDeps, pathPrefix),
    verifier,
    access: directory.access,
    serviceToken: (caller, service, origin, nowMs) =>
      serviceTokens.tokenFor(caller, service, ownIssuer(origin).issuer, nowMs),
    recordsChanged() {
      directory.clear();
      federation.providers.clear();
      trust.markStale();
    },
    revokeStatement: (kind, key, nowMs, when) => trustStore.revokeStatement(kind, key, allExpiredSec(nowMs), when),
    revokeRoleHoldersStatement: (role, nowMs) => trustStore.revokeRoleHoldersStatement(role, allExpiredSec(nowMs)),
    revokeMembersStatement: (organization, nowMs) =>
      trustStore.revokeMembersStatement(organization, allExpiredSec(nowMs)),
    ...revocations,
    providerSecrets: federation.providers.secrets,
    unlock: accounts.unlock,
    explain: (question, nowMs) =>
      explain(
        { names, builtIn, directoryStore, users, store: explainStore, passwordGrant: deps.passwordGrant },
        question,
        nowMs,
      ),
    signingKeys: {
      page: rotation.page,
      async byOperator(by) {
        try {
          return await rotation.byOperator(by);
        } finally {
          // Whatever became of the answer: they may have been written.
          await trust.ensure(by.nowMs, "now");
        }
      },
    },
    rotateKeys: rotation.bySchedule,
    reseal: sealStore.reseal,
    countSealed: async (most) => ({
      identityProviders: await sealStore.count("identityProviders", most),
      signingKeys: await sealStore.count("signingKeys", most),
    }),
    async sweep(nowMs) {
      const forget: readonly ((rows: number) => Promise<number>)[] = [
        (rows) => trustStore.deleteExpired(toSec(nowMs), rows),
        (rows) => sessions.deleteExpired(nowMs, rows),
        (rows) => federation.deleteExpired(nowMs, rows),
        (rows) => codes.deleteExpired(nowMs, rows),
        (rows) => refreshGrants.deleteUsed(nowMs, rows),
      ];
      for (const rowsOf of forget)
        for (let step = 0; step < SWEEP.steps; step++) if ((await rowsOf(SWEEP.rows)) < SWEEP.rows) break;
    },
  };
}
