import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createUnregisteredStore } from "../../../src/oauth/unregistered/unregistered-store.ts";
import { Browser, toInit, type Visit } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { addressOf, allow, follow, makeService, signedIn, type AgentService } from "./agent.ts";
import { VERIFIER } from "../support/code.ts";
import { failureOf } from "../support/answers.ts";

/** Clients that register themselves (RFC 7591), if the deployment allows it. */
const open = () => isolate({ UNREGISTERED_CLIENTS: "registration" });
const METADATA = { client_name: "Helper", redirect_uris: ["http://127.0.0.1/callback"] };
const GRANTS = ["authorization_code", "refresh_token"];

let service: AgentService;
let ada: TestUser;
beforeAll(async () => {
  const tenant = await makeTenant();
  service = await makeService(tenant);
  ada = await makeUser({ tenant, home: 0, scopes: [...service.scopes] });
});

afterEach(() => {
  vi.useRealTimers();
});

const register = (fields: object, address = unique("2001:db8::"), { fetch } = open()): Promise<Response> =>
  fetch("/oauth2/v1/register", {
    method: "POST",
    headers: { "content-type": "application/json", "cf-connecting-ip": address },
    body: JSON.stringify(fields),
  });

describe("POST /register", () => {
  // shows: oauth/unregistered-clients/register
  it("registers a client without a secret, which a person can let use a service", async () => {
    const platform = open();
    const wishes = {
      ...METADATA,
      grant_types: [...GRANTS, "password"],
      token_endpoint_auth_method: "client_secret_basic",
    };
    const response = await register({ ...wishes, scope: "plat.admin_write", logo_uri: "https://x.example/l.png" });
    expect(response.headers.get("cache-control")).toBe("no-store");
    const client = await expectJson(response, 201);
    expect(client).toEqual({
      ...METADATA,
      client_id: expect.stringMatching(/^~[A-Za-z0-9_-]{43}$/),
      client_id_issued_at: expect.any(Number),
      grant_types: GRANTS,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
    const agent = { id: client.client_id as string, redirectUri: "http://127.0.0.1:50000/callback" };
    const browser = new Browser({ send: (address, init) => platform.fetch(address, toInit(init)) });
    const [, page] = await signedIn(addressOf(agent, service), ada, browser);
    for (const shown of ["Helper (127.0.0.1)", "It registered itself", "own device"])
      expect(page.html).toContain(shown);
    const form = {
      grant_type: "authorization_code",
      client_id: agent.id,
      code: await allow(browser, page),
      redirect_uri: agent.redirectUri,
      code_verifier: VERIFIER,
    };
    const tokens = await expectJson(
      await platform.fetch("/oauth2/v1/token", { method: "POST", body: new URLSearchParams(form) }),
      200,
    );
    expect(Object.keys(tokens)).toContain("refresh_token");
  });

  it("is off by default, and the metadata names it only where it is on", async () => {
    const headers = { "content-type": "application/json" };
    expect(await failureOf(await call("/oauth2/v1/register", { json: METADATA, headers }))).toBe(
      "400 registration_not_supported",
    );
    const at = "/oauth2/v1/.well-known/openid-configuration";
    expect(Object.keys(await expectJson(await call(at), 200))).not.toContain("registration_endpoint");
    const metadata = await (await open().fetch(at, {})).json<Record<string, unknown>>();
    expect(metadata["registration_endpoint"]).toBe(`${ORIGIN}/oauth2/v1/register`);
    // An id of another deployment, or from before registration was turned off, is unknown.
    const id = `~${"a".repeat(43)}`;
    for (const { fetch } of [open(), isolate()])
      expect((await fetch(addressOf({ id, redirectUri: "http://127.0.0.1/callback" }, service), {})).status).toBe(400);
  });

  it("shows every host to which the client may lead, so that none hides behind another", async () => {
    const redirectUris = ["https://famous.example/callback", "https://other.example/callback"];
    const { fetch } = open();
    const { client_id: id } = await expectJson(await register({ ...METADATA, redirect_uris: redirectUris }), 201);
    const browser = new Browser({ send: (address, init) => fetch(address, toInit(init)) });
    const page = await browser.get(addressOf({ id: id as string, redirectUri: redirectUris[1]! }, service));
    expect(page.html).toContain("Helper (famous.example, other.example)");
  });

  it("takes no redirect URI at a host of the platform, whose name would be shown for the client's", async () => {
    const platform = isolate({ UNREGISTERED_CLIENTS: "registration", PUBLIC_URL: "https://id.example" });
    for (const host of ["id.example", "id.example.", "id.example:8443"]) {
      const refused = await register({ redirect_uris: [`https://${host}/notes/v1/callback`] }, undefined, platform);
      expect([host, await failureOf(refused)]).toEqual([host, "400 invalid_redirect_uri"]);
    }
    const taken = await register({ redirect_uris: ["https://agent.id.example/callback"] }, undefined, platform);
    expect(taken.status).toBe(201);
  });

  // shows: oauth/unregistered-clients/registration-errors
  it.each([
    [{ redirect_uris: undefined }, "invalid_redirect_uri"],
    [{ redirect_uris: [] }, "invalid_redirect_uri"],
    [
      { redirect_uris: ["https://agent.example.com/callback", "http://agent.example.com/callback"] },
      "invalid_redirect_uri",
    ],
    [{ redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["data:text/html,x"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["helper://callback"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["https://agent.example.com/callback#part"] }, "invalid_redirect_uri"],
    [{ redirect_uris: ["https://10.0.0.1/callback"] }, "invalid_redirect_uri"],
    [{ redirect_uris: Array.from({ length: 21 }, (_, n) => `http://127.0.0.1/${n}`) }, "invalid_redirect_uri"],
    [{ grant_types: ["implicit"] }, "invalid_client_metadata"],
    [{ response_types: ["token"] }, "invalid_client_metadata"],
    [{ client_name: {} }, "invalid_client_metadata"],
    [{ token_endpoint_auth_method: "private_key_jwt" }, "invalid_client_metadata"],
    [{ jwks: { keys: [] }, jwks_uri: "https://agent.example.com/k" }, "invalid_client_metadata"],
    [
      { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "http://agent.example.com/k" },
      "invalid_client_metadata",
    ],
  ])("refuses %j: %s", async (fields, error) => {
    expect(await failureOf(await register({ ...METADATA, ...fields }))).toBe(`400 ${error}`);
  });

  it("refuses what is no JSON object", async () => {
    const { fetch } = open();
    for (const body of ["", "[]", "{", "x".repeat(20_000)]) {
      const headers = { "content-type": "application/json" };
      expect((await fetch("/oauth2/v1/register", { method: "POST", headers, body })).status).toBeGreaterThanOrEqual(
        400,
      );
    }
  });

  // shows: oauth/unregistered-clients/registration-limits
  it("takes 20 of a network in a day, and an unused client goes after a day", async () => {
    const address = "2001:db8:77::1";
    const answers = await Promise.all(Array.from({ length: 24 }, () => register(METADATA, address)));
    const statuses = answers.map(({ status }) => status);
    expect([statuses.filter((one) => one === 201).length, statuses.filter((one) => one === 429).length]).toEqual([
      20, 4,
    ]);
    // The first is another address of the same network, the second is of another network.
    expect((await register(METADATA, "2001:db8:77::2")).status).toBe(429);
    expect((await register(METADATA, "2001:db8:78::1")).status).toBe(201);
    const { client_id: id } = await expectJson(await register(METADATA), 201);
    const store = createUnregisteredStore(env.DB);
    const later = Date.now() + 25 * 3_600_000;
    while ((await store.deleteUnused(later, 500)) > 0);
    expect(await store.find(id as string)).toBeUndefined();
    expect((await register(METADATA, address)).status).toBe(201);
  });

  describe("with 5,000 that no person has used", () => {
    const MINUTE = 60_000;
    /** `~many1` is the oldest, by a millisecond. */
    const fill = (atMs: number) =>
      env.DB.prepare(
        `INSERT INTO unregistered_client (id, metadata, network, read_at, used_at)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         SELECT '~many' || i, '{}', 'n' || i, ?1 + i, ?1 + i FROM n`,
      )
        .bind(atMs)
        .run();
    const left = async (...numbers: number[]) => {
      const ids = JSON.stringify(numbers.map((n) => `~many${n}`));
      const rows = await env.DB.prepare(
        "SELECT id FROM unregistered_client WHERE id IN (SELECT value FROM json_each(?))",
      )
        .bind(ids)
        .all<{ id: string }>();
      return rows.results.map(({ id }) => Number(id.slice("~many".length))).sort((a, b) => a - b);
    };
    const count = async () =>
      (await env.DB.prepare("SELECT count(*) AS n FROM unregistered_client WHERE id LIKE '~many%'").first<number>(
        "n",
      ))!;
    beforeEach(async () => {
      await env.DB.prepare("DELETE FROM unregistered_client WHERE network IS NOT NULL").run();
    });
    afterEach(async () => {
      await env.DB.prepare("DELETE FROM unregistered_client WHERE id LIKE '~many%'").run();
    });

    // shows: oauth/unregistered-clients/room
    it("takes another one, for which the oldest makes room, but none that a person has allowed", async () => {
      await fill(Date.now() - 12 * MINUTE);
      await env.DB.prepare("UPDATE unregistered_client SET brought_by = 'ada' WHERE id = '~many1'").run();
      await env.DB.prepare("UPDATE unregistered_client SET used_at = used_at + 1 WHERE id = '~many3'").run();
      // Two were allowed, so there is room for two.
      for (const _ of [1, 2]) expect((await register(METADATA)).status).toBe(201);
      expect(await left(1, 2, 3, 4, 5)).toEqual([1, 2, 3, 4, 5]);
      for (const _ of [1, 2]) expect((await register(METADATA)).status).toBe(201);
      expect(await left(1, 2, 3, 4, 5)).toEqual([1, 3, 5]);
      expect(await count()).toBe(4998);
    });

    it("is refused if all are younger than ten minutes", async () => {
      await fill(Date.now() - 9 * MINUTE);
      expect(await failureOf(await register(METADATA))).toBe("429 temporarily_unavailable");
      expect(await count()).toBe(5000);
    });

    it("makes room for three of one network in ten minutes, and refuses no other network then", async () => {
      await fill(Date.now() - 60 * MINUTE);
      const answers = await Promise.all(Array.from({ length: 5 }, () => register(METADATA, "2001:db8:79::1")));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 201, 201, 429, 429]);
      expect(await count()).toBe(4997);
      expect((await register(METADATA, "2001:db8:80::1")).status).toBe(201);
    });

    it("makes no room for a network that has registered 20 in a day", async () => {
      const [address, began] = ["2001:db8:81::1", Date.now()];
      for (let n = 0; n < 20; n++) expect((await register(METADATA, address)).status).toBe(201);
      await fill(began - 60 * MINUTE);
      vi.useFakeTimers({ now: began + 11 * MINUTE, toFake: ["Date"] });
      expect(await failureOf(await register(METADATA, address))).toBe("429 temporarily_unavailable");
      expect(await count()).toBe(5000);
    });
  });
});

describe("A client that registered itself and was removed", () => {
  // shows: oauth/unregistered-clients/removed
  it("is unknown at once where it was removed and within 30 s elsewhere, and nobody brings it back", async () => {
    const [here, there] = [open(), open()];
    const { client_id: id } = await expectJson(await register({ ...METADATA, grant_types: GRANTS }), 201);
    const agent = { id: id as string, redirectUri: "http://127.0.0.1:50000/callback" };
    const browserAt = ({ fetch }: typeof here) =>
      new Browser({ send: (address, init) => fetch(address, toInit(init)) });
    const [first, page] = await signedIn(addressOf(agent, service), ada, browserAt(here));
    const [second, seen] = await signedIn(addressOf(agent, service), ada, browserAt(there));
    for (const one of [page, seen]) expect(one.html).toContain("It registered itself");
    const token = await tokenFor(OPERATOR);
    const path = `/admin/v1/unregistered-clients/${encodeURIComponent(agent.id)}`;
    const removed = await here.fetch(path, { method: "DELETE", headers: { authorization: `Bearer ${token}` } });
    expect(removed.status).toBe(204);
    expect((await first.get(addressOf(agent, service))).status).toBe(400);
    const errorAt = async (answer: Visit) => new URL((await follow(second, answer)).location ?? "").searchParams;
    expect((await errorAt(await second.get(addressOf(agent, service)))).get("error")).toBe("access_denied");
    expect((await errorAt(await second.submit(seen, { decision: "allow" }))).get("error")).toBe("access_denied");
    expect(await createUnregisteredStore(env.DB).find(agent.id)).toBeUndefined();
    expect(await env.DB.prepare("SELECT 1 FROM client WHERE id = ?").bind(agent.id).first()).toBeNull();
    vi.useFakeTimers({ now: Date.now() + 31_000, toFake: ["Date"] });
    expect((await second.get(addressOf(agent, service))).status).toBe(400);
  });
});

describe("The D1 cost of a client that registered itself (architecture, What an operation may cost)", () => {
  it("is one for the registration, then what a document costs while the isolate keeps what it said", async () => {
    const { env: counted, tally, reset } = counting({ ...env, UNREGISTERED_CLIENTS: "registration" });
    const platform = isolate(counted);
    const { fetch } = platform;
    const cost = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
      reset();
      const result = await work();
      return [result, tally.d1RoundTrips];
    };
    const [registered, registration] = await cost(() =>
      register({ ...METADATA, grant_types: GRANTS }, unique("2001:db8::"), platform),
    );
    const { client_id: id } = await expectJson(registered, 201);
    const agent = { id: id as string, redirectUri: "http://127.0.0.1:50000/callback" };
    const browser = new Browser({ send: (address, init) => fetch(address, toInit(init)) });
    const post = async (fields: Record<string, string>) =>
      expectJson(await fetch("/oauth2/v1/token", { method: "POST", body: new URLSearchParams(fields) }), 200);
    const form = { grant_type: "authorization_code", client_id: agent.id, redirect_uri: agent.redirectUri };
    const redeemIt = (code: string) => post({ ...form, code, code_verifier: VERIFIER });
    const [, first] = await signedIn(addressOf(agent, service), ada, browser);
    // The isolate's first token reads the signing keys.
    await redeemIt(await allow(browser, first));
    const [page, shown] = await cost(() => browser.get(addressOf(agent, service)));
    const code = await allow(browser, page);
    const [tokens, redeemed] = await cost(() => redeemIt(code));
    const again = { grant_type: "refresh_token", client_id: agent.id, refresh_token: tokens.refresh_token as string };
    const [, refreshed] = await cost(() => post(again));
    // Clients with a document cost the same (documents.test.ts), less the look at whether this one is still there.
    expect({ registration, shown, redeemed, refreshed }).toEqual({
      registration: 1,
      shown: 3,
      redeemed: 3,
      refreshed: 3,
    });
    // After 30 s, the copies of the client, the tenant and the services cost one more read each.
    vi.useFakeTimers({ now: Date.now() + 31_000, toFake: ["Date"] });
    const [, old] = await cost(() => browser.get(addressOf(agent, service)));
    expect(old).toBe(6);
  });
});
