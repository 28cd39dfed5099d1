import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { counting } from "../support/counting.ts";
import { isolate } from "../support/isolate.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";

/** These tests count the rows that D1 bills, including rows of indexes. */
it("a change by an operator writes 5 rows: three of the tenant, and two times one of the audit log", async () => {
  const { env: bindings, tally, reset } = counting(env);
  const { fetch } = isolate(bindings);
  const tenant = await makeTenant();
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
  const rename = async (name: string): Promise<number> => {
    const body = JSON.stringify({ organization: `${tenant}-org`, name });
    reset();
    expect((await fetch(`/admin/v1/tenants/${tenant}`, { method: "PUT", headers, body })).status).toBe(200);
    return tally.d1RowsWritten;
  };
  await rename("First");
  const entryInIndex = async () =>
    Number(await env.DB.prepare("SELECT max(seq) % 64 = 0 AS n FROM audit_entry").first("n"));
  expect((await rename("Second")) - (await entryInIndex())).toBe(5);
  // No audit row is counted, because nothing changed.
  expect(await rename("Second")).toBe(5);
});
