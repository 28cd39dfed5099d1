import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { PLAT, PLINTH } from "../../scripts/lib/about-plat.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { readSettings } from "../../scripts/lib/local/settings.ts";
import { ok, type RequestOpts } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { writeNewFile } from "../../cli/data/new-file.ts";
import { AdminRefusal, createAdminClient, find, rowsOf } from "../../cli/client/admin-client.ts";
import { allCommands, SUMMARIES } from "../../cli/commands.ts";
import { distanceOf, nearest } from "../../cli/terminal/nearest.ts";
import { lacksBrowser } from "../../cli/session/open-browser.ts";
import { createProgram, GLOBAL_OPTIONS } from "../../cli/command-line/program.ts";
import { fetchThatTellsLoss, Unreachable } from "../../cli/client/send.ts";
import { createTable, widthOf } from "../../cli/terminal/table.ts";
import { columnsOf, type Io } from "../../cli/terminal/io.ts";
import { findWho } from "../../cli/session/caller.ts";
import { createSessionStore } from "../../cli/session/store.ts";
import { findSecret, findTarget } from "../../cli/client/target.ts";
import { readCount, readInstant, readTime, toJson } from "../../cli/terminal/values.ts";
import { chain, GENESIS } from "../../src/platform/secrets/audit-chain.ts";
import { plat } from "./support/plat-command.ts";

/**
 * Answers of the played platform: `lost` closes the connection on a request, `cut` in the middle of the answer,
 * `silent` never answers.
 */
type Script = { status: number; body?: unknown; headers?: Record<string, string> } | "lost" | "cut" | "silent";

interface Played {
  readonly opts: RequestOpts;
  readonly base: string;
  /** Requests such as `GET /tenants` in order, without requests for tokens. */
  readonly seen: string[];
  /** Bodies of the same requests; empty if there was none. */
  readonly bodies: string[];
  /** Their conditions, such as `if-match "1"`; empty if there was none. */
  readonly conditions: string[];
  readonly tokens: () => number;
  readonly waits: number[];
  close(): Promise<void>;
}

