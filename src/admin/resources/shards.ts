import * as z from "zod/mini";
import { conflict, invalid, noSuch } from "../../http/errors/errors.ts";
import { defineRoute, json, jsonBody, type Route } from "../../http/route.ts";
import { rowBy, type AuditTrail } from "../../platform/ports/audit.ts";
import { LOCATION_HINTS, MOST_SHARDS, type LocationHint } from "../../platform/storage/object-shards.ts";
import { isTenantObject } from "../../platform/storage/tenant-objects.ts";
import { tenantId } from "../model/fields.ts";

/** The port to the shards: the content of each database, and the time that it takes to answer. */
export interface ShardList {
  status(nowMs: number): Promise<readonly object[]>;
  readonly moves: TenantMoves;
}

/** The port to the moves of tenants between shards. */
interface TenantMoves {
  begin(
    tenant: string,
    to: number | { readonly near: LocationHint | undefined },
    nowMs: number,
    row: (move: string) => D1PreparedStatement,
  ): Promise<
    | { readonly kind: "begun"; readonly move: TenantMove }
    /** `isAsked`: the move that is under way does what was asked. */
    | { readonly kind: "under_way"; readonly move: TenantMove; readonly isAsked: boolean }
    | { readonly kind: "no_tenant" | "no_shard" | "no_objects" | "crowded" | "there_already" | "backup" }
  >;
  find(tenant: string): Promise<TenantMove | undefined>;
  /** Does as much of a move as one request may. It never throws. */
  run(tenant: string): Promise<void>;
}

interface TenantMove {
  readonly tenant: string;
  readonly move: string;
  readonly from: number;
  readonly to: number;
  readonly state: string;
  readonly files: number;
  readonly begunAt: number;
  readonly doneAt: number | null;
}

const params = z.object({ id: tenantId });
const MOVE = "/tenants/{id}/move";

/** The target of a move: a shard, or an object of the tenant's own. */
const target = z
  .object({
    shard: z.union([z.int().check(z.nonnegative(), z.maximum(MOST_SHARDS - 1)), z.literal("own")]),
    near: z.optional(z.enum(LOCATION_HINTS)),
  })
  .check(
    z.refine(({ shard, near }) => near === undefined || shard === "own", {
      path: ["near"],
      error: 'is only for {"shard": "own"}',
    }),
  );

/** The list of shards has no pages, because there are at most 240. Tenant objects are one entry. */
export const shardRoutes = (
  { status, moves }: ShardList,
  { audit }: { readonly audit: Pick<AuditTrail, "statement"> },
): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/shards",
    summary:
      "The databases: size, tenants, files, push subscriptions and load of each, and which one the next tenant gets",
    operation: "listShards",
    handle: async ({ nowMs }) => json(200, await status(nowMs), { "cache-control": "no-store" }),
  }),
  defineRoute({
    method: "POST",
    path: MOVE,
    summary: "Move the files of a tenant to another shard while it works",
    operation: "moveTenant",
    params,
    body: jsonBody(target),
    async handle(call) {
      const { nowMs, waitUntil } = call;
      const { id } = call.params;
      const { shard, near } = call.body;
      const where = shard === "own" ? "an object of its own" : `shard ${shard}`;
      const row = () => audit.statement("if changed", rowBy(call, "move", `tenants/${id}`, `to ${where}`));
      const begun = await moves.begin(id, shard === "own" ? { near } : shard, nowMs, row);
      switch (begun.kind) {
        case "no_tenant":
          return noSuch("tenant");
        case "no_shard":
          return invalid(
            "invalid_field",
            "shard",
            `There is no shard ${shard}: plat shard status, or GET /shards, lists them.`,
          );
        case "no_objects":
          return invalid("invalid_field", "shard", "This platform has no objects of tenants: set tenant_objects.");
        case "crowded":
          return conflict(
            "crowded",
            "",
            `From the shard of ${id}, and from shards whose tenants moved there, as many tenants with files have moved to objects of their own as may. Move ${id} to a shard of its own.`,
          );
        case "there_already":
          return conflict("already_there", "", `The files of ${id} are in ${where}.`);
        case "backup":
          return conflict("job_under_way", "", "A backup or restore runs. Move the tenant when it is done.");
        case "under_way":
          // The request may be a repeat, because its answer was lost.
          if (begun.isAsked) return json(202, toJson(begun.move));
          return conflict(
            "move_under_way",
            "",
            `The tenant moves to ${nameOf(begun.move.to)} (${begun.move.state}). Wait until its state is done: old rows go ten minutes after the switch.`,
          );
        case "begun":
          waitUntil(moves.run(id));
          return json(202, toJson(begun.move));
      }
    },
  }),
  defineRoute({
    method: "GET",
    path: MOVE,
    summary: "How far the latest move of a tenant is",
    operation: "readMove",
    params,
    async handle({ params: { id } }) {
      const move = await moves.find(id);
      return move === undefined ? noSuch("move") : json(200, toJson(move), { "cache-control": "no-store" });
    },
  }),
];

const toJson = ({ tenant, from, to, state, files, begunAt, doneAt }: TenantMove) => ({
  tenant,
  from,
  to,
  state,
  files,
  begunAt,
  doneAt,
});

const nameOf = (shard: number): string => (isTenantObject(shard) ? "an object of its own" : `shard ${shard}`);
