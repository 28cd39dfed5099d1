import type { ClientAccess, Principal } from "../../http/callers/auth.ts";
import type { Names } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { MediaFailure } from "./failure.ts";
import type { FileCaller, Visibility } from "./file.ts";

/** Decides which tenants a token may act for. */
export interface TenantAccess {
  readonly access: ClientAccess;
}

/** `files` looks up the tenant, the person and the sharing of one file. */
export interface AccessDeps extends TenantAccess {
  readonly files: {
    tenantOf(fileId: string, client: string, visibility: Visibility): Promise<string | undefined>;
    personOf(fileId: string): Promise<string | undefined>;
    sharedBy(fileId: string, visibility: Visibility, tenant: string): Promise<string | undefined>;
  };
  readonly names: Names;
}

/** Returns the person to whose files the caller is limited; undefined: it reaches all files of its client. */
export const personOf = async (
  { access }: TenantAccess,
  { user, subject, clientId }: Principal,
  nowMs: number,
): Promise<string | undefined> =>
  user !== "" && (await access.keepsUsersApart(clientId, nowMs)) ? subject : undefined;

/** Returns the caller of an operation on a tenant's files. The table of rights admits only tokens of clients. */
export const callerOf = (principal: Principal, visibility: Visibility, tenant: string): FileCaller => ({
  client: principal.clientName,
  visibility,
  tenant,
  isPerson: principal.user !== "",
});

/**
 * A token may act for its own tenant. A token that names no tenant may also act for every tenant for which its client
 * could get a token now; that ends when the tenant cancels its subscription.
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

/** A request for one file by its id. */
export interface Asked {
  readonly principal: Principal;
  readonly visibility: Visibility;
  readonly fileId: string;
  readonly nowMs: number;
}

/**
 * Returns the caller of an operation on one file. If a service's client has a token that names no tenant, the tenant
 * comes from the file's row.
 */
async function resolveCaller(
  deps: AccessDeps,
  { principal, visibility, fileId, nowMs }: Asked,
): Promise<Result<FileCaller, MediaFailure>> {
  const own = callerOf(principal, visibility, principal.tenant);
  if (principal.tenantExplicit || !(await deps.access.servesOthers(principal.clientId, nowMs))) return ok(own);
  const tenant = await deps.files.tenantOf(fileId, own.client, visibility);
  if (tenant === undefined || tenant === "") return ok(own);
  return (await mayActForTenant(deps, principal, tenant, nowMs)) ? ok({ ...own, tenant }) : err({ kind: "no_file" });
}

/** The use that other clients of the tenant may make of a shared file; `own`: none. */
export type Use = "own" | "read" | "change";

/**
 * Runs `work` for the caller of a file:
 *
 *   the caller's own client ──▶ its file ─────────────────────────────────────▶ done
 *                               no such file, and its tenant changed meanwhile ─▶ once more: a commit gives the tenant
 *                               no such file, and it is shared in the tenant ───▶ once more, as the file's own client
 *
 * If a client keeps people's files apart, a person's token finds only the files that this person created. To read a
 * shared file, a caller needs the scope to view or to administer files; to change it, the scope to administer them. The
 * caller's client must belong to the tenant: the client of a service that the tenant subscribes to sees no shared
 * files.
 */
export async function withCaller<T>(
  deps: AccessDeps,
  asked: Asked,
  use: Use,
  work: (caller: FileCaller) => Promise<Result<T, MediaFailure>>,
): Promise<Result<T, MediaFailure>> {
  const done = await workOnOwn(deps, asked, work);
  if (done.ok || done.error.kind !== "no_file" || use === "own") return done;
  const shared = await sharedCaller(deps, asked, use);
  return shared.ok ? work(shared.value) : shared;
}

async function workOnOwn<T>(
  deps: AccessDeps,
  asked: Asked,
  work: (caller: FileCaller) => Promise<Result<T, MediaFailure>>,
): Promise<Result<T, MediaFailure>> {
  const person = await personOf(deps, asked.principal, asked.nowMs);
  // A file keeps its person, so the answer is still true when `work` runs.
  if (person !== undefined && (await deps.files.personOf(asked.fileId)) !== person) return err({ kind: "no_file" });
  const before = await resolveCaller(deps, asked);
  const done = before.ok ? await work(before.value) : before;
  if (!before.ok || done.ok || done.error.kind !== "no_file") return done;
  const after = await resolveCaller(deps, asked);
  return after.ok && after.value.tenant !== before.value.tenant ? work(after.value) : done;
}

/** Returns the caller with the client that owns the shared file. A caller that may not read the file gets `no_file`. */
async function sharedCaller(
  deps: AccessDeps,
  { principal, visibility, fileId, nowMs }: Asked,
  use: Use,
): Promise<Result<FileCaller, MediaFailure>> {
  const holds = (scope: string): boolean => principal.scopes.includes(deps.names.scope(scope));
  const mayChange = use === "read" || holds("media_admin");
  if (!holds("media_view") && !mayChange) return err({ kind: "no_file" });
  const { tenant } = principal;
  if (!(await seesShared(deps, principal, tenant, nowMs))) return err({ kind: "no_file" });
  const client = await deps.files.sharedBy(fileId, visibility, tenant);
  if (client === undefined) return err({ kind: "no_file" });
  return mayChange
    ? ok({ ...callerOf(principal, visibility, tenant), client })
    : err({ kind: "shared_file", missingScope: deps.names.scope("media_admin") });
}

/** True if the token is for this tenant and its client belongs to the tenant. */
export const seesShared = async (
  { access }: TenantAccess,
  principal: Principal,
  tenant: string,
  nowMs: number,
): Promise<boolean> => principal.tenant === tenant && access.belongsTo(principal.clientId, tenant, nowMs);
