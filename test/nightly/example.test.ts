import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "../../examples/walk/described-platform.ts";
import { jpegSize } from "../../examples/tour/jpeg.ts";
import { openCatalog, PHOTO_PATH, type CatalogWorld } from "../acceptance/support/catalog.ts";
import { startMeddling } from "../acceptance/support/parties/meddling-proxy.ts";
import { plat } from "../acceptance/support/plat-command.ts";
import { listEverything } from "../acceptance/support/platform-lists.ts";
import { newPlatform } from "../acceptance/support/process/new-platform.ts";
import { living, npm, stopGroup } from "../acceptance/support/process/program.ts";
import { freePort, newStateDir } from "../acceptance/support/process/state.ts";

/** `examples/catalog-service` against a started platform: by the gateway, and past it. */
const PATIENCE_MS = 30_000;
const LAMP = { name: "Lamp", price: { amount: 1_999, currency: "EUR" } };

let catalog: CatalogWorld;
let acme: string;
let globex: string;
/** A key that the service takes for one of the platform's: the edge adds it to `/jwks`. */
let added: { readonly kid: string; readonly privateKey: KeyObject };

beforeAll(async () => {
  catalog = await openCatalog();
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  added = { kid: "added-by-the-test", privateKey };
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: added.kid, alg: "ES256", use: "sig" };
  catalog.edge.change("/oauth2/v1/jwks", (body) => ({ keys: [...body.keys, jwk] }));
  await catalog.start();
  acme = await catalog.token(CATALOG.shopClient);
  globex = await catalog.token(CATALOG.otherShopClient);
}, 90_000);
afterAll(() => catalog?.end(), 30_000);

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

