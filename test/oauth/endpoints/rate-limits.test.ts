import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everyRoute, named } from "../../support/route-table.ts";
import { makeUser } from "../../support/users.ts";

/** The type of Vite's glob. Vite runs the tests. */
interface Glob {
  glob(pattern: string, options: object): Record<string, string>;
}

const OAUTH = "/oauth2/v1";
const deployed = { ALLOW_LOOPBACK: "false" };
const addressOf = (address: string): RequestInit => ({ headers: { "cf-connecting-ip": address } });

/** A binding that records its keys, and refuses from the given number on. */
function limiter(refusesFrom = Infinity): { binding: RateLimit; keys: string[] } {
  const keys: string[] = [];
  const binding: RateLimit = { limit: async ({ key }) => ({ success: keys.push(key) < refusesFrom }) };
  return { binding, keys };
}

const clientToken = (client: { clientId: string; clientSecret: string }): RequestInit => ({
  method: "POST",
  headers: { authorization: basic(client), "content-type": "application/x-www-form-urlencoded" },
  body: "grant_type=client_credentials",
});

describe("The rate limit by address", () => {
  // `PUBLIC_URL` turns mail on, so every route exists, and keeps the copies of this platform apart.
  const { env: counted, tally } = counting(env);
  const full = limiter(1).binding;
  const PUBLIC_URL = `https://${unique("host")}.test`;
  const everywhere = isolate({ ...counted, ...deployed, PUBLIC_URL, ADDRESS_LIMIT: full, CONTENT_LIMIT: full });

  // shows: platform/errors-of-every-service/429-insufficient_resources
  it.each(named(everyRoute))("refuses %s before anything else", async (_, base, route) => {
    const { d1Statements } = tally;
    const path = base + route.path.replaceAll(/\{\w+\}/g, "x");
    const response = await everywhere.fetch(path, { method: route.method, headers: { authorization: "Bearer x" } });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("60");
    expect(response.headers.get("cache-control")).toContain("no-store");
    // To verify tokens, an isolate reads keys and revocations at most every five seconds.
    expect(tally.d1Statements - d1Statements).toBeLessThanOrEqual(route.access.kind === "public" ? 0 : 1);
    expect(tally).toMatchObject({ objectCalls: {}, r2Operations: {} });
    const [type] = (response.headers.get("content-type") ?? "").split(";");
    if (type === "text/html") return;
    const body = await expectJson(response, 429);
    const expected = "error" in body ? { error: "temporarily_unavailable" } : { type: "insufficient_resources" };
    expect(body).toMatchObject(expected);
  });

  // shows: platform/errors-of-every-service/429-insufficient_resources
  it("responds in the format of each service", async () => {
    const own = isolate({ ...deployed, ADDRESS_LIMIT: limiter(1).binding });
    const token = await expectJson(await own.fetch(`${OAUTH}/token`, { method: "POST" }), 429);
    expect(Object.keys(token)).toEqual(["error", "error_description", "error_uri"]);
    const listed = await expectJson(await own.fetch(`${OAUTH}/refreshtokens`), 429);
    expect(listed).toMatchObject({ status: 429, type: "insufficient_resources", details: [] });
    const page = await own.fetch(`${OAUTH}/authorize`);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });

  it("counts content and forwarded services separately, and never a caller with a valid token", async () => {
    const client = await makeClient();
    const name = unique("shop");
    const behind = { sourceUrl: "https://nobody.example", scopes: [], essential: true, tenant: client.tenant };
    await put(`services/${name}`, { ...behind, proxyPath: `/${name}`, access: "public" });
    const [requests, content] = [limiter(), limiter()];
    const own = isolate({ ...deployed, ADDRESS_LIMIT: requests.binding, CONTENT_LIMIT: content.binding });
    await own.fetch("/media/v2/content/0123456789abcdef01234567");
    await own.fetch("/media/v2/public/files/0123456789abcdef01234567");
    await own.fetch(`/${name}/x`);
    expect([requests.keys.length, content.keys.length]).toEqual([0, 3]);
    await own.fetch(`/${name}/x`, { headers: { authorization: "Bearer x" } });
    expect([requests.keys.length, content.keys.length]).toEqual([1, 3]);
    const authorization = `Bearer ${await tokenFor(client)}`;
    await own.fetch("/pubsub/v1/topics", { headers: { authorization } });
    await own.fetch(`/${name}/x`, { headers: { authorization } });
    expect([requests.keys.length, content.keys.length]).toEqual([1, 3]);
  });

  it("counts an IPv4 address by itself, and IPv6 by a customer's network", async () => {
    const { binding, keys } = limiter();
    const own = isolate({ ...deployed, ADDRESS_LIMIT: binding });
    const addresses = [
      "192.0.2.1",
      "192.0.2.2",
      "2001:db8:0:7::1",
      "2001:DB8:0:7:ffff:ffff:ffff:ffff",
      "2001:db8:0:107::1",
      "::1",
      "not an address",
    ];
    for (const address of addresses) await own.fetch(`${OAUTH}/jwks`, addressOf(address));
    await own.fetch(`${OAUTH}/jwks`);
    const [first, second, third, fourth, fifth, ...others] = keys;
    expect([first, second]).toEqual(["192.0.2.1", "192.0.2.2"]);
    expect(third).toBe(fourth);
    expect(fifth).not.toBe(third);
    expect(new Set([...others, fifth]).size).toBe(4);
  });

  it("does not count preflights, nor paths without a route", async () => {
    const { binding, keys } = limiter();
    const own = isolate({ ...deployed, ADDRESS_LIMIT: binding });
    await own.fetch(`${OAUTH}/token`, { method: "OPTIONS" });
    await own.fetch(`${OAUTH}/token`, { method: "DELETE" });
    await own.fetch(`${OAUTH}/nothing`);
    expect(keys).toEqual([]);
  });
});

