import { once } from "node:events";
import { createServer, request as send, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, brotliDecompressSync, deflateSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { freePort } from "./support/process/state.ts";
import { ask, bodyOf, startUpstream, type Heard, type Saying, type Upstream } from "./support/parties/upstream.ts";
import { GATEWAY_TIMEOUT_MS as TIMEOUT_MS } from "./support/process/shared-platforms.ts";
import { useSharedWorld } from "./support/use-world.ts";
import { makeClient, TENANT } from "./support/world.ts";

/** The gateway in front of real HTTP servers, seen from both sides over plain connections. */
const world = useSharedWorld("plain");
let upstream: Upstream;
let authorization: string;
/** The service's own address, and the one that the world knows it by. */
let source: string;
let shown: string;

beforeAll(async () => {
  upstream = await startUpstream();
  source = `${upstream.origin}/v1`;
  shown = `${world().base}/shop/v1`;
  await register("shop", "/shop/v1", source);
  authorization = await authorize("gateway");
  serveWebSockets();
  revoked = await openAndRevoke();
});
afterAll(() => upstream?.close());

/** What came to the service: handshakes, and the codes that its sockets were closed with. */
const handshakes: { readonly path: string; readonly tenant: unknown }[] = [];
const closes: number[] = [];
const live = (): string => `${shown.replace(/^http/, "ws")}/live`;

/** At any path: what is sent comes back; `close <code>` closes, and `frame <hex>` is sent as bytes. */
function serveWebSockets(): void {
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, handleProtocols: () => "chat" });
  upstream.server.on("upgrade", (request, socket, head) => {
    handshakes.push({ path: request.url ?? "", tenant: request.headers["plat-tenant"] });
    sockets.handleUpgrade(request, socket, head, (peer: any) => {
      peer.on("close", (code: number) => closes.push(code));
      peer.on("error", () => undefined);
      peer.on("message", (data: Buffer, isBinary: boolean) => {
        const [, what, value = ""] = /^(close|frame) (\w+)$/.exec(data.toString()) ?? [];
        if (what === undefined) peer.send(data, { binary: isBinary });
        else if (what === "close") peer.close(Number(value), "service");
        // As no library would send it.
        else peer._socket.write(Buffer.from(value, "hex"));
      });
    });
  });
}

async function closeOf(socket: WebSocket): Promise<[number, string]> {
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  return [code, reason.toString()];
}

let revoked: { readonly closed: Promise<[number, string]>; readonly other: WebSocket };

/** Two sockets, of which one loses its token. */
async function openAndRevoke(): Promise<typeof revoked> {
  const leaving = await authorize("leaver");
  const [ended, other] = [leaving, authorization].map(
    (value) => new WebSocket(live(), ["chat"], { headers: { authorization: value } }),
  );
  await Promise.all([once(ended, "open"), once(other, "open")]);
  const { client_id: client } = JSON.parse(Buffer.from(leaving.split(".")[1]!, "base64url").toString());
  expect((await world().operate("POST", `clients/${client}/revoke`)).status).toBe(204);
  return { closed: closeOf(ended), other: other };
}

