import { equal } from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../scripts/lib/local/free-port.ts";
import { applyMigrations } from "../../../scripts/lib/local/database.ts";
import { runCron, serve, shardBindings } from "../../../scripts/lib/local/server.ts";
import { readSettings } from "../../../scripts/lib/local/settings.ts";
import { formatObjectShards } from "../../../src/platform/storage/object-shards.ts";
import { objectShardsOf } from "../../../src/platform/storage/shards.ts";
import { openPlatform } from "../lib/platform.ts";
import type { Server } from "../lib/server.ts";
import { figure, whole } from "../lib/statistics.ts";
import { archived, fillArchive, type Database } from "../media/archive.ts";

interface Options {
  readonly files: number;
  readonly shards: number;
  /** So many of them, the last ones, are objects. */
  readonly objects: number;
  /** Deletions end after so long, done or not. */
  readonly minutes: number;
  readonly out: string;
}

/** A tenant in each shard. */
interface Tenant {
  readonly shard: number;
  readonly name: string;
  readonly db: Database;
  headers(): Promise<{ readonly authorization: string }>;
}

const ASKED = 10;
const MB = 1_000_000;

/**
 * `npm run bench -- archive`: files over many shards, made by SQL and without bytes; then each tenant lists, queries and
 * deletes over HTTP. Every answer is checked.
 */
