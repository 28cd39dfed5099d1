import {
  authenticate,
  TOKEN_SCHEME,
  type ClientAccess,
  type Presented,
  type Principal,
  type TokenVerifier,
} from "../../http/callers/auth.ts";
import { problem, type Problem } from "../../http/errors/errors.ts";
import type { Limits } from "../../http/callers/limits.ts";
import type { FallbackCall } from "../../http/service.ts";
import type { Names } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { ReceivedHeaders } from "../model/headers.ts";
import type { RegisteredService } from "../registry/registry.ts";

/** A request for a service. */
export interface GatewayRequest {
  readonly call: FallbackCall;
  readonly service: RegisteredService;
  readonly method: string;
  readonly headers: ReceivedHeaders;
}

export interface AdmissionDeps {
  readonly names: Names;
  readonly pathPrefix: string;
  readonly verifier: TokenVerifier;
  readonly access: Pick<ClientAccess, "tenantUses">;
  readonly limits: Limits;
}

/** The caller, if it may use the service; undefined for an anonymous caller of a public service. */
export async function admitCaller(
  { names, pathPrefix, verifier, access, limits }: AdmissionDeps,
  { call, service, headers }: GatewayRequest,
): Promise<Result<Principal | undefined, Problem>> {
  const { nowMs } = call;
  const authorization = headers.get("authorization");
  // A public service may use another authentication scheme with its callers.
  if (service.access === "public" && !TOKEN_SCHEME.test(authorization ?? "")) {
    const excess = await limits.anonymous(call.request, "content");
    return excess === undefined ? ok(undefined) : err(excess);
  }
  const meanwhile = (early: Principal): void =>
    call.waitUntil(mayUse(access, early, service, nowMs).catch(() => undefined));
  const presented = { ...presentedAt(call, headers), service: pathPrefix + service.proxyPath };
  const caller = await authenticate(presented, verifier, names, nowMs, meanwhile);
  if (caller.ok) call.onIdentified(caller.value);
  const excess = await (caller.ok ? limits.caller(caller.value) : limits.anonymous(call.request));
  if (excess !== undefined) return err(excess);
  if (!caller.ok) return caller;
  if (await mayUse(access, caller.value, service, nowMs)) return caller;
  const { tenant } = caller.value;
  const subject = tenant === "" ? "A token without a tenant" : `The tenant ${tenant}`;
  return err(
    problem("insufficient_permissions", `${subject} has no package that includes the service ${service.name}.`, {
      reason: `tenant ${tenant || "none"} may not use service ${service.name}`,
    }),
  );
}

const presentedAt = ({ request, url }: FallbackCall, headers: ReceivedHeaders): Presented => ({
  authorization: headers.get("authorization"),
  proof: () => headers.get("dpop"),
  method: request.method,
  url,
});

/** True for an essential service, for a service of the token's tenant, and for one in a package of that tenant. */
export const mayUse = async (
  access: AdmissionDeps["access"],
  caller: Principal,
  { name, essential, tenant }: RegisteredService,
  nowMs: number,
): Promise<boolean> => essential || caller.tenant === tenant || access.tenantUses(caller, name, nowMs);