const servers: Played[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** Plays an operator service that gives these answers in order, then 200 and `{}`. */
async function play(script: readonly Script[], { expiresIn = 3600, timeoutMs = 2_000 } = {}): Promise<Played> {
  const left = [...script];
  const seen: string[] = [];
  const bodies: string[] = [];
  const conditions: string[] = [];
  let tokens = 0;
  const answer = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "content-type": "application/json", "plat-request-id": "a-request", ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sent = await readAll(request);
    if (request.url?.endsWith("/oauth2/v1/token") === true)
      return answer(response, 200, { access_token: `token-${++tokens}`, expires_in: expiresIn });
    seen.push(
      `${request.method} ${(request.url ?? "").replace("/prefix/admin/v1", "")} ${request.headers.authorization}`,
    );
    bodies.push(sent);
    const named = ["if-match", "if-none-match"].filter((name) => name in request.headers);
    conditions.push(named.map((name) => `${name} ${String(request.headers[name])}`).join());
    const next = left.shift() ?? { status: 200, body: {} };
    if (next === "silent") return;
    if (next === "lost") return void request.socket.destroy();
    if (next === "cut") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      return void response.write("[", () => request.socket.destroy());
    }
    answer(response, next.status, next.body, next.headers);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix`;
  const waits: number[] = [];
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  const { opts } = createAdminClient({ base, platform: "plat", secret: "a:secret%", timeoutMs, wait });
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  const played = { opts, base, seen, bodies, conditions, waits, tokens: () => tokens, close };
  servers.push(played);
  return played;
}

const callOf = (text: string): string => text.replace(/ Bearer .*/, "");

/** One operation of each method. */
const TENANT = { organization: "acme", name: "Acme" };
const CALLS = {
  GET: async (opts: RequestOpts): Promise<unknown> => ok(api.getTenant("acme", opts)),
  PUT: async (opts: RequestOpts): Promise<unknown> => ok(api.putTenant("acme", TENANT, opts)),
  POST: async (opts: RequestOpts): Promise<unknown> => ok(api.rotateSigningKeys({}, opts)),
  DELETE: async (opts: RequestOpts): Promise<unknown> => ok(api.deleteTenant("acme", opts)),
};

describe("calls of the operator service", () => {
  test.each(["GET", "PUT", "DELETE"] as const)(
    "%s is repeated after a lost connection, and after 503",
    async (method) => {
      const { opts, seen, waits } = await play([
        "lost",
        { status: 503, headers: { "retry-after": "7" } },
        { status: 200, body: { ok: 1 } },
      ]);
      expect(await CALLS[method](opts)).toEqual({ ok: 1 });
      expect(seen.map(callOf)).toEqual(Array(3).fill(`${method} /tenants/acme`));
      expect(waits[0]).toBeLessThan(500);
      expect(waits[1]).toBe(7_000);
    },
  );

  test("a truncated answer is retried, and the person is told", async () => {
    const { base, seen } = await play(["cut", { status: 502 }, { status: 200, body: [] }]);
    const listed = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["tenant", "list", "--json", "--url", base], {
      wait: async () => undefined,
    });
    expect(listed).toMatchObject({ code: 0, out: "[]\n" });
    expect(listed.err).toMatch(
      /^… the connection was lost .*; asking again in 0\.\d s\n… answered 502; asking again in 0\.\d s\n$/,
    );
    expect(seen).toHaveLength(3);
  });

  describe("set, of a record that somebody else changes too", () => {
    const none = { status: 404, body: { type: "element_resource_non_existing", message: "There is no such record." } };
    const otherwise = { status: 412, body: { type: "precondition_failed", message: "Nothing was changed." } };
    const shows = (etag: string, body: object) => ({ status: 200, body, headers: { etag: `"${etag}"` } });
    const wanted = { tenant: "acme", confidential: true, grantTypes: ["client_credentials"], scopes: [] as string[] };
    const CLIENT = "client set acme.shop --tenant acme --confidential --no-scope --grant-type client_credentials";
    async function set(line: string, script: readonly Script[]) {
      const played = await play(script);
      const wait = async (): Promise<void> => undefined;
      const done = await plat({ OPERATOR_CLIENT_SECRET: "s" }, [...line.split(" "), "--url", played.base], { wait });
      const puts = played.bodies.flatMap((body, at) =>
        body === "" ? [] : [{ condition: played.conditions[at], body: JSON.parse(body) }],
      );
      return { ...done, puts };
    }

    test("begins again with the record as it is then", async () => {
      const { code, err, puts } = await set("role set editor --add-scope a.c --remove-scope a.a", [
        shows("1", { scopes: ["a.a", "a.b"] }),
        otherwise,
        shows("2", { scopes: ["a.a", "a.b", "a.x"] }),
        shows("3", { scopes: ["a.b", "a.x", "a.c"] }),
      ]);
      expect(code, err).toBe(0);
      expect(puts).toEqual([
        { condition: 'if-match "1"', body: { scopes: ["a.b", "a.c"] } },
        { condition: 'if-match "2"', body: { scopes: ["a.b", "a.x", "a.c"] } },
      ]);
    });

    test("gives up after three tries", async () => {
      const script = [1, 2, 3].flatMap((at) => [shows(`${at}`, { scopes: [`a.${at}`] }), otherwise]);
      const { code, err, puts } = await set("role set editor --add-scope a.c", script);
      expect([code, puts.length, err]).toEqual([1, 3, expect.stringContaining("Nothing was changed. (412)")]);
    });

    test("replaces no client that somebody made meanwhile, nor its secret", async () => {
      const { out, err, puts } = await set(`${CLIENT} --name acme.web`, [
        none,
        otherwise,
        shows("2", { ...wanted, name: "acme.shop" }),
        shows("3", { ...wanted, name: "acme.web" }),
      ]);
      expect(err).toBe("✓ The client acme.shop was changed: name.\n");
      expect(out).not.toContain("clientSecret");
      expect(puts.map(({ condition, body }) => [condition, "clientSecret" in body])).toEqual([
        ["if-none-match *", true],
        ['if-match "2"', false],
      ]);
    });

    test("sends the same secret again if the first answer was lost and the client is as asked", async () => {
      const record = { ...wanted, name: "acme.shop" };
      const script = [none, "lost", otherwise, shows("2", record), shows("2", record)] as const;
      const { code, err, json, puts } = await set(`${CLIENT} --json`, script);
      expect(code, err).toBe(0);
      expect(err).toContain("✓ The client acme.shop was made.");
      expect(puts.map(({ condition }) => condition)).toEqual([...Array(2).fill("if-none-match *"), 'if-match "2"']);
      expect(new Set(puts.map(({ body }) => body.clientSecret))).toEqual(new Set([json().clientSecret]));
    });

    test("ends no secret of somebody else's client if the first answer was lost", async () => {
      const script = [none, "lost", otherwise, shows("2", { ...wanted, scopes: ["a.b"] })] as const;
      const { code, err, out, puts } = await set(CLIENT, [...script, shows("2", { ...wanted, scopes: ["a.b"] })]);
      expect(code, err).toBe(0);
      expect(out).not.toContain("clientSecret");
      expect(puts.slice(2).map(({ body }) => body)).toEqual([wanted]);
    });

    test("says how to get a secret if the client is as asked, and whose it is cannot be known", async () => {
      const { code, err, out, puts } = await set(CLIENT, [
        none,
        otherwise,
        shows("2", { ...wanted, name: "acme.shop" }),
      ]);
      expect(code, err).toBe(0);
      expect([out.includes("clientSecret"), puts.length]).toEqual([false, 1]);
      expect(err).toContain("The client acme.shop is like that already.");
      expect(err).toContain("npm run plat -- client new-secret acme.shop");
    });
  });

  test("a retried PUT of a new client sends the same secret, which is shown", async () => {
    const none = { status: 404, body: { type: "element_resource_non_existing", message: "There is no such client." } };
    const { base, seen, bodies } = await play([none, "lost", { status: 200, body: { clientId: "acme.shop" } }]);
    const line =
      "client set acme.shop --tenant acme --confidential --no-scope --grant-type client_credentials --json --url";
    const made = await plat({ OPERATOR_CLIENT_SECRET: "s" }, [...line.split(" "), base], {
      wait: async () => undefined,
    });
    expect(made.code, made.err).toBe(0);
    expect(seen.map(callOf)).toEqual([
      "GET /clients/acme.shop",
      ...Array<string>(2).fill("PUT /clients/acme.shop"),
      // Which scopes exist.
      "GET /services?pageSize=1000",
    ]);
    expect(bodies[1]).toBe(bodies[2]);
    expect(JSON.parse(bodies[2] ?? "")).toHaveProperty("clientSecret", made.json().clientSecret);
    expect(made.json().clientSecret).toMatch(/^[\w-]{43}$/);
  });

  test.each(["GET", "PUT", "POST", "DELETE"] as const)(
    "a page that is no answer of a platform is told as that: %s",
    async (method) => {
      const { opts } = await play([{ status: 200 }]);
      await expect(CALLS[method](opts)).rejects.toThrow("answered 200, and not as a platform does");
    },
  );

  test("a failed check of health --deep is shown at once, with exit code 1", async () => {
    const check = { name: "bucket", status: "fail", tookMs: 3000, facts: { error: "no answer" }, next: "Look there." };
    const { base, seen } = await play([{ status: 503, body: { status: "fail", checkedAt: 1, checks: [check] } }]);
    const asked = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["health", "--deep", "--url", base]);
    expect(asked).toMatchObject({ code: 1, err: "", out: "fail  bucket  error no answer\n      → Look there.\n" });
    expect(seen).toHaveLength(1);
    const error = { type: "service_temporarily_unavailable", message: "Tokens cannot be checked at the moment." };
    const { base: down } = await play([{ status: 503, body: error }]);
    const refused = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["health", "--deep", "--url", down]);
    expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringContaining("Tokens cannot be checked") });
  });

  test("a change with a lost answer may have been done; a command that only reads says nothing of it", async () => {
    const lost = async (line: string): Promise<string> => {
      const { base } = await play(Array<"lost">(4).fill("lost"));
      const wait = async (): Promise<void> => undefined;
      return (await plat({ OPERATOR_CLIENT_SECRET: "s" }, [...line.split(" "), "--url", base], { wait })).err;
    };
    const warned = expect.stringContaining("It may have been done");
    expect([await lost("tenant list"), await lost("tenant delete acme --yes")]).toEqual([
      expect.not.stringContaining("may have been done"),
      warned,
    ]);
  });

  test("a POST is sent only once", async () => {
    for (const lost of ["lost", { status: 503 }] as const) {
      const { opts, seen } = await play([lost]);
      await expect(CALLS.POST(opts)).rejects.toThrow(lost === "lost" ? "connection was lost" : "");
      expect(seen).toHaveLength(1);
    }
  });

  test("retrying ends after four attempts, and at once if the wait would be long", async () => {
    const lost = await play(Array<Script>(9).fill("lost"));
    await expect(CALLS.GET(lost.opts)).rejects.toBeInstanceOf(Unreachable);
    expect(lost.seen).toHaveLength(4);
    const long = await play([
      {
        status: 429,
        headers: { "retry-after": "3600" },
        body: { type: "insufficient_resources", message: "So many." },
      },
    ]);
    await expect(CALLS.GET(long.opts)).rejects.toThrow("So many.");
    expect(long.seen).toHaveLength(1);
  });

  test("a timeout counts as a lost answer", async () => {
    const { opts, seen } = await play(["silent", { status: 200, body: {} }], { timeoutMs: 100 });
    expect(await CALLS.GET(opts)).toEqual({});
    expect(seen).toHaveLength(2);
    const other = await play(["silent"], { timeoutMs: 100 });
    await expect(CALLS.POST(other.opts)).rejects.toThrow("nothing came within 0.1 s");
  });

  test("a late answer is told while it is waited for, and a quick one is not", async () => {
    const { base, close } = await play([{ status: 200, body: {} }, "silent"]);
    const told: string[] = [];
    const onRepeat = (why: string): void => void told.push(why);
    const { opts } = createAdminClient({ base, platform: "plat", secret: "s", timeoutMs: 6_000, onRepeat });
    await CALLS.POST(opts);
    expect(told).toEqual([]);
    const silent = CALLS.POST(opts);
    await vi.waitUntil(() => told.length > 0, { timeout: 5_000 });
    expect(told).toEqual(["no answer yet; waiting 6 s for it"]);
    await Promise.all([close(), expect(silent).rejects.toThrow("the connection was lost")]);
  });

  test("a DELETE succeeds if its retry finds nothing, and fails if the first attempt does", async () => {
    const gone = { status: 404, body: { type: "element_resource_non_existing", message: "There is no such role." } };
    const repeated = await play(["lost", gone]);
    expect((await api.deleteRole("a", repeated.opts)).status).toBe(204);
    const first = await play([gone]);
    await expect(api.deleteRole("a", first.opts)).rejects.toMatchObject({ status: 404 });
  });

  test("a token serves many calls, is renewed before its end, and once after a 401", async () => {
    const { opts, seen, tokens } = await play([{ status: 200, body: {} }, { status: 401 }, { status: 200, body: {} }]);
    await Promise.all([CALLS.GET(opts), find(CALLS.GET(opts))]);
    expect(await CALLS.POST(opts)).toEqual({});
    expect(seen.map((line) => line.replace(/.* /, ""))).toEqual(["token-1", "token-1", "token-2", "token-2"]);
    expect(tokens()).toBe(2);
    const refused = await play([
      { status: 401 },
      { status: 401, body: { type: "insufficient_credentials", message: "No." } },
    ]);
    await expect(CALLS.GET(refused.opts)).rejects.toMatchObject({
      status: 401,
      type: "insufficient_credentials",
    });
    expect(refused.tokens()).toBe(2);
    const brief = await play([], { expiresIn: 0 });
    await CALLS.GET(brief.opts);
    await CALLS.GET(brief.opts);
    expect(brief.tokens()).toBe(2);
  });

  test("a refusal has details; a missing record is undefined", async () => {
    const details = [{ type: "invalid_field", field: "name", message: "name is long." }];
    const { opts } = await play([
      { status: 400, body: { type: "validation_violation", message: "Wrong.", details } },
      { status: 404, body: { type: "element_resource_non_existing", message: "Nothing." } },
      { status: 404, body: "<html>" },
    ]);
    const refusal: unknown = await CALLS.PUT(opts).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AdminRefusal);
    expect(refusal).toMatchObject({
      status: 400,
      type: "validation_violation",
      message: "Wrong.",
      details,
      requestId: "a-request",
    });
    expect(await find(CALLS.GET(opts))).toBeUndefined();
    // A 404 of another server does not mean that the tenant is missing.
    await expect(find(CALLS.GET(opts))).rejects.toThrow("not as a platform does");
  });

  test("pages follow their links at the given address; redirects are not followed", async () => {
    const link = (cursor: string) => ({
      link: `<https://public.example/x/admin/v1/t?pageNumber=2&cursor=${cursor}>; rel="next"`,
    });
    const { opts, seen } = await play([
      { status: 200, body: [1, 2], headers: link("one") },
      { status: 200, body: [3], headers: link("two") },
      { status: 200, body: [4], headers: { link: '<https://public.example/x>; rel="prev"' } },
    ]);
    const found: unknown[] = [];
    for await (const row of rowsOf((page) => api.listTenants(page, opts), { pageSize: 2 })) found.push(row);
    expect(found).toEqual([1, 2, 3, 4]);
    expect(seen.map(callOf)).toEqual([
      "GET /tenants?pageSize=2",
      "GET /tenants?pageNumber=2&cursor=one",
      "GET /tenants?pageNumber=2&cursor=two",
    ]);
    const moved = await play([{ status: 301, headers: { location: "https://elsewhere.example/" } }]);
    await expect(CALLS.GET(moved.opts)).rejects.toThrow("answered 301 and points to https://elsewhere.example/");
  });

  test("a platform that restarts meanwhile is waited for", async () => {
    const { opts, close, waits } = await play([]);
    await CALLS.GET(opts);
    await close();
    await expect(CALLS.GET(opts)).rejects.toBeInstanceOf(Unreachable);
    expect(waits).toHaveLength(3);
  });
});

