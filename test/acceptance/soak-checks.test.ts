import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Caller } from "../../tools/soak/world/caller.ts";
import { checkAll } from "../../tools/soak/check.ts";
import { Choice } from "../../tools/soak/drive.ts";
import { Latencies } from "../../tools/soak/world/latencies.ts";
import { ChangesLedger } from "../../tools/soak/ledgers/changes.ts";
import { EventsLedger } from "../../tools/soak/ledgers/events.ts";
import { FaultsLedger } from "../../tools/soak/ledgers/faults.ts";
import { FilesLedger, type SoakFile } from "../../tools/soak/ledgers/files.ts";
import { GuessesLedger } from "../../tools/soak/ledgers/guesses.ts";
import { TokensLedger } from "../../tools/soak/ledgers/tokens.ts";
import { eventsLoad } from "../../tools/soak/load/events.ts";
import { filesLoad } from "../../tools/soak/load/files.ts";
import { gatewayLoad } from "../../tools/soak/load/gateway.ts";
import { oauthLoad } from "../../tools/soak/load/oauth.ts";
import type { Stage } from "../../tools/soak/load/operation.ts";
import { createRandom } from "../../tools/soak/lib/random.ts";
import { Violations } from "../../tools/soak/ledgers/violations.ts";

/** Tests the soak itself against a server that plays a good platform with one fault. */

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Lie = readonly [where: RegExp, answer: Answer | ((honest: any) => unknown)];

let answer: (request: string, headers: IncomingMessage["headers"]) => Answer = () => ({ status: 404 });
const server = createServer((request, response) => {
  let sent = "";
  request.setEncoding("utf8").on("data", (text: string) => (sent += text));
  request.on("end", () => {
    const { status, body, headers } = answer(`${request.method} ${request.url} ${sent}`, request.headers);
    response.writeHead(status, headers).end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
  });
});
let base = "";
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void (server.closeAllConnections(), server.close()));

const TOPIC = "/pubsub/v1/topics/soak.shop/order";
const SOURCE = "http://10.0.0.1:81/v1";
const CONTENT = Buffer.from("content");

/** `request`: method, address and body. Files f1 and f2 exist, f3 is deleted; token t1 is valid, t2 is revoked. */
function honest(request: string, headers: IncomingMessage["headers"]): Answer {
  const [, method = "", path = "", query = ""] = /^(\S+) ([^? ]*)(.*)$/s.exec(request) ?? [];
  const json = (body: unknown): Answer => ({ status: 200, body });
  const [, id] = /^\/media\/v2\/files\/(\w+)/.exec(path) ?? [];
  if (id === "f3") return { status: 404 };
  if (path.endsWith("/variants")) return json([{ state: "ready" }]);
  if (id !== undefined) return json({ link: `${base}/content/${id}` });
  if (path === "/media/v2/files") return json([{ id: /mark%3A(\w+)|mark:(\w+)/.exec(query)?.[1] }]);
  if (path.startsWith("/content/")) return { status: 200, body: CONTENT };
  if (path.startsWith("/commit/")) return { status: 202 };
  if (path === "/erasures/e3") return json({ state: "deleted" });
  if (path.endsWith("/usage")) return json(path.includes("/a/") ? { files: 2, bytes: 14 } : { files: 0, bytes: 0 });
  if (path === "/admin/v1/audit") {
    const row = { requestId: "r1", subject: "roles/soak-1", outcome: "done" };
    return json(query.includes("roles") ? [row] : []);
  }
  if (path === "/oauth2/v1/tokeninfo") return { status: query.includes("t2") ? 400 : 200 };
  if (path === "/oauth2/v1/introspect") return json({ active: query.includes("t1") });
  if (path === "/oauth2/v1/token") return json({ access_token: "t" });
  if (path === `${TOPIC}/publish`) return { status: 201, body: { ids: [headers["idempotency-key"] ?? "e"] } };
  if (path === `${TOPIC}/read`) return { status: 204 };
  if (path.startsWith("/soak/v1/")) {
    const self = `${base}${path}`;
    const identity = { "plat-tenant": "a", "plat-client": "soak.shop" };
    return { status: 200, body: { self, identity }, headers: { link: `<${self}>; rel="self"` } };
  }
  throw new Error(`${method} ${path} is not played here`);
}

