import * as z from "zod/mini";
import { pageOf, invalidCursor, type Paging, type RowRange } from "../../http/input/paging.ts";
import { defineRoute, json, jsonPage, type Route } from "../../http/route.ts";
import { matching } from "../../http/input/validate.ts";
import { PATTERNS } from "../../platform/model/names.ts";
import { ERASURES_PATH } from "../files/links.ts";
import { mayActForTenant, type TenantAccess } from "../model/access.ts";
import { toProblem } from "../model/failure.ts";
import type { Erasure, ErasureStore } from "./erasure-store.ts";

interface ReportDeps extends TenantAccess {
  readonly erasures: ErasureStore;
}

/** A client reads the reports of the deletions that it requested, for the tenants that it may act for. */
export const erasureRoutes = (deps: ReportDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: `${ERASURES_PATH}/{erasureId}`,
    summary: "Read how far a deletion is",
    operation: "readErasure",
    params: z.object({ erasureId: z.string() }),
    async handle({ principal, params: { erasureId }, nowMs }) {
      const erasure = await deps.erasures.find(erasureId, principal.clientName);
      const isReached = erasure !== undefined && (await mayActForTenant(deps, principal, erasure.tenant, nowMs));
      return isReached ? json(200, toJson(erasure)) : toProblem({ kind: "no_erasure" });
    },
  }),
  defineRoute({
    method: "GET",
    path: ERASURES_PATH,
    summary: "List the deletions of a tenant's files",
    operation: "listErasures",
    query: z.object({ tenant: matching(PATTERNS.tenant) }),
    paged: true,
    async handle({ principal, query: { tenant }, paging, nowMs, url }) {
      if (!(await mayActForTenant(deps, principal, tenant, nowMs))) return toProblem({ kind: "foreign_tenant" });
      const before = idBefore(paging);
      if (before === undefined) return invalidCursor();
      const list = (beforeId: string, { limit, skip }: RowRange) =>
        deps.erasures.list(principal.clientName, tenant, beforeId, limit, skip);
      const found = await pageOf(paging, {
        after: before,
        beginning: AFTER_ALL_IDS,
        read: list,
        keyOf: ({ id }) => [id],
      });
      return jsonPage({ url, paging }, found, toJson);
    },
  }),
];

/** Ids consist of hex digits, so this text sorts after all of them. */
const AFTER_ALL_IDS = "g";

const idBefore = ({ cursor }: Paging): string | undefined => {
  const [before] = cursor ?? [AFTER_ALL_IDS];
  return typeof before === "string" ? before : undefined;
};

/** Times are in ms; `bytes` counts the masters. */
const toJson = (erasure: Erasure): object => ({
  id: erasure.id,
  kind: erasure.kind,
  tenant: erasure.tenant,
  visibility: erasure.visibility,
  state: erasure.verifiedAt !== null ? "verified" : erasure.deletedAt !== null ? "deleted" : "deleting",
  requestedAt: erasure.requestedAt,
  deletedAt: erasure.deletedAt,
  verifiedAt: erasure.verifiedAt,
  files: { requested: erasure.files, deleted: erasure.deletedFiles, verified: erasure.verifiedFiles },
  bytes: { requested: erasure.bytes, deleted: erasure.deletedBytes },
  lateObjects: erasure.lateObjects,
});
