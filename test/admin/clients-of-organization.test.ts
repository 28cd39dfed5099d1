import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { MOST_CLIENTS_OF_ORGANIZATION } from "../../src/admin/resources/software/organization-clients.ts";
import { call } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { makePerson, tokenOf, type Person } from "../support/parties/operators.ts";

/** Each client may leave a row that every isolate holds, so its administrators add only so many. */
let boss: Person;
let token: string;
beforeEach(async () => {
  boss = await makePerson(["plat.admin_tenant"]);
  token = await tokenOf(boss);
});

const registration = (more: object = {}) => ({
  tenant: boss.tenant,
  confidential: true,
  grantTypes: ["client_credentials"],
  scopes: [],
  ...more,
});
const ask = (method: string, name: string, json?: object, by = token): Promise<Response> =>
  call(`/admin/v1/clients/${boss.tenant}.${name}`, { method, token: by, ...(json === undefined ? {} : { json }) });
const status = async (asked: Promise<Response>): Promise<number> => {
  const answer = await asked;
  await answer.text();
  return answer.status;
};
const count = () =>
  env.DB.prepare("SELECT count(*) AS n FROM client WHERE tenant = ?1").bind(boss.tenant).first<number>("n");
/** Adds clients until the organization has this many. */
const fill = async (clients: number) =>
  env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?2)
     INSERT INTO client (id, name, tenant, confidential, redirect_uris, post_logout_redirect_uris, grant_types, scopes,
       require_pkce, disabled, created_at)
     SELECT ?1 || '.filled' || i, ?1 || '.filled' || i, ?1, 1, '[]', '[]', '[]', '[]', 0, 0, 0 FROM n`,
  )
    .bind(boss.tenant, clients - ((await count()) ?? 0))
    .run();

describe("The clients of an organization", () => {
  // shows: operator/resources/clients-of-an-organization
  it("are 10,000 when its administrators can add no more", async () => {
    await fill(MOST_CLIENTS_OF_ORGANIZATION - 1);
    expect(await status(ask("PUT", "last", registration()))).toBe(201);
    const refused = await ask("PUT", "next", registration());
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({
      type: "conflict_resource",
      message: `The organization ${boss.organization} has 10,000 clients or more. Remove one, or ask an operator of the platform to add this one.`,
    });
    // The others are changed and removed as before, and an operator of the platform has no limit.
    expect(await status(ask("PUT", "last", registration({ displayName: "Last" })))).toBe(200);
    expect(await status(ask("PUT", "next", registration(), await tokenFor(OPERATOR)))).toBe(201);
    expect(await status(ask("DELETE", "last"))).toBe(204);
    expect(await status(ask("DELETE", "filled1"))).toBe(204);
    expect(await status(ask("PUT", "last", registration()))).toBe(201);
  });

  it("are not more if several are added at once", async () => {
    await fill(MOST_CLIENTS_OF_ORGANIZATION - 2);
    const added = await Promise.all([1, 2, 3, 4, 5].map((n) => status(ask("PUT", `new${n}`, registration()))));
    expect(added.toSorted((a, b) => a - b)).toEqual([201, 201, 409, 409, 409]);
    expect(await count()).toBe(MOST_CLIENTS_OF_ORGANIZATION);
  });
});
