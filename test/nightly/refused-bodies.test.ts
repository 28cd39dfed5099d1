import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openShop } from "../acceptance/support/pubsub.ts";
import { ask, bodyOf, startUpstream, type Upstream } from "../acceptance/support/parties/upstream.ts";
import { useWorld } from "../acceptance/support/use-world.ts";
import { TENANT } from "../acceptance/support/world.ts";

/** What a client hears that is still sending when it is refused: the answer, not a broken connection. */
const world = useWorld();
const MIB = 1024 * 1024;

/** A body of so many bytes without a length. */
function stream(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 64 * 1024);
      if (size > 0) controller.enqueue(new Uint8Array(size).fill(0x20));
      else controller.close();
      left -= size;
    },
  });
}

test("a body that is refused for its size, or before it is looked at, gets its answer", async () => {
  const shop = await openShop(world(), "sender");
  const path = await shop.topic("large");
  const publish = `${world().base}/pubsub/v1${path}/publish`;
  const authorization = shop.authorization;
  const statuses: Record<string, number[]> = {};
  const send = async (what: string, address: string, init: RequestInit & { duplex?: "half" }): Promise<void> => {
    const answer = await fetch(address, { method: "POST", ...init });
    const { status } = (await answer.json()) as { status: number };
    (statuses[what] ??= []).push(status);
  };
  for (let round = 0; round < 8; round++) {
    const headers = { authorization, "content-type": "application/json" };
    await send("too large", publish, { headers, body: new Uint8Array(5.3 * MIB).fill(0x20) });
    await send("larger", publish, { headers, body: new Uint8Array(12 * MIB).fill(0x20) });
    await send("in chunks", publish, { headers, body: stream(7 * MIB), duplex: "half" });
    await send("no token", publish, { body: new Uint8Array(4 * MIB) });
    await send("nothing there", `${world().base}/nothing`, { body: new Uint8Array(4 * MIB) });
  }
  const always = (status: number): number[] => Array.from({ length: 8 }, () => status);
  expect(statuses).toEqual({
    "too large": always(413),
    larger: always(413),
    "in chunks": always(413),
    "no token": always(401),
    "nothing there": always(404),
  });
});

describe("a service behind the gateway", () => {
  let upstream: Upstream;
  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterAll(() => upstream?.close());

  /** A service of its own, which does this with a POST and is well otherwise. */
  async function serve(
    name: string,
    post: (request: IncomingMessage, response: ServerResponse) => unknown,
  ): Promise<string> {
    upstream.at(`/${name}`, (request, response) =>
      request.method === "POST" ? post(request, response) : response.end("well"),
    );
    const service = { sourceUrl: `${upstream.origin}/${name}`, proxyPath: `/${name}/v1`, scopes: [], essential: false };
    await world().put(`services/${name}`, { ...service, tenant: TENANT, access: "public" });
    return `${world().base}/${name}/v1`;
  }
  /** What came of it: status and body, as far as that came. */
  async function send(address: string, body: Uint8Array | ReadableStream<Uint8Array>): Promise<[number, string]> {
    const init: RequestInit & { duplex: "half" } = { method: "POST", body: body as BodyInit, duplex: "half" };
    const answer = await fetch(address, init);
    return [answer.status, await answer.text().catch(() => "cut")];
  }
  const rounds = async (times: number, address: string, megabytes: number): Promise<[number, string][]> => {
    const heard: [number, string][] = [];
    for (let round = 0; round < times; round++) {
      heard.push(await send(address, new Uint8Array(megabytes * MIB)));
      heard.push(await send(address, stream(megabytes * MIB)));
    }
    return heard;
  };

  test("that answers before it has read the body is heard, with and without a length of its answer", async () => {
    const refuse = (length: object) => (_: IncomingMessage, response: ServerResponse) =>
      response.writeHead(413, { "content-type": "text/plain", ...length }).end("early");
    for (const [name, length] of Object.entries({ early: {}, "early-known": { "content-length": 5 } })) {
      const heard = await rounds(10, await serve(name, refuse(length)), 10);
      expect(heard, name).toEqual(heard.map(() => [413, "early"]));
    }
    const bare = await rounds(10, await serve("early-bare", (_, response) => response.writeHead(204).end()), 10);
    expect(bare).toEqual(bare.map(() => [204, ""]));
  });

  test("that answers and reads on gets all of it, and its answer begins at once", async () => {
    let size = 0;
    const address = await serve("both", async (request, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" }).flushHeaders();
      response.write("begun");
      size = (await bodyOf(request)).length;
      response.end(" done");
    });
    let more: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (more = controller) });
    more!.enqueue(new Uint8Array(100_000));
    const answer = await fetch(address, { method: "POST", body, duplex: "half" } as RequestInit);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe("begun");
    for (let piece = 0; piece < 50; piece++) more!.enqueue(new Uint8Array(100_000));
    more!.close();
    expect((await reader.read()).value).toBe(" done");
    expect(size).toBe(5_100_000);
  });

  test("that closes the connection under the body is heard as far as the runtime lets us, and open to others", async () => {
    const address = await serve("closes", (_, response) => {
      const headers = { "content-type": "text/plain", "content-length": 5, connection: "close" };
      response.writeHead(413, headers).end("early");
    });
    const heard = await rounds(8, address, 4);
    for (const [status, body] of heard)
      if (status === 413) expect(["early", ""]).toContain(body);
      else expect([status, body]).toEqual([503, expect.stringContaining("was lost before it had taken")]);
    expect(heard.filter(([status]) => status === 413)).not.toHaveLength(0);
    expect(await (await fetch(address)).text()).toBe("well");
  });

  /** Whether four in a row make the breaker refuse the fifth, which would be well. */
  test.each<[string, number, (request: IncomingMessage) => unknown, "opens" | "stays closed"]>([
    // More than the connection takes before anything is read: else it was lost after the whole body.
    ["in the middle of the body", 16 * MIB, (request) => request.once("data", () => request.destroy()), "stays closed"],
    ["after the whole body", 10_000, (request) => bodyOf(request).then(() => request.socket.destroy()), "opens"],
    ["without a body", 0, (request) => request.destroy(), "opens"],
  ])("that loses the connection %s: its breaker", async (when, size, lose, breaker) => {
    const name = `loses-${when.replaceAll(" ", "-")}`;
    const address = await serve(name, lose);
    for (let times = 0; times < 4; times++)
      for (const body of size === 0 ? [new Uint8Array(0)] : [new Uint8Array(size), stream(size)])
        expect((await send(address, body))[0]).toBe(503);
    const { status } = await ask(address);
    expect(status === 200 ? "stays closed" : "opens").toBe(breaker);
    // The line takes a moment to get here.
    const isLogged = (): boolean => world().output().includes(`"event":"breaker opened","service":"${name}"`);
    if (breaker === "opens") await expect.poll(isLogged).toBe(true);
    else expect(isLogged()).toBe(false);
  });
});