export async function runArchive({ files, shards, objects, minutes, out }: Options): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), "plinth-archive-"));
  const numbers = Array.from({ length: objects }, (_, at) => [shards - objects + at, undefined] as const);
  const objectShards = new Map(numbers);
  const port = await freePort("127.0.0.1");
  const given = { PORT: String(port), STATE_DIR: stateDir, OBJECT_SHARDS: formatObjectShards(objectShards) };
  const settings = readSettings({ ...process.env, ...given, LOG_LEVEL: "error" });
  const server = await serve({ ...settings, shards: shards - objects });
  try {
    const databases: Database[] = [];
    for (const name of shardBindings(shards - objects)) {
      const db = await server.getD1Database(name);
      await applyMigrations(db);
      databases.push(db);
    }
    const namespace = await server.getDurableObjectNamespace("SHARD_DATABASE");
    for (const { db } of objectShardsOf(objectShards, namespace)) databases.push(db);

    const { platform, pathPrefix, operatorSecret } = settings.config;
    const facts = { platform, pathPrefix, operatorSecret };
    const opened = await openPlatform({ origin: `http://127.0.0.1:${port}`, facts } as Server);
    const media = `${opened.base}/media/v2/files`;
    const tenants: Tenant[] = [];
    for (const [shard, db] of databases.entries()) tenants.push(await makeTenant(opened, databases[0]!, db, shard));
    const each = Math.floor(files / shards);
    const rows: Row[] = [];
    const note = (what: string, value: string): void => {
      rows.push({ what, value, memoryMb: memoryOf(process.pid) / MB });
      console.log(`${what.padEnd(46)} ${value.padEnd(28)} runtime ${whole(rows.at(-1)!.memoryMb)} MB`);
    };

    note("empty", `${shards} shards, ${objects} of them objects`);
    const filledMs = await timed(async () => {
      for (const { shard, db, name } of tenants) {
        await fillArchive(db, { client: `${name}.box`, tenant: name, files: each, shard });
        if (shard === 0 || shard === shards - 1) note(`filled shard ${shard}`, `${whole(each)} files`);
      }
    });
    note("filled all, by SQL", `${whole(each * shards)} files in ${whole(filledMs / 1_000)} s`);

    const middle = Math.floor(each / 2);
    const { order } = archived(middle).metadata;
    const asks = [
      ["a page of a list", "", (shard: number) => archived(0, shard).id],
      ["a query that one file matches", `&q=order:${order}`, (shard: number) => archived(middle, shard).id],
      ["a query that a quarter matches", "&q=color:red", (shard: number) => archived(2, shard).id],
    ] as const;
    for (const [what, query, first] of asks) {
      const times: number[] = [];
      for (const { shard, name, headers } of tenants) {
        const init = { headers: await headers() };
        for (let time = 0; time < ASKED; time++)
          times.push(
            await timed(async () => {
              const answer = await fetch(`${media}?tenant=${name}${query}`, init);
              equal(answer.status, 200);
              const [found] = (await answer.json()) as { id: string }[];
              equal(found?.id, first(shard));
            }),
          );
      }
      note(`${what}, each tenant ${ASKED} times`, msOf(times));
    }

    const single: number[] = [];
    for (const { shard, name, headers } of tenants) {
      const init = { method: "DELETE", headers: await headers() };
      for (let index = 0; index < ASKED; index++)
        single.push(
          await timed(async () => {
            const answer = await fetch(`${media}/${archived(index, shard).id}?tenant=${name}`, init);
            equal(answer.status, 204);
          }),
        );
    }
    note(`one file deleted, each tenant ${ASKED} times`, msOf(single));

    const all: number[] = [];
    const startMs = performance.now();
    for (const { name, headers } of tenants) {
      const init = { method: "DELETE", headers: await headers() };
      all.push(await timed(async () => equal((await fetch(`${media}?tenant=${name}`, init)).status, 202)));
      const listed = await fetch(`${media}?tenant=${name}`, { headers: await headers() });
      equal(JSON.stringify(await listed.json()), "[]");
    }
    note("all files of a tenant deleted: the answer", msOf(all));
    const total = (each - ASKED) * shards;
    for (;;) {
      const left = await leftIn(tenants);
      const seconds = (performance.now() - startMs) / 1_000;
      const isOver = left === 0 || seconds > minutes * 60;
      if (isOver) {
        note(
          left === 0 ? "rows removed by the cron, run without a pause" : "stopped",
          `${whole(total - left)} in ${whole(seconds)} s, ${whole(left)} left`,
        );
        break;
      }
      // Deployed, it runs every five minutes.
      await runCron(server, "*/5 * * * *");
    }
    mkdirSync(out, { recursive: true });
    const path = join(out, "shard-archive.csv");
    const lines = rows.map(({ what, value, memoryMb }) => `"${what}","${value}",${Math.round(memoryMb)}`);
    writeFileSync(path, `what,value,runtime MB\n${lines.join("\n")}\n`);
    console.log(`wrote ${path}`);
  } finally {
    await server.dispose();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

interface Row {
  readonly what: string;
  readonly value: string;
  readonly memoryMb: number;
}

/** A tenant whose files lie in a shard, and its client. */
async function makeTenant(
  { put, base, platform }: Awaited<ReturnType<typeof openPlatform>>,
  directory: Database,
  db: Database,
  shard: number,
): Promise<Tenant> {
  const name = `box${shard}`;
  const place = "INSERT INTO tenant_shard (tenant, shard) VALUES (?1, ?2)";
  await directory.batch([directory.prepare(place).bind(name, shard)]);
  await put(`tenants/${name}`, { organization: "bench", name });
  await put(`tenants/${name}/subscriptions/platform`, {});
  const scopes = ["media_view", "media_manage", "media_admin"].map((scope) => `${platform}.${scope}`);
  const client = { tenant: name, confidential: true, grantTypes: ["client_credentials"], scopes };
  const id = `${name}.box`;
  const { clientSecret } = await put(`clients/${id}`, client);
  return {
    shard,
    name,
    db,
    async headers() {
      const authorization = `Basic ${btoa(`${id}:${clientSecret}`)}`;
      const body = new URLSearchParams({ grant_type: "client_credentials" });
      const answer = await fetch(`${base}/oauth2/v1/token`, { method: "POST", headers: { authorization }, body });
      const { access_token: token } = (await answer.json()) as { access_token: string };
      return { authorization: `Bearer ${token}` };
    },
  };
}

async function leftIn(tenants: readonly Tenant[]): Promise<number> {
  let left = 0;
  for (const { db } of tenants)
    left +=
      (await db
        .prepare(`SELECT count(*) AS n FROM file WHERE state = 'committed' AND id > ?1`)
        .bind("")
        .first<number>("n")) ?? 0;
  return left;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function msOf(times: readonly number[]): string {
  const { median, max } = figure(times)!;
  return `${median.toFixed(1)} ms, slowest ${max.toFixed(0)}`;
}

/** Resident memory of the runtime: the processes below this one, with databases, objects and isolates. */
function memoryOf(parent: number): number {
  let bytes = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      if (Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]) !== parent) continue;
      bytes += Number(/^RssAnon:\s*(\d+)/m.exec(status)?.[1] ?? 0) * 1_024;
    } catch {
      // It has ended.
    }
  }
  return bytes;
}
