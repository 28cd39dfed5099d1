import { isProblem } from "../../http/errors/errors.ts";
import type { Principal } from "../../http/callers/auth.ts";
import type { Operation } from "../../http/callers/rights.ts";
import type { Answer, Call, JsonOrBytes, Route } from "../../http/route.ts";
import type { OfShards } from "../../platform/storage/tenant-objects.ts";
import { mayActForTenant } from "../model/access.ts";
import { isMissingFile, toProblem } from "../model/failure.ts";
import { isFileId } from "../model/file.ts";
import type { ClientObjects } from "./client-objects.ts";
import { atHome } from "./at-home.ts";
import { look } from "./look.ts";
import { bringTo, firstPlace, giveBack, type RelocationDeps } from "./relocation.ts";

/**
 * Sends each request to the shard with its files. Each shard has the same routes over its own database, and knows no
 * other shard. One shard answers a request:
 *
 *   the files of a tenant (`tenant=`) ──▶ the tenant's shard; if the tenant left, its present shard (at-home.ts)
 *   one file, its variants, its content ──▶ the shard in the id; if the file left, the shard that it moved to
 *   a report of a deletion ──▶ the shard in its id
 *   a new file ──▶ the shard of the token's tenant; with its bytes, the shard of the tenant that it is committed for
 *   commit or deletion of a file ──▶ the tenant's shard, to which a pending file moves first
 */
export interface DispatchDeps extends RelocationDeps {
  readonly clientObjects: ClientObjects;
}

type AnyCall = Call<
  { readonly fileId?: string; readonly erasureId?: string },
  { readonly tenant?: string } | undefined,
  unknown,
  Principal
>;

type Way = (
  deps: DispatchDeps,
  call: AnyCall,
  run: (shard: number) => Promise<Answer>,
  route: Route,
) => Promise<Answer>;

/** Requests to links have no token. */
const clientOf = (principal: Principal | undefined): string | undefined => principal?.clientId;

const byTenant: Way = (deps, { query, principal, nowMs }, run) =>
  atHome(deps, query?.tenant ?? principal.tenant, nowMs, run);

const byFile: Way = async (deps, { params: { fileId = "" }, nowMs, principal }, run) =>
  // No shard has noted a move of a text that is no id.
  isFileId(fileId)
    ? look(deps, { fileId, nowMs, run, isMissing: isMissingFile, client: clientOf(principal) })
    : run(await firstPlace(deps, fileId));

const byErasure: Way = async (deps, { params }, run) => run(await firstPlace(deps, params.erasureId ?? ""));

const byCreation: Way = (deps, { query, principal, body, nowMs }, run) => {
  const { kind } = body as JsonOrBytes<unknown>;
  const tenant = kind === "json" ? principal.tenant : (query?.tenant ?? principal.tenant);
  const runNoted = noted(deps, principal, run);
  return atHome(deps, tenant, nowMs, runNoted, kind === "json");
};

/** A deletion of files has a report with the client's name. */
const byTenantNoted: Way = (deps, { query, principal, nowMs }, run) =>
  atHome(deps, query?.tenant ?? principal.tenant, nowMs, noted(deps, principal, run));

/** Runs an operation that writes rows with the client's name. */
const noted =
  ({ clientObjects }: DispatchDeps, { clientName }: Principal, run: (shard: number) => Promise<Answer>) =>
  async (shard: number): Promise<Answer> => {
    await clientObjects.note([clientName], shard);
    return run(shard);
  };

/** Our choice: longer than a commit usually takes. */
const PAUSE_MS = 100;

/**
 * Changes a pending file only in the tenant's shard: another shard is asked only if it has the committed file. Requests
 * for tenants of two shards take the file from each other. The one that lost it pauses, longer each time, so that the
 * other can finish. After a refusal or a failure the file goes back.
 */
const bringing: Way = async (deps, call, run, { path }) => {
  const { params, query, principal, nowMs } = call;
  const fileId = params.fileId ?? "";
  const tenant = query?.tenant ?? principal.tenant;
  const visibility = path.startsWith("/public/") ? "public" : "private";
  const asked = { principal, visibility, fileId, nowMs } as const;
  // As the commit itself would answer in any shard.
  if (!(await mayActForTenant(deps, principal, tenant, nowMs))) return toProblem({ kind: "foreign_tenant" });
  let failure: unknown;
  return atHome(deps, tenant, nowMs, async (home) => {
    let brought = 0;
    let origin: number | undefined;
    const bring = async (from: number): Promise<readonly number[]> => {
      if (brought > 0 && from !== home) await scheduler.wait(PAUSE_MS * 2 ** (brought - 1));
      const way = await bringTo(deps, asked, home, from);
      if (way.length > 1 && way.at(-1) === home) {
        brought++;
        origin ??= way.at(-2);
      }
      return way;
    };
    const runNoted = noted(deps, principal, run);
    const runAt = async (shard: number): Promise<Answer> =>
      shard === home || (await deps.moved.at(shard).hasCommitted(fileId))
        ? runNoted(shard)
        : toProblem({ kind: "no_file" });
    // If this fails, the file is pending where it is, and the next commit finds it. What was committed stays.
    const back = async (): Promise<void> => {
      if (origin !== undefined) await giveBack(deps, asked, home, origin).catch(() => undefined);
    };
    const search = { fileId, nowMs, run: runAt, isMissing: isMissingFile, bring, client: clientOf(principal) };
    const answer = await look(deps, search).catch(async (thrown: unknown) => {
      await back();
      throw (failure = thrown);
    });
    if (isProblem(answer)) await back();
    // A deletion that failed in the old shard may have happened, so nobody can say that there was no file.
    if (failure !== undefined && isMissingFile(answer)) throw failure;
    return answer;
  });
};

/** Every operation of the service. */
const WAYS: Partial<Record<Operation, Way>> = {
  createFile: byCreation,
  commitFile: bringing,
  deleteFile: bringing,
  listFiles: byTenant,
  deleteFiles: byTenantNoted,
  createBulkVariants: byTenant,
  deleteBulkVariants: byTenant,
  listErasures: byTenant,
  readErasure: byErasure,
  readMetadata: byFile,
  replaceMetadata: byFile,
  listVariants: byFile,
  createVariants: byFile,
  deleteVariants: byFile,
  fetchPrivateFile: byFile,
  fetchPublicFile: byFile,
  uploadFile: byFile,
  fetchContent: byFile,
};

/** `routesOf`: the routes of each shard, in the same order. */
export function dispatch(deps: DispatchDeps, routesOf: OfShards<readonly Route[]>): readonly Route[] {
  const first = routesOf.at(0);
  if (deps.isOne) return first;
  return first.map((route, at) => {
    const way = WAYS[route.operation];
    if (way === undefined) throw new Error(`no shard is known for ${route.operation}`);
    const handle: Route["handle"] = (call) =>
      way(deps, call as unknown as AnyCall, async (shard) => routesOf.at(shard)[at]!.handle(call), route);
    return { ...route, handle };
  });
}
