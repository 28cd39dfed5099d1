import { createPushedStore } from "./authorize/pushed/pushed-store.ts";
import { createAssertionStore } from "./clients/assertion-store.ts";
import { createDirectoryStore } from "./clients/directory-store.ts";
import { createConsentStore } from "./consent/consent-store.ts";
import { createExplainStore } from "./explain/explain-store.ts";
import { createFactorStore } from "./factors/factor-store.ts";
import { createSealStore } from "./federation/seal-store.ts";
import { createPasskeyStore } from "./passkeys/passkey-store.ts";
import { createCodes } from "./grants/codes.ts";
import { createHeldTokens, type HeldKind } from "./homes/held-token.ts";
import { createDeviceStore } from "./grants/device-store.ts";
import { createElsewhere } from "./homes/elsewhere.ts";
import { createRefreshGrants } from "./grants/refresh-grants.ts";
import { createInvitationStore } from "./recovery/invitation-store.ts";
import { createMailLinkStore } from "./recovery/mail-link-store.ts";
import { createSessions } from "./sign-in/session-homes.ts";
import { createKeyStore } from "./tokens/keys/key-store.ts";
import { createRevocationCollapseStore } from "./tokens/revocation-collapse-store.ts";
import { createRevokedTokensStore } from "./tokens/revoked-tokens-store.ts";
import { createTrustStore } from "./tokens/trust-store.ts";
import { createUnregisteredStore } from "./unregistered/unregistered-store.ts";
import { createUserStore } from "./users/user-store.ts";

import type { OAuthDeps } from "./deps.ts";

/**
 * The stores of this service, each for its tables. Sessions, codes and refresh grants of a person lie in that person's
 * home (homes/home.ts), everything else in the directory.
 */
export function createOAuthStores({ builtIn, shards, sealer, random, log, subject }: OAuthDeps) {
  const { db } = shards[0];
  const revocationBound = createRevocationCollapseStore(db);
  const users = createUserStore(db, subject, random);
  const heldTokens = (kind: HeldKind) => createHeldTokens(sealer, random, shards.length, kind);
  return {
    users,
    revocationBound,
    trust: createTrustStore(db, revocationBound),
    revokedTokens: createRevokedTokensStore(db),
    keys: createKeyStore(db),
    seals: createSealStore(db, sealer, log),
    directory: createDirectoryStore(db),
    unregistered: createUnregisteredStore(db),
    explain: createExplainStore(db, builtIn),
    sessions: createSessions(shards, users, heldTokens("session")),
    codes: createCodes(shards, users, heldTokens("code")),
    refreshGrants: createRefreshGrants(shards, users, heldTokens("refresh token")),
    elsewhere: createElsewhere(shards),
    factors: createFactorStore(db),
    passkeys: createPasskeyStore(db, users),
    mailLinks: createMailLinkStore(db),
    invitations: createInvitationStore(db),
    devices: createDeviceStore(db),
    pushedRequests: createPushedStore(db),
    usedAssertions: createAssertionStore(db),
    consents: createConsentStore(db),
  };
}

export type OAuthStores = ReturnType<typeof createOAuthStores>;
