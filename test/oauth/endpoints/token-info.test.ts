import { describe, expect, it } from "vitest";
import { tokenInfo } from "../support/answers.ts";
import { makeFlow, makeUser } from "../support/flow.ts";
import { signIn } from "../support/token-requests.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";

/** `/tokeninfo`: the holder and the tenant of a token. token-state.test.ts tests the state of tokens. */
const info = async (token: string, more = ""): Promise<any> =>
  expectJson(await call(`/oauth2/v1/tokeninfo?access_token=${token}${more}`), 200);
const SERVICE_SCOPES = ["plat.media_manage", "plat.media_view"];
const details = async (token: string): Promise<any[]> => (await info(token, "&details=true")).allowedServices;

describe("/tokeninfo 200 for a token of a user", () => {
  // shows: oauth/token-information/scopes
  // shows: oauth/token-information/user
  it("names tenant, client and user", async () => {
    const flow = await makeFlow();
    const { access_token: token } = await signIn(flow, { authorization: { openid: true } });
    expect(await info(token)).toEqual({
      scopes: [`plat.tenant=${flow.tenant}`, "openid", ...SERVICE_SCOPES],
      tenant: flow.tenant,
      clientId: flow.client.clientId,
      user: flow.email,
    });
    expect((await details(token)).map(({ name }) => name)).toEqual(["pubsub", "media"]);
  });

  // shows: oauth/token-information/tenant
  // shows: oauth/scopes/plat.no_tenant
  // shows: oauth/scopes/plat.org-organization_id
  // shows: oauth/who-gets-which-scope/plat.no_tenant
  it("has no tenant and no subscribed services for an organization and outside any tenant", async () => {
    const flow = await makeFlow();
    const org = `${flow.tenant}-org`;
    await put(`organizations/${org}/members/${flow.email}`, { roles: [flow.role] });
    const places = [
      { scope: `plat.org=${org}`, authorization: { tenant: "", org, scopes: [] } },
      { scope: "plat.no_tenant", authorization: { tenant: "", scopes: [] } },
    ];
    for (const { scope, authorization } of places) {
      const { access_token: token } = await signIn(flow, { authorization });
      const known = { tenant: "", clientId: flow.client.clientId, user: flow.email };
      expect(await info(token)).toEqual({ scopes: [scope], ...known });
      expect(await details(token)).toEqual([]);
    }
  });

  // shows: oauth/access-token-response/user-of-the-password-grant
  // shows: oauth/token-information/clientid
  // shows: oauth/token/no-client-clientid-in-tokeninfo
  it("has no client for a sign-in without one, and still lists the tenant's services", async () => {
    const tenant = await makeTenant();
    const { email } = await makeUser(tenant);
    await put(`users/${email}`, { name: "Ada", password: "correct horse battery staple" });
    const form = {
      grant_type: "password",
      username: email,
      password: "correct horse battery staple",
      plat_id_provider: "legacy_idp",
    };
    const { access_token: token } = await expectJson(await call("/oauth2/v1/token", { form }), 200);
    expect(await info(token)).toEqual({
      scopes: [`plat.tenant=${tenant}`, ...SERVICE_SCOPES],
      tenant,
      clientId: "",
      user: email,
    });
    expect((await details(token)).map(({ name }) => name)).toEqual(["pubsub", "media"]);
  });
});

describe("/tokeninfo 200 with details=true", () => {
  // shows: oauth/token-information/allowedservices
  // shows: oauth/token-information/allowedservices-which
  // shows: oauth/get-tokeninfo/details
  it("lists the services of packages with address and scopes, without essential and own ones", async () => {
    const owner = await makeTenant();
    const [bought, own] = [unique("shop"), unique("own")];
    const service = (name: string, tenant: string) =>
      put(`services/${name}`, {
        sourceUrl: "https://s.example",
        proxyPath: `/${name}/v1`,
        scopes: [`${name}.read`, `${name}.write`],
        tenant,
        access: "token",
      });
    const tenant = await makeTenant({ subscribed: false });
    await service(bought, owner);
    await service(own, tenant);
    await put(`packages/${bought}`, { version: "1", organization: `${owner}-org`, services: [bought, own] });
    await put(`tenants/${tenant}/subscriptions/${bought}`, {});
    const token = await tokenFor(await makeClient({ tenant, scopes: [`${bought}.read`] }));
    expect(await details(token)).toEqual([
      { name: bought, proxyUrl: [`${ORIGIN}/${bought}/v1`], serviceScopes: [`${bought}.read`, `${bought}.write`] },
    ]);
    expect(await info(token, "&details=false")).not.toHaveProperty("allowedServices");
    expect(await info(token, "&details=")).not.toHaveProperty("allowedServices");
  });
});

describe("/tokeninfo 400", () => {
  // shows: oauth/other-endpoints/get-tokeninfo
  it("refuses a refresh token, an ID token, and a token of a user who was disabled", async () => {
    const flow = await makeFlow();
    const tokens = await signIn(flow, { authorization: { openid: true } });
    for (const token of [tokens.refresh_token, tokens.id_token!]) expect((await tokenInfo(token)).status).toBe(400);
    await put(`users/${flow.email}`, { name: "Ada", disabled: true });
    expect(await expectJson(await tokenInfo(tokens.access_token), 400)).toMatchObject({
      error: "invalid_query_parameter",
    });
  });
});
