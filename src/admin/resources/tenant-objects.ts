import * as z from "zod/mini";
import { invalidCursor, pageOf, type RowRange } from "../../http/input/paging.ts";
import { defineRoute, json, jsonPage, type Route } from "../../http/route.ts";
import { tenantId } from "../model/fields.ts";

/** The port to the table of tenant objects. */
export interface TenantObjectList {
  list(after: number, tenant: string | undefined, range: RowRange): Promise<readonly TenantObject[]>;
  /** Sums the reports of all objects. It asks no object. */
  sums(): Promise<ObjectSums>;
}

interface TenantObject {
  readonly number: number;
  /** 0: no sweep has found it. */
  readonly reportedAt: number;
}

interface ObjectSums {
  readonly objects: number;
  readonly files: number;
  readonly bytes: number;
  readonly databaseBytes: number;
}

/** The objects of tenants' own, by number. What an object stores is as its last sweep found it. */
export const tenantObjectRoutes = (objects: TenantObjectList): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/tenant-objects",
    summary: "List the tenants with an object of their own, and what each object stores",
    operation: "listTenantObjects",
    query: z.object({ tenant: z.optional(tenantId) }),
    paged: true,
    async handle({ query: { tenant }, paging, url }) {
      const [after = 0] = paging.cursor ?? [];
      if (typeof after !== "number") return invalidCursor();
      const read = (from: number, range: RowRange) => objects.list(from, tenant, range);
      const found = await pageOf(paging, { after, beginning: 0, read, keyOf: ({ number }) => [number] });
      return jsonPage({ url, paging }, found, toObject, { "cache-control": "no-store" });
    },
  }),
  defineRoute({
    method: "GET",
    path: "/tenant-objects/sum",
    summary: "Count the tenants with an object of their own, and what all of these objects store",
    operation: "sumTenantObjects",
    handle: async () => json(200, { ...(await objects.sums()) }, { "cache-control": "no-store" }),
  }),
];

const toObject = ({ reportedAt, ...object }: TenantObject): object => ({ ...object, reportedAt: reportedAt || null });
