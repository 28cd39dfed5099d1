import { equal } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCron } from "../../../scripts/lib/local/server.ts";
import { figure, whole } from "../lib/statistics.ts";
import { archived, fillArchive } from "../media/archive.ts";
import { memoryOf, onShards, type Size, type Tenant } from "./sharded.ts";

interface Options extends Size {
  readonly files: number;
  /** The time after which deletions stop, even if files are left. */
  readonly minutes: number;
  readonly out: string;
}

const ASKED = 10;
const MB = 1_000_000;

/**
 * `npm run bench -- archive`: files over many shards, made by SQL and without bytes; then each tenant lists, queries
 * and deletes over HTTP. Every answer is checked.
 */
export const runArchive = ({ files, minutes, out, ...size }: Options): Promise<void> =>
  onShards(size, ["media_view", "media_manage", "media_admin"], async ({ server, base, tenants }) => {
    const { shards, objects } = size;
    const media = `${base}/media/v2/files`;
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
      // A deployed platform runs this cron every five minutes.
      await runCron(server, "*/5 * * * *");
    }
    mkdirSync(out, { recursive: true });
    const path = join(out, "shard-archive.csv");
    const lines = rows.map(({ what, value, memoryMb }) => `"${what}","${value}",${Math.round(memoryMb)}`);
    writeFileSync(path, `what,value,runtime MB\n${lines.join("\n")}\n`);
    console.log(`wrote ${path}`);
  });

interface Row {
  readonly what: string;
  readonly value: string;
  readonly memoryMb: number;
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