describe("the target platform", () => {
  test.each([{}, { PORT: "9999" }, { PATH_PREFIX: "/base", PLATFORM: "shop" }])(
    "is the one that npm start starts with %o",
    (env) => {
      const { port, config } = readSettings(env);
      const base = `http://127.0.0.1:${port}${config.pathPrefix}`;
      const target = findTarget(undefined, env, ROOT);
      expect(target).toEqual({ base, platform: config.platform, isLocal: true, isFromFile: false });
      expect(findSecret(undefined, target, env, ROOT)).toBe(config.operatorSecret);
    },
  );

  test("is that of --url or PLINTH_URL, which never gets the local secret", () => {
    const env = { PLINTH_URL: "https://one.example/base/" };
    expect(findTarget(undefined, env, ROOT).base).toBe("https://one.example/base");
    const target = findTarget("https://two.example", env, ROOT);
    expect(target.base).toBe("https://two.example");
    expect(findSecret(undefined, target, {}, ROOT)).toBeUndefined();
    expect(findSecret(undefined, target, { OPERATOR_CLIENT_SECRET: "by variable" }, ROOT)).toBe("by variable");
    expect(findSecret("given", target, { OPERATOR_CLIENT_SECRET: "by variable" }, ROOT)).toBe("given");
  });

  test("is that of .env else, which gets no operator secret of the environment", () => {
    const target = findTarget(undefined, {}, ROOT, { PLINTH_URL: "https://three.example" });
    expect(target.base).toBe("https://three.example");
    expect(findSecret(undefined, target, { OPERATOR_CLIENT_SECRET: "by variable" }, ROOT)).toBeUndefined();
    expect(findSecret("given", target, {}, ROOT)).toBe("given");
  });

  test("of a .env gets no application of the environment, and the person is told", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "plat-"));
    const env = { PLINTH_CLIENT_ID: "acme.shop", PLINTH_CLIENT_SECRET: "of the shell", PLINTH_CONFIG_DIR: cwd };
    const told: string[] = [];
    const io = { env, cwd, err: (text: string) => void told.push(text) } as unknown as Io;
    const options = { has: () => false, value: () => undefined, values: () => [] };
    const whoAt = (url: string, given?: string) => {
      writeFileSync(join(cwd, ".env"), `PLINTH_URL=${url}\n`);
      const target = findTarget(given, env, undefined, { PLINTH_URL: url });
      return findWho({ io, options, target });
    };
    expect(() => whoAt("https://evil.example")).toThrow("Nobody is known at https://evil.example");
    expect(told).toEqual([expect.stringContaining("say --url")]);
    const app = { kind: "app", clientId: "acme.shop", clientSecret: "of the shell" };
    expect(whoAt("http://127.0.0.1:8787")).toEqual(app);
    expect(whoAt("https://evil.example", "https://ours.example")).toEqual(app);
    expect(told).toHaveLength(1);
    rmSync(cwd, { recursive: true });
  });

  test.each([
    ["http://far.example", "is not https"],
    ["http://127.far.example", "is not https"],
    ["two.example", "is no address"],
    ["ftp://two.example", "is no address"],
    ["https://me:secret@two.example", "has no user"],
    ["https://two.example?a=b", "has no user, query"],
  ])("and not %s", (url, why) => {
    expect(() => findTarget(url, {}, ROOT)).toThrow(why);
  });

  test("gets advice if it is unreachable", async () => {
    const { base, close } = await play([]);
    await close();
    const result = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["tenant", "list", "--url", base]);
    expect(result).toMatchObject({ code: 1, out: "" });
    expect(result.err).toBe(
      `✗ No answer from ${new URL(base).origin}: nothing listens there.\n` +
        "  Start it first: npm start. (PORT, PLINTH_URL or --url choose another one.)\n",
    );
  });
});

