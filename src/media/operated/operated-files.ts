import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { invalidCursor } from "../../http/input/paging.ts";
import { json, type Answer, type Call, type Route } from "../../http/route.ts";
import type { Operation } from "../../http/callers/rights.ts";
import { toProblem } from "../model/failure.ts";
import type { Visibility } from "../model/file.ts";
import { answerPage, isCursor, pageOfFiles, type ListFilesDeps } from "../search/list.ts";
import { filterParameters, sortParameter } from "../search/query.ts";
import type { OperatedStore, FileOwner, StoredFiles } from "./operated-store.ts";
import { previewsOf } from "./preview.ts";
import { showFile, type ShowDeps } from "./show.ts";

/**
 * Files of all clients, for the operator service. The operator service checks who may ask, and for which tenants. Here
 * the operator acts as the client that owns the files:
 *
 *   run ──▶ the operation of the media service itself, called by the owner, with the same input and answer
 *   list ──▶ the owner's own list, and a link to a small picture of each image
 *   show ──▶ the file, its metadata and its variants, with links that are valid for some minutes
 *   ownerOf, requesterOf, owners, waiting ──▶ D1
 *
 * A client's own operation needs its scope and a token of its tenant. The operator needs neither: the row in the audit
 * log, which the operator service writes, says who acted.
 */
export interface OperatedFiles {
  /** Returns the parameters and body of one of the client's own operations, without the tenant and the sharing. */
  shape(operation: OwnOperation): Shape;
  run(operation: OwnOperation, owner: FileOwner, call: AnyCall): Promise<Answer>;
  readonly listQuery: NonNullable<Route["query"]>;
  list(owner: FileOwner, call: AnyCall): Promise<Answer>;
  show(fileId: string, owner: FileOwner, call: AnyCall): Promise<Answer>;
  /** Returns the owner of a pending or committed file. A pending file counts for the tenant that it was created for. */
  ownerOf(fileId: string): Promise<FileOwner | undefined>;
  /** Returns the client that requested the deletion, and the tenant whose files it deleted. */
  requesterOf(erasureId: string): Promise<FileOwner | undefined>;
  /** Lists the clients that have files in the tenant. */
  owners(tenant: string): Promise<readonly StoredFiles[]>;
  /** Counts the variants that are not made yet. */
  waiting(owner: FileOwner): Promise<Answer>;
}

/** The operations of a client on its own files that an operator may do too. */
const OWN_OPERATIONS = [
  "createFile",
  "commitFile",
  "replaceMetadata",
  "createVariants",
  "deleteVariants",
  "createBulkVariants",
  "deleteFile",
  "deleteFiles",
  "listErasures",
  "readErasure",
] as const satisfies readonly Operation[];
type OwnOperation = (typeof OWN_OPERATIONS)[number];

type Shape = Pick<Route, "query" | "body" | "paged" | "produces">;

/** A call of the operator service, which has checked its input by the operation's own schemas. */
type AnyCall = Call<unknown, unknown, unknown, Principal>;

const listQuery = z.object({ ...filterParameters, ...sortParameter });

interface Deps extends ListFilesDeps, ShowDeps {
  readonly operated: OperatedStore;
}

export function operatedFiles(deps: Deps, routes: readonly Route[]): OperatedFiles {
  const routeOf = (operation: OwnOperation, visibility: Visibility): Route => {
    const found = routes.filter((route) => route.operation === operation);
    return found.find(({ path }) => path.startsWith("/public/") === (visibility === "public")) ?? found[0]!;
  };
  return {
    shape(operation) {
      const { query, body, paged, produces } = routeOf(operation, "private");
      return { query: query && withoutOwner(query as z.ZodMiniObject), body, paged, produces };
    },
    run: (operation, owner, call) =>
      routeOf(operation, owner.visibility).handle({
        ...call,
        query: { ...(call.query as object), tenant: owner.tenant },
        principal: asOwner(call.principal, owner),
      }),
    listQuery,
    async list(owner, call) {
      const { paging, nowMs, publicBase, url } = call;
      const query = call.query as z.output<typeof listQuery>;
      const { tenant, visibility } = owner;
      const wanted = { ...query, tenant, visibility, sort: query.sort ?? [], paging };
      if (!isCursor(wanted.sort, paging.cursor)) return invalidCursor();
      const page = await pageOfFiles(deps, asOwner(call.principal, owner), wanted, nowMs);
      if (!page.ok) return toProblem(page.error);
      const previews = await previewsOf(deps.links, publicBase, visibility, page.value.items, nowMs);
      return answerPage(deps, { tenant, visibility, publicBase, url, paging, previews }, page.value);
    },
    show: (fileId, owner, call) => showFile(deps, fileId, owner, call),
    ownerOf: deps.operated.ownerOf,
    requesterOf: deps.operated.requesterOf,
    owners: deps.operated.owners,
    waiting: async (owner) => json(200, await deps.operated.waiting(owner), { "cache-control": "no-store" }),
  };
}

/** Drops `tenant`, because the path names it, and `shared`, because the operator acts as the own client. */
const withoutOwner = (query: z.ZodMiniObject) => {
  const named = ["tenant", "shared"].filter((name) => Object.hasOwn(query.shape, name));
  return z.omit(query, Object.fromEntries(named.map((name) => [name, true])));
};

/** Returns a principal like the client's own token for this tenant. It names no person, so it reaches all files. */
const asOwner = (operator: Principal, { client, tenant }: FileOwner): Principal => ({
  ...operator,
  clientId: "",
  clientName: client,
  tenant,
  tenantExplicit: true,
  user: "",
  subject: "",
});
