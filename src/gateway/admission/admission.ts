import { authenticate, type Principal } from "../../http/auth.ts";
import { problem, type Problem } from "../../http/errors.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import type { Context, Passing } from "../context.ts";
import type { Registered } from "../registry/registry.ts";

/** Who calls; undefined where a public service is called by nobody who says so. */
export async function admitCaller(
  { call, service, given }: Passing,
  { names, verifier, access, limits }: Context,
): Promise<Result<Principal | undefined, Problem>> {
  const { nowMs } = call;
  const authorization = given.get("authorization");
  // Another scheme is between the caller and a public service.
  if (service.access === "public" && !/^bearer\b/i.test(authorization ?? "")) {
    const excess = await limits.anonymous(call.request, "content");
    return excess === undefined ? ok(undefined) : err(excess);
  }
  const caller = await authenticate(authorization, verifier, names, nowMs);
  if (caller.ok) call.identified(caller.value);
  const excess = await (caller.ok ? limits.caller(caller.value) : limits.anonymous(call.request));
  if (excess !== undefined) return err(excess);
  if (!caller.ok) return caller;
  if (await mayUse(caller.value, service, access, nowMs)) return caller;
  const { tenant } = caller.value;
  const whose = tenant === "" ? "A token without a tenant" : `The tenant ${tenant}`;
  return err(
    problem("insufficient_permissions", `${whose} has no package that includes the service ${service.name}.`, {
      reason: `tenant ${tenant || "none"} may not use service ${service.name}`,
    }),
  );
}

/** Whether the tenant that the token is for may use the service: an essential one, its own, or one of its packages. */
export const mayUse = async (
  caller: Principal,
  { name, essential, tenant }: Registered,
  access: Context["access"],
  nowMs: number,
): Promise<boolean> => essential || caller.tenant === tenant || access.tenantUses(caller, name, nowMs);
