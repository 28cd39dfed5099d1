import { equal, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCron, WORKER } from "../../../scripts/lib/local/server.ts";
import { whole } from "../lib/statistics.ts";
import { csvOf } from "./csv.ts";
import { openHeap } from "./heap.ts";
import { memoryOf, onShards, type Size, type Tenant } from "./sharded.ts";

interface Options extends Size {
  readonly minutes: number;
  /** Tenants that work at the same time. */
  readonly clients: number;
  readonly out: string;
}

const MB = 1_000_000;
const SAMPLES = 20;
/** The cron runs once in so many samples. */
const CRON_EVERY = 2;
const FILE_BYTES = 10_000;
const EVENTS = 20;
const SCOPES = ["media_view", "media_manage", "media_admin", "pubsub_publish"];

/**
 * `npm run bench -- memory`: measures the heap of the isolate, which grows if it never forgets, and the memory of the
 * whole runtime. Meanwhile tenants of many shards get tokens, upload, read, list and delete files, publish, read and
 * commit events, again and again, and leave nothing behind. Every answer is checked.
 */
export const runMemory = ({ minutes, clients, out, ...size }: Options): Promise<void> =>
  onShards({ ...size, isInspected: true }, SCOPES, async ({ server, base, tenants }) => {
    const heap = await openHeap(server, WORKER);
    const endMs = performance.now() + minutes * 60_000;
    let [rounds, requests, next] = [0, 0, 0];
    for (const tenant of tenants) await makeTopic(base, tenant);
    const lane = async (): Promise<void> => {
      while (performance.now() < endMs) {
        const made = await work(base, tenants[next++ % tenants.length]!);
        requests += made;
        rounds++;
      }
    };
    const rows: Row[] = [];
    const note = async (minute: number): Promise<void> => {
      const isolateMb = Math.round((await heap.usedBytes()) / (MB / 10)) / 10;
      const runtimeMb = Math.round(memoryOf(process.pid) / MB);
      rows.push({ minute, requests, isolateMb, runtimeMb });
      const time = `${minute.toFixed(1).padStart(6)} min  ${whole(requests).padStart(9)} requests`;
      console.log(`${time}  isolate ${isolateMb.toFixed(1)} MB, runtime ${runtimeMb} MB`);
    };
    await note(0);
    const lanes = Promise.all(Array.from({ length: clients }, lane));
    for (let sample = 1; sample <= SAMPLES; sample++) {
      await Promise.race([sleep((minutes * 60_000) / SAMPLES), lanes]);
      if (sample % CRON_EVERY === 0) await runCron(server, "*/5 * * * *");
      await note((minutes * sample) / SAMPLES);
    }
    await lanes;
    const thirds = [mean(rows.slice(SAMPLES / 3, (2 * SAMPLES) / 3)), mean(rows.slice((2 * SAMPLES) / 3))];
    const [middle, last] = thirds.map(({ isolateMb, runtimeMb }) => `${isolateMb.toFixed(1)} (${whole(runtimeMb)})`);
    console.log(
      `${whole(rounds)} rounds over ${size.shards} shards; isolate (runtime) in the middle third ${middle} MB, in the last ${last} MB`,
    );
    mkdirSync(out, { recursive: true });
    const path = join(out, "shard-memory.csv");
    writeFileSync(path, csvOf(rows));
    console.log(`wrote ${path}`);
    heap.close();
  });

/** A look at the memory, in MB of a million bytes. */
interface Row {
  readonly minute: number;
  readonly requests: number;
  /** What the JavaScript of the Worker and its objects holds, without garbage. */
  readonly isolateMb: number;
  /** The whole process, with every database and its pages. */
  readonly runtimeMb: number;
}

function mean(rows: readonly Row[]): Pick<Row, "isolateMb" | "runtimeMb"> {
  const of = (read: (row: Row) => number): number => rows.reduce((sum, row) => sum + read(row), 0) / rows.length;
  return { isolateMb: of(({ isolateMb }) => isolateMb), runtimeMb: of(({ runtimeMb }) => runtimeMb) };
}

const eventType = "memory";
const topicOf = (base: string, { name }: Tenant): string => `${base}/pubsub/v1/topics/${name}.box/${eventType}`;
const json = (headers: object, body: unknown) => ({
  method: "POST",
  headers: { ...headers, "content-type": "application/json" },
  body: JSON.stringify(body),
});

async function makeTopic(base: string, tenant: Tenant): Promise<void> {
  const made = await fetch(`${base}/pubsub/v1/topics`, json(await tenant.headers(), { eventType }));
  equal(made.status, 201);
}

/** Does a round of one tenant. Returns the number of its requests. */
async function work(base: string, tenant: Tenant): Promise<number> {
  const headers = await tenant.headers();
  let requests = 1;
  const send = async (address: string, init: RequestInit, status: number): Promise<any> => {
    requests++;
    const answer = await fetch(address, init);
    const text = await answer.text();
    equal(answer.status, status, `${init.method ?? "GET"} ${address}: ${answer.status} ${text.slice(0, 300)}`);
    return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
  };
  const files = `${base}/media/v2/files`;
  const created = await send(files, json(headers, { "Content-Type": "text/plain" }), 200);
  const bytes = "x".repeat(FILE_BYTES);
  await send(created.uploadLink, { method: "PUT", headers: { "content-type": "text/plain" }, body: bytes }, 200);
  await send(created.commitLink, json(headers, { order: Date.now(), color: "red", tags: ["a", "b"] }), 202);
  const listed = (await send(`${files}?tenant=${tenant.name}&q=color:red`, { headers }, 200)) as { id: string }[];
  ok(listed.some(({ id }) => id === created.id));
  const { link } = await send(`${files}/${created.id}`, { headers }, 200);
  equal((await send(link, {}, 200)).length, FILE_BYTES);
  await send(`${files}/${created.id}?tenant=${tenant.name}`, { method: "DELETE", headers }, 204);
  const topic = topicOf(base, tenant);
  const events = Array.from({ length: EVENTS }, (_, at) => ({ payload: `event ${at}` }));
  await send(`${topic}/publish`, json(headers, events), 201);
  const { token } = await send(`${topic}/read`, json(headers, { numEvents: EVENTS }), 200);
  if (token !== undefined) await send(`${topic}/commit`, json(headers, { token }), 200);
  return requests;
}
