import type { ClientAccess, Principal } from "../../http/auth.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import type { MediaFailure } from "./failure.ts";
import type { FileCaller, Visibility } from "./file.ts";

/** What tells which tenants a token reaches. */
export interface TenantAccess {
  readonly access: ClientAccess;
}

/** What tells whose a file is, too. */
export interface AccessDeps extends TenantAccess {
  readonly files: {
    tenantOf(fileId: string, client: string, visibility: Visibility): Promise<string | undefined>;
  };
}

/** Who is at work on files of a tenant. The table of rights lets in tokens of a client alone, and for a tenant. */
export const callerOf = (principal: Principal, visibility: Visibility, tenant: string): FileCaller => ({
  client: principal.clientName,
  visibility,
  tenant,
  isPerson: principal.user !== "",
});

/**
 * Whether a token reaches files of a tenant (contract 4.4): its own, and, unless it names one, those for which its
 * client could be granted a token now. A subscription that was cancelled ends it.
 */
export async function reachesTenant(
  deps: TenantAccess,
  principal: Principal,
  tenant: string,
  nowMs: number,
): Promise<boolean> {
  if (tenant === principal.tenant) return true;
  return !principal.tenantExplicit && (await deps.access.mayActFor(principal, tenant, nowMs));
}

/**
 * The caller of an operation on one file: its client's files of one tenant. Which tenant is a question only for a
 * service's client whose token names none; then the file's own row answers it.
 */
export async function fileCaller(
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
  return (await reachesTenant(deps, principal, tenant, nowMs)) ? ok({ ...own, tenant }) : err({ kind: "no_file" });
}

/**
 * Work on one file by its caller. A commit under way gives a file its tenant, so what was not found is looked for once
 * more where the row names another tenant by then.
 */
export async function asFileCaller<T>(
  deps: AccessDeps,
  principal: Principal,
  visibility: Visibility,
  fileId: string,
  nowMs: number,
  work: (caller: FileCaller) => Promise<Result<T, MediaFailure>>,
): Promise<Result<T, MediaFailure>> {
  const before = await fileCaller(deps, principal, visibility, fileId, nowMs);
  if (!before.ok) return before;
  const done = await work(before.value);
  if (done.ok || done.error.kind !== "no_file") return done;
  const after = await fileCaller(deps, principal, visibility, fileId, nowMs);
  return after.ok && after.value.tenant !== before.value.tenant ? work(after.value) : done;
}