describe("a failure with --json is one line of JSON, the last of the standard error", () => {
  const env = { OPERATOR_CLIENT_SECRET: "s" };
  const wait = async (): Promise<void> => undefined;
  const run = (line: string, base: string) => plat(env, [...line.split(" "), "--json", "--url", base], { wait });
  const failureOf = (err: string): unknown => JSON.parse(err.trimEnd().split("\n").at(-1) ?? "");
  const LISTS = ["tenant list", "client list", "audit", "signing-key list", "tenant members acme"];

  test.each([...LISTS, "health", "explain --client a.b", "tenant show acme", "role set r --scope a"])(
    "where nothing answers: %s",
    async (line) => {
      const { base, close } = await play([]);
      await close();
      const { code, out, err } = await run(line, base);
      expect([code, out]).toEqual([1, ""]);
      expect(JSON.parse(err)).toEqual({
        status: 0,
        type: "no_answer",
        message: `No answer from ${new URL(base).origin}: nothing listens there.`,
        details: [{ type: "refused", field: "", message: expect.stringContaining("Start it first") }],
        requestId: "",
      });
    },
  );

  test.each([
    [200, { status: "UP" }, "not as a platform does: is it one?"],
    [200, { hello: 1 }, "not as a platform does: is it one?"],
    [429, {}, "not as a platform does: is it one?"],
    [500, { type: "a_type", message: "Broken." }, "Broken."],
  ])("where something else answers to health, with %d %j", async (status, body, why) => {
    const server = createServer((_, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, out, err } = await run("health", base);
    server.closeAllConnections();
    server.close();
    expect([code, out]).toEqual([1, ""]);
    expect(failureOf(err)).toMatchObject({ status, message: `${base}/health answered ${status}: ${why}` });
  });

  test.each(LISTS)("where a list is refused nothing of it is printed: %s", async (line) => {
    for (const status of [401, 404]) {
      const body = { type: "a_type", message: "No." };
      const { base } = await play([
        { status, body },
        { status, body },
      ]);
      const { code, out, err } = await run(line, base);
      expect([code, out]).toEqual([1, ""]);
      expect(JSON.parse(err)).toMatchObject({ status, type: "a_type", message: "No.", requestId: "a-request" });
    }
  });

  test("leaves the array of a list open, so that a part is not taken for all of it", async () => {
    const next = { link: '<http://any/admin/v1/tenants?cursor=c>; rel="next"' };
    const { base } = await play([
      { status: 200, body: [{ id: "one" }], headers: next },
      { status: 500, body: { type: "internal", message: "Broken." } },
    ]);
    const { code, out, err } = await run("tenant list", base);
    expect(code).toBe(1);
    expect(out).toContain('"id": "one"');
    expect(() => JSON.parse(out) as unknown).toThrow("JSON");
    expect(JSON.parse(err)).toMatchObject({ status: 500, message: "Broken." });
  });

  test("of an application says whether the request may have worked, as of an operator", async () => {
    const app = { PLINTH_CLIENT_ID: "acme.shop", PLINTH_CLIENT_SECRET: "s" };
    const publish = async (script: readonly Script[]) => {
      const { base } = await play(script);
      const { code, err } = await plat(app, ["topic", "publish", "orders", "one", "--json", "--url", base]);
      expect(code).toBe(1);
      return failureOf(err);
    };
    const lost = { details: [{ type: "lost", message: expect.stringContaining("may have been done") }] };
    expect(await publish(Array<"lost">(5).fill("lost"))).toMatchObject({ status: 0, type: "no_answer", ...lost });
    expect(await publish(Array<"cut">(5).fill("cut"))).toMatchObject({ status: 0, type: "no_answer", ...lost });
    const { base, close } = await play([]);
    await close();
    for (const line of ["topic list", "file list", "whoami", "topic publish orders one"]) {
      const { err } = await plat(app, [...line.split(" "), "--json", "--url", base]);
      expect(failureOf(err)).toMatchObject({ type: "no_answer", details: [{ type: "refused" }] });
    }
  });

  test("of a publish names the key that stores no event twice", async () => {
    const app = { PLINTH_CLIENT_ID: "acme.shop", PLINTH_CLIENT_SECRET: "s" };
    const refusal = { status: 400, body: { type: "t", message: "No." } };
    const publish = async (script: readonly Script[], stdin: string, ...more: string[]) => {
      const { base } = await play(script);
      const line = ["topic", "publish", "orders", "--lines", "--json", ...more, "--url", base];
      const { code, err } = await plat(app, line, { stdin });
      expect(code).toBe(1);
      expect(() => failureOf(err)).not.toThrow();
      return err;
    };
    const many = "line\n".repeat(1_001);
    const named = /^Events may be stored\. Run it again with --idempotency-key [0-9a-f-]{36}: /;
    expect(await publish([{ status: 200, body: { ids: [] } }, refusal], many)).toMatch(named);
    expect(
      await publish(
        Array.from({ length: 5 }, () => ({ status: 500, body: {} })),
        "one",
      ),
    ).toMatch(named);
    expect(await publish([refusal], "one\ntwo")).not.toMatch(named);
    expect(await publish([refusal], many, "--idempotency-key", "mine")).not.toMatch(named);
  });

  test("of an application counts as lost after a lost attempt, and a stop stays one", async () => {
    const causes = { lost: { code: "ECONNRESET" }, refused: { code: "ECONNREFUSED" } };
    const stop = new DOMException("Stopped.", "AbortError");
    const fails = [causes.refused, causes.lost, causes.refused].map((cause) => new TypeError("failed", { cause }));
    const left: Error[] = [...fails, stop];
    const told = fetchThatTellsLoss(async () => {
      throw left.shift() ?? new Error("no more");
    });
    for (const kind of ["refused", "lost", "lost"])
      await expect(told("http://a.example")).rejects.toMatchObject({ kind });
    await expect(told("http://a.example")).rejects.toBe(stop);
  });

  test("where nothing listens any more, an attempt before may have been carried out", async () => {
    const played = await play(["lost"]);
    const closing = async (): Promise<void> => {
      servers.splice(servers.indexOf(played), 1);
      await played.close().catch(() => undefined);
    };
    let waits = 0;
    const line = ["tenant", "delete", "acme", "--yes", "--json", "--url", played.base];
    const { err } = await plat(env, line, { wait: async () => void (waits++ === 0 && (await closing())) });
    expect(waits).toBeGreaterThan(1);
    expect(failureOf(err)).toMatchObject({ type: "no_answer", details: [{ type: "lost" }] });
  });

  test("names the commands of this program", async () => {
    const { base } = await play([]);
    const io = { PLINTH_CONFIG_DIR: mkdtempSync(join(tmpdir(), "plat-")) };
    const { err } = await plat(io, ["topic", "list", "--json", "--url", base], {}, { ...PLAT, name: "plinth" });
    expect(failureOf(err)).toMatchObject({ message: expect.stringContaining("(plinth init), sign in (plinth login)") });
  });

  test("says after the retries that a change may have been done", async () => {
    const { base } = await play(Array<"lost">(4).fill("lost"));
    const { code, out, err } = await run("tenant delete acme --yes", base);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^… the connection was lost/);
    expect(failureOf(err)).toMatchObject({
      status: 0,
      type: "no_answer",
      details: [{ type: "lost", message: expect.stringContaining("may have been done") }],
    });
  });

  test.each([
    ["tenant show", "Missing required argument 'tenant'"],
    ["tenant delete acme", "say --yes"],
    ["frobnicate", "Unknown command 'frobnicate'."],
    ["tenant", "What to do is missing: tenant <verb>."],
    ["apply /nowhere/platform.yaml", "apply /nowhere/platform.yaml cannot be read: ENOENT"],
    // As of an unset variable of a shell: it would mean shard 0, or all scopes.
    ["platform restore-object a.t --shard= --to 2026-11-22T08:00:00Z --yes", "--shard takes 0 to"],
    [
      "platform restore-object a.t --shard 0 --to never",
      "--to is a time such as 2026-11-22T08:00:00Z, or a bookmark, not never",
    ],
    ["platform restore-shard 1 --to 2026-11-22T08:00:00 --yes", "--to 2026-11-22T08:00:00 has no time zone"],
    ["token --scope=", "--scope: nothing is in it."],
    ["login --tenant acme --scope=", "--scope: nothing is in it."],
  ])("what was not understood: %s", async (line, why) => {
    const { base } = await play([]);
    const { code, out, err } = await run(line, base);
    expect([code, out]).toEqual([2, ""]);
    expect(JSON.parse(err)).toMatchObject({
      status: 0,
      type: "not_understood",
      message: expect.stringContaining(why),
    });
  });

  test("lists the mistakes of a file in order", async () => {
    const file = "users: {}\nclients: { c: 1 }\nroles: { r: 2 }\nnonsense: {}\n";
    const { base } = await play(Array.from({ length: 3 }, () => ({ status: 200, body: [] })));
    const { code, out, err } = await plat(env, ["apply", "-", "--json", "--url", base], { stdin: file });
    expect([code, out]).toEqual([1, ""]);
    const failure = JSON.parse(err) as { details: { place: { line: number }; message: string }[] };
    expect(failure).toMatchObject({
      status: 0,
      type: "file_refused",
      message: "<stdin>: 3 mistakes; nothing was sent.",
    });
    expect(failure.details.map(({ place, message }) => [place.line, message.split(" ")[0]])).toEqual([
      [2, "c"],
      [3, "r"],
      [4, '"nonsense"'],
    ]);
  });
});

describe("a job of the backup service", () => {
  const job = (more: object) => {
    const asked = { id: "one", kind: "verify", actor: "a", backup: "b", startedAt: 1, finishedAt: 2 };
    const found = { state: "done", stage: "parts", stagesDone: 1, stages: 1, failures: 0, error: "" };
    return { ...asked, ...found, counts: {}, findings: [], findingsInAll: 0, ...more };
  };
  const run = async (words: string, ...bodies: unknown[]) => {
    const { base } = await play(bodies.map((body) => ({ status: 200, body })));
    return plat({ OPERATOR_CLIENT_SECRET: "s" }, [...words.split(" "), "--url", base], { wait: async () => {} });
  };

  test("that cannot be begun or followed is no mistake in the command line", async () => {
    const none = await run("platform verify latest", []);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining("There is no whole backup.") });
    const other = await run("platform job --follow", job({ state: "running" }), job({ id: "two" }));
    expect(other).toMatchObject({ code: 1, err: expect.stringContaining("Another job has begun since") });
    expect((await run("platform backup --keep 1.5")).code).toBe(2);
  });

  test("asks about the backup that it means, also if that is the latest", async () => {
    for (const [verb, question] of [
      ["forget", "Remove the backup 20261129-one?"],
      ["restore", "Write the backup 20261129-one into "],
    ] as const) {
      const { base, seen } = await play([{ status: 200, body: [{ id: "20261129-one" }] }]);
      const asked: string[] = [];
      const ask = async (text: string) => (asked.push(text), "n");
      const { code } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["platform", verb, "latest", "--url", base], {
        ask,
      });
      expect([code, seen.map(callOf)]).toEqual([1, ["GET /backups?pageSize=1"]]);
      expect(asked).toEqual([expect.stringContaining(question)]);
    }
  });

  test("is watched to its end, also while the platform is away for some minutes", async () => {
    const away = { status: 503, body: { type: "a_type", message: "Away." }, headers: { "retry-after": "60" } };
    const running = { status: 200, body: job({ state: "running" }) };
    const watch = async (...script: Script[]) => {
      const { base } = await play(script);
      const line = ["platform", "job", "--follow", "--url", base];
      return plat({ OPERATOR_CLIENT_SECRET: "s" }, line, { wait: async () => {} });
    };
    const done = await watch(running, away, away, running, { status: 200, body: job({}) });
    const verify = "verify 2/1 parts: undefined rows, undefined events, undefined files";
    expect(done.err.trimEnd().split("\n")).toEqual([verify, "Away. Waiting for the platform.", verify]);
    expect(done.code).toBe(0);
    const gone = await watch(running, ...Array.from({ length: 150 }, () => away));
    expect(gone).toMatchObject({ code: 1, err: expect.stringContaining("✗ Away.") });
    const lost = await watch(running, { status: 403, body: { type: "forbidden", message: "No." } });
    expect(lost).toMatchObject({ code: 1, err: expect.stringContaining("✗ No.") });
  });

  test("cannot control the terminal", async () => {
    const findings = [{ kind: "part_missing", subject: "a\u001b[2Jb" }];
    const shown = await run("platform job", job({ state: "failed", findings, error: "c\u001b[2Jd" }));
    expect(shown.err).toContain("part_missing a");
    expect(shown.err).not.toContain("\u001b");
  });
});