async function send(address: string, method: string, token: string, body?: unknown, more: object = {}): Promise<Reply> {
  const isBytes = body instanceof Uint8Array;
  const response = await fetch(address, {
    method,
    headers: {
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": isBytes ? "image/jpeg" : "application/json" }),
      ...more,
    },
    ...(body !== undefined && { body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (address.startsWith(catalog.edge.origin)) {
    const shown = `${JSON.stringify([...response.headers])}${text}`;
    expect(shown, "no answer of the gateway names the private address").not.toContain(new URL(catalog.sourceUrl).host);
  }
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

/** By the gateway; `path` from the collection on. */
const shop = (method: string, path: string, token: string, body?: unknown): Promise<Reply> =>
  send(`${catalog.products}${path}`, method, token, body);

/** At the service itself. */
const direct = (method: string, path: string, token: string, body?: unknown, headers?: object): Promise<Reply> =>
  send(`${catalog.sourceUrl}/products${path}`, method, token, body, headers);

async function until<T>(what: () => Promise<T>, isRight: (value: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(50)) {
    const value = await what();
    if (isRight(value) || Date.now() > deadline) return value;
  }
}

interface Told {
  readonly type: string;
  readonly tenant: string;
  readonly change: number;
  readonly product: { readonly id: string; readonly name: string };
}

/** All that was ever published, by looking, which moves nothing. */
async function events(): Promise<Told[]> {
  const search = await catalog.token(CATALOG.searchClient);
  const all: Told[] = [];
  for (const type of ["product-created", "product-updated", "product-deleted"]) {
    for (let after = ""; ;) {
      const topic = `${catalog.edge.origin}/pubsub/v1/topics/${CATALOG.client}/${type}`;
      const { status, body } = await send(`${topic}/events?limit=500${after && `&after=${after}`}`, "GET", search);
      expect(status, JSON.stringify(body)).toBe(200);
      for (const { tenant, payload } of body.events) all.push({ type, tenant, ...JSON.parse(payload) });
      if (body.next === undefined || body.next === null || body.events.length === 0) break;
      after = body.next;
    }
  }
  return all.sort((one, other) => one.change - other.change);
}

const waiting = (): number => {
  const db = new DatabaseSync(catalog.databasePath);
  const { count } = db.prepare("SELECT count(*) AS count FROM outbox").get() as { count: number };
  db.close();
  return count;
};

const publishedAll = async (): Promise<Told[]> => {
  expect(
    await until(
      async () => waiting(),
      (count) => count === 0,
    ),
    catalog.log(),
  ).toBe(0);
  return events();
};

describe("by the gateway", () => {
  test("a product lives and dies; its links are public ones", async () => {
    const put = await shop("PUT", "/lamp", acme, LAMP);
    expect(put.status, JSON.stringify(put.body)).toBe(201);
    expect(put.headers.get("location")).toBe(`${catalog.products}/lamp`);
    expect(put.body).toEqual({ id: "lamp", ...LAMP, href: `${catalog.products}/lamp` });
    expect((await shop("PUT", "/lamp", acme, LAMP)).status).toBe(200);
    const posted = await shop("POST", "", acme, { ...LAMP, name: "Another" });
    expect(posted.status).toBe(201);
    expect(await send(posted.headers.get("location") ?? "", "GET", acme)).toMatchObject({
      status: 200,
      body: posted.body,
    });

    const first = await shop("GET", "?pageSize=1", acme);
    const links = [...(first.headers.get("link") ?? "").matchAll(/<([^>]*)>; rel="(\w+)"/g)];
    expect(links.map(([, , rel]) => rel)).toEqual(["self", "next"]);
    const second = await send(links[1]?.[1] ?? "", "GET", acme);
    expect(new Set([first, second].flatMap(({ body }) => body.map(({ name }: { name: string }) => name)))).toEqual(
      new Set(["Lamp", "Another"]),
    );

    expect((await shop("DELETE", `/${posted.body.id}`, acme)).status).toBe(204);
    expect((await shop("GET", `/${posted.body.id}`, acme)).status).toBe(404);
    const told = (await publishedAll()).map(({ type, tenant, product }) => [type, tenant, product.id]);
    // The second PUT changed nothing.
    expect(told).toEqual([
      ["product-created", "acmeshop", "lamp"],
      ["product-created", "acmeshop", posted.body.id],
      ["product-deleted", "acmeshop", posted.body.id],
    ]);
  });

  test("errors have the platform's shape", async () => {
    const wrong = await shop("PUT", "/chair", acme, { name: "", price: { amount: 1.5 } });
    expect(wrong).toMatchObject({ status: 400, body: { status: 400, type: "validation_violation" } });
    const errors = `${catalog.edge.origin}/docs/errors`;
    expect(wrong.body.moreInfo).toBe(`${errors}#validation_violation`);
    for (const { type, moreInfo } of wrong.body.details) expect(moreInfo).toBe(`${errors}#details-${type}`);
    expect(wrong.body.details.map(({ type, field }: Record<string, string>) => [type, field])).toEqual([
      ["invalid_field", "name"],
      ["invalid_field", "price.amount"],
      ["missing_field", "price.currency"],
    ]);
    expect(await shop("PATCH", "/lamp", acme)).toMatchObject({ status: 405, body: { type: "unsupported_method" } });
    expect(await shop("GET", "?pageSize=0", acme)).toMatchObject({
      status: 400,
      body: { details: [{ type: "out_of_range_parameter" }] },
    });
    expect(await shop("GET", "", "")).toMatchObject({ status: 401, body: { type: "insufficient_credentials" } });
  });

  test("who sends a body that is refused gets the answer, not a broken connection", async () => {
    const large = new Uint8Array(10_000_001);
    const address = `${catalog.sourceUrl}/products/large/picture`;
    const headers = { authorization: `Bearer ${acme}`, "content-type": "image/jpeg" };
    expect((await shop("PUT", "/large", acme, LAMP)).status).toBe(201);
    const statuses: number[] = [];
    for (let round = 0; round < 8; round++) {
      statuses.push((await direct("PUT", "/missing/picture", acme, large)).status);
      statuses.push((await direct("PUT", "/large/picture", acme, large)).status);
      const inChunks = { method: "PUT", duplex: "half", body: new Blob([large]).stream() } as RequestInit;
      statuses.push((await fetch(address, { ...inChunks, headers })).status);
    }
    expect(statuses).toEqual(Array.from({ length: 8 }, () => [404, 413, 413]).flat());
    expect((await shop("DELETE", "/large", acme)).status).toBe(204);
  });

  test("a picture belongs to the tenant, and is fetched without a token until its product goes", async () => {
    const photo = readFileSync(PHOTO_PATH);
    expect((await shop("PUT", "/poster", acme, LAMP)).status).toBe(201);
    const stored = await shop("PUT", "/poster/picture", acme, photo);
    expect(stored.status, catalog.log()).toBe(200);
    const { original, thumbnail } = stored.body.picture;
    expect(Buffer.from(await (await fetch(original)).arrayBuffer()).equals(photo)).toBe(true);
    const width = await until(
      async () => jpegSize(Buffer.from(await (await fetch(thumbnail)).arrayBuffer()))?.width,
      (wide) => wide === 200,
    );
    expect(width).toBe(200);

    const id = new URL(original).pathname.split("/").at(-1);
    const filesOf = async (tenant: string): Promise<string[]> => {
      const own = await catalog.token(CATALOG.client, `plat.tenant=${tenant} plat.media_view`);
      const { body } = await send(`${catalog.edge.origin}/media/v2/public/files?tenant=${tenant}`, "GET", own);
      return body.map((file: { id: string }) => file.id);
    };
    expect(await filesOf("acmeshop")).toEqual([id]);
    expect(await filesOf("globexshop")).toEqual([]);
    // Another's product takes no picture of ours.
    expect((await direct("PUT", "/poster/picture", globex, photo)).status).toBe(404);

    expect((await shop("DELETE", "/poster", acme)).status).toBe(204);
    expect(
      await until(
        () => filesOf("acmeshop"),
        (files) => files.length === 0,
      ),
    ).toEqual([]);
    expect((await fetch(original, { redirect: "manual" })).status).toBe(404);
  });

  test("who cancels the catalog is refused at the gateway, until the tenant subscribes again", async () => {
    const subscription = "tenants/globexshop/subscriptions/catalog";
    expect((await shop("GET", "", globex)).status).toBe(200);
    expect((await catalog.operate("DELETE", subscription)).status).toBe(204);
    const refused = await until(
      () => shop("GET", "", globex),
      ({ status }) => status === 403,
    );
    expect(refused).toMatchObject({ status: 403, body: { type: "insufficient_permissions" } });
    expect(refused.body.message).toContain("catalog");
    expect((await catalog.operate("PUT", subscription, {})).status).toBe(201);
    expect(
      (
        await until(
          () => shop("GET", "", globex),
          ({ status }) => status === 200,
        )
      ).status,
    ).toBe(200);
  });
});

describe("past the gateway", () => {
  /** What the added key signs: Acme's own claims, with these changes. */
  const signed = (changes: Record<string, unknown>, header: Record<string, string> = {}): Promise<string> =>
    new SignJWT({ ...decodeJwt(acme), ...changes })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: added.kid, ...header })
      .sign(added.privateKey);
  const nowSec = (): number => Math.floor(Date.now() / 1_000);

  test("a token of the platform is good without asking the platform, and so is what the added key signs", async () => {
    expect((await direct("GET", "/lamp", acme)).status).toBe(200);
    const before = catalog.edge.seen.length;
    expect((await direct("GET", "/lamp", acme)).status).toBe(200);
    expect((await direct("GET", "/lamp", await signed({}))).status).toBe(200);
    expect(catalog.edge.seen.slice(before).filter((path) => path.includes("/oauth2/"))).toEqual([]);
  });

  test("a token for this service, as the gateway makes it, is good", async () => {
    const forwarded = await signed({ aud: "catalog" }, { typ: "service+jwt" });
    expect((await direct("GET", "/lamp", forwarded)).status).toBe(200);
  });

  test.each<[string, () => string | Promise<string>]>([
    ["no token", () => ""],
    ["an expired one", () => signed({ exp: nowSec() - 1 })],
    ["one without an end", () => signed({ exp: undefined })],
    ["one for another audience", () => signed({ aud: "https://other.example" })],
    ["one for another service", () => signed({ aud: "reviews" }, { typ: "service+jwt" })],
    ["one for the platform that says it is one for a service", () => signed({}, { typ: "service+jwt" })],
    ["one for this service that says it is one for the platform", () => signed({ aud: "catalog" })],
    ["one for this service among others", () => signed({ aud: ["catalog", "reviews"] }, { typ: "service+jwt" })],
    ["one of another issuer", () => signed({ iss: "https://other.example/oauth2/v1" })],
    ["an ID token", () => signed({}, { typ: "JWT" })],
    ["one by a key that nobody published", () => signed({}, { kid: "unknown" })],
    ["one that names the platform's key", () => signed({}, { kid: decodeProtectedHeader(acme).kid ?? "" })],
    ["one with edited claims", () => edited(acme, { tenant: "globexshop" })],
    ["one without a signature", () => unsigned({ alg: "none", typ: "at+jwt" })],
    ["one that takes the public key for a secret", () => hmac()],
  ])("the service refuses %s", async (_, make) => {
    const { status, headers, body } = await direct("GET", "/lamp", await make());
    expect({ status, type: body.type }).toEqual({ status: 401, type: "insufficient_credentials" });
    expect(headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  test("a token without the scope, or without a tenant, is not enough", async () => {
    const view = await signed({ scope: "catalog.product_view" });
    expect((await direct("GET", "/lamp", view)).status).toBe(200);
    expect(await direct("PUT", "/lamp", view, LAMP)).toMatchObject({
      status: 403,
      body: { type: "insufficient_permissions" },
    });
    expect((await direct("GET", "/lamp", await catalog.token(CATALOG.client))).status).toBe(403);
    expect((await direct("GET", "/lamp", await signed({ tenant: "" }))).status).toBe(403);
  });

  test("the tenant is the token's, whatever the headers claim", async () => {
    const claims = { "plat-tenant": "acmeshop", "plat-client": "acme.shop", "plat-scopes": "catalog.product_view" };
    expect((await direct("GET", "/lamp", globex, undefined, claims)).status).toBe(404);
    expect((await direct("DELETE", "/lamp", globex, undefined, claims)).status).toBe(404);
    expect((await direct("GET", "", globex, undefined, claims)).body).toEqual([]);
    expect((await direct("GET", "", "", undefined, claims)).status).toBe(401);
    expect((await direct("GET", "/lamp", acme, undefined, { "plat-tenant": "globexshop" })).status).toBe(200);
  });

  test("keys that cannot be fetched are not the caller's fault", async () => {
    await catalog.kill();
    const keys = "/oauth2/v1/jwks";
    catalog.edge.change(keys, undefined);
    await catalog.start();
    const refused = await direct("GET", "/lamp", acme);
    expect(refused).toMatchObject({ status: 503, body: { type: "service_temporarily_unavailable" } });
    expect(refused.headers.get("retry-after")).toBe("5");
    catalog.edge.change(keys, (body) => body);
    expect((await direct("GET", "/lamp", acme)).status).toBe(200);
  });

  const edited = (token: string, changes: object): string => {
    const [head, , signature] = token.split(".");
    return [head, base64(JSON.stringify({ ...decodeJwt(token), ...changes })), signature].join(".");
  };
  const unsigned = (header: object): string =>
    `${base64(JSON.stringify(header))}.${base64(JSON.stringify(decodeJwt(acme)))}.`;
  const hmac = async (): Promise<string> => {
    const { keys } = (await (await fetch(`${catalog.edge.origin}/oauth2/v1/jwks`)).json()) as {
      keys: { kid: string; x: string }[];
    };
    const { kid } = decodeProtectedHeader(acme);
    const text = unsigned({ alg: "HS256", typ: "at+jwt", kid: kid ?? "" }).slice(0, -1);
    const secret = Buffer.from(keys.find((key) => key.kid === kid)?.x ?? "", "base64url");
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  };
  const base64 = (text: string): string => Buffer.from(text).toString("base64url");
});

describe("killed by kill -9", () => {
  const isPublish = (_: string, path: string): boolean => path.endsWith("/publish");
  const about = (told: readonly Told[], id: string): string[] =>
    told.filter(({ product }) => product.id === id).map(({ type }) => type);

  test("between the write and the publishing, it publishes after the next start", async () => {
    const held = catalog.edge.hold(isPublish);
    expect((await shop("PUT", "/unsent", acme, LAMP)).status).toBe(201);
    const publish = await held;
    await catalog.kill();
    publish.drop();
    expect(about(await events(), "unsent")).toEqual([]);
    await catalog.start();
    expect(about(await publishedAll(), "unsent")).toEqual(["product-created"]);
  });

  test("between the publishing and its answer, it publishes nothing twice", async () => {
    const held = catalog.edge.hold(isPublish);
    expect((await shop("PUT", "/unheard", acme, LAMP)).status).toBe(201);
    const publish = await held;
    expect(await publish.forward()).toBe(201);
    await catalog.kill();
    publish.drop();
    expect(waiting()).toBe(1);
    await catalog.start();
    expect(about(await publishedAll(), "unheard")).toEqual(["product-created"]);
  });

  test("between a picture's commit and its product, it deletes the picture", async () => {
    const held = catalog.edge.hold((_, path) => path.includes("/commit"));
    const lost = shop("PUT", "/lamp/picture", acme, readFileSync(PHOTO_PATH)).catch(() => undefined);
    const commit = await held;
    expect(await commit.forward()).toBe(202);
    await catalog.kill();
    commit.drop();
    await lost;
    const [, file] = /files\/(\w+)\/commit/.exec(commit.path) ?? [];
    const address = `${catalog.edge.origin}/media/v2/public/files/${file}`;
    expect((await fetch(address)).status).toBe(200);
    const db = new DatabaseSync(catalog.databasePath);
    // Ten minutes later.
    expect(db.prepare("UPDATE unused_picture SET due_ms = 0 WHERE file = ?").run(file ?? "").changes).toBe(1);
    db.close();
    await catalog.start();
    expect((await shop("GET", "/lamp", acme)).body.picture).toBeUndefined();
    expect(
      await until(
        async () => (await fetch(address)).status,
        (status) => status === 404,
      ),
    ).toBe(404);
  });

  test("at any time, what is published is what happened to the products, once and in order", async () => {
    const writing = { over: false, acknowledged: 0 };
    const write = async (token: string, tenant: string): Promise<void> => {
      for (let n = 0; !writing.over; n++) {
        const id = `${tenant}-${n % 7}`;
        const body = { name: `${tenant} ${n}`, price: { amount: n, currency: "EUR" } };
        try {
          const { status } =
            n % 5 === 4 ? await direct("DELETE", `/${id}`, token) : await direct("PUT", `/${id}`, token, body);
          if (status < 300) writing.acknowledged++;
        } catch {
          // Killed: it may have happened or not.
          await sleep(20);
        }
      }
    };
    const writers = [write(acme, "acmeshop"), write(globex, "globexshop")];
    for (let kills = 0; kills < 4; kills++) {
      await sleep(200 + Math.random() * 400);
      await catalog.kill();
      await catalog.start();
    }
    writing.over = true;
    await Promise.all(writers);
    expect(writing.acknowledged).toBeGreaterThan(20);

    const told = await publishedAll();
    expect(told.length).toBeGreaterThan(writing.acknowledged);
    expect(told.map(({ change }) => change)).toEqual(told.map((_, at) => at + 1));
    const known = new Map<string, string>();
    for (const { type, tenant, product } of told) {
      const key = `${tenant}/${product.id}`;
      expect(known.has(key), `${type} of ${key}`).toBe(type !== "product-created");
      if (type === "product-deleted") known.delete(key);
      else known.set(key, product.name);
    }
    for (const [tenant, token] of [
      ["acmeshop", acme],
      ["globexshop", globex],
    ] as const) {
      const { body } = await shop("GET", "?pageSize=1000", token);
      const ours = [...known].filter(([key]) => key.startsWith(`${tenant}/`)).map(([, name]) => name);
      expect(body.map(({ name }: { name: string }) => name).sort()).toEqual(ours.sort());
    }
  });
});

describe("npm run example removes what it made", () => {
  const platform = newPlatform();
  let env: Record<string, string>;
  let before: unknown;

  beforeAll(async () => {
    env = { STATE_DIR: platform.stateDir, PORT: String(platform.port), CATALOG_PORT: String(await freePort()) };
    before = await listEverything(env);
  }, 90_000);
  const expectNothingLeft = async (): Promise<void> => {
    expect(await listEverything(env)).toEqual(before);
    expect(existsSync(join(platform.stateDir, "catalog-service"))).toBe(false);
  };

  test("when all is well", async () => {
    const run = npm("example", env);
    expect(await run.ended, run.output()).toBe(0);
    expect(run.output()).toContain("Everything is as it should be");
    expect(run.output()).toContain("The tenant shelfware is gone: 2 clients, 3 topics, 0 files");
    expect(living(run.child.pid ?? 0)).toEqual([]);
    await expectNothingLeft();
  });

  test("when it fails, with a picture in a customer's tenant", async () => {
    let isRefused = false;
    const proxy = await startMeddling(platform.url, (method, path) => {
      if (isRefused || method !== "DELETE" || !path.endsWith("/subscriptions/catalog")) return undefined;
      isRefused = true;
      return "refuse";
    });
    const run = npm("example", { ...env, PORT: new URL(proxy.url).port });
    expect(await run.ended, run.output()).toBe(1);
    proxy.close();
    expect(run.output()).toContain("A picture, stored by the service");
    expect(run.output()).toContain("expected: DELETE /admin/v1/tenants/acmeshop/subscriptions/catalog answers 204");
    await expectNothingLeft();
  });

  test("when it is served and Ctrl-C comes, also what an earlier run kept", async () => {
    const kept = npm("example", env, ["--", "--keep"]);
    expect(await kept.ended, kept.output()).toBe(0);
    expect(kept.output()).toContain("Remove it: npm run example");
    const { tenant } = (await listEverything(env)) as { tenant: { id: string }[] };
    expect(tenant.map(({ id }) => id)).toEqual(expect.arrayContaining(["shelfware", "acmeshop", "globexshop"]));

    const served = npm("example", env, ["--", "--serve"]);
    await expect.poll(served.output, { timeout: PATIENCE_MS }).toMatch(/^ready /m);
    expect(served.output()).toContain("is as the file describes it");
    await stopGroup(served, "SIGINT");
    expect(served.child.exitCode, served.output()).toBe(0);
    await expectNothingLeft();
  });

  test("when it is stopped", async () => {
    const run = npm("example", env);
    await expect.poll(run.output, { timeout: PATIENCE_MS }).toContain("The events about it");
    await stopGroup(run, "SIGINT");
    expect(run.child.exitCode, run.output()).toBe(1);
    expect(run.output()).toContain("It was stopped.");
    await expectNothingLeft();
  });

  test("but touches no record that it did not make, not even one of a name that it had before", async () => {
    const proxy = await startMeddling(platform.url, (method, path) =>
      method === "DELETE" && path.endsWith("/organizations/globex") ? "refuse" : undefined,
    );
    const part = npm("example", { ...env, PORT: new URL(proxy.url).port });
    expect(await part.ended, part.output()).toBe(1);
    proxy.close();
    expect(part.output()).toContain("The organization globex is left");

    const list = join(platform.stateDir, "catalog-service", "made.json");
    const made = JSON.parse(readFileSync(list, "utf8")) as object;
    expect(made).toMatchObject({ organizations: ["globex"], tenants: [], services: [], packages: [], clients: [] });
    writeFileSync(list, JSON.stringify({ ...made, base: platform.url }));
    expect((await plat(env, ["organization", "set", "acme", "--name", "My own"])).code).toBe(0);
    const own = ["tenant", "set", "acmeshop", "--organization", "acme", "--name", "My own"];
    expect((await plat(env, own)).code).toBe(0);
    const withOwn = await listEverything(env);
    const run = npm("example", env);
    expect(await run.ended, run.output()).toBe(1);
    expect(run.output()).toContain("which the example did not make: organization acme, tenant acmeshop\n");
    expect(await listEverything(env)).toEqual(withOwn);
    expect(JSON.parse(readFileSync(list, "utf8"))).toMatchObject({ organizations: ["globex"], tenants: [] });
  });
});

describe("npm run example -- mcp", () => {
  const platform = newPlatform();
  let env: Record<string, string>;

  beforeAll(async () => {
    env = { STATE_DIR: platform.stateDir, PORT: String(platform.port), MCP_PORT: String(await freePort()) };
  }, 90_000);
  const done = async (line: string): Promise<void> => {
    const { code, err } = await plat(env, line.split(" "));
    expect(code, err).toBe(0);
  };
  const untilReady = async () => {
    const run = npm("example", env, ["--", "mcp"]);
    await expect.poll(run.output, { timeout: PATIENCE_MS }).toMatch(/^ready /m);
    return run;
  };

  test("removes what it made, also after a kill, and leaves the demo user's other roles", async () => {
    await done("role set extra --scope plat.media_view");
    await done("tenant set-member demo ada@demo.example --add-role extra");
    const before = await listEverything(env);
    await stopGroup(await untilReady(), "SIGKILL");
    expect(await listEverything(env)).not.toEqual(before);
    const run = await untilReady();
    await stopGroup(run, "SIGINT");
    expect(run.child.exitCode, run.output()).toBe(0);
    expect(await listEverything(env)).toEqual(before);
    expect(existsSync(join(platform.stateDir, "mcp-server"))).toBe(false);
  });

  test.each([
    "service set notes --source-url http://127.0.0.1:9/ --proxy-path /mine --tenant demo --access token --scope mine.a",
    "role set notes-keeper --scope plat.media_view",
  ])("takes nothing over: %s", async (line) => {
    await done(line);
    const before = await listEverything(env);
    const run = npm("example", env, ["--", "mcp"]);
    expect(await run.ended, run.output()).toBe(1);
    expect(run.output()).toContain("which the example did not make");
    expect(await listEverything(env)).toEqual(before);
    const [word, , id] = line.split(" ");
    await done(`${word} delete ${id} --yes`);
  });
});

test("npm run example starts a platform where none is, removes what it made there, and leaves no process", async () => {
  const stateDir = newStateDir();
  const env = { STATE_DIR: stateDir, PORT: String(await freePort()), CATALOG_PORT: String(await freePort()) };
  const run = npm("example", env);
  await expect.poll(run.output, { timeout: 3 * PATIENCE_MS }).toContain("What is refused");
  await stopGroup(run, "SIGINT");
  expect(run.output()).toContain("The organizations shelfware, acme, globex are gone too.");
  expect(living(run.child.pid ?? 0)).toEqual([]);
  await expect(fetch(`http://127.0.0.1:${env.PORT}/health`)).rejects.toThrow();
  await expect(fetch(`http://127.0.0.1:${env.CATALOG_PORT}/products`)).rejects.toThrow();
  rmSync(stateDir, { recursive: true, force: true });
});
