import type { ClientAccess, Principal, TokenVerifier } from "../http/auth.ts";
import type { Limits } from "../http/limits.ts";
import type { FallbackCall } from "../http/service.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { Breakers } from "./breaker/breakers.ts";
import type { GivenHeaders } from "./model/headers.ts";
import type { Registered, Registry } from "./registry/registry.ts";
import type { ServiceToken } from "./admission/service-token.ts";

/** What the gateway is made with. */
export interface GatewayDeps {
  readonly names: Names;
  readonly db: D1Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly verifier: TokenVerifier;
  readonly access: Pick<ClientAccess, "tenantUses" | "belongsTo">;
  readonly serviceToken: ServiceToken;
  readonly limits: Limits;
  readonly pathPrefix: string;
  readonly allowLoopback: boolean;
  /** How long a service may take to its headers, and between two pieces of its body. */
  readonly timeoutMs: number;
}

/** … and what it has of its own. */
export interface Context extends GatewayDeps {
  readonly registry: Registry;
  readonly breakers: Breakers;
}

/** A request on its way to a service. */
export interface Passing {
  readonly call: FallbackCall;
  readonly service: Registered;
  readonly method: string;
  readonly given: GivenHeaders;
}

/** … by whom. */
export interface Admitted extends Passing {
  readonly principal: Principal | undefined;
}
