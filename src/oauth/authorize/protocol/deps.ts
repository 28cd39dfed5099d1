import type { RateLimit } from "../../../http/callers/rate-limit.ts";
import type { AuditTrail } from "../../../platform/ports/audit.ts";
import type { FederationDeps } from "../../federation/begin.ts";
import type { Federation } from "../../federation/federation.ts";
import type { GrantDeps } from "../../grants/grant-step.ts";
import type { Addresses } from "../../model/call.ts";
import type { Logouts } from "../../logout/logout.ts";
import type { RefusedPageDeps } from "../../pages/page.ts";
import type { PasskeyDeps } from "../../passkeys/passkeys.ts";
import type { Unregistered } from "../../unregistered/unregistered.ts";
import type { PushedStore } from "../pushed/pushed-store.ts";

/** Dependencies of an authorization request. */
export interface AuthorizeDeps extends PasskeyDeps, FederationDeps, GrantDeps, RefusedPageDeps, Addresses {
  readonly federation: Federation;
  readonly audit: AuditTrail;
  /** Counts the sign-ins that strangers begin and a row keeps, by network (kept.ts). */
  readonly keptLimit: RateLimit;
  readonly pushedRequests: PushedStore;
  readonly unregistered: Pick<Unregistered, "adopt" | "isGone">;
  readonly logouts: Pick<Logouts, "remember" | "rememberStatements">;
}