test("says what a comparison waits for that does not begin, as in maintenance", async () => {
  const run = (state: string, objects: number) => ({
    status: 200,
    body: { id: "c1", state, checked: { objects, files: 0 }, found: {}, findings: [] },
  });
  const still = Array.from({ length: 12 }, () => run("running", 0));
  const { base } = await play([...still, run("running", 5), run("done", 9), run("done", 9)]);
  const line = ["media-consistency", "start", "--wait", "--url", base];
  const { code, err } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, line, { wait: async () => undefined });
  expect([code, err.split("\n")]).toEqual([
    0,
    [
      "✓ A comparison runs: media-consistency show c1",
      "running: 0 objects, 0 files checked",
      expect.stringContaining("In maintenance comparisons rest: platform check --no-files leaves them out."),
      "running: 5 objects, 0 files checked",
      "",
    ],
  ]);
});

test("an empty list of what was sought does not say that there are none at all", async () => {
  const list = async (...line: string[]) => {
    const { base } = await play([{ status: 200, body: [] }]);
    return (await plat({ OPERATOR_CLIENT_SECRET: "s" }, [...line, "--url", base])).err;
  };
  expect(await list("tenant", "list", "--limit", "5")).toBe("There are no tenants.\n");
  expect(await list("tenant", "list", "--query", "zz")).toBe("There are no such tenants.\n");
  expect(await list("client", "list", "--tenant", "acme")).toBe("There are no such clients.\n");
});

test("a topic that stands still may be named as topic commands do", async () => {
  const { base, seen } = await play([{ status: 200, body: { opened: [0], marked: [] } }]);
  const line = ["platform", "reopen-topic", "acme.shop/order", "--url", base];
  const { err } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, line);
  expect(seen.map(callOf)).toEqual([expect.stringMatching(/^POST .*\/acme\.shop\.order\b/)]);
  expect(err).toBe("✓ Opened 1 log, marked 0.\n");
});

test("platform replay and open print JSON with --json", async () => {
  const line = { at: 1, outcome: "erased", subject: "users/a" };
  const { base } = await play([
    { status: 200, body: { done: false, copy: "one", lines: [line] } },
    { status: 200, body: { done: true, copy: null, lines: [{ ...line, outcome: "absent" }] } },
    { status: 200, body: { links: { signIn: "http://127.0.0.1:1/in", documentation: "http://127.0.0.1:1/docs" } } },
  ]);
  const env = { OPERATOR_CLIENT_SECRET: "s", BROWSER: "none" };
  const replayed = await plat(env, ["platform", "replay", "--yes", "--json", "--url", base]);
  expect(replayed.json()).toEqual([
    { outcome: "erased", subject: "users/a" },
    { outcome: "absent", subject: "users/a" },
  ]);
  const opened = await plat(env, ["open", "--json", "--url", base]);
  expect(opened.json()).toEqual({ url: "http://127.0.0.1:1/docs" });
});

test("audit --follow waits while the platform is away", async () => {
  const row = (subject: string) => ({ at: 1, requestId: "r", actor: "a", action: "put", subject, outcome: "done" });
  const away = { status: 503, body: { type: "a_type", message: "Away." }, headers: { "retry-after": "60" } };
  const rows = (...subjects: string[]) => ({ status: 200, body: subjects.map(row) });
  const refused = { status: 403, body: { type: "forbidden", message: "No." } };
  const { base } = await play([rows("first"), away, away, rows("second", "first"), away, refused]);
  const env = { OPERATOR_CLIENT_SECRET: "s" };
  const result = await plat(env, ["audit", "--follow", "--json", "--url", base], { wait: async () => undefined });
  expect(result.code).toBe(1);
  expect(result.out.match(/first|second/g)).toEqual(["first", "second"]);
  expect(result.err.split("\n").slice(0, 2)).toEqual(Array(2).fill("Away. Waiting for the platform."));
  expect(result.err).toContain('"message":"No."');
});

describe("audit export", () => {
  test.each(["abc", "0", "1.5", ""])("--from takes the number of a copy, and not %o", async (from) => {
    const { base } = await play([{ status: 200, body: [] }]);
    const wrong = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["audit", "export", `--from=${from}`, "--url", base]);
    expect(wrong).toMatchObject({ code: 2, out: "" });
  });
});

describe("audit verify", () => {
  const row = (seq: number) => ({ seq, at: seq, requestId: "r", actor: "shop.app", action: "put" });

  /** Two copies of two rows each, as the platform lists and shows them. */
  async function copies() {
    let previous = GENESIS;
    const made: { facts: Record<string, unknown>; lines: string[] }[] = [];
    for (const number of [1, 2]) {
      const facts = { number, rows: 2, firstSeq: 2 * number - 1, lastSeq: 2 * number, previous };
      const { lines, head } = await chain(facts, [row(facts.firstSeq), row(facts.lastSeq)]);
      made.push({ facts: { ...facts, name: `audit/2026/11/2${number}.jsonl`, head, writtenAt: 1 }, lines: [...lines] });
      previous = head;
    }
    return made;
  }
  const verify = async (made: Awaited<ReturnType<typeof copies>>, more = "") => {
    const shown = made.map(({ facts, lines }): Script =>
      lines.length === 0
        ? { status: 404, body: { status: 404, type: "element_resource_non_existing", message: "none" } }
        : { status: 200, body: { ...facts, lines } },
    );
    const { base } = await play([{ status: 200, body: made.map(({ facts }) => facts) }, ...shown]);
    return plat({ OPERATOR_CLIENT_SECRET: "s" }, [
      ..."audit verify --url".split(" "),
      base,
      ...more.split(" ").filter(Boolean),
    ]);
  };

  test("prints the last hash of an intact chain, which a later run can check", async () => {
    const made = await copies();
    const [first, second] = made.map(({ facts }) => String(facts["head"]));
    expect(await verify(made)).toMatchObject({ code: 0, out: `${second}\n`, err: /4 rows in 2 copies/ });
    expect((await verify(made.slice(0, 1))).err).toContain("rows in 1 copy are");
    expect((await verify(made, `--head ${first}`)).code).toBe(0);
    const gone = await verify(made.slice(0, 1), `--head ${second}`);
    expect(gone).toMatchObject({ code: 1, out: `the chain does not lead through ${second}\n` });
    const asJson = await verify(made, "--json");
    expect(asJson.json()).toEqual({ whole: true, copies: 2, rows: 4, head: second, breaks: [] });
  });

  test("names the copy and line where the chain breaks, and ends with 1", async () => {
    const changed = await copies();
    changed[1]!.lines[2] = changed[1]!.lines[2]!.replace("shop.app", "shop.foe");
    expect(await verify(changed)).toMatchObject({
      code: 1,
      out: "audit/2026/11/22.jsonl:3: row 4 was changed, or rows between 3 and 4 were taken out\n",
      err: /are not what the platform wrote/,
    });
    const cut = await copies();
    cut[1]!.lines.pop();
    expect((await verify(cut)).out).toBe("audit/2026/11/22.jsonl:3: 1 lines are missing at the end\n");
    const lost = await copies();
    lost[0]!.lines.length = 0;
    expect((await verify(lost)).out).toBe("audit/2026/11/21.jsonl: it is not in the bucket any more\n");
    const [, second] = await copies();
    expect((await verify([second!])).out.split("\n")[0]).toBe(
      "audit/2026/11/22.jsonl: it is copy 2, and 1 should be there",
    );
  });
});

