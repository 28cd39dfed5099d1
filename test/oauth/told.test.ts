import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { Browser, landed, type Visit } from "../support/browser.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { operate, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { makeApp, signInThrough, visit } from "../support/sign-in.ts";
import { directoryWith } from "../support/directory.ts";
import { makeUser } from "../support/users.ts";
import { codeFor } from "./support/code.ts";
import { makeFlow, makeFlowClient } from "./support/flow.ts";
import { redeem, refreshed, signIn } from "./support/token-requests.ts";

/** Texts of refusals for callers and for the operator, and the name of a client in them. */
const operator = async (path: string): Promise<any> => expectJson(await operate(path), 200);

describe("A refusal at /token", () => {
  let client: TestClient;
  let bare: TestClient;
  let agent: TestClient;
  let stranger: string;
  let service: string;
  beforeAll(async () => {
    client = await makeClient();
    bare = await makeClient({ tenant: await makeTenant({ subscribed: false }) });
    stranger = await makeTenant();
    service = unique("svc");
    const fields = { sourceUrl: "https://s.example", proxyPath: `/${service}`, access: "token", essential: false };
    await put(`services/${service}`, { ...fields, scopes: [`${service}.read`], tenant: client.tenant });
    agent = await makeClient({ tenant: client.tenant, scopes: [`${service}.read`], service });
  });

  /** The response of a refusal, and the audit row with the request id at the end of its `error_uri`. */
  async function refused(response: Response, status: number): Promise<{ text: string; row: any }> {
    const body = await expectJson(response, status);
    const requestId = /[0-9a-f]{32}$/.exec(body.error_uri as string)?.[0];
    const rows: any[] = await operator("audit?outcome=refused&pageSize=100");
    return { text: JSON.stringify(body), row: rows.find((row) => row.requestId === requestId) };
  }
  const ask = (from: { clientId: string; clientSecret: string }, scope = "") =>
    call("/oauth2/v1/token", {
      form: { grant_type: "client_credentials", scope },
      headers: { authorization: basic(from) },
    });

  // shows: oauth/errors-of-token-revoke-introspect/generic-text
  it.each<[string, () => Promise<Response>, () => RegExp, number]>([
    [
      "no package",
      () => ask(bare, "plat.media_view"),
      () => new RegExp(`^tenant ${bare.tenant} may use no service that has plat\\.media_view$`),
      400,
    ],
    [
      "no package of the client's service",
      () => ask(agent, `plat.tenant=${stranger}`),
      () => new RegExp(`^tenant ${stranger} has no package that includes service ${service}$`),
      400,
    ],
    [
      "a stranger's tenant",
      () => ask(client, `plat.tenant=${stranger}`),
      () => new RegExp(`^client ${client.clientId} belongs to tenant ${client.tenant}`),
      400,
    ],
    ["an unknown tenant", () => ask(client, "plat.tenant=nobody0"), () => /^tenant nobody0 is unknown$/, 400],
    [
      "a wrong secret",
      () => ask({ ...client, clientSecret: "wrong" }),
      () => new RegExp(`^wrong secret for client ${client.clientId}$`),
      401,
    ],
    [
      "an unknown client",
      () => ask({ ...client, clientId: "no.body" }),
      () => /^client no\.body is unknown, or it or its tenant is disabled$/,
      401,
    ],
  ])("%s: has its reason in the audit log, and not in the response", async (_, send, reason, status) => {
    const { text, row } = await refused(await send(), status);
    expect(row).toMatchObject({ action: "token", outcome: "refused", reason: expect.stringMatching(reason()) });
    // An authenticated client is found by its id.
    expect(row.actor === "").toBe(status === 401);
    expect(text).not.toContain(row.reason);
    expect(text).not.toMatch(/belongs|package|unknown|disabled|secret for/);
  });

  // shows: oauth/errors-of-token-revoke-introspect/generic-text
  it("has its reason in the audit log for a used code too", async () => {
    const flow = await makeFlow();
    const code = await codeFor(flow);
    await expectJson(await redeem(flow.client, code), 200);
    const { text, row } = await refused(await redeem(flow.client, code), 400);
    expect(row).toMatchObject({ actor: flow.client.clientId, reason: "the code was used already" });
    const never = await refused(await redeem(flow.client, "x"), 400);
    expect(never.row.reason).toBe("the code is unknown");
    const without = (answer: string) => answer.replace(/[0-9a-f]{32}/, "");
    expect(without(never.text)).toBe(without(text));
  });
});

describe("A browser that returns without a pending sign-in", () => {
  it.each([
    ["from a provider", "/oauth2/v1/callback/x?code=a&state=b", 400],
    ["to the address of the form", "/oauth2/v1/sign-in", 405],
  ])("%s: shows that the person has to sign in again, and blames no application", async (_, path, status) => {
    const answer = await new Browser().get(`${ORIGIN}${path}`);
    expect(answer.status).toBe(status);
    expect(answer.html).toContain("<h1>This sign-in is over</h1>");
    expect(answer.html).toContain("Go back to the application and sign in again.");
  });
});

