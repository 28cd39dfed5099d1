import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { endedByKey, MOST_ENDED_BY_ORGANIZATION } from "../../src/oauth/tokens/trust-store.ts";
import { call } from "../support/platform/call.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { makePerson, tokenOf, type Person } from "../support/parties/operators.ts";
import { makeUser } from "../support/users.ts";

/** An organization's administrators write clients and members as often as they like. Isolates hold what that revokes. */
const SCOPE = "plat.media_view";
const GIVES = ["plat.admin_tenant", SCOPE];

let boss: Person;
let token: string;
let client: string;
let member: string;
beforeEach(async () => {
  boss = await makePerson(GIVES);
  token = await tokenOf(boss);
  client = `clients/${boss.tenant}.jobs`;
  const { email } = await makeUser({ tenant: boss.tenant, scopes: [SCOPE] });
  member = `tenants/${boss.tenant}/members/${email}`;
  await put(client, registration());
});

const registration = (more: object = {}) => ({
  tenant: boss.tenant,
  confidential: true,
  grantTypes: ["client_credentials"],
  scopes: [SCOPE],
  ...more,
});
const ask = (method: string, path: string, json?: object): Promise<Response> =>
  call(`/admin/v1/${path}`, { method, token, ...(json === undefined ? {} : { json }) });
const shown = async (path: string): Promise<string> => {
  const answer = await ask("GET", path.replace("/revoke", ""));
  const text = await answer.text();
  return answer.status === 200 ? text : `${answer.status}`;
};
const isDone = async (answer: Response): Promise<void> => {
  await answer.text();
  expect(answer.status).toBeLessThan(300);
};
const ended = () =>
  env.DB.prepare("SELECT count(*) AS n FROM revocation WHERE client = ?1")
    .bind(endedByKey(boss.organization))
    .first("n");
const fill = (rows: number) =>
  env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${rows})
     INSERT INTO revocation (kind, key, until_ms, expires_sec, client) SELECT 'client', i || ?1, 1, unixepoch() + 99, ?1 FROM n`,
  )
    .bind(endedByKey(boss.organization))
    .run();

/** Each leaves a row that every isolate holds. */
const ENDS: readonly [string, () => readonly [string, string, object?]][] = [
  ["removes a client", () => ["DELETE", client]],
  ["disables a client", () => ["PUT", client, registration({ disabled: true })]],
  ["makes a disabled client", () => ["PUT", `${client}-2`, registration({ disabled: true })]],
  ["takes a scope from a client", () => ["PUT", client, registration({ scopes: [] })]],
  [
    "replaces a secret",
    () => ["PUT", client, registration({ clientSecret: "a-secret-of-many-characters-1234567890" })],
  ],
  ["revokes a client's tokens", () => ["POST", `${client}/revoke`]],
  ["removes a member", () => ["DELETE", member]],
  ["takes a role from a member", () => ["PUT", member, { roles: [] }]],
];

describe("What an organization's administrator ends", () => {
  // shows: oauth/access-tokens/a-row-for-a-family
  it.each(ENDS)("counts for the organization: who %s", async (_, request) => {
    await fill(MOST_ENDED_BY_ORGANIZATION - 1);
    await isDone(await ask(...request()));
    expect(await ended()).toBe(MOST_ENDED_BY_ORGANIZATION);
  });

  it.each(ENDS)("is refused beyond the limit, and nothing changes: who %s", async (_, request) => {
    await fill(MOST_ENDED_BY_ORGANIZATION);
    const [method, path, json] = request();
    const before = await shown(path);
    const refused = await ask(method, path, json);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3600"]);
    expect(await refused.json()).toMatchObject({
      type: "insufficient_resources",
      message: expect.stringContaining(`The administrators of the organization ${boss.organization}`),
    });
    expect(await shown(path)).toBe(before);
    expect(await ended()).toBe(MOST_ENDED_BY_ORGANIZATION);
    // An operator of the platform has no limit.
    const operator = await tokenFor(OPERATOR);
    await isDone(await call(`/admin/v1/${path}`, { method, token: operator, ...(json === undefined ? {} : { json }) }));
    expect(await ended()).toBe(MOST_ENDED_BY_ORGANIZATION);
  });

  it("counts once for each client and member, however often", async () => {
    for (let n = 0; n < 3; n++) {
      await isDone(await ask("DELETE", client));
      await isDone(await ask("PUT", client, registration()));
    }
    expect(await ended()).toBe(1);
  });

  it("does not concern what revokes nothing, nor other organizations", async () => {
    await fill(MOST_ENDED_BY_ORGANIZATION);
    await isDone(await ask("PUT", `${client}-2`, registration()));
    await isDone(await ask("PUT", client, registration({ displayName: "Jobs" })));
    await isDone(await ask("POST", `tenants/${boss.tenant}/revoke`));
    boss = await makePerson(GIVES);
    token = await tokenOf(boss);
    await isDone(await ask("PUT", `clients/${boss.tenant}.jobs`, registration({ disabled: true })));
    expect(await ended()).toBe(1);
  });

  it("is refused for the next of several at once", async () => {
    await put(`${client}-2`, registration());
    await fill(MOST_ENDED_BY_ORGANIZATION - 1);
    const { email } = await makeUser({ tenant: boss.tenant, scopes: [SCOPE] });
    const answers = await Promise.all([
      ask("DELETE", member),
      ask("DELETE", `tenants/${boss.tenant}/members/${email}`),
      ask("DELETE", client),
      ask("POST", `${client}-2/revoke`),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 429, 429, 429]);
    await Promise.all(answers.map((answer) => answer.text()));
    expect(await ended()).toBe(MOST_ENDED_BY_ORGANIZATION);
  });
});