describe("files", () => {
  const dir = mkdtempSync(join(tmpdir(), "plinth-files-"));
  afterAll(() => rmSync(dir, { recursive: true }));

  test("are found relative to the person's directory", async () => {
    writeFileSync(join(dir, "bad.yaml"), "nonsense: {}\n");
    writeFileSync(join(dir, "bad.json"), '{"colour":1}');
    const { base } = await play([]);
    const stand = (line: string) =>
      plat({ OPERATOR_CLIENT_SECRET: "s" }, [...line.split(" "), "--url", base], { cwd: dir });
    expect(await stand("apply bad.yaml")).toMatchObject({ code: 1, err: expect.stringMatching(/^bad\.yaml:1:1: /) });
    expect((await stand("role set r --file bad.json")).err).toContain("bad.json: a role has no field colour.");
    expect(await stand("apply none.yaml")).toMatchObject({
      code: 2,
      err: expect.stringContaining("apply none.yaml cannot be read: ENOENT"),
    });
    const npm = spawnSync(
      "npm",
      ["run", "-s", "--prefix", ROOT, "plat", "--", "role", "set", "r", "--file", "bad.json"],
      {
        cwd: dir,
        encoding: "utf8",
      },
    );
    expect(npm.stderr).toContain("bad.json: a role has no field colour.");
  });

  test("of apply may be the standard input, as bytes", async () => {
    const { base } = await play([]);
    const stdin = Buffer.from("users:\n  a: \xe4\n", "latin1");
    const { code, err } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["apply", "-", "--url", base], { stdin });
    expect([code, err]).toEqual([1, "<stdin>:2:6: the file is not UTF-8.\nOne mistake; nothing was sent.\n"]);
  });
});

test("a new identity provider needs a secret, an existing one keeps its own", async () => {
  const none = { status: 404, body: { type: "element_resource_non_existing", message: "There is none." } };
  const corp = { id: "corp", issuer: "https://a.example", clientId: "x", clientSecret: "********", scopes: ["openid"] };
  const there = { status: 200, body: corp };
  const set = ["identity-provider", "set", "corp", "--issuer", "https://a.example", "--client-id", "y", "--url"];
  const fresh = await play([none]);
  const refused = await plat({ OPERATOR_CLIENT_SECRET: "s" }, [...set, fresh.base]);
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toContain("are needed too: --client-secret-file <file|-> or --client-secret-env <variable>");
  expect(fresh.seen).toHaveLength(1);
  const known = await play([there, there]);
  expect(await plat({ OPERATOR_CLIENT_SECRET: "s" }, [...set, known.base])).toMatchObject({ code: 0 });
  const replaced = await play([there, there]);
  expect(await plat({ OPERATOR_CLIENT_SECRET: "s" }, [...set, replaced.base, "--replace"])).toMatchObject({ code: 0 });
});

test("scopes at an identity provider are the provider's, so no service has to have them", async () => {
  const corp = { id: "corp", issuer: "https://a.example", clientId: "x", scopes: ["openid"] };
  const { base } = await play(
    [corp, { ...corp, scopes: ["openid", "groups"] }, []].map((body) => ({ status: 200, body })),
  );
  const line = ["identity-provider", "set", "corp", "--add-scope", "groups", "--url", base];
  const { err } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, line);
  expect(err).toBe("✓ The identity provider corp was changed: scopes.\n");
});

test("the trial of an identity provider is a table, and ends with 1 if a check failed", async () => {
  const passed = { check: "secret", result: "passed", detail: "It opens." };
  const failed = { check: "discovery", result: "failed", detail: "It names another issuer." };
  for (const [checks, code] of [
    [[passed], 0],
    [[passed, failed], 1],
  ] as const) {
    const { base, seen } = await play([{ status: 200, body: { works: code === 0, checks } }]);
    const tried = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["identity-provider", "test", "corp", "--url", base]);
    expect([tried.code, seen.map(callOf)]).toEqual([code, ["POST /identity-providers/corp/test"]]);
    expect(tried.out).toContain(checks.at(-1)!.detail);
  }
});

describe("what the system refuses", () => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
  const out = async (): Promise<void> => Promise.reject(full);

  test("is no bug: a full disk behind the output", async () => {
    const { base } = await play([
      { status: 200, body: [{ id: "one" }] },
      { status: 200, body: { clientSecret: "made", previousExpiresAt: 0 } },
    ]);
    const env = { OPERATOR_CLIENT_SECRET: "s" };
    const listed = await plat(env, ["tenant", "list", "--url", base], { out });
    expect(listed.err).toBe("✗ The system refused it: ENOSPC: no space left on device, write.\n");
    const changed = await plat(env, ["client", "new-secret", "acme.shop", "--url", base], { out });
    expect(changed.err).toMatch(/✗ The system refused it: ENOSPC: .*\n {2}Check which changes were made\.\n$/);
    expect([listed.code, changed.code]).toEqual([1, 1]);
    for (const line of [["--help"], ["tenant", "set", "--help"], ["--version"]])
      expect(await plat({}, line, { out })).toEqual({ ...listed, json: expect.any(Function) });
  });

  test("is nothing: a folder named .env", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "plinth-venv-"));
    mkdirSync(join(cwd, ".env"));
    const { base } = await play([{ status: 200, body: [] }]);
    const { code, err } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["tenant", "list", "--url", base], { cwd });
    rmSync(cwd, { recursive: true });
    expect([code, err]).toEqual([0, "There are no tenants.\n"]);
  });
});

describe("a new file", () => {
  const cwd = mkdtempSync(join(tmpdir(), "plinth-file-"));
  afterAll(() => rmSync(cwd, { recursive: true }));
  const app = { PLINTH_CLIENT_ID: "acme.shop", PLINTH_CLIENT_SECRET: "s" };
  const event = (id: string) => ({ id, createdAt: 1, tenant: "acme", sourceClient: "a", eventType: "t", payload: "p" });
  const page = (ids: readonly string[], next: string | null = null) => ({
    status: 200,
    body: { events: ids.map(event), next },
  });

  test("is there when it is complete, and not after a failure", async () => {
    const { base } = await play([{ status: 200, body: {} }, page(["1"], "1"), { status: 400, body: { type: "t" } }]);
    const line = ["topic", "export", "t", "--out", "events.ndjson", "--url", base];
    expect((await plat(app, line, { cwd })).code).toBe(1);
    expect(readdirSync(cwd)).toEqual([]);
    writeFileSync(join(cwd, "other.part"), "mine");
    const empty = await play([{ status: 200, body: {} }, page([])]);
    const missing = await plat(app, [...line.slice(0, 4), "none/e.ndjson", "--url", empty.base], { cwd });
    expect(missing.err).toMatch(/^✗ The system refused it: ENOENT: no such file or directory, open '.*\.part'\.\n$/);
    expect(readdirSync(cwd)).toEqual(["other.part"]);
  });

  test("leaves nothing if its source fails before it is open", async () => {
    const next = () => Promise.reject(new Error("at once"));
    const failing = (): AsyncIterable<string> => ({ [Symbol.asyncIterator]: () => ({ next }) });
    const before = readdirSync(cwd);
    for (let n = 0; n < 50; n++) await expect(writeNewFile({ cwd }, `file${n}`, failing())).rejects.toThrow("at once");
    await pause(50);
    expect(readdirSync(cwd)).toEqual(before);
  });

  test.each([
    ["--out", "got"],
    ["--out", "-"],
  ])("of a download that breaks off is no bug: %s %s", async (...to) => {
    const content = createServer((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => setTimeout(() => response.destroy(), 20));
    });
    await new Promise<void>((done) => content.listen(0, "127.0.0.1", done));
    const link = `http://127.0.0.1:${(content.address() as AddressInfo).port}/`;
    const { base } = await play([{ status: 302, headers: { location: link } }]);
    const { code, err } = await plat(app, ["file", "get", "id", ...to, "--url", base], { cwd });
    content.close();
    expect(code).toBe(1);
    expect(err).toMatch(/^✗ The file did not come whole: the connection was lost \(UND_ERR_SOCKET\)\.\n$/);
    expect(readdirSync(cwd)).not.toContain("got");
  });
});

describe("Ctrl-C while a command watches work of the platform", () => {
  const comparison = { id: "c", state: "running", checked: { objects: 1, files: 1 } };
  const job = {
    id: "j",
    kind: "restore",
    state: "running",
    stage: "files",
    stagesDone: 1,
    stages: 9,
    counts: { rows: 1, events: 0, files: 0 },
    failures: 0,
    error: "",
  };

  test.each([
    ["platform job --follow", job, "The restore goes on. Watch it: npm run plat -- platform job --follow."],
    ["platform verify b", job, "The restore goes on."],
    ["tenant move acme --wait", { state: "copying" }, "The move goes on: npm run plat -- tenant move acme --wait"],
    ["media-consistency start --wait", comparison, "It goes on: npm run plat -- media-consistency"],
  ])("says that it goes on: %s", async (line, body, said) => {
    const { base, seen } = await play(Array.from({ length: 200 }, () => ({ status: 200, body })));
    const env = { PATH: process.env["PATH"], OPERATOR_CLIENT_SECRET: "s" };
    const child = spawn(process.execPath, ["scripts/plat.ts", ...line.split(" "), "--url", base], { cwd: ROOT, env });
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    await vi.waitUntil(() => seen.length > 1, { timeout: 30_000 });
    child.kill("SIGINT");
    const [code] = (await once(child, "close")) as [number | null];
    expect(code, err).toBe(130);
    expect(err).toContain(`✗ ${said}`);
  });
});

