import type { ClientAccess, Principal } from "../../http/auth.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import type { MediaFailure } from "./failure.ts";
import type { FileCaller, Visibility } from "./file.ts";

/** Decides which tenants a token may act for. */
export interface TenantAccess {
  readonly access: ClientAccess;
}

/** Also tells the tenant of a file. */
export interface AccessDeps extends TenantAccess {
  readonly files: {
    tenantOf(fileId: string, client: string, visibility: Visibility): Promise<string | undefined>;
  };
}

/** The caller of an operation on a tenant's files. The table of rights admits only clients' tokens for a tenant. */
export const callerOf = (principal: Principal, visibility: Visibility, tenant: string): FileCaller => ({
  client: principal.clientName,
  visibility,
  tenant,
  isPerson: principal.user !== "",
});

/**
 * A token may act for its own tenant and, unless it names one, for those for which its client could
 * get a token now. Cancelling a subscription ends that.
 */
export async function mayActForTenant(
  deps: TenantAccess,
  principal: Principal,
  tenant: string,
  nowMs: number,
): Promise<boolean> {
  if (tenant === principal.tenant) return true;
  return !principal.tenantExplicit && (await deps.access.mayActFor(principal, tenant, nowMs));
}

/**
 * The caller of an operation on one file. If a service's client has a token that names no tenant, the file's row tells
 * the tenant.
 */
export async function resolveCaller(
  deps: AccessDeps,
  principal: Principal,
  visibility: Visibility,
  fileId: string,
  nowMs: number,
): Promise<Result<FileCaller, MediaFailure>> {
  const own = callerOf(principal, visibility, principal.tenant);
  if (principal.tenantExplicit || !(await deps.access.servesOthers(principal.clientId, nowMs))) return ok(own);
  const tenant = await deps.files.tenantOf(fileId, own.client, visibility);
  if (tenant === undefined || tenant === "") return ok(own);
  return (await mayActForTenant(deps, principal, tenant, nowMs)) ? ok({ ...own, tenant }) : err({ kind: "no_file" });
}

/**
 * Runs `work` for the caller of a file. A commit gives a file its tenant, so a file that was not found is looked for
 * again if its row names another tenant by then.
 */
export async function withCaller<T>(
  deps: AccessDeps,
  principal: Principal,
  visibility: Visibility,
  fileId: string,
  nowMs: number,
  work: (caller: FileCaller) => Promise<Result<T, MediaFailure>>,
): Promise<Result<T, MediaFailure>> {
  const before = await resolveCaller(deps, principal, visibility, fileId, nowMs);
  if (!before.ok) return before;
  const done = await work(before.value);
  if (done.ok || done.error.kind !== "no_file") return done;
  const after = await resolveCaller(deps, principal, visibility, fileId, nowMs);
  return after.ok && after.value.tenant !== before.value.tenant ? work(after.value) : done;
}
