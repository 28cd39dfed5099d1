import { sealSecret } from "./clients/mac-secret.ts";
import { explain, type ExplainQuestion, type Explanation } from "./explain/explain.ts";
import { idleSince } from "./sign-in/sessions.ts";
import { allExpiredSec } from "./tokens/access-token.ts";
import type { EarlierKeys, Operator } from "./tokens/key-rotation.ts";
import type { OwnerKind, PlaceKind } from "./tokens/trust-store.ts";
import type { Federation } from "./federation/federation.ts";
import type { Trust } from "./tokens/trust.ts";
import type { KeyRotation } from "./tokens/key-rotation.ts";
import type { Accounts } from "./sign-in/accounts.ts";
import type { Tell } from "./sign-in/tell.ts";
import type { OAuthDeps } from "./deps.ts";
import type { OAuthStores } from "./stores.ts";

/** Parts that sign-ins use too, so service.ts makes them. */
interface Parts {
  readonly stores: OAuthStores;
  readonly trust: Trust;
  readonly rotation: KeyRotation;
  readonly federation: Federation;
  readonly accounts: Accounts;
  readonly tell: Tell;
  /** The base of the pages. `origin`: the request's. */
  pagesAt(origin: string): string;
}

/**
 * The work of operators on people, clients and keys of this service: the operator service declares it as its port, and
 * wiring/ binds it. Statements are a part of the caller's transaction.
 */
export function createOperated(deps: OAuthDeps & Parts) {
  const { stores, trust, rotation, federation, accounts, tell } = deps;
  return {
    /**
     * Revokes all that a client, tenant, user or session got by its records until now, in the caller's transaction.
     * `if changed`: only if the statement before it changed a row. `organization`: the one whose administrator does it.
     */
    revokeStatement: (
      kind: OwnerKind,
      key: string,
      nowMs: number,
      when: "always" | "if changed",
      organization?: string,
    ) => stores.trust.revokeStatement(kind, key, allExpiredSec(nowMs), when, organization),
    endedGuard: stores.trust.endedGuard,
    hasEndedMost: stores.trust.hasEndedMost,
    /** Revokes a user's tokens for one tenant or organization, if the statement before it changed a row. */
    revokeInPlaceStatement: (email: string, kind: PlaceKind, id: string, nowMs: number, organization?: string) =>
      stores.trust.revokeInPlaceStatement(email, kind, id, allExpiredSec(nowMs), organization),
    /** Revokes the tokens for an organization of its members, in the transaction that removes it. */
    revokeClientsStatement: (tenant: string, nowMs: number) =>
      stores.trust.revokeClientsStatement(tenant, allExpiredSec(nowMs)),
    revokeMembersStatement: (organization: string, nowMs: number) =>
      stores.trust.revokeMembersStatement(organization, allExpiredSec(nowMs)),
    /** Revokes the tokens of all users who have a role, if the statement before it changed a row. */
    revokeRoleHoldersStatement: (role: string, nowMs: number) =>
      stores.trust.revokeRoleHoldersStatement(role, allExpiredSec(nowMs)),
    providerSecrets: federation.providers.secrets,
    /** Tries an identity provider as a sign-in would. `origin`: the request's, for a local platform. */
    tryProvider: (id: string, origin: string) => federation.tryProvider(id, `${deps.pagesAt(origin)}/callback/${id}`),
    /** Seals a secret of a client that signs by it. */
    sealClientSecret: (clientId: string, secret: string) => sealSecret(deps.sealer, clientId, secret),
    unlock: accounts.unlock,
    blockedUntil: accounts.blockedUntil,
    /** Removes the user's second factor, in the operator's transaction. */
    secondFactorRemoval: stores.factors.removalStatements,
    forgetBringer: stores.unregistered.forgetBringer,
    /** Removes a passkey, in the operator's transaction. */
    passkeyRemoval: stores.passkeys.removalStatements,
    listPasskeys: stores.passkeys.list,
    listSessions: (email: string, nowMs: number, limit: number) =>
      stores.sessions.listAll(email, { nowMs, idleSinceMs: idleSince(deps, nowMs), limit }),
    tellByOperator: (call: Parameters<typeof tell>[0], news: Parameters<typeof tell>[1], email: string): void =>
      tell(call, news, email, "operator"),
    /** Explains whether `/token` would grant a scope, and why. Reads the records anew. */
    explain: (question: ExplainQuestion, nowMs: number): Promise<Explanation> =>
      explain(
        {
          names: deps.names,
          builtIn: deps.builtIn,
          directoryStore: stores.directory,
          users: stores.users,
          store: stores.explain,
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
    /** The number of sealed texts of each kind under each key. */
    countSealed: async (most: number) => ({
      identityProviders: await stores.seals.count("identityProviders", most),
      signingKeys: await stores.seals.count("signingKeys", most),
      secondFactors: await stores.seals.count("secondFactors", most),
      clientSecrets: await stores.seals.count("clientSecrets", most),
    }),
  };
}
