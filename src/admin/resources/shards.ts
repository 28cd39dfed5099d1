import { defineRoute, json, type Route } from "../../http/route.ts";

/** Port to the shards: the content of each database, and how it answers. */
export interface ShardList {
  status(nowMs: number): Promise<readonly object[]>;
}

/** There are at most 256, so the answer has no pages. */
export const shardRoute = ({ status }: ShardList): Route =>
  defineRoute({
    method: "GET",
    path: "/shards",
    summary: "The databases: size, tenants, files and load of each, and which one the next tenant gets",
    operation: "listShards",
    handle: async ({ nowMs }) => json(200, await status(nowMs), { "cache-control": "no-store" }),
  });
