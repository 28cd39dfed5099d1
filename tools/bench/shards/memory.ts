import { equal, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCron } from "../../../scripts/lib/local/server.ts";
import { whole } from "../lib/statistics.ts";
import { csvOf } from "./csv.ts";
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

/**
 * `npm run bench -- memory`: measures the memory of the runtime, which grows if an isolate never forgets. Meanwhile
 * tenants of many shards get tokens, upload, read, list and delete files, publish, read and commit events, again and
 * again, and leave nothing behind. Every answer is checked.
 */
export const runMemory = ({ minutes, clients, out, ...size }: Options): Promise<void> =>
  onShards(size, ["media_view", "media_manage", "media_admin", "pubsub_publish"], async ({ server, base, tenants }) => {
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
    const rows: { readonly minute: number; readonly requests: number; readonly runtimeMb: number }[] = [];
    const note = (minute: number): void => {
      rows.push({ minute, requests, runtimeMb: Math.round(memoryOf(process.pid) / MB) });
      const { runtimeMb } = rows.at(-1)!;
      console.log(`${minute.toFixed(1).padStart(6)} min  ${whole(requests).padStart(9)} requests  ${runtimeMb} MB`);
    };
    note(0);
    const lanes = Promise.all(Array.from({ length: clients }, lane));
    for (let sample = 1; sample <= SAMPLES; sample++) {
      await Promise.race([sleep((minutes * 60_000) / SAMPLES), lanes]);
      if (sample % CRON_EVERY === 0) await runCron(server, "*/5 * * * *");
      note((minutes * sample) / SAMPLES);
    }
    await lanes;
    const mean = (from: number, to: number): number => {
      const some = rows.slice(Math.floor(from * SAMPLES) + 1, Math.floor(to * SAMPLES) + 1);
      return some.reduce((sum, { runtimeMb }) => sum + runtimeMb, 0) / some.length;
    };
    const [middle, last] = [mean(1 / 3, 2 / 3), mean(2 / 3, 1)];
    console.log(
      `${whole(rounds)} rounds over ${size.shards} shards; the middle third ${whole(middle)} MB, the last third ${whole(last)} MB`,
    );
    mkdirSync(out, { recursive: true });
    const path = join(out, "shard-memory.csv");
    writeFileSync(path, csvOf(rows));
    console.log(`wrote ${path}`);
  });

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