test("whoami tells who is signed in for an organization alone", async () => {
  const base = "http://127.0.0.1:1";
  const env = { PLINTH_CONFIG_DIR: mkdtempSync(join(tmpdir(), "plinth-whoami-")) };
  const tokens = { accessToken: "a", expiresAtMs: Date.now() + 60_000, refreshToken: "r" };
  const place = { kind: "organization", place: "operators", clientId: "operators.cli" } as const;
  createSessionStore(env).write({ base, ...place, user: "olga@demo.example", ...tokens });
  const { code, err } = await plat(env, ["whoami", "--url", base], { cwd: env.PLINTH_CONFIG_DIR });
  rmSync(env.PLINTH_CONFIG_DIR, { recursive: true });
  expect([code, err]).toEqual([
    2,
    expect.stringContaining("olga@demo.example is signed in for organization operators alone"),
  ]);
  expect(err).toContain("npm run plat -- whoami --organization.");
});

test("whoami says that a token is refused", async () => {
  const { base } = await play([
    { status: 400, body: { error: "invalid_query_parameter", error_description: "The access token is not valid." } },
  ]);
  const app = { PLINTH_CLIENT_ID: "acme.shop", PLINTH_CLIENT_SECRET: "s" };
  const { code, out, err } = await plat(app, ["whoami", "--url", base]);
  expect([code, out]).toEqual([1, ""]);
  expect(err).toContain("✗ The access token is not valid. (400)");
});

test("init again says whether the client is this folder's own", async () => {
  for (const [dotEnv, said] of [
    ["PLINTH_CLIENT_ID=demo.app\n", "The .env of this folder is that of client demo.app already. For another"],
    ["PLINTH_CLIENT_ID=demo.else\n", "There is a client demo.app already. Take another name"],
  ] as const) {
    const cwd = mkdtempSync(join(tmpdir(), "plinth-again-"));
    writeFileSync(join(cwd, ".env"), dotEnv);
    const { base } = await play([{ status: 200, body: { clientId: "demo.app" } }]);
    const line = ["init", "app", "--kind", "machine", "--tenant", "demo", "--url", base, "--yes"];
    const { code, err } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, line, { cwd });
    rmSync(cwd, { recursive: true });
    expect(code).toBe(1);
    expect(err).toContain(said);
  }
});

test("lists of nothing say so in the plural", async () => {
  const { base } = await play([{ status: 200, body: [] }]);
  const { err } = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["user", "identities", "a@b.example", "--url", base]);
  expect(err).toContain("There are no linked identities.");
});

test("everything after -- is an argument; a leading -- is ignored", async () => {
  const { base, seen } = await play([]);
  const line = ["--", "user", "show", "--url", base, "--", "--json"];
  expect((await plat({ OPERATOR_CLIENT_SECRET: "s" }, line)).err).toBe("");
  expect(seen.map(callOf)).toEqual(["GET /users/--json"]);
});

describe("help", () => {
  const commands = allCommands();
  /** The other ways to ask for help are tried with every tenth command. */
  const EVERY = 10;

  test("exists for every command, and names each of its flags and arguments", async () => {
    for (const [at, { words, options, args }] of commands.entries()) {
      const others = [
        ["help", ...words],
        // `apply` would take it as the name of a file.
        ...(words.length === 1 && args.length > 0 ? [] : [[words[0] ?? "", "help", ...words.slice(1)]]),
        ["-h", ...words],
      ];
      for (const line of [[...words, "--help"], ...(at % EVERY === 0 ? others : [])]) {
        const { code, out, err } = await plat({}, line);
        expect([code, err], line.join(" ")).toEqual([0, ""]);
        for (const { flag } of [...options, ...GLOBAL_OPTIONS])
          expect(out, words.join(" ")).toMatch(new RegExp(`--${flag}(?![\\w-])`));
        for (const { name } of args) expect(out).toMatch(new RegExp(`[<[]${name}(\\.\\.\\.)?[>\\]]`));
        expect(out.split("\n").filter((text) => text.length > 100 && !text.includes("npm run"))).toEqual([]);
      }
    }
  });

  test("of everything and of a resource names every verb; unrequested, it is an error", async () => {
    const all = (await plat({}, ["--help"])).out;
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    for (const word of ["--version", "version", "-v"])
      expect(await plat({}, [word])).toMatchObject({ code: 0, out: `${version}\n` });
    for (const {
      words: [word = "", verb],
    } of commands) {
      expect(all).toContain(`  ${word} `);
      const { code, out } = await plat({}, [word, "--help"]);
      expect(code).toBe(0);
      if (verb !== undefined) expect(out).toContain(`${word} ${verb}`);
    }
    expect(await plat({}, [])).toMatchObject({ code: 2, out: "", err: all });
    expect(await plat({}, ["tenant"])).toMatchObject({ code: 2, out: "", err: expect.stringContaining("tenant list") });
  });

  test("of a resource with several verbs is not that of one of them", async () => {
    const several = commands.filter(
      ({ words: [word] }, at) => commands.findIndex(({ words: [one] }) => one === word) < at,
    );
    for (const [word = ""] of several.map(({ words }) => words)) expect(SUMMARIES, word).toHaveProperty([word]);
  });

  test("fits a narrow terminal, and has at most 100 columns", async () => {
    const widest = async (columns: number, ...line: string[]): Promise<number> =>
      Math.max(
        ...(await plat({}, [...line, "--help"], { columns })).out
          .replace(/^Usage:.*|Examples:[^]*/g, "")
          .split("\n")
          .map(widthOf),
      );
    for (const line of [[], ["tenant"], ["tenant", "set"], ["platform", "restore-object"]]) {
      expect(await widest(60, ...line), line.join(" ")).toBeLessThanOrEqual(60);
      expect(await widest(80, ...line), line.join(" ")).toBeLessThanOrEqual(80);
      expect(await widest(200, ...line), line.join(" ")).toBeLessThanOrEqual(100);
    }
  });

  test("an example that stores a secret keeps npm's own lines out of the file", async () => {
    const { out } = await plat({}, ["client", "new-secret", "--help"]);
    expect(out).toContain("npm run -s plat -- client new-secret acme.shop > shop.secret");
    const as = await plat({}, ["client", "new-secret", "--help"], {}, PLINTH);
    expect(as.out).toContain("plinth client new-secret acme.shop > shop.secret");
  });

  test("has valid examples", async () => {
    let found: readonly string[] = [];
    const ports = {
      line: [],
      columns: undefined,
      about: PLAT,
      run: async ({ words }: { words: readonly string[] }) => void (found = words),
      printHelp: () => {},
    };
    for (const { words, examples } of commands) {
      expect(examples.length, words.join(" ")).toBeGreaterThan(0);
      for (const example of examples) {
        const line = example.replace(/^.*npm run -s plat -- /, "").replace(/ [>|].*/, "");
        const argv = Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? "");
        await createProgram(ports, commands, {}).parseAsync(argv, { from: "user" });
        expect(found, example).toEqual(words);
      }
    }
  });

  test.each([
    ["tennant list", "Unknown command 'tennant' (Did you mean tenant?)"],
    ["org list", "Unknown command 'org' (Did you mean organization?)"],
    ["role put editor", "Unknown command 'put' (Did you mean set?)"],
    ["tenants lst", "Unknown command 'lst' (Did you mean list?)"],
    ["media list", "Unknown command 'media' (Did you mean file?)"],
    ["events tail", "Unknown command 'events' (Did you mean topic?)"],
    ["client frobnicate", "Unknown command 'frobnicate'."],
    ["client list --jsn", "Unknown option '--jsn' (Did you mean --json?)"],
    ["client set acme.shop --grant implicit", "Unknown option '--grant' (Did you mean --grant-type?)"],
    ["client set acme.shop --grnt-type=implicit", "Unknown option '--grnt-type' (Did you mean --grant-type?)"],
    ["client list --frobnicate", "Unknown option '--frobnicate'."],
    ["client list --json=yes", "--json takes no value."],
    ["tenant set acme --disabled=true", "--disabled takes no value."],
    ["tenant show", "Missing required argument 'tenant'."],
    ["user set ada@acme.example --password=hunter2", "A secret is never an argument: --password-file <file>, or -"],
    ["tenant show a b", "Too many arguments for 'show'. Expected 1 argument but got 2."],
    ["tenant unsubscribe acme .. --yes", ".. is the name of nothing."],
    ["user set", "Missing required argument 'email'."],
    ["tenant set acme --name", "Option '--name <text>' argument missing."],
    ["tenant set acme --name --disabled", "--name needs a value"],
    ["--versions", "✗ Unknown option '--versions'"],
    ["tenant show -- --json --help", "Too many arguments"],
    ["tenant set acme --name a --name b", "--name is given twice."],
    ["tenant list --limit x", "--limit takes 1 to 1000000000, not x."],
    ["tenant list --limit=--x", "--limit takes 1 to 1000000000, not --x."],
    ["tenant list --page-size 1001", "--page-size takes 1 to 1000, not 1001."],
  ])("is near where it was not understood: %s", async (line, why) => {
    const { code, out, err } = await plat({ PORT: "1" }, line.split(" "));
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(why);
    expect(err).not.toContain("hunter2");
    expect(err).toMatch(/ {2}npm run plat -- .*--help tells more\.\n$/);
  });
});

