import type { CommonPasswords } from "../../platform/secrets/common-passwords.ts";
import type { KeptDeps } from "../authorize/kept.ts";
import type { FederationDeps } from "../federation/begin.ts";
import type { Federation } from "../federation/federation.ts";
import type { ConsentStore } from "../consent/consent-store.ts";
import type { RevokeAll } from "../grants/revocation/revoke-all.ts";
import type { RevokeAccessDeps } from "../grants/revoke-grants.ts";
import type { RefusedPageDeps } from "../pages/page.ts";
import type { PasskeyDeps } from "../passkeys/passkeys.ts";
import type { RecoveryDeps } from "../recovery/recovery.ts";
import type { TrustStore } from "../tokens/trust-store.ts";

/** Dependencies of the account page. */
export interface AccountDeps extends PasskeyDeps, FederationDeps, KeptDeps, RevokeAccessDeps, RefusedPageDeps {
  readonly federation: Federation;
  readonly commonPasswords: CommonPasswords;
  readonly consents: ConsentStore;
  /** Undefined: the platform sends no mail. */
  readonly recovery: RecoveryDeps | undefined;
  /** Revokes everything that a user got until now. */
  readonly revocations: Pick<RevokeAll, "revokeAll" | "deleteSignedOut"> & Pick<TrustStore, "revokeStatement">;
}