describe("The rate limit by client", () => {
  it("refuses an authenticated client, and no other", async () => {
    const client = await makeClient();
    const other = await makeClient({ tenant: client.tenant });
    const keys: string[] = [];
    const binding: RateLimit = {
      limit: async ({ key }) => ({ success: keys.push(key) > 0 && key !== client.clientId }),
    };
    const own = isolate({ ...deployed, CLIENT_LIMIT: binding });
    const refused = await own.fetch(`${OAUTH}/token`, clientToken(client));
    expect(refused.headers.get("retry-after")).toBe("60");
    expect(await expectJson(refused, 429)).toMatchObject({
      error: "temporarily_unavailable",
      error_description: "There are too many requests of this client.",
    });
    await expectJson(await own.fetch(`${OAUTH}/token`, clientToken(other)), 200);
    expect(keys).toEqual([client.clientId, other.clientId]);
  });

  it("does not count callers who only name the client", async () => {
    const client = await makeClient();
    const { binding, keys } = limiter(1);
    const own = isolate({ ...deployed, CLIENT_LIMIT: binding });
    const wrong = clientToken({ ...client, clientSecret: "wrong" });
    for (let n = 0; n < 3; n++) await expectJson(await own.fetch(`${OAUTH}/token`, wrong), 401);
    expect(keys).toEqual([]);
  });

  it("applies to revocation too", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const own = isolate({ ...deployed, CLIENT_LIMIT: limiter(1).binding });
    const revoke = { ...clientToken(client), body: `token=${token}` };
    expect((await own.fetch(`${OAUTH}/revoke`, revoke)).status).toBe(429);
    expect((await own.fetch(`${OAUTH}/tokeninfo?access_token=${token}`)).status).toBe(200);
  });
});