/** As a new client. */
async function authorize(name: string): Promise<string> {
  const client = await makeClient(world(), name, { grantTypes: ["client_credentials"] });
  const answer = await fetch(`${world().issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return `Bearer ${((await answer.json()) as any).access_token}`;
}

const register = (name: string, proxyPath: string, sourceUrl: string): Promise<unknown> =>
  world().put(`services/${name}`, {
    sourceUrl,
    proxyPath,
    scopes: [],
    essential: false,
    tenant: TENANT,
    access: "token",
  });

/** A service of its own, so that its breaker is nobody else's. */
async function another(name: string, sourceUrl: string): Promise<(path: string, saying?: Saying) => Promise<Heard>> {
  await register(name, `/${name}/v1`, sourceUrl);
  return (path, { headers, ...saying } = {}) =>
    ask(`${world().base}/${name}/v1${path}`, { ...saying, headers: { authorization, ...headers } });
}

const through = (path: string, { headers, ...saying }: Saying = {}): Promise<Heard> =>
  ask(`${shown}${path}`, { ...saying, headers: { authorization, ...headers } });

const typeOf = ({ body }: Heard): string => JSON.parse(body.toString()).type;

describe("a request", () => {
  // shows: gateway/where-a-request-goes/method-query-body
  test.each(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT", "SEARCH"])(
    "arrives by its method: %s",
    async (method) => {
      upstream.at("/v1/method", (request, response) => {
        response.writeHead(200, { "x-method": request.method, "content-length": 4 }).end("fine");
      });
      const heard = await through("/method", { method });
      expect(heard).toMatchObject({ status: 200, isBroken: false });
      expect(heard.headers).toMatchObject({ "x-method": method, "content-length": "4" });
      expect(heard.body.toString()).toBe(method === "HEAD" ? "" : "fine");
    },
  );

  test("is not echoed by TRACE", async () => {
    const before = upstream.seen.length;
    const heard = await through("/method", { method: "TRACE" });
    expect([heard.status, typeOf(heard), heard.headers.allow]).toEqual([405, "unsupported_method", expect.any(String)]);
    expect(upstream.seen.length).toBe(before);
  });

  // shows: platform/errors-of-every-service/chunked-bodies
  // shows: gateway/where-a-request-goes/method-query-body
  test("brings its body: with its length, in chunks, after 100-continue, with DELETE", async () => {
    upstream.at("/v1/echo", async (request, response) => {
      const { "content-length": length = "none", expect: expectation = "none" } = request.headers;
      const body = await bodyOf(request);
      response.writeHead(200, { "x-length": length, "x-expect": expectation }).end(body);
    });
    const known = await through("/echo", { method: "PUT", body: "abc", headers: { "content-length": 3 } });
    expect([known.headers["x-length"], known.body.toString()]).toEqual(["3", "abc"]);

    const pieces = async function* () {
      for (let number = 0; number < 40; number++) yield Buffer.alloc(50_000, number);
    };
    const chunked = await through("/echo", { method: "POST", body: pieces() });
    expect([chunked.headers["x-length"], chunked.body.length]).toEqual(["none", 2_000_000]);
    expect([chunked.body[0], chunked.body[1_999_999]]).toEqual([0, 39]);

    const headers = { "content-length": 3 };
    const awaited = await through("/echo", { method: "POST", body: "abc", expectContinue: true, headers });
    expect([awaited.headers["x-expect"], awaited.body.toString()]).toEqual(["none", "abc"]);
    const deleted = await through("/echo", { method: "DELETE", body: "abc", headers });
    expect(deleted.body.toString()).toBe("abc");
  });

  // shows: gateway/where-a-request-goes/method-query-body
  test.each([
    ["GET", { "content-length": 3 }],
    ["GET", { "transfer-encoding": "chunked" }],
    ["HEAD", { "content-length": 3 }],
  ])("that reads brings no body, and does not lose one unseen: %s, %j", async (method, headers) => {
    upstream.at("/v1/read", (_, response) => response.end());
    const before = upstream.seen.length;
    const heard = await through("/read", { method, body: "abc", headers });
    expect(heard.status).toBe(400);
    if (method === "GET")
      expect(JSON.parse(heard.body.toString())).toMatchObject({ details: [{ type: "invalid_field", field: "" }] });
    expect(upstream.seen.length).toBe(before);
    for (const empty of [{ "content-length": 0 }, { "transfer-encoding": "chunked" }])
      expect((await through("/read", { method, headers: empty })).status).toBe(200);
    expect(upstream.seen.length).toBe(before + 2);
  });

  test("with a body over the limit is 413, declared or counted on its way", async () => {
    const arrived: Promise<unknown>[] = [];
    upstream.at("/v1/big", (request, response) => {
      const whole = bodyOf(request).finally(() => response.end());
      whole.catch(() => undefined);
      arrived.push(whole);
    });
    const declared = await through("/big", { method: "POST", body: "a", headers: { "content-length": 200_000_000 } });
    expect([declared.status, typeOf(declared)]).toEqual([413, "bad_payload_size"]);
    expect(arrived).toHaveLength(0);
    const pieces = async function* () {
      for (let number = 0; number < 101; number++) yield Buffer.alloc(1024 * 1024);
    };
    const counted = await through("/big", { method: "POST", body: pieces() });
    expect([counted.status, typeOf(counted)]).toEqual([413, "bad_payload_size"]);
    // What was too much for us is not a whole body to the service.
    await expect(arrived[0]).rejects.toThrow("aborted");
  });

  test.each([{}, { "content-length": 1_000_000 }])(
    "that its caller breaks off is no whole one (%j)",
    async (headers) => {
      const arrived = new Promise<Buffer>((resolve, reject) => {
        upstream.at("/v1/part", (request) => {
          request.once("data", () => call.destroy());
          void bodyOf(request).then(resolve, reject);
        });
      });
      const call = send(`${shown}/part`, { method: "POST", headers: { authorization, ...headers }, agent: false });
      call.on("error", () => undefined);
      call.write("x".repeat(100_000));
      await expect(arrived).rejects.toThrow("aborted");
    },
  );

  test("is one, or none, whatever it says of its length twice", async () => {
    upstream.at("/v1/framed", async (request, response) => response.end((await bodyOf(request)).toString()));
    const { host, hostname, port, pathname } = new URL(shown);
    const head = (method: string, path: string, more: string): string =>
      `${method} ${pathname}${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\n${more}\r\n`;
    /**
     * After a body in chunks that has none: a second request for who goes by the chunks, the body for who goes by the
     * length.
     */
    const body = `0\r\n\r\n${head("GET", "/hidden", "Connection: close\r\n")}`;
    /** The statuses that were heard, and what came to the service. */
    const sendRaw = async (framing: string): Promise<[string[], unknown[]]> => {
      const before = upstream.seen.length;
      const socket = connect(Number(port), hostname);
      socket.end(head("POST", "/framed", framing) + body);
      let heard = "";
      for await (const piece of socket) heard += String(piece);
      const came = upstream.seen.slice(before).map(({ url, headers }) => {
        expect([headers["content-length"], headers["transfer-encoding"]]).toContain(undefined);
        return url;
      });
      return [Array.from(heard.matchAll(/^HTTP\/1\.1 (\d+)/gm), ([, status]) => status!), came];
    };
    // The hidden one is seen where it is one.
    expect(await sendRaw("Transfer-Encoding: chunked\r\n")).toEqual([
      ["200", "404"],
      ["/v1/framed", "/v1/hidden"],
    ]);
    const [length, chunked] = [`Content-Length: ${body.length}\r\n`, "Transfer-Encoding: chunked\r\n"];
    for (const framing of [
      length + chunked,
      chunked + length,
      `Content-Length: 4\r\n${chunked}`,
      `${length}Transfer-Encoding: identity, chunked\r\n`,
      `${length}Transfer-Encoding: identity\r\n${chunked}`,
    ])
      expect([framing, ...(await sendRaw(framing))]).toEqual([framing, ["200"], ["/v1/framed"]]);
    for (const framing of [
      `${length}Content-Length: 3\r\n`,
      `${length}Transfer-Encoding: xchunked\r\n`,
      `${length}Transfer-Encoding : chunked\r\n`,
      `${length}Transfer-Encoding:\vchunked\r\n`,
      "Content-Length: +3\r\n",
    ])
      expect([framing, ...(await sendRaw(framing))]).toEqual([framing, ["400"], []]);
  });

  test("goes with nothing that the runtime adds for a cache", async () => {
    upstream.at("/v1/plain", (_, response) => response.end());
    await through("/plain");
    const { headers } = upstream.seen.at(-1)!;
    expect([headers["cache-control"], headers.pragma, headers.host]).toEqual([
      undefined,
      undefined,
      new URL(source).host,
    ]);
  });
});

describe("an answer", () => {
  const json = (): string => JSON.stringify({ self: `${source}/x`, long: "y".repeat(5_000), end: source });
  const rewritten = (): string => json().replaceAll(source, shown);
  const CODERS: Record<string, (text: string) => Buffer> = {
    br: brotliCompressSync,
    gzip: gzipSync,
    deflate: deflateSync,
    identity: Buffer.from,
  };

  beforeAll(() =>
    upstream.at("/v1/coded", (request, response) => {
      const query = new URL(request.url!, "http://any").searchParams;
      const coding = query.get("coding") ?? "identity";
      const body = CODERS[coding]!(json());
      response.writeHead(200, {
        "content-type": query.get("type") ?? "application/json; charset=utf-8",
        "content-length": body.length,
        etag: '"tag"',
        ...(coding !== "identity" && { "content-encoding": coding }),
        "x-accepted": request.headers["accept-encoding"],
      });
      response.end(body);
    }),
  );

  // shows: oauth/proxy-address-rewriting/application-json
  // shows: gateway/rewriting/content-length-etag
  // shows: gateway/rewriting/compressed-answers
  test.each([
    ["identity", undefined, "identity"],
    ["gzip", "gzip, deflate", "gzip"],
    ["br", "gzip, deflate, br, zstd", "gzip, br"],
    ["br", "*", "gzip, br"],
    // Whatever was asked for.
    ["gzip", "identity", "identity"],
    ["br", "gzip;q=0, br;q=0.000", "identity"],
  ])("in %s is decoded and rewritten; accepted %s, asked for %s", async (coding, accepted, passedOn) => {
    const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
    const heard = await through(`/coded?coding=${coding}`, { headers });
    expect(heard.headers["x-accepted"]).toBe(passedOn);
    expect(heard.headers).not.toHaveProperty("content-encoding");
    // Small and uncoded it was rewritten as a whole, and its length is known.
    expect([undefined, String(rewritten().length)]).toContain(heard.headers["content-length"]);
    expect(heard.headers.etag).toBe('W/"tag"');
    expect(heard.body.toString()).toBe(rewritten());
    const head = await through(`/coded?coding=${coding}`, { method: "HEAD", headers });
    expect([head.headers["content-length"], head.headers.etag]).toEqual([undefined, 'W/"tag"']);
  });

  // shows: oauth/proxy-address-rewriting/other-types
  test("of another type stays as it is, in its coding too", async () => {
    const path = "/coded?type=application/octet-stream";
    const plain = await through(path);
    expect(plain.body.toString()).toBe(json());
    expect(plain.headers).toMatchObject({ "content-length": String(json().length), etag: '"tag"' });
    for (const [coding, decode] of Object.entries({ br: brotliDecompressSync, gzip: gunzipSync })) {
      const coded = await through(`${path}&coding=${coding}`, { headers: { "accept-encoding": coding } });
      expect(coded.headers).toMatchObject({ "content-encoding": coding, etag: '"tag"' });
      expect(coded.headers["content-length"]).toBe(String(coded.body.length));
      expect(decode(coded.body).toString()).toBe(json());
      // Nobody asked for it: decoded, and so another one than the tag was for.
      const decoded = await through(`${path}&coding=${coding}`);
      expect([decoded.headers["content-encoding"], decoded.headers.etag]).toEqual([undefined, 'W/"tag"']);
      expect(decoded.body.toString()).toBe(json());
    }
  });

  // shows: gateway/rewriting/compressed-answers
  test("in a coding that cannot be read is refused where it would have to be rewritten", async () => {
    const refused = await through("/coded?coding=deflate");
    expect([refused.status, typeOf(refused)]).toEqual([503, "service_temporarily_unavailable"]);
    expect(refused.body.toString()).toContain("shop");
    const passed = await through("/coded?coding=deflate&type=image/png");
    expect([passed.status, passed.headers["content-encoding"]]).toEqual([200, "deflate"]);
    expect(passed.body).toEqual(deflateSync(json()));
  });

  test("in a coding by a name that the runtime does not know is not taken for one that it has decoded", async () => {
    upstream.at("/v1/named", (request, response) => {
      const query = new URL(request.url!, "http://any").searchParams;
      const headers = { "content-type": query.get("type")!, "content-encoding": query.get("coding")! };
      response.writeHead(200, headers).end(gzipSync(json()));
    });
    for (const coding of ["GZIP", "x-gzip"]) {
      const refused = await through(`/named?coding=${coding}&type=application/json`);
      expect([refused.status, typeOf(refused)]).toEqual([503, "service_temporarily_unavailable"]);
      const passed = await through(`/named?coding=${coding}&type=image/png`);
      expect([passed.status, passed.headers["content-encoding"]]).toEqual([200, coding]);
      expect(gunzipSync(passed.body).toString()).toBe(json());
    }
    // And an empty body is none, whatever it is labelled as.
    upstream.at("/v1/empty", (_, response) => {
      response.writeHead(404, { "content-type": "application/json", "content-encoding": "gzip", "content-length": 0 });
      response.end();
    });
    for (const headers of [{}, { "accept-encoding": "gzip" }])
      expect(await through("/empty", { headers })).toMatchObject({
        status: 404,
        body: Buffer.from(""),
        isBroken: false,
      });
  });

  test("with a status that there is not is refused", async () => {
    upstream.at("/v1/strange", (_, response) => response.writeHead(999).end());
    const heard = await through("/strange");
    expect([heard.status, typeOf(heard)]).toEqual([503, "service_temporarily_unavailable"]);
  });

  // shows: oauth/proxy-address-rewriting/text-plain
  // shows: gateway/rewriting/bodies
  test("is rewritten in the middle of its chunks, and comes as it is sent", async () => {
    let more: ServerResponse | undefined;
    upstream.at("/v1/dripping", (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      response.write("begin ");
      more = response;
    });
    const heard = fetch(`${shown}/dripping`, { headers: { authorization } });
    const reader = (await heard).body!.pipeThrough(new TextDecoderStream()).getReader();
    // Before the service has said more.
    expect((await reader.read()).value).toBe("begin ");
    for (const char of `${source}/a`) {
      more!.write(char);
      await sleep(2);
    }
    more!.end(" end");
    let rest = "";
    for (let next = await reader.read(); !next.done; next = await reader.read()) rest += next.value;
    expect(rest).toBe(`${shown}/a end`);
  });

  // shows: oauth/proxy-address-rewriting/header-location
  test("that is a redirect is handed on", async () => {
    for (const [status, location, seen] of [
      [302, `${source}/there?a=1`, `${shown}/there?a=1`],
      [308, "/elsewhere", "/elsewhere"],
      [303, "https://other.example/", "https://other.example/"],
    ] as const) {
      upstream.at("/v1/moved", (_, response) => response.writeHead(status, { location }).end());
      const heard = await through("/moved", { method: "POST" });
      expect([heard.status, heard.headers.location]).toEqual([status, seen]);
    }
    expect(upstream.seen.some(({ url }) => url?.includes("there"))).toBe(false);
  });

  test("that breaks off in the middle is no whole answer", async () => {
    for (const type of ["application/json", "image/png"])
      for (const [length, heard] of [
        [{}, { status: 200, isBroken: true }],
        [{ "content-length": 100_000 }, { status: 200, isBroken: true }],
        // Small, it is taken whole before a word of it goes out.
        [{ "content-length": 1_000 }, { status: 503, isBroken: false }],
      ] as const) {
        upstream.at("/v1/breaks", (_, response) => {
          response.writeHead(200, { "content-type": type, ...length });
          response.write("{".repeat(100), () => response.destroy());
        });
        expect(await through("/breaks"), `${type} ${JSON.stringify(length)}`).toMatchObject(heard);
      }
  });

  test("that stops in the middle is ended in time", async () => {
    for (const [length, heard] of [
      [{}, { status: 200, isBroken: true }],
      [{ "content-length": 1_000 }, { status: 503, isBroken: false }],
    ] as const) {
      upstream.at("/v1/stops", (_, response) => {
        response.writeHead(200, { "content-type": "application/json", ...length }).write("{");
      });
      const startedMs = performance.now();
      expect(await through("/stops"), JSON.stringify(length)).toMatchObject(heard);
      const tookMs = performance.now() - startedMs;
      expect(tookMs).toBeGreaterThan(TIMEOUT_MS * 0.9);
      expect(tookMs).toBeLessThan(TIMEOUT_MS + 5_000);
    }
  });

  test("that comes slowly, but comes, is whole", async () => {
    upstream.at("/v1/trickles", async (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      for (const piece of ["<", source.slice(0, 9), source.slice(9), ">", "."]) {
        await sleep(TIMEOUT_MS * 0.5);
        response.write(piece);
      }
      response.end("!");
    });
    const { status, body, isBroken } = await through("/trickles");
    expect([status, body.toString(), isBroken]).toEqual([200, `<${shown}>.!`, false]);
  });

  test("with headers over the limit is refused, and others pass", async () => {
    upstream.at("/v1/headers", (request, response) => {
      const size = Number(new URL(request.url!, "http://any").searchParams.get("kib")) * 1024;
      response.writeHead(200, { "x-large": "a".repeat(size) }).end("fine");
    });
    expect((await through("/headers?kib=12")).headers["x-large"]).toHaveLength(12 * 1024);
    for (const kib of [65, 200]) {
      const heard = await through(`/headers?kib=${kib}`);
      expect([heard.status, typeOf(heard)]).toEqual([503, "service_temporarily_unavailable"]);
    }
    expect((await through("/headers?kib=1")).status).toBe(200);
  });
});

describe("a service that does not answer", () => {
  // shows: gateway/who-may-call/no-answer
  // shows: gateway/who-may-call/three-failures-in-a-row
  test("in time is 503, and left alone after the third time until it answers a probe", async () => {
    const slow = await another("slow", `${upstream.origin}/slow`);
    let calls = 0;
    let isWell = false;
    upstream.at("/slow/hangs", (_, response) => {
      calls += 1;
      if (isWell) response.end("well");
    });
    const first = await slow("/hangs");
    expect([first.status, typeOf(first), Number(first.headers["retry-after"])]).toEqual([
      503,
      "service_temporarily_unavailable",
      expect.any(Number),
    ]);
    expect(first.body.toString()).toContain("slow");
    await Promise.all([slow("/hangs"), slow("/hangs")]);
    expect(calls).toBe(3);

    const startedMs = performance.now();
    const refused = await Promise.all(Array.from({ length: 20 }, () => slow("/hangs")));
    expect(performance.now() - startedMs).toBeLessThan(TIMEOUT_MS);
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    expect(calls).toBe(3);
    // Nobody else's, of this service and of others.
    upstream.at("/slow/quick", (_, response) => response.end("well"));
    expect((await slow("/quick")).status).toBe(503);
    expect((await slow("/quick", { headers: { authorization: await authorize("patient") } })).status).toBe(200);
    expect((await through("/nobody")).status).toBe(404);

    isWell = true;
    await sleep(Number(refused[0]!.headers["retry-after"]) * 1000 + 100);
    const after = await slow("/hangs");
    expect([after.status, after.body.toString(), calls]).toEqual([200, "well", 4]);
    const both = await Promise.all([slow("/hangs"), slow("/hangs")]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    // The log comes after the answer.
    for (const event of ["opened", "closed"])
      await expect.poll(() => world().output()).toContain(`"event":"breaker ${event}","service":"slow"`);
  });

  // shows: gateway/who-may-call/no-answer
  test("at all is 503 at once; one that closes the connection too", async () => {
    const absent = await another("absent", `http://127.0.0.1:${await freePort()}`);
    const closing = await another("closing", `${upstream.origin}/closing`);
    upstream.at("/closing/", (request) => request.socket.destroy());
    for (const gone of [await absent("/"), await closing("/")])
      expect([gone.status, typeOf(gone)]).toEqual([503, "service_temporarily_unavailable"]);
  });

  test("with success is one that answers: 500 passes and opens nothing", async () => {
    const failing = await another("failing", `${upstream.origin}/failing`);
    upstream.at("/failing/", (_, response) =>
      response.writeHead(500, { "content-type": "text/plain" }).end("my fault"),
    );
    for (let times = 0; times < 5; times++) {
      const heard = await failing("/");
      expect([heard.status, heard.body.toString()]).toEqual([500, "my fault"]);
    }
  });

  test("because its caller's headers are more than it takes answers, and opens nothing", async () => {
    const narrow = createServer({ maxHeaderSize: 16 * 1024 }, (_, response) => response.end("well"));
    await once(narrow.listen(0, "127.0.0.1"), "listening");
    const strict = await another("strict", `http://127.0.0.1:${(narrow.address() as AddressInfo).port}`);
    const statuses: number[] = [];
    for (let times = 0; times < 5; times++)
      statuses.push((await strict("/", { headers: { "x-large": "a".repeat(20 * 1024) } })).status);
    expect(statuses).toEqual([431, 431, 431, 431, 431]);
    expect((await strict("/")).status).toBe(200);
    narrow.closeAllConnections();
    narrow.close();
  });

  test("because its caller is slow is not to blame", async () => {
    const patient = await another("patient", `${upstream.origin}/patient`);
    upstream.at("/patient/", async (request, response) => response.end(await bodyOf(request)));
    const drip = async function* () {
      for (const piece of ["a", "b", "c"]) {
        yield piece;
        await sleep(TIMEOUT_MS * 0.7);
      }
    };
    const heard = await patient("/", { method: "POST", body: drip() });
    expect([heard.status, heard.body.toString()]).toEqual([200, "abc"]);
  });
});