describe("the output", () => {
  const columns = [
    { field: "id", title: "ID" },
    { field: "text", title: "TEXT" },
    { field: "at", title: "AT", kind: "time" as const },
  ];
  const rows = [
    { id: "one", text: "a long text that does not fit", at: 0 },
    { id: "二つ", text: "short\u001b[2J", at: 1_000 },
  ];

  test("a table is as wide as its contents, and is shortened to fit a terminal", () => {
    const whole = createTable(columns, undefined, (text) => text).lines(rows);
    expect(whole).toEqual([
      "ID    TEXT                           AT",
      "one   a long text that does not fit  1970-01-01T00:00:00Z",
      "二つ  short\u{FFFD}[2J                      1970-01-01T00:00:01Z",
    ]);
    for (const terminal of [60, 50, 40, 38]) {
      const lines = createTable(columns, terminal, (text) => text).lines(rows);
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(terminal);
      expect(lines[1]).toContain("1970-01-01T00:00:00Z");
    }
    const [, first] = createTable(columns, 40, (text) => text).lines(rows);
    expect(first).toBe("one   a long text…  1970-01-01T00:00:00Z");
  });

  test("a terminal that does not know its width has the usual one", () => {
    expect(columnsOf({ isTTY: true, columns: 0 })).toBe(80);
    expect(columnsOf({ isTTY: true, columns: 132 })).toBe(132);
    expect(columnsOf({ isTTY: false, columns: 0 })).toBeUndefined();
  });

  test("a table leaves whole what is copied from it and what names a row, however narrow the terminal", () => {
    const id = "0123456789abcdef0123456789abcdef";
    const kept = [...columns, { field: "request", title: "REQUEST", kind: "whole" as const }];
    const [, row] = createTable(kept, 70, (text) => text).lines([{ ...rows[0], request: id }]);
    expect(row).toContain(id);
    expect(row).toContain("…");
    const narrow = createTable(kept, 50, (text) => text);
    const block = [
      "ID       one",
      "TEXT     a long text that does not fit",
      "AT       1970-01-01T00:00:00Z",
      `REQUEST  ${id}`,
    ];
    expect(
      narrow.lines([
        { ...rows[0], request: id },
        { id: "b", text: "", at: 0 },
      ]),
    ).toEqual([...block, "", "ID       b", "AT       1970-01-01T00:00:00Z"]);
    expect(narrow.lines([{ ...rows[0], request: id }])).toEqual(["", ...block]);
  });

  test("a long list widens no other column of a pipe", () => {
    const long = [{ field: "id", title: "ID" }, { field: "scopes", kind: "list" as const }, "name"];
    const table = createTable(long, undefined, (text) => text);
    expect(
      table.lines([
        { id: "a", scopes: ["x".repeat(40)], name: "A" },
        { id: "b", scopes: [], name: "B" },
      ]),
    ).toEqual(["ID  NAME  SCOPES", `a   A     ${"x".repeat(40)}`, "b   B"]);
  });

  test("a later part of a table widens its columns and repeats no titles", () => {
    const table = createTable(columns, undefined, (text) => text);
    table.lines([{ id: "a", text: "b", at: 0 }]);
    expect(table.lines(rows)[0]).toBe("one   a long text that does not fit  1970-01-01T00:00:00Z");
  });

  test("JSON keeps every character and escapes control characters", () => {
    const value = { text: "\u001b\u009b\u202e\u2028😀👩‍🚀\n" };
    expect(JSON.parse(toJson(value, 2))).toEqual(value);
    expect(toJson(value)).toBe(String.raw`{"text":"\u001b\u009b\u202e\u2028😀👩\u200d🚀\n"}`);
  });

  test("times and counts are read as people write them", () => {
    const nowMs = Date.UTC(2026, 10, 22, 12);
    expect(readTime("2h", "--since", nowMs)).toBe(Date.UTC(2026, 10, 22, 10));
    expect(readTime("2026-11-22", "--since", nowMs)).toBe(Date.UTC(2026, 10, 22));
    expect(readTime("2026-11-22T04:00:00Z", "--since", nowMs)).toBe(Date.UTC(2026, 10, 22, 4));
    expect(readTime("1795323302627", "--since", nowMs)).toBe(1_795_323_302_627);
    for (const text of ["2026-11-22T04:00:00.5Z", "2026-11-22 05:00:00.5+01:00"])
      expect(readInstant(text, "--to")).toBe(Date.UTC(2026, 10, 22, 4, 0, 0, 500));
    // That of which zone? And neither a month nor Unix seconds are ours.
    for (const read of [readInstant, (text: string, flag: string) => readTime(text, flag, nowMs)]) {
      expect(() => read("2026-11-22T04:00:00", "--to")).toThrow("--to 2026-11-22T04:00:00 has no time zone: add Z");
      for (const wrong of ["12", "7 june", "1795323302", "2026-11-22x", "2026-13-22", "2026-11-22T25:00Z"])
        expect(() => read(wrong, "--to"), wrong).toThrow(`not ${wrong}`);
    }
    expect([readCount("10", "-"), readCount("5MB", "-"), readCount("1.5GiB", "-"), readCount("2 k", "-")]).toEqual([
      10, 5e6, 1_610_612_736, 2_000,
    ]);
    for (const wrong of ["", "-1", "1.5", "1e9", "5XB"])
      expect(() => readCount(wrong, "--quota")).toThrow("--quota takes");
  });

  test("a name is near with one letter more, less, changed or swapped, or as a prefix", () => {
    expect([distanceOf("list", "lsit"), distanceOf("list", "lis"), distanceOf("a", "b")]).toEqual([1, 1, 1]);
    expect(nearest("subscr", ["list", "subscribe"])).toBe("subscribe");
    expect(nearest("xyz", ["list", "show"])).toBeUndefined();
    // Megabytes of a broken file are not compared.
    expect(nearest("list".repeat(1_000_000), ["list".repeat(1_000_000)])).toBeUndefined();
  });
});

describe("login on a machine without a browser", () => {
  const SSH = { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22", SSH_TTY: "/dev/pts/0" };
  test.each([
    ["linux", {}, true],
    ["linux", { DISPLAY: ":0" }, false],
    ["linux", { WAYLAND_DISPLAY: "wayland-0" }, false],
    ["linux", { WSL_DISTRO_NAME: "Debian" }, false],
    ["darwin", {}, false],
    ["win32", {}, false],
    // The browser would open before somebody else, or nobody.
    ["darwin", SSH, true],
    ["darwin", { SSH_TTY: SSH.SSH_TTY }, true],
    ["win32", SSH, true],
    ["linux", SSH, true],
    // Forwarded to the screen of the person.
    ["linux", { ...SSH, DISPLAY: "localhost:10.0" }, false],
    ["darwin", { ...SSH, DISPLAY: "localhost:10.0" }, false],
    // The person says that there is one, or opens the address by hand.
    ["darwin", { ...SSH, BROWSER: "/usr/bin/firefox" }, false],
    ["linux", { BROWSER: "none" }, false],
    ["linux", { BROWSER: "" }, true],
  ] as const)("on %s with %j lacks a browser: %s", (system, env, lacks) => {
    expect(lacksBrowser(env, system)).toBe(lacks);
  });
});
