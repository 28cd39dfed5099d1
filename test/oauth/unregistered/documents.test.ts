import { env, waitUntil } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { FetchJson } from "../../../src/oauth/federation/fetch-json.ts";
import { createDocuments } from "../../../src/oauth/unregistered/documents.ts";
import { createUnregisteredStore } from "../../../src/oauth/unregistered/unregistered-store.ts";
import { createIsolate } from "../../../src/platform/copies/isolate.ts";
import { ok } from "../../../src/platform/model/result.ts";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { counting } from "../../support/counting.ts";
import { Browser, toInit, type Visit } from "../../support/browser.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { answerAt, answerJson, requestsTo } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeSigner } from "../../support/parties/idp/scripted-provider.ts";
import { VERIFIER } from "../support/code.ts";
import { assertionOf, provenBy } from "../../support/parties/signing-client.ts";
import { unescapeHtml } from "../../support/unescape-html.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import {
  addressOf,
  allow,
  follow,
  makeAgent,
  makeService,
  redeem,
  refresh,
  signedIn,
  tokensFor,
  type Agent,
  type AgentService,
} from "./agent.ts";
import { choose, linkIn, mailPlatform } from "../recovery/mail-platform.ts";
import { failureOf, statusAt } from "../support/answers.ts";

/** Clients whose id is the address of a document that describes them. */
let tenant: string;
let service: AgentService;
let ada: TestUser;
beforeAll(async () => {
  tenant = await makeTenant();
  service = await makeService(tenant);
  ada = await makeUser({ tenant, home: 0, scopes: [...service.scopes, "plat.media_view", "plat.pubsub_publish"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The address of the page's link back to the client. */
const linkBack = ({ html }: Visit): URL =>
  new URL(unescapeHtml(/<a href="([^"]*)">Back to/.exec(html)?.[1] ?? "about:blank"));
const errorAt = async (address: string): Promise<string | null> =>
  linkBack(await new Browser().get(address)).searchParams.get("error");

describe("A client with a document", () => {
  // shows: oauth/unregistered-clients/document
  // shows: oauth/unregistered-clients/tokens
  it("gets tokens for the service that it names, after the person allowed it", async () => {
    const agent = await makeAgent();
    const [browser, page] = await signedIn(addressOf(agent, service), ada);
    for (const shown of [
      `Helper (${new URL(agent.id).host})`,
      agent.id,
      new URL(agent.redirectUri).host,
      "Nobody here has checked",
    ])
      expect(page.html).toContain(shown);
    expect(page.html).not.toContain("own device");
    const tokens = await expectJson(await redeem(agent, await allow(browser, page)), 200);
    expect(tokens.scope).toBe(`plat.tenant=${tenant} ${service.scopes.join(" ")}`);
    expect(decodeJwt(tokens.access_token as string)).toMatchObject({
      aud: service.uri,
      client_id: agent.id,
      client_name: "",
      client_auth: false,
      user: ada.email,
      tenant,
    });
    expect(await statusAt(`${service.path}/`, tokens.access_token as string)).toBe(200);
    for (const path of [`/media/v2/files?tenant=${tenant}`, "/pubsub/v1/topics", "/oauth2/v1/userinfo"])
      expect([path, await statusAt(path, tokens.access_token as string)]).toEqual([path, 401]);
    const again = await expectJson(await refresh(agent, tokens.refresh_token as string), 200);
    expect(decodeJwt(again.access_token as string).aud).toBe(service.uri);
    // A client without a secret gets a new refresh token at each use.
    expect(again.refresh_token).not.toBe(tokens.refresh_token);
  });

  // shows: oauth/unregistered-clients/operators
  it("is listed for operators, who end what it has", async () => {
    const agent = await makeAgent();
    const [browser, page] = await signedIn(addressOf(agent, service), ada);
    const tokens = await expectJson(await redeem(agent, await allow(browser, page)), 200);
    const token = await tokenFor(OPERATOR);
    const listed = async (query = "") => {
      const answer = await call(`/admin/v1/unregistered-clients?pageSize=1000${query}`, { token });
      return (await expectJson<{ clientId: string }[]>(answer, 200)).filter(({ clientId }) => clientId === agent.id);
    };
    expect(await listed()).toMatchObject([{ kind: "document", name: "Helper", people: 1 }]);
    expect(await listed("&kind=registered")).toEqual([]);
    const remove = () =>
      call(`/admin/v1/unregistered-clients/${encodeURIComponent(agent.id)}`, { method: "DELETE", token });
    expect((await remove()).status).toBe(204);
    expect(await listed()).toEqual([]);
    expect(await failureOf(await refresh(agent, tokens.refresh_token as string))).toBe("400 invalid_grant");
    expect((await remove()).status).toBe(404);
    const rows = await call(`/admin/v1/audit?subject=unregistered-clients/${encodeURIComponent(agent.id)}`, { token });
    expect(await expectJson(rows, 200)).toMatchObject([{ action: "remove", actor: OPERATOR.clientId }]);
    // The id of no unregistered client is a 404.
    const path = `/admin/v1/unregistered-clients/${service.path.slice(1).replaceAll("/", ".")}`;
    expect((await call(path, { method: "DELETE", token })).status).toBe(404);
  });

  // shows: oauth/unregistered-clients/asked
  it("is asked about each time", async () => {
    const agent = await makeAgent();
    const address = addressOf(agent, service);
    const [browser, page] = await signedIn(address, ada);
    await allow(browser, page);
    expect((await browser.get(address)).html).toContain("Nobody here has checked");
    const answer = linkBack(await browser.get(addressOf(agent, service, { prompt: "none" }))).searchParams;
    expect([answer.get("error"), answer.get("iss")]).toEqual(["consent_required", `${ORIGIN}/oauth2/v1`]);
    const denied = await follow(browser, await browser.submit(await browser.get(address), { decision: "deny" }));
    expect(new URL(denied.location ?? "").searchParams.get("error")).toBe("access_denied");
  });

  // shows: oauth/unregistered-clients/no-redirector
  it("gets nobody by a link to the platform: an error is a page, unless the person has just sent a form", async () => {
    const agent = await makeAgent();
    const wrong: Record<string, string | undefined>[] = [
      { resource: undefined },
      { scope: "plat.no_tenant" },
      { prompt: "none" },
      { response_type: "token" },
      { prompt: "none", response_mode: "form_post" },
    ];
    const [browser] = await signedIn(addressOf(agent, service), ada);
    for (const visitor of [new Browser(), browser])
      for (const more of wrong) {
        const page = await visitor.get(addressOf(agent, service, more), "cross-site");
        expect([more, page.status, page.location, page.forms.length]).toEqual([more, 400, undefined, 0]);
      }
    const form = Object.fromEntries(new URL(addressOf(agent, service, { prompt: "none" }), ORIGIN).searchParams);
    const posted = await browser.post(`${ORIGIN}/oauth2/v1/authorize`, form, "cross-site");
    expect((await follow(browser, posted)).status).toBe(400);
    const page = await browser.get(addressOf(agent, service, { resource: undefined }));
    expect(page.html).toContain("has to name services behind the gateway");
    expect(linkBack(page).href).toMatch(`${agent.redirectUri}?error=invalid_target`);
    expect(linkBack(page).searchParams.get("state")).toBe("s-1");
    // A program on the person's device gets nobody to another site.
    const local = { ...agent, redirectUri: "http://127.0.0.1:50000/callback" };
    expect((await browser.get(addressOf(local, service, { resource: undefined }))).location).toContain("error=");
  });

  it("on the person's device uses any port, and the page says what that means", async () => {
    const agent = { ...(await makeAgent()), redirectUri: "http://127.0.0.1:49152/callback" };
    const [browser, page] = await signedIn(addressOf(agent, service), ada);
    expect(page.html).toContain("127.0.0.1:49152");
    expect(page.html).toContain("own device");
    await expectJson(await redeem(agent, await allow(browser, page)), 200);
  });

  // shows: oauth/unregistered-clients/scopes
  it("gets of the scopes that it names those that the person has there", async () => {
    const bob = await makeUser({ tenant, scopes: [service.scopes[0]!] });
    const agent = await makeAgent();
    const scope = [...service.scopes, "plat.media_view", "offline_access"].join(" ");
    const tokens = await tokensFor(agent, service, bob, { scope });
    expect(tokens.scope).toBe(`plat.tenant=${tenant} ${service.scopes[0]}`);
    const eve = await makeUser({ tenant, scopes: ["plat.media_view"] });
    const [, none] = await signedIn(addressOf(agent, service, { scope }), eve);
    expect(new URL(none.location ?? "").searchParams.get("error")).toBe("invalid_scope");
  });

  // shows: oauth/unregistered-clients/tenant
  it("acts in the person's tenant that uses the service; with several the person chooses", async () => {
    const [customer, other, stranger] = [await makeTenant(), await makeTenant(), await makeTenant()];
    await put(`packages/${service.name}`, { version: "1", organization: `${tenant}-org`, services: [service.name] });
    const eve = await makeUser({ tenant: stranger, scopes: [...service.scopes] });
    const agent = await makeAgent();
    const [, refused] = await signedIn(addressOf(agent, service), eve);
    expect(new URL(refused.location ?? "").searchParams.get("error")).toBe("access_denied");
    for (const id of [customer, other]) await put(`tenants/${id}/subscriptions/${service.name}`, {});
    const roles = [unique("role")];
    await put(`roles/${roles[0]}`, { scopes: service.scopes });
    await put(`tenants/${customer}/members/${eve.email}`, { roles });
    const only = await tokensFor(agent, service, eve);
    expect(decodeJwt(only.access_token)["tenant"]).toBe(customer);
    expect(await statusAt(`${service.path}/`, only.access_token)).toBe(200);
    await put(`tenants/${other}/members/${eve.email}`, { roles });
    const [browser, choice] = await signedIn(addressOf(agent, service), eve);
    expect(choice.html).toContain("scope");
    const value = `plat.tenant=${other}`;
    const page = await follow(browser, await browser.submit(choice, { scope: value }));
    const tokens = await expectJson(await redeem(agent, await allow(browser, page)), 200);
    expect(decodeJwt(tokens.access_token as string)["tenant"]).toBe(other);
    for (const scope of [`plat.tenant=${stranger}`, `plat.org=${tenant}-org`, "plat.no_tenant"])
      expect([scope, await errorAt(addressOf(agent, service, { scope }))]).toEqual([scope, "invalid_scope"]);
  });

  // shows: oauth/unregistered-clients/needs
  it("has to name services behind the gateway, PKCE with S256 and the code flow", async () => {
    const agent = await makeAgent();
    const wrong: [Record<string, string | undefined>, string][] = [
      [{ resource: undefined }, "invalid_target"],
      [{ resource: `${ORIGIN}/media/v2` }, "invalid_target"],
      [{ resource: `${ORIGIN}/oauth2/v1` }, "invalid_target"],
      [{ code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
      [{ code_challenge_method: "plain" }, "invalid_request"],
    ];
    for (const [more, error] of wrong)
      expect([more, await errorAt(addressOf(agent, service, more))]).toEqual([more, error]);
    const implicit = await new Browser().get(addressOf(agent, service, { response_type: "token" }));
    expect(linkBack(implicit).hash).toContain("#error=unauthorized_client");
    const own: Record<string, string>[] = [
      { grant_type: "client_credentials" },
      { grant_type: "password", username: ada.email, password: ada.password, plat_id_provider: "legacy_idp" },
    ];
    for (const form of own)
      expect(
        (
          await failureOf(
            await call("/oauth2/v1/token", { form: { ...form, client_id: agent.id, resource: service.uri } }),
          )
        ).startsWith("40"),
      ).toBe(true);
    const pushed = Object.fromEntries(new URL(addressOf(agent, service), ORIGIN).searchParams);
    expect(await failureOf(await call("/oauth2/v1/par", { form: pushed }))).toBe("400 unauthorized_client");
    const device = { client_id: agent.id, resource: service.uri };
    expect(await failureOf(await call("/oauth2/v1/device_authorization", { form: device }))).toBe(
      "400 unauthorized_client",
    );
  });

  // shows: oauth/unregistered-clients/signed
  it("proves itself by its key if its document says so", async () => {
    const signer = await makeSigner();
    const agent = await makeAgent({
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [signer.publicJwk] },
    });
    const [browser, page] = await signedIn(addressOf(agent, service), ada);
    const code = await allow(browser, page);
    expect(await failureOf(await redeem(agent, code))).toBe("401 invalid_client");
    const proof = provenBy(await assertionOf({ clientId: agent.id, tenant: "", signer }));
    const tokens = await expectJson(await redeem(agent, code, proof), 200);
    expect(decodeJwt(tokens.access_token as string)).toMatchObject({ client_auth: true, client_name: "" });
    expect(await failureOf(await refresh(agent, tokens.refresh_token as string))).toBe("401 invalid_client");
  });
});

describe("A document", () => {
  const refusalOf = async (agent: Agent): Promise<string> => {
    const page = await new Browser().get(addressOf(agent, service));
    expect(page.status).toBe(400);
    return page.html;
  };

  // shows: oauth/unregistered-clients/valid
  it.each([
    [{ client_id: "https://other.example.com/client.json" }, "differs from its address"],
    [{ client_id: undefined }, "differs from its address"],
    [{ client_name: undefined }, "client_name is missing"],
    [{ client_name: 7 }, "client_name must be a text"],
    [{ redirect_uris: undefined }, "redirect_uris must list addresses"],
    [{ redirect_uris: ["https://other.example.com/callback"] }, "redirect_uris must be https at"],
    [{ redirect_uris: ["http://agent.example.com/callback"] }, "redirect_uris must be https at"],
    [{ redirect_uris: ["helper://callback"] }, "redirect_uris must be https at"],
    [{ redirect_uris: ["javascript:alert(1)"] }, "redirect_uris must be https at"],
    [{ grant_types: ["client_credentials"] }, "grant_types must include authorization_code"],
    [{ response_types: ["token"] }, "response_types must include code"],
    [{ client_secret: "s" }, "no secret in its document"],
    [{ token_endpoint_auth_method: "client_secret_basic" }, "must be none or private_key_jwt"],
    [{ token_endpoint_auth_method: "client_secret_jwt" }, "must be none or private_key_jwt"],
    [{ token_endpoint_auth_method: "private_key_jwt" }, "needs jwks or jwks_uri"],
    [
      { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [{ kty: "oct", k: "c2VjcmV0" }] } },
      "jwks is no set",
    ],
    [
      { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://other.example.com/keys" },
      "jwks_uri must be at",
    ],
  ] as const)("with %j is refused: %s", async (fields, why) => {
    expect(await refusalOf(await makeAgent(fields))).toContain(why);
  });

  it.each([
    ["is not there", { status: 404 }],
    ["is elsewhere", { status: 302, headers: { location: "https://other.example.com/client.json" } }],
    ["is no JSON", { headers: { "content-type": "text/html" } }],
    ["is 201", { status: 201 }],
    ["is too large", { bodyBytes: 20_000 }],
    ["does not come", { status: 503 }],
  ] as const)("that %s is refused with one text, and asked for again", async (_, answer) => {
    const agent = await makeAgent({}, answer);
    for (const _again of [1, 2]) expect(await refusalOf(agent)).toContain("There is no JSON document at client_id.");
    expect((await requestsTo(agent.id)).length).toBe(2);
    expect((await requestsTo("https://other.example.com/client.json")).length).toBe(0);
  });

  // shows: oauth/unregistered-clients/address
  it.each([
    "http://agent.example.com/client.json",
    "https://agent.example.com",
    "https://agent.example.com/",
    "https://agent.example.com/a/../client.json",
    "https://agent.example.com/client.json#part",
    "https://ada@agent.example.com/client.json",
    "https://AGENT.example.com/client.json",
    "https://10.0.0.1/client.json",
    "https://169.254.169.254/client.json",
    "https://metadata.internal/client.json",
    "https://agent.example.com:22/client.json",
    `https://agent.example.com/${"a".repeat(300)}`,
  ])("at %s is not asked for", async (id) => {
    const page = await new Browser().get(addressOf({ id, redirectUri: "https://agent.example.com/callback" }, service));
    expect([page.status, page.html.includes("client_id")]).toEqual([400, true]);
    if (URL.canParse(id)) expect((await requestsTo(new URL(id).href)).length).toBe(0);
  });

  // shows: oauth/unregistered-clients/address
  it.each([
    ["PUBLIC_URL", (host: string) => `https://${host}`],
    ["PUBLIC_URL", (host: string) => `https://${host}:8443`],
    ["CONTENT_URL", (host: string) => `https://${host}`],
  ])("at the host of %s is refused: a tenant's file or service may be the document", async (name, urlOf) => {
    const agent = await makeAgent();
    const { fetch } = isolate({ [name]: urlOf(new URL(agent.id).host) });
    const page = await fetch(addressOf(agent, service), {});
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining("no host of this platform")]);
    expect((await requestsTo(agent.id)).length).toBe(0);
  });

  // shows: oauth/unregistered-clients/kept
  it("is kept as long as it says, at least a minute and at most an hour", async () => {
    const ages = [
      [{}, 599, 601],
      [{ "cache-control": "max-age=5" }, 59, 61],
      [{ "cache-control": "no-store" }, 59, 61],
      [{ "cache-control": "public, max-age=1800" }, 1799, 1801],
      [{ "cache-control": "max-age=99999999" }, 3599, 3601],
    ] as const;
    for (const [headers, within, after] of ages) {
      const agent = await makeAgent({}, { headers: { "content-type": "application/json", ...headers } });
      const { fetch } = isolate();
      const ask = () => fetch(addressOf(agent, service), {});
      const began = Date.now();
      vi.useFakeTimers({ now: began, toFake: ["Date"] });
      await ask();
      vi.setSystemTime(began + within * 1000);
      await ask();
      expect([headers, (await requestsTo(agent.id)).length]).toEqual([headers, 1]);
      vi.setSystemTime(began + after * 1000);
      await ask();
      expect([headers, (await requestsTo(agent.id)).length]).toEqual([headers, 1]);
      vi.useRealTimers();
    }
  });

  // shows: oauth/unregistered-clients/unreachable
  it("that cannot be reached counts for a day as it was; one that is gone ends the grants", async () => {
    const agent = await makeAgent();
    const tokens = await tokensFor(agent, service, ada);
    await answerAt(agent.id, { status: 503 });
    const began = Date.now();
    const fresh = () => isolate();
    const use = async (platform: ReturnType<typeof fresh>, token: string) => {
      const body = new URLSearchParams({ grant_type: "refresh_token", client_id: agent.id, refresh_token: token });
      const response = await platform.fetch("/oauth2/v1/token", { method: "POST", body });
      return response.json<{ error?: string; refresh_token: string }>();
    };
    const next = await use(fresh(), tokens.refresh_token);
    expect(next.error).toBeUndefined();
    vi.useFakeTimers({ now: began + 25 * 3_600_000, toFake: ["Date"] });
    expect((await use(fresh(), next.refresh_token)).error).toBe("invalid_client");
    vi.useRealTimers();
    await answerAt(agent.id, { status: 404 });
    expect((await use(fresh(), next.refresh_token)).error).toBe("invalid_client");
  });
});

describe("The calls for documents of an isolate", () => {
  const [ANN, BOB, EVE] = ["192.0.2.1", "2001:db8::7", "203.0.113.9"];
  /** Asks for made-up documents of a host, and returns how many calls that caused. */
  const makeUp = async ({ fetch }: Isolate, host: string, network: string, count: number): Promise<number> => {
    const ids = Array.from({ length: count }, () => `https://${host}/${unique("made-up")}.json`);
    const ask = (id: string) =>
      fetch(addressOf({ id, redirectUri: id }, service), { headers: { "cf-connecting-ip": network } });
    await Promise.all(ids.map(ask));
    return (await Promise.all(ids.map(requestsTo))).flat().length;
  };
  const hostOf = ({ id }: Agent): string => new URL(id).host;
  const openAt = ({ fetch }: Isolate, agent: Agent, network: string): Promise<Response> =>
    fetch(addressOf(agent, service), { headers: { "cf-connecting-ip": network } });
  const refreshAt = ({ fetch }: Isolate, { id }: Agent, token: string, network: string): Promise<Response> => {
    const body = new URLSearchParams({ grant_type: "refresh_token", client_id: id, refresh_token: token });
    return fetch("/oauth2/v1/token", { method: "POST", headers: { "cf-connecting-ip": network }, body });
  };

  // shows: oauth/unregistered-clients/budget
  it("are 10 a minute of a network and 20 at a host, whatever addresses callers make up", async () => {
    const [at, agent] = [isolate(), await makeAgent()];
    const asked = [];
    for (const network of [EVE, BOB, ANN]) asked.push(await makeUp(at, hostOf(agent), network, 12));
    expect(asked).toEqual([10, 10, 0]);
    const refused = await openAt(at, agent, ANN);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const html = await refused.text();
    expect(html).toContain("Try again in a minute");
    expect(html).not.toContain("There is no JSON document");
    const token = await refreshAt(at, agent, "made-up", ANN);
    expect([token.status, token.headers.has("retry-after")]).toEqual([503, true]);
    expect(await token.json()).toMatchObject({ error: "temporarily_unavailable" });
    expect((await requestsTo(agent.id)).length).toBe(0);
  });

  // shows: oauth/unregistered-clients/share
  it("are not used up for other networks by one", async () => {
    const [at, agent] = [isolate(), await makeAgent()];
    for (let n = 0; n < 3; n++) await makeUp(at, `${unique("host")}.example.com`, EVE, 5);
    expect((await openAt(at, agent, EVE)).status).toBe(503);
    expect((await openAt(at, agent, ANN)).status).toBe(200);
  });

  // shows: oauth/unregistered-clients/allowed
  it("include some for clients that people allowed, which no stranger uses up", async () => {
    const agent = await makeAgent();
    const tokens = await tokensFor(agent, service, ada);
    await requestsTo(agent.id);
    // What a person allowed more than a day ago counts for nothing if the document is not fetched.
    vi.useFakeTimers({ now: Date.now() + 25 * 3_600_000, toFake: ["Date"] });
    const at = isolate();
    for (const network of [EVE, BOB]) await makeUp(at, hostOf(agent), network, 12);
    const next = await expectJson(await refreshAt(at, agent, tokens.refresh_token, EVE), 200);
    expect((await requestsTo(agent.id)).length).toBe(1);
    await answerAt(agent.id, { status: 404 });
    const gone = isolate();
    for (const network of [EVE, BOB]) await makeUp(gone, hostOf(agent), network, 12);
    expect(await failureOf(await refreshAt(gone, agent, next.refresh_token as string, ANN))).toBe("401 invalid_client");
  });

  it("are not needed to choose a new password: only the look of the page is lost", async () => {
    const agent = await makeAgent();
    const person = await makeUser({ tenant, home: 0 });
    const { platform, mails } = mailPlatform();
    let at = platform;
    const browser = new Browser({ send: (address, init) => at.fetch(address, toInit(init)) });
    const page = await browser.get(addressOf(agent, service));
    const asked = await browser.follow(
      await browser.post(`${ORIGIN}/oauth2/v1/forgot`, { ...page.forms[0]!.fields, email: person.email }),
    );
    await browser.submit(asked, { email: person.email });
    at = isolate({ PUBLIC_URL: ORIGIN });
    for (const network of [EVE, BOB]) await makeUp(at, hostOf(agent), network, 12);
    const chosen = await browser.get(linkIn(mails[0]), "cross-site");
    expect((await choose(browser, chosen, "a quite different password")).status).toBe(200);
    expect((await requestsTo(agent.id)).length).toBe(1);
  });

  it("are spared if there is an outdated copy, which counts for an hour at most", async () => {
    const headers = { "content-type": "application/json", "cache-control": "max-age=60" };
    const [at, agent] = [isolate(), await makeAgent({}, { headers })];
    const began = Date.now();
    vi.useFakeTimers({ now: began, toFake: ["Date"] });
    expect((await openAt(at, agent, ANN)).status).toBe(200);
    for (const [afterMs, status] of [
      [61_000, 200],
      [3_590_000, 200],
      [3_661_000, 503],
    ] as const) {
      vi.setSystemTime(began + afterMs);
      for (const network of [EVE, BOB]) await makeUp(at, hostOf(agent), network, 12);
      expect([afterMs, (await openAt(at, agent, ANN)).status]).toEqual([afterMs, status]);
    }
    expect((await requestsTo(agent.id)).length).toBe(1);
  });
});

describe("An outdated document", () => {
  const document = (id: string) => ({
    status: 200,
    body: { client_id: id, client_name: "Helper", redirect_uris: [id] },
    cacheControl: "max-age=60",
  });
  /** Documents of an isolate whose fetches end when the test says so. */
  function make() {
    const fetches: { readonly id: string; land(): void }[] = [];
    const fetchJson: FetchJson = (id) =>
      new Promise((resolve) => fetches.push({ id, land: () => resolve(ok(document(id))) }));
    const documents = createDocuments(createIsolate(systemClock, systemRandom, waitUntil), fetchJson, {
      allowLoopback: false,
      ownOrigins: [],
    });
    const find = (name: string, nowMs: number) =>
      documents.find(`https://agents.example/${name}`, { network: "", nowMs }, "anybody");
    const begun = (count: number) => vi.waitFor(() => expect(fetches).toHaveLength(count));
    return { fetches, find, begun };
  }
  /** Has a copy of the document `a`, from `nowMs`. */
  async function withCopy() {
    const made = make();
    const nowMs = Date.now();
    const first = made.find("a", nowMs);
    await made.begun(1);
    made.fetches[0]!.land();
    await first;
    return { ...made, nowMs };
  }

  it("is fetched once for all who ask for it at the same time", async () => {
    const { fetches, find, begun, nowMs } = await withCopy();
    const asking = Array.from({ length: 30 }, () => find("a", nowMs + 61_000));
    await begun(2);
    fetches[1]!.land();
    for (const found of await Promise.all(asking)) expect(found).toMatchObject({ ok: true });
    expect(fetches).toHaveLength(2);
  });

  it("does not make the isolate forget another one that is being fetched meanwhile", async () => {
    const { fetches, find, begun, nowMs } = await withCopy();
    const other = find("b", nowMs + 61_000);
    await begun(2);
    const again = find("a", nowMs + 61_000);
    await begun(3);
    for (const { land } of fetches) land();
    await Promise.all([other, again]);
    expect(await find("b", nowMs + 62_000)).toMatchObject({ ok: true });
    expect(fetches.map(({ id }) => id.at(-1))).toEqual(["a", "b", "a"]);
  });
});

describe("The D1 cost of an unregistered client (architecture, What an operation may cost)", () => {
  it("is one round trip more for its tenant, and one for its consent", async () => {
    const agent = await makeAgent();
    const { env: counted, tally, reset } = counting(env);
    const { fetch } = isolate(counted);
    const send: ConstructorParameters<typeof Browser>[0] = { send: (address, init) => fetch(address, toInit(init)) };
    const browser = new Browser(send);
    const first = await signedIn(addressOf(agent, service), ada, browser);
    expect(first[1].html).toContain("Nobody here has checked");
    const cost = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
      reset();
      const result = await work();
      return [result, tally.d1RoundTrips];
    };
    const post = (fields: Record<string, string>) =>
      fetch("/oauth2/v1/token", { method: "POST", body: new URLSearchParams(fields) });
    const form = { grant_type: "authorization_code", client_id: agent.id, redirect_uri: agent.redirectUri };
    const redeemIt = async (code: string) => expectJson(await post({ ...form, code, code_verifier: VERIFIER }), 200);
    // The isolate's first token reads the signing keys.
    await redeemIt(await allow(browser, first[1]));
    const [page, shown] = await cost(() => browser.get(addressOf(agent, service)));
    const [code, allowed] = await cost(() => allow(browser, page));
    const [tokens, redeemed] = await cost(() => redeemIt(code));
    const again = { grant_type: "refresh_token", client_id: agent.id, refresh_token: tokens.refresh_token as string };
    const [, refreshed] = await cost(async () => expectJson(await post(again), 200));
    // The page reads the session and the descriptions. The decision reads the session, and writes the client's row, the
    // consent and the code. A code costs two and the consent.
    expect({ shown, allowed, redeemed, refreshed }).toEqual({ shown: 2, allowed: 4, redeemed: 3, refreshed: 3 });
  });
});

describe("An unregistered client in the operator's lists", () => {
  // shows: oauth/unregistered-clients/operator
  it("is no registered client, and all that it has can be revoked", async () => {
    const agent = await makeAgent({ client_name: "Zzz Helper" });
    const tokens = await tokensFor(agent, service, ada);
    const token = await tokenFor(OPERATOR);
    for (const path of ["clients", "clients?q=Zzz", "tenants", "organizations"]) {
      const text = await (await call(`/admin/v1/${path}`, { token })).text();
      expect([path, text.includes("~") || text.includes(agent.id)]).toEqual([path, false]);
    }
    const ended = await call(`/admin/v1/clients/${encodeURIComponent(agent.id)}/revoke`, { method: "POST", token });
    expect(ended.status).toBe(204);
    expect(await failureOf(await refresh(agent, tokens.refresh_token))).toBe("400 invalid_grant");
    expect(await statusAt(`${service.path}/`, tokens.access_token)).toBe(401);
  });

  // shows: oauth/unregistered-clients/account
  it("is on the person's page with its host, where access is taken back", async () => {
    const agent = await makeAgent();
    const [browser, page] = await signedIn(addressOf(agent, service), ada);
    const tokens = await expectJson(await redeem(agent, await allow(browser, page)), 200);
    const account = await browser.get("/account");
    expect(account.html).toContain(`Helper (${new URL(agent.id).host})`);
    const form = account.forms.findIndex(({ fields }) => Object.values(fields).includes(agent.id));
    expect(form).toBeGreaterThan(-1);
    await browser.submit({ ...account, forms: [account.forms[form]!] }, {});
    expect(await failureOf(await refresh(agent, tokens.refresh_token as string))).toBe("400 invalid_grant");
  });

  // shows: oauth/unregistered-clients/idle
  it("goes with its grants when nobody has used it for 90 days", async () => {
    const [idle, used] = [await makeAgent(), await makeAgent()];
    const tokens = { idle: await tokensFor(idle, service, ada), used: await tokensFor(used, service, ada) };
    const store = createUnregisteredStore(env.DB);
    const later = Date.now() + 91 * 86_400_000;
    await env.DB.prepare("UPDATE refresh_grant SET last_used_at = ?1 WHERE client = ?2").bind(later, used.id).run();
    while ((await store.deleteUnused(later, 500)) > 0);
    expect(await failureOf(await refresh(idle, tokens.idle.refresh_token))).toBe("400 invalid_grant");
    expect((await refresh(used, tokens.used.refresh_token)).status).toBe(200);
    expect(await store.find(idle.id)).toBeUndefined();
  });

  it("is unknown where the deployment takes none", async () => {
    const agent = await makeAgent();
    const { fetch } = isolate({ UNREGISTERED_CLIENTS: "none" });
    const page = await fetch(addressOf(agent, service), {});
    expect(page.status).toBe(400);
    expect((await requestsTo(agent.id)).length).toBe(0);
    const metadata = await (
      await fetch("/oauth2/v1/.well-known/openid-configuration", {})
    ).json<Record<string, unknown>>();
    expect(metadata["client_id_metadata_document_supported"]).toBe(false);
    await answerJson(agent.id, {});
  });
});
