import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { counting } from "../support/counting.ts";
import { isolate } from "../support/isolate.ts";
import { makeTenant, OPERATOR, tokenFor } from "../support/platform.ts";

/** What D1 is billed for, rows of indexes included. */
it("a change by an operator writes 14 rows: three of the tenant, nine of the audit log, two for what was there before", async () => {
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
  expect(await rename("Second")).toBe(14);
  // Nothing changed, so there is no audit row.
  expect(await rename("Second")).toBe(5);
});
