import type { EndAccessDeps } from "../end-grants.ts";
import type { FederationDeps } from "../federation/begin.ts";
import type { Federation } from "../federation/federation.ts";
import type { RefusedPageDeps } from "../page.ts";
import type { SignInDeps } from "../sign-in/device.ts";
import type { SessionDeps } from "../sign-in/sessions.ts";
import type { ConsentStore } from "../store/consent-store.ts";
import type { EndAll } from "../store/end-all-store.ts";
import type { TrustStore } from "../store/trust-store.ts";

/** What the page of an account shows and changes. */
export interface AccountDeps extends SessionDeps, SignInDeps, FederationDeps, EndAccessDeps, RefusedPageDeps {
  readonly federation: Federation;
  readonly consents: ConsentStore;
  /** Ends what a user, say, got until now. */
  readonly endings: Pick<EndAll, "endAll" | "forgetSignedOut"> & Pick<TrustStore, "voidStatement">;
}