describe("a WebSocket", () => {
  // shows: gateway/who-may-call/websockets
  test("passes through, with its subprotocol and how it is closed, and needs a token too", async () => {
    const address = `${live()}?room=1`;
    const socket = new WebSocket(address, ["chat", "other"], { headers: { authorization, "plat-tenant": "forged" } });
    await once(socket, "open");
    expect(socket.protocol).toBe("chat");
    const ofRoom = () => handshakes.filter(({ path }) => path.endsWith("?room=1"));
    expect(ofRoom()).toEqual([{ path: "/v1/live?room=1", tenant: TENANT }]);
    for (const message of ["hello", "長崎", "x".repeat(200_000)]) {
      socket.send(message);
      const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
      expect([data.toString(), isBinary]).toEqual([message, false]);
    }
    socket.send(Buffer.from([0, 255]));
    expect((await once(socket, "message"))[0]).toEqual(Buffer.from([0, 255]));
    socket.close(4001, "bye");
    expect((await once(socket, "close"))[0]).toBe(4001);
    // By the service.
    const left = new WebSocket(address, ["chat"], { headers: { authorization } });
    await once(left, "open");
    left.send("close 4002");
    expect(await closeOf(left)).toEqual([4002, "service"]);
    await expect.poll(() => closes).toEqual(expect.arrayContaining([4001, 4002]));

    // Only a GET is one: the runtime would make a handshake of a POST.
    upstream.at("/v1/live", async (request, response) =>
      response.end(`${request.method} ${(await bodyOf(request)).toString()}`),
    );
    const handshake = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
    const posted = await through("/live", {
      method: "POST",
      body: "abc",
      headers: { ...handshake, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "content-length": 3 },
    });
    expect([posted.status, posted.body.toString()]).toEqual([200, "POST abc"]);

    const stranger = new WebSocket(address, ["chat"]);
    const [, refusal] = await once(stranger, "unexpected-response");
    expect(refusal.statusCode).toBe(401);
    refusal.destroy();
    expect(ofRoom()).toHaveLength(2);
  });

  test("of a service for anybody passes through without a token", async () => {
    await world().put("services/open", {
      sourceUrl: source,
      proxyPath: "/open/v1",
      scopes: [],
      tenant: TENANT,
      access: "public",
    });
    const socket = new WebSocket(`${world().base.replace(/^http/, "ws")}/open/v1/live`, ["chat"]);
    await once(socket, "open");
    socket.send("close 4003");
    expect(await closeOf(socket)).toEqual([4003, "service"]);
  });

  test("is over for the other side too where one ends it with a code that there is not", async () => {
    for (const code of [0, 999, 1004, 1015, 5000]) {
      const frame = (mask: 0 | 0x80): Buffer =>
        Buffer.from([0x88, mask + 2, ...(mask === 0 ? [] : [0, 0, 0, 0]), code >> 8, code & 0xff]);
      const left = new WebSocket(live(), ["chat"], { headers: { authorization } });
      left.on("error", () => undefined);
      await once(left, "open");
      left.send(`frame ${frame(0).toString("hex")}`);
      expect([code, ...(await closeOf(left))]).toEqual([code, 1011, "the other side broke off"]);
      const before = closes.length;
      const leaving: any = new WebSocket(live(), ["chat"], { headers: { authorization } });
      leaving.on("error", () => undefined);
      await once(leaving, "open");
      leaving._socket.write(frame(0x80));
      await expect.poll(() => closes.slice(before)).toContain(1011);
    }
  });

  // shows: gateway/who-may-call/websockets
  test("ends when its token is revoked, for both sides, and no other one does", async () => {
    // Since before the first test, so that nobody waits for it here.
    expect(await revoked.closed).toEqual([1008, "the access token is not valid any more"]);
    await expect.poll(() => closes).toContain(1008);
    expect(revoked.other.readyState).toBe(WebSocket.OPEN);
    revoked.other.close();
  }, 25_000);
});