const lying =
  ([where, lie]: Lie): typeof answer =>
  (request, headers) => {
    if (!where.test(request)) return honest(request, headers);
    if (typeof lie !== "function") return lie;
    const told = honest(request, headers);
    return { ...told, body: lie(told.body) };
  };

/** A finished run: events published, read, committed and pushed, tokens, files, a change by the operator. */
function stageAfterARun(): Stage {
  const violations = new Violations();
  const events = new EventsLedger(violations);
  const event = { id: "e1", payload: "p1", tenant: "a" };
  events.acknowledged([event], ["e1"], 0, 1);
  events.pushed.add("e1");
  events.read("lock", [event], { sentMs: 2, answeredMs: 3, ttlMs: 1_000 });
  events.commit("lock", [event], 4);
  const faults = new FaultsLedger("outside");
  const files = new FilesLedger();
  const file = (id: string, fields: Partial<SoakFile>): number =>
    files.all.push({
      id,
      uploadLink: `${base}/upload/${id}`,
      commitLink: `${base}/commit/${id}`,
      bytes: CONTENT,
      tenant: "a",
      mark: id,
      type: "text/plain",
      state: "committed",
      busy: false,
      ...fields,
    });
  file("f1", {});
  file("f2", { type: "image/jpeg" });
  file("f3", { state: "deleted", erasure: `${base}/erasures/e3` });
  const tokens = new TokensLedger();
  tokens.all.push({ text: "t1", grant: "password", owner: "app", state: "valid" });
  tokens.all.push({ text: "t2", grant: "password", owner: "app", state: "revoked" });
  const changes = new ChangesLedger();
  changes.done.set("r1", "roles/soak-1");
  const world = {
    base,
    platform: "plat",
    run: "soak",
    tenants: ["a", "b"],
    topic: TOPIC,
    proxyPath: "/soak/v1",
    sourceUrl: SOURCE,
    credentials: { shop: "", app: "" },
    refreshToken: "r",
    user: { email: "soak@soak.example", password: "p" },
    authorization: () => Promise.resolve("Bearer t"),
  };
  const outside = { receiverOrigin: "", sourceUrl: SOURCE, failed: new Set<string>(), hungMs: -Infinity };
  const stage = { world, violations, faults, events, files, tokens, changes, setUpMs: 0, repeats: true };
  const caller = new Caller({ base, violations, latencies: new Latencies(), faults, cuts: 0 });
  return { ...stage, caller, outside: { ...outside, recover: () => undefined, close: () => Promise.resolve() } };
}

describe("the final check", () => {
  const look = async (lie?: Lie): Promise<string[]> => {
    answer = lie === undefined ? honest : lying(lie);
    const stage = stageAfterARun();
    await checkAll(stage, createRandom(1), () => undefined);
    stage.caller.close();
    return stage.violations.lines();
  };

  test("finds nothing in a correct run", async () => expect(await look()).toEqual([]));

  test.each<[found: string, ...Lie]>([
    ["a valid token is taken", /tokeninfo.*t1/, { status: 400 }],
    ["a revoked token is refused", /tokeninfo.*t2/, { status: 200 }],
    ["every answer is one that can be", /files\/f1 /, { status: 404 }],
    ["a committed file is readable with its bytes", /content\/f1/, { status: 200, body: Buffer.from("contenT") }],
    ["a committed file is readable with its bytes", /content\/f2/, { status: 404 }],
    ["variants of a good image are ready", /variants/, { status: 200, body: [{ state: "failed", reason: "no" }] }],
    ["variants are ready, or failed with a reason", /variants/, { status: 200, body: [{ state: "failed" }] }],
    ["a deleted file is gone", /files\/f3/, { status: 200, body: {} }],
    ["usage is what is stored", /tenants\/a\/usage/, { status: 200, body: { files: 2, bytes: 13 } }],
    ["usage is what is stored", /tenants\/b\/usage/, { status: 200, body: { files: 1, bytes: 0 } }],
    ["each change has one row of the audit log", /audit.*roles/, { status: 200, body: [] }],
    ["each change has one row of the audit log", /audit.*roles/, ([row]) => [row, row]],
    [
      "tells of no change that nobody made",
      /audit.*tenants/,
      () => [{ requestId: "r2", subject: "x", outcome: "done" }],
    ],
    ["no answer is 500", /files\/f3/, { status: 500 }],
  ])("%s: %s", async (found, ...lie) => {
    expect((await look(lie)).join("\n")).toContain(found);
  });
});