describe("The rate limit by token", () => {
  it("counts a client and its tenant, by the tenant's plan", async () => {
    const [client, other] = [await makeClient(), await makeClient()];
    await put(`tenants/${other.tenant}`, { organization: `${other.tenant}-org`, name: "Large", plan: "large" });
    const limits = {
      CALLER_LIMIT: limiter(),
      TENANT_LIMIT: limiter(),
      CALLER_LIMIT_LARGE: limiter(3),
      TENANT_LIMIT_LARGE: limiter(2),
    };
    const own = isolate({
      ...deployed,
      ...Object.fromEntries(Object.entries(limits).map(([name, { binding }]) => [name, binding])),
    });
    const list = async (token: string) =>
      own.fetch("/pubsub/v1/topics", { headers: { authorization: `Bearer ${token}` } });
    expect((await list(await tokenFor(client))).status).toBe(200);
    expect(limits.CALLER_LIMIT.keys).toEqual([JSON.stringify([client.clientId, ""])]);
    expect(limits.TENANT_LIMIT.keys).toEqual([client.tenant]);
    const token = await tokenFor(other);
    expect((await list(token)).status).toBe(200);
    const refusals: string[] = [];
    for (const answer of [await list(token), await list(token)]) {
      expect(answer.headers.get("retry-after")).toBe("60");
      refusals.push((await expectJson(answer, 429)).message);
    }
    expect(refusals).toEqual([
      "There are too many requests of this tenant.",
      "There are too many requests of this client.",
    ]);
    expect(limits.CALLER_LIMIT.keys).toHaveLength(1);
  });

  it("counts each user of a client separately", async () => {
    const client = await makeClient();
    const users = [await makeUser({ tenant: client.tenant }), await makeUser({ tenant: client.tenant })];
    const { binding, keys } = limiter();
    const own = isolate({ ...deployed, CALLER_LIMIT: binding });
    for (const { email, password } of users) {
      const form = { grant_type: "password", username: email, password, plat_id_provider: "legacy_idp" };
      const { access_token: token } = await expectJson(await call(`${OAUTH}/token`, { form }), 200);
      await own.fetch("/pubsub/v1/topics", { headers: { authorization: `Bearer ${token}` } });
    }
    expect(keys).toEqual(users.map(({ email }) => JSON.stringify(["", email])));
  });
});

describe("The configured limits", () => {
  // shows: platform/deployment-variables/allow_loopback-and-rate-limits
  it("are off if loopback addresses are allowed", async () => {
    const { binding, keys } = limiter(1);
    const own = isolate({ ALLOW_LOOPBACK: "true", ADDRESS_LIMIT: binding, CLIENT_LIMIT: binding });
    await expectJson(await own.fetch(`${OAUTH}/token`, clientToken(await makeClient())), 200);
    expect(keys).toEqual([]);
  });

  it("refuse nobody if the binding fails", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const binding: RateLimit = { limit: () => Promise.reject(new Error("no answer")) };
    const own = isolate({ ...deployed, ADDRESS_LIMIT: binding, CLIENT_LIMIT: binding });
    await expectJson(await own.fetch(`${OAUTH}/token`, clientToken(await makeClient())), 200);
    expect(errors).toHaveBeenCalledTimes(2);
    errors.mockRestore();
  });

  it("allow at least 1,000 requests a minute, and fewer sign-ins that strangers begin", () => {
    const [wranglerToml = ""] = Object.values(
      (import.meta as unknown as Glob).glob("../../../wrangler.toml", {
        query: "?raw",
        import: "default",
        eager: true,
      }),
    );
    const limits = [
      ...wranglerToml.matchAll(/^name = "(\w+)"\nnamespace_id = .*\nsimple = \{ limit = (\d+), period = (\d+) \}$/gm),
    ].map(([, name = "", limit, period]) => [name, (Number(limit) * 60) / Number(period)] as const);
    expect(limits).toHaveLength(10);
    // The size of what a network keeps depends on this one (src/oauth/authorize/kept.ts).
    expect(limits).toContainEqual(["KEPT_LIMIT", 300]);
    for (const [name, ofMinute] of limits) if (name !== "KEPT_LIMIT") expect(ofMinute).toBeGreaterThanOrEqual(1000);
  });

  it("are those of the real bindings, for each key separately", { timeout: 30_000 }, async () => {
    const own = isolate(deployed);
    const address = unique("address ");
    const keysFrom = async (given: string) => (await own.fetch(`${OAUTH}/jwks`, addressOf(given))).status;
    expect(await keysFrom(address)).toBe(200);
    // A new minute may begin at any moment. The limit is then used up again.
    let status = 200;
    for (let turn = 0; turn < 3 && status === 200; turn++) {
      await useUp(env.ADDRESS_LIMIT, address);
      status = await keysFrom(address);
    }
    expect(status).toBe(429);
    expect(await keysFrom(unique("address "))).toBe(200);
    const client = await makeClient();
    await expectJson(await own.fetch(`${OAUTH}/token`, clientToken(client)), 200);
    expect(await env.CLIENT_LIMIT.limit({ key: client.clientId })).toEqual({ success: true });
  });
});

/** Calls until the binding refuses. */
async function useUp(binding: RateLimit, key: string): Promise<void> {
  for (;;) {
    const answers = await Promise.all(Array.from({ length: 200 }, () => binding.limit({ key })));
    if (answers.some(({ success }) => !success)) return;
  }
}
