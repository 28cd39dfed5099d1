import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";
import { startUpstream, type Upstream } from "../acceptance/support/parties/upstream.ts";
import { makeWorld, OPERATOR_SECRET, TENANT, type World } from "../acceptance/support/world.ts";

/** Long answers through the gateway of a started platform, and what its runtime keeps in memory meanwhile. */
const stateDir = newStateDir();
let platform: Platform;
let world: World;
let upstream: Upstream;
let source: string;
let shown: string;
/** What the service repeats, and what is to become of it. */
let block: Buffer;
let rewritten: Buffer;

beforeAll(async () => {
  platform = await startPlatform({ STATE_DIR: stateDir, OPERATOR_CLIENT_SECRET: OPERATOR_SECRET });
  world = await makeWorld(platform, "");
  upstream = await startUpstream();
  source = `${upstream.origin}/v1`;
  shown = `${world.base}/long/v1`;
  const service = { sourceUrl: source, proxyPath: "/long/v1", scopes: [], essential: false };
  await world.put("services/long", { ...service, tenant: TENANT, access: "public" });
  const rows = Array.from({ length: 9_000 }, (_, number) => row(number));
  block = Buffer.from(rows.map(({ given }) => given).join(""));
  rewritten = Buffer.from(rows.map(({ due }) => due).join(""));
  upstream.at("/v1/rows", (request, response) => void sendRows(request, response));
}, 60_000);
afterAll(async () => {
  await upstream?.close();
  if (platform !== undefined) await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

/** One row, as the service writes it and as it has to arrive: put together from its parts, not searched through. */
function row(number: number): { readonly given: string; readonly due: string } {
  const escaped = (text: string): string => text.replaceAll("/", String.raw`\/`);
  const [look, like] = [`${source}0/${number}`, `${source.replace("127.0.0.1", "127.0.0.11")}/x`];
  const write = (base: string): string =>
    `{"id":${number},"self":"${base}/products/${number}","näme":"product ${number}, the one of ${number % 97}",` +
    `"next":"${escaped(base)}\\/products\\/${number + 1}","other":"${look}","another":"${like}","list":"${base}"},\n`;
  return { given: write(source), due: write(shown) };
}

/** Of chunks; primes, so that an address is cut everywhere in turn. */
const CHUNK_BYTES = [65_537, 4_099, 131_071, 97, 16_411, 32_771];
let sentBytes = 0;

/** `?blocks=…&type=…`, as fast as it is taken. */
async function sendRows(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const query = new URL(request.url ?? "", upstream.origin).searchParams;
  const endless = Buffer.concat([block, block.subarray(0, Math.max(...CHUNK_BYTES))]);
  const total = Number(query.get("blocks")) * block.length;
  sentBytes = 0;
  const chunks = function* () {
    for (let index = 0; sentBytes < total; index++) {
      const length = Math.min(CHUNK_BYTES[index % CHUNK_BYTES.length]!, total - sentBytes);
      const start = sentBytes % block.length;
      sentBytes += length;
      yield endless.subarray(start, start + length);
    }
  };
  response.writeHead(200, { "content-type": query.get("type") ?? "" });
  await pipeline(Readable.from(chunks(), { highWaterMark: 1 }), response).catch(() => undefined);
}

const ask = async (type: string, blocks: number): Promise<IncomingMessage> => {
  const call = get(`${shown}/rows?blocks=${blocks}&type=${encodeURIComponent(type)}`, { agent: false });
  const [message] = (await once(call, "response")) as [IncomingMessage];
  expect([message.statusCode, message.headers["content-type"]]).toEqual([200, type]);
  return message;
};

async function digestOf(message: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of message) hash.update(chunk);
  return hash.digest("hex");
}

function digestOfBlocks(content: Buffer, blocks: number): string {
  const hash = createHash("sha256");
  for (let index = 0; index < blocks; index++) hash.update(content);
  return hash.digest("hex");
}

const MEGABYTE = 1_000_000;
const blocksOf = (megabytes: number): number => Math.ceil((megabytes * MEGABYTE) / block.length);

/** Of the runtime, in megabytes. Linux alone tells. */
function residentMegabytes(): number {
  const group = platform.child.pid;
  const sizes = readdirSync("/proc").flatMap((pid) => {
    try {
      const [, name, pgid] = /\((.*)\) \S \d+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      if (name !== "workerd" || Number(pgid) !== group) return [];
      return [(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024) / MEGABYTE];
    } catch {
      return [];
    }
  });
  return Math.max(...sizes);
}

/** The most that the runtime has in memory until the work is done. */
async function peakWhile<T>(work: Promise<T>): Promise<{ readonly result: T; readonly peak: number }> {
  let peak = residentMegabytes();
  const timer = setInterval(() => (peak = Math.max(peak, residentMegabytes())), 50);
  try {
    return { result: await work, peak };
  } finally {
    clearInterval(timer);
  }
}

/**
 * What the runtime may take besides: its collector lets garbage of small objects lie for some tens of megabytes before
 * it looks at all of them (47 were seen). A tenth of the answer, kept, would be more than that.
 */
const MAX_GROWTH = 96;
/** The most that Linux gives one of a socket's two buffers, in bytes: it is tuned up to this as it sees fit. */
const largestBuffer = (direction: "rmem" | "wmem"): number =>
  Number(readFileSync(`/proc/sys/net/ipv4/tcp_${direction}`, "utf8").trim().split(/\s+/).at(-1));
/** What two connections may hold that nobody reads from, and a piece on its way, in bytes. */
const mostUnderway = (): number => 2 * (largestBuffer("rmem") + largestBuffer("wmem")) + MEGABYTE;

describe.runIf(process.platform === "linux")("a long answer", () => {
  test.each([
    ["application/json", 1_000],
    ["application/octet-stream", 250],
  ])("of %s, %i MB, arrives whole, and the runtime keeps none of it", async (type, megabytes) => {
    await digestOf(await ask(type, blocksOf(50)));
    const before = residentMegabytes();
    const blocks = blocksOf(megabytes);
    const { result, peak } = await peakWhile(ask(type, blocks).then(digestOf));
    expect(result).toBe(digestOfBlocks(type === "application/json" ? rewritten : block, blocks));
    expect(peak - before).toBeLessThan(MAX_GROWTH);
  });

  test.each(["application/json", "application/octet-stream"])("of %s waits for its reader", async (type) => {
    const before = residentMegabytes();
    const message = await ask(type, blocksOf(1_000));
    // Nobody reads: the service is asked for no more than fits in between.
    let seen = -1;
    const stands = (): boolean => {
      const was = seen;
      seen = sentBytes;
      return was === seen;
    };
    await expect.poll(stands, { interval: 500, timeout: 20_000 }).toBe(true);
    expect(sentBytes).toBeLessThan(mostUnderway());
    expect(residentMegabytes() - before).toBeLessThan(MAX_GROWTH);
    // Who goes away is not sent for any longer.
    const [response] = upstream.seen.slice(-1);
    message.destroy();
    await expect.poll(() => response?.socket.destroyed, { timeout: 5_000 }).toBe(true);
    expect(sentBytes).toBeLessThan(2 * mostUnderway());
  });

  test("that comes in drops is passed on drop by drop", async () => {
    const drops = Array.from({ length: 20 }, (_, number) => `event ${number} at ${source}/events/${number}\n`);
    const taken = new EventEmitter();
    upstream.at("/v1/drops", async (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      for (const drop of drops) {
        const next = once(taken, "taken");
        response.write(drop);
        // The next one only when this one has arrived: a drop that is kept back ends the test.
        await next;
      }
      response.end();
    });
    const [message] = (await once(get(`${shown}/drops`, { agent: false }), "response")) as [IncomingMessage];
    let heard = "";
    for await (const chunk of message) {
      heard += chunk;
      if (heard.endsWith("\n")) taken.emit("taken");
    }
    expect(heard).toBe(drops.join("").replaceAll(source, shown));
  });
});
