import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { createConsentStore } from "../../src/oauth/consent/consent-store.ts";
import { call } from "../support/platform/call.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { makePerson, tokenOf, type Person } from "../support/parties/operators.ts";
import { unique } from "../support/platform/unique.ts";
import { join } from "../support/users.ts";
import { errorOf, isLiving } from "../oauth/support/answers.ts";
import { makeFlowClient, makeUser, type Flow } from "../oauth/support/flow.ts";
import { refresh, refreshed, signIn, type Tokens } from "../oauth/support/token-requests.ts";

/** A person is a member of two organizations. The administrator of one of them changes what the person may do there. */
const SCOPE = "plat.media_view";
const GIVES = ["plat.admin_tenant", SCOPE];
/** The places of the person, with an application in each. */
type Place = "tenant" | "organization" | "other tenant" | "other organization" | "no tenant";
const ALL: readonly Place[] = ["tenant", "organization", "other tenant", "other organization", "no tenant"];

let boss: Person;
let other: Person;
let token: string;
let email: string;
let role: string;
let flows: Readonly<Record<Place, Flow>>;
let held: Readonly<Record<Place, Tokens>>;

const ask = async (method: string, path: string, json?: unknown): Promise<number> => {
  const answer = await call(`/admin/v1/${path}`, { method, token, ...(json === undefined ? {} : { json }) });
  await answer.text();
  return answer.status;
};
const getToken = (place: Place): Promise<Tokens> => {
  const org = { organization: boss.organization, "other organization": other.organization }[place as string] ?? "";
  const isTenant = place === "tenant" || place === "other tenant";
  const authorization = isTenant ? { scopes: [SCOPE] } : { tenant: "", org, scopes: [] };
  return signIn(flows[place], { authorization: { ...authorization, sessionId: unique("session") } });
};
const living = async (): Promise<readonly Place[]> => {
  const alive = await Promise.all(ALL.map((place) => isLiving(held[place].access_token)));
  return ALL.filter((_, index) => alive[index]);
};
const without = (place: Place) => ALL.filter((one) => one !== place);

beforeEach(async () => {
  [boss, other] = [await makePerson(GIVES), await makePerson(GIVES)];
  token = await tokenOf(boss);
  ({ email, role } = await makeUser(boss.tenant, [SCOPE]));
  await join(email, other.tenant, [SCOPE]);
  for (const { organization, role: upper } of [boss, other])
    await put(`organizations/${organization}/members/${email}`, { roles: [upper] });
  const [here, there] = [await makeFlowClient(boss.tenant), await makeFlowClient(other.tenant)];
  const flowOf = (client: typeof here): Flow => ({ client, email, role, tenant: client.tenant });
  flows = {
    tenant: flowOf(here),
    organization: flowOf(here),
    "other tenant": flowOf(there),
    "other organization": flowOf(there),
    "no tenant": flowOf(there),
  };
  held = Object.fromEntries(
    await Promise.all(ALL.map(async (place) => [place, await getToken(place)] as const)),
  ) as typeof held;
  expect(await living()).toEqual(ALL);
});

describe("a member of two organizations, after an administrator of one of them", () => {
  it("takes a role in its tenant: the tokens for this tenant end, and no others", async () => {
    expect(await ask("PUT", `tenants/${boss.tenant}/members/${email}`, { roles: [] })).toBe(200);
    expect(await living()).toEqual(without("tenant"));
    const again = await refreshed(flows["other tenant"].client, held["other tenant"].refresh_token);
    expect(again.scope).toContain(SCOPE);
    expect(await isLiving(again.access_token)).toBe(true);
    // The right that the role gave is gone, and the person signs in with what is left.
    expect(await errorOf(await refresh(flows.tenant.client, held.tenant.refresh_token, { scope: SCOPE }))).toBe(
      "invalid_scope",
    );
    const rest = await signIn(flows.tenant, { authorization: { scopes: [] } });
    expect(await isLiving(rest.access_token)).toBe(true);
  });

  it("removes the person from its tenant: the tokens for this tenant end, and no others", async () => {
    expect(await ask("DELETE", `tenants/${boss.tenant}/members/${email}`)).toBe(204);
    expect(await living()).toEqual(without("tenant"));
    expect((await refresh(flows.tenant.client, held.tenant.refresh_token)).status).toBe(400);
    const again = await refreshed(flows["other tenant"].client, held["other tenant"].refresh_token);
    expect(await isLiving(again.access_token)).toBe(true);
  });

  it.each([
    ["takes a role in the organization", "PUT", { roles: [] }, 200],
    ["removes the person from the organization", "DELETE", undefined, 204],
  ] as const)("%s: the tokens for this organization end, and no others", async (_, method, json, status) => {
    expect(await ask(method, `organizations/${boss.organization}/members/${email}`, json)).toBe(status);
    expect(await living()).toEqual(without("organization"));
    const again = await refreshed(flows["other organization"].client, held["other organization"].refresh_token);
    expect(await isLiving(again.access_token)).toBe(true);
  });

  it("gives a role, or invites the person and withdraws it: no tokens end", async () => {
    const more = unique("role");
    await put(`roles/${more}`, { scopes: [SCOPE] });
    for (const [owner, kept] of [
      [`tenants/${boss.tenant}`, role],
      [`organizations/${boss.organization}`, boss.role],
    ] as const) {
      expect(await ask("PUT", `${owner}/members/${email}`, { roles: [kept, more] })).toBe(200);
      expect([200, 201]).toContain(await ask("PUT", `${owner}/invitations/${email}`, { roles: [more] }));
      expect(await ask("DELETE", `${owner}/invitations/${email}`)).toBe(204);
    }
    expect(await living()).toEqual(ALL);
  });
});

describe("a member of two organizations, after the platform's operator", () => {
  it("removes one of them: the tokens for this organization end, and no others", async () => {
    const id = unique("org");
    await put(`organizations/${id}`, { name: "Soon gone" });
    await put(`organizations/${id}/members/${email}`, { roles: [boss.role] });
    const flow = flows.organization;
    // The organization is not the client's, so the person is asked once.
    const { clientId } = flow.client;
    const consent = { email, clientId, clientTenant: boss.tenant, tenant: "", org: id, scopes: GIVES };
    const nowMs = Date.now();
    await createConsentStore(env.DB).allow(consent, { authenticatedAtMs: nowMs, nowMs }, []);
    const gone = await signIn(flow, { authorization: { tenant: "", org: id, scopes: [], sessionId: unique("s") } });
    expect(await isLiving(gone.access_token)).toBe(true);
    const removed = await call(`/admin/v1/organizations/${id}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    expect(removed.status).toBe(204);
    expect(await isLiving(gone.access_token)).toBe(false);
    expect(await living()).toEqual(ALL);
  });
});
