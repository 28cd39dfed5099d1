import { it } from "vitest";
import { makeClient, makeTenant, tokenFor, put, unique, call } from "../support/platform.ts";
it("costs", async () => {
  const time = async (what: string, n: number, f: () => Promise<unknown>) => {
    const t = Date.now();
    for (let i = 0; i < n; i++) await f();
    console.log("COST", what, (Date.now() - t) / n);
  };
  const client = await makeClient();
  for (let i = 0; i < 20; i++) await makeClient();
  await time("tenant", 60, () => makeTenant());
  await time("organization", 60, async () => put(`organizations/${unique("o")}`, { name: "x" }));
  await time("client of tenant", 60, () => makeClient({ tenant: client.tenant }));
  await time("token", 60, () => tokenFor(client));
  await time("nothing", 60, () => call("/nothing"));
});