describe("A person", () => {
  it("reads what to do if no application is at fault", async () => {
    const failing = (method: "batch" | "prepare") =>
      directoryWith({
        [method]() {
          throw new Error("away");
        },
      });
    const full: RateLimit = { limit: async () => ({ success: false }) };
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    for (const [bindings, status, heading] of [
      [{ ALLOW_LOOPBACK: "false", MAIL_FROM: "", ADDRESS_LIMIT: full }, 429, "Too many requests"],
      [{ DB: failing("batch") }, 503, "Not available right now"],
      [{ DB: failing("prepare") }, 500, "Something went wrong"],
    ] as const) {
      const page = await isolate(bindings).fetch(`/oauth2/v1/authorize?client_id=${unique("x")}.app`);
      expect(page.status).toBe(status);
      expect(await page.text()).toContain(`<h1>${heading}</h1>`);
    }
    expect(errors).toHaveBeenCalled();
    errors.mockRestore();
  });

  it("reads every page in the language that the application asks for", async () => {
    const app = await makeApp();
    const parameters = { client_id: app.clientId, ui_locales: "de" };
    const browser = new Browser({ headers: { "accept-language": "fr" } });
    const expectGerman = (answer: Visit, words: string) => {
      expect(answer.html).toContain(`<h1>${words}</h1>`);
      expect(answer.headers.get("content-language")).toBe("de");
    };
    const at = (path: string, query: Record<string, string> = parameters) =>
      `${ORIGIN}/oauth2/v1/${path}?${new URLSearchParams(query).toString()}`;
    expectGerman(
      await browser.get(at("authorize", { ...parameters, redirect_uri: "https://x.example" })),
      "Diese Anfrage kann nicht bearbeitet werden",
    );
    for (const [path, form] of [
      ["authorize", { ...parameters, redirect_uri: "https://x.example" }],
      ["sign-in", { request: new URLSearchParams({ client_id: "no.body", ui_locales: "de" }).toString() }],
      ["end_session", { post_logout_redirect_uri: "https://x.example", ui_locales: "de" }],
    ] as const)
      expectGerman(
        await browser.post(`${ORIGIN}/oauth2/v1/${path}`, form),
        "Diese Anfrage kann nicht bearbeitet werden",
      );
    expectGerman(await browser.get(at("sign-in")), "Diese Anmeldung ist beendet");
    expectGerman(await browser.get(at("end_session")), "Sie sind abgemeldet");
    const moved = await browser.post(`${ORIGIN}/oauth2/v1/end_session`, parameters, "cross-site");
    expectGerman(await browser.get(moved.location ?? ""), "Sie sind abgemeldet");
  });
});

describe("A client whose name is not its id", () => {
  // shows: operator/resources/clients-name
  it("appears under its name in tokens, in the list of refresh tokens and on pages", async () => {
    const flow = await makeFlow();
    const name = `${flow.tenant}.${unique("named")}`;
    const own = await makeClient({ tenant: flow.tenant, clientId: unique("id-"), name });
    expect(decodeJwt(await tokenFor(own))).toMatchObject({ client_id: own.clientId, client_name: name });

    const other = `${flow.tenant}.${unique("other")}`;
    const client = await makeFlowClient(flow.tenant, { name: other });
    const tokens = await signIn({ ...flow, client });
    expect(decodeJwt(tokens.access_token)).toMatchObject({ client_id: client.clientId, client_name: other });
    const again = await refreshed(client, tokens.refresh_token);
    expect(decodeJwt(again.access_token)).toMatchObject({ client_id: client.clientId, client_name: other });
    const listed = await expectJson(await call("/oauth2/v1/refreshtokens", { token: tokens.access_token }), 200);
    expect(listed).toMatchObject([{ clientId: client.clientId, clientName: other }]);

    const address = `/oauth2/v1/authorize?response_type=code&client_id=${client.clientId}`;
    const page = await (await call(address)).text();
    expect(page).toContain(`<bdi>${other}</bdi>`);
    expect(page).not.toContain(`<bdi>${client.clientId}</bdi>`);
    // The page names the tenant only if the request does.
    expect(page).not.toContain(`<bdi>${flow.tenant}</bdi>`);
    const named = await (await call(`${address}&scope=plat.tenant%3D${flow.tenant}`)).text();
    expect(named).toContain(`<bdi>${flow.tenant}</bdi>`);
  });
});

describe("More scopes than fit into a token", () => {
  it("are invalid_scope in the implicit flow, and fewer are granted", async () => {
    const user = await makeUser({ scopes: ["plat.media_view"] });
    const service = unique("svc");
    const scopes = Array.from({ length: 150 }, (_, n) => `${service}.${"x".repeat(60)}${n}`);
    const fields = { sourceUrl: "https://s.example", proxyPath: `/${service}`, access: "token" };
    await put(`services/${service}`, { ...fields, scopes, essential: true, tenant: user.tenant });
    const role = unique("role");
    await put(`roles/${role}`, { scopes: [`${service}.*`] });
    await put(`tenants/${user.tenant}/members/${user.email}`, { roles: [role] });
    const app = await makeApp({ tenant: user.tenant, scopes: [`${service}.*`] });
    const browser = new Browser();
    const refusal = landed(await signInThrough(browser, app, user, { response_type: "token" }));
    expect(Object.fromEntries(refusal.fragment)).toMatchObject({ error: "invalid_scope", state: "a state" });
    expect(refusal.fragment.has("access_token")).toBe(false);
    const scope = scopes.slice(0, 3).join(" ");
    const granted = landed(await visit(browser, app, { response_type: "token", scope }));
    expect(granted.fragment.get("scope")).toBe(`plat.tenant=${user.tenant} ${scope}`);
  });
});
