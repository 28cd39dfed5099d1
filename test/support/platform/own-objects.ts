import { env } from "cloudflare:workers";
import { createDeps } from "../../../src/deps.ts";
import { tenantObjects } from "../../../src/platform/storage/tenant-objects.ts";
import { call, expectJson } from "./call.ts";
import { OPERATOR } from "./operator.ts";
import { tokenFor } from "./tokens.ts";

/** The database of a tenant object. */
export const objectDb = (number: number): D1Database => tenantObjects(env.SHARD_DATABASE).at(number).db;

/** Moves a tenant to an object of its own, up to the end of the move. Returns the number of the object. */
export async function moveToOwnObject(tenant: string, near?: string): Promise<number> {
  const token = await tokenFor(OPERATOR);
  const json = { shard: "own", ...(near === undefined ? {} : { near }) };
  await expectJson(await call(`/admin/v1/tenants/${tenant}/move`, { token, json }), 202);
  for (let run = 0; run < 50; run++) {
    const { state, to } = await expectJson(await call(`/admin/v1/tenants/${tenant}/move`, { token }), 200);
    if (state === "done") return to;
    await env.DB.prepare("UPDATE tenant_move SET due_at = 1 WHERE tenant = ? AND due_at > 1").bind(tenant).run();
    await createDeps(env).moves.run(tenant);
  }
  throw new Error("the move does not end");
}