describe("the load", () => {
  /** Operations of each service that check the platform's answers. */
  const operations = {
    gateway: (stage: Stage) => gatewayLoad(stage).operations,
    events: (stage: Stage) => eventsLoad(stage).operations.slice(0, 1),
    media: (stage: Stage) => filesLoad(stage).slice(4, 6),
    oauth: (stage: Stage) => oauthLoad(stage).slice(-2, -1),
  };
  const ask = async (room: keyof typeof operations, lie?: Lie): Promise<string[]> => {
    answer = lie === undefined ? honest : lying(lie);
    const stage = stageAfterARun();
    const choice = new Choice(operations[room](stage));
    const random = createRandom(3);
    for (let turns = 0; turns < 60; turns++) await choice.next(random).run({ dueMs: performance.now(), random });
    stage.caller.close();
    return stage.violations.lines();
  };

  test.each(Object.keys(operations) as (keyof typeof operations)[])(
    "nothing in %s, where all is well",
    async (room) => {
      expect(await ask(room)).toEqual([]);
    },
  );

  const identity = { "plat-tenant": "b", "plat-client": "soak.shop" };
  let made = 0;
  test.each<[found: string, room: keyof typeof operations, ...Lie]>([
    ["the gateway's answers are rewritten", "gateway", /soak/, (body) => ({ ...body, self: `${base}/other` })],
    ["no private address is shown", "gateway", /soak/, (body) => ({ ...body, at: SOURCE })],
    ["the service is told who calls", "gateway", /soak/, (body) => ({ ...body, identity })],
    ["the gateway fails only where its service fails", "gateway", /soak/, { status: 502 }],
    ["a 503 says when to come again", "gateway", /soak/, { status: 503 }],
    ["publishing answers an id for each event", "events", /publish/, { status: 201, body: { ids: [] } }],
    ["a publish that is repeated answers the same ids", "events", /publish/, () => ({ ids: [`e${made++}`] })],
    ["every answer is one that can be", "events", /publish/, { status: 409, body: {} }],
    ["a committed file is found", "media", /GET \/media\/v2\/files\?/, () => [{ id: "f9" }]],
    ["a committed file is found", "media", /GET \/media\/v2\/files\?/, () => []],
    ["a committed file is readable with its bytes", "media", /content/, { status: 200, body: Buffer.from("other") }],
    ["every answer is one that can be", "media", /files\/f3/, { status: 200, body: { link: "" } }],
    ["a revoked token is refused", "oauth", /introspect.*t2/, () => ({ active: true })],
    ["a revoked token is refused", "oauth", /tokeninfo.*t2/, { status: 200 }],
    ["a valid token is taken", "oauth", /introspect.*t1/, () => ({ active: false })],
    ["a valid token is taken", "oauth", /tokeninfo.*t1/, { status: 400 }],
    ["no answer is 500", "oauth", /introspect/, { status: 500 }],
  ])("%s: %s, %s", async (found, room, ...lie) => {
    expect((await ask(room, lie)).join("\n")).toContain(found);
  });
});

describe("the guesses at a password", () => {
  /** Guesses one ms apart: checked (w), told of a block (b), or unanswered (?). */
  test.each([
    ["", "w".repeat(15) + "bb"],
    ["", "w".repeat(10) + "?".repeat(5) + "b"],
    ["no password is looked at beyond the limit", "w".repeat(16)],
    ["no account is blocked early", "w".repeat(14) + "b"],
    ["a block lasts", "w".repeat(12) + "???bw"],
  ])("%s", (found, guesses) => {
    const violations = new Violations();
    const ledger = new GuessesLedger(violations);
    for (const [atMs, outcome] of guesses.split("").entries()) {
      ledger.sent(atMs);
      if (outcome === "w") ledger.wrong(atMs);
      if (outcome === "b") ledger.blocked(atMs + 0.5);
    }
    expect(violations.lines()[0] ?? "").toContain(found);
    expect(violations.count === 0).toBe(found === "");
  });
});
