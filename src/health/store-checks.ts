import type { Clock } from "../platform/runtime/clock.ts";
import { judge, type Check, type Complaint } from "./check.ts";
import type { FactsStore } from "./facts-store.ts";
import type { HeartbeatStore } from "./heartbeat-store.ts";
import { LIMITS } from "./limits.ts";
import { NEWEST_MIGRATION } from "../platform/storage/schema.ts";

export interface StoreCheckDeps {
  readonly clock: Clock;
  readonly facts: FactsStore;
  /** The databases besides the directory. */
  readonly shards: readonly { readonly number: number; readonly facts: FactsStore }[];
  readonly heartbeats: HeartbeatStore;
  readonly bucket: Pick<R2Bucket, "head">;
  /** Pings one object, by class. The object reads its storage. */
  readonly objects: Readonly<Record<string, () => Promise<void>>>;
  /** The time of the newest whole backup; null: there is none. Undefined: the platform has no bucket for backups. */
  readonly newestBackupMs: (() => Promise<number | null>) | undefined;
}

/** A key that no file has. */
const PROBED_KEY = "health";

/** Checks of storage: D1 with its schema and size, the bucket, the objects, the backups. */
export function storeChecks(deps: StoreCheckDeps): readonly Check[] {
  const { clock, facts, shards, heartbeats, bucket, objects, newestBackupMs } = deps;
  async function timed(work: () => Promise<unknown>): Promise<number> {
    const startMs = clock.nowMs();
    await work();
    return clock.nowMs() - startMs;
  }
  const isSlow = (...times: readonly number[]): boolean => times.some((ms) => ms > LIMITS.slowMs);

  const database: Check = {
    name: "database",
    unanswered:
      "D1 does not answer: see Cloudflare's status page and the database's metrics, then the page `database`.",
    async run(nowMs) {
      const readMs = await timed(facts.read);
      // One row, written again and again.
      const writeMs = await timed(() =>
        heartbeats.beat({ name: "health", atMs: nowMs, durationMs: 0, error: undefined }),
      );
      const slow = "D1 answers slowly: look for its longest queries (`wrangler d1 insights`) and its load.";
      return judge({ readMs, writeMs }, ["warn", isSlow(readMs, writeMs), slow]);
    },
  };
  const schema: Check = {
    name: "schema",
    unanswered: "The list of migrations cannot be read: apply the migrations by `npm run deploy`.",
    async run() {
      const applied = await facts.migrations();
      const known = { needed: NEWEST_MIGRATION, applied: applied[0] ?? "none" };
      return judge(known, [
        "fail",
        !applied.includes(NEWEST_MIGRATION),
        "The database lacks a migration of this release: run `npm run deploy`.",
      ]);
    },
  };
  const sizes: Check = {
    name: "sizes",
    unanswered: "The sizes of the database cannot be read.",
    async run() {
      const measured = await facts.sizes();
      return judge({ ...measured }, ...fullness(measured.databaseBytes));
    },
  };
  const others = shards.map(({ number, facts: own }): Check => ({
    name: `shard ${number}`,
    unanswered: `The database of shard ${number} does not answer: files of its tenants are not reached until it does.`,
    async run() {
      let databaseBytes = 0;
      let applied: readonly string[] = [];
      const readMs = await timed(async () => {
        const [measured, migrations] = await Promise.all([own.sizes(), own.migrations()]);
        databaseBytes = measured.databaseBytes;
        applied = migrations;
      });
      const isOld = !applied.includes(NEWEST_MIGRATION);
      const old = `The database of shard ${number} lacks a migration of this release: run \`npm run deploy\`.`;
      return judge(
        { readMs, databaseBytes, applied: applied[0] ?? "none" },
        ["fail", isOld, old],
        ...fullness(databaseBytes),
        ["warn", isSlow(readMs), `The database of shard ${number} answers slowly.`],
      );
    },
  }));
  const media: Check = {
    name: "bucket",
    unanswered: "R2 does not answer: see Cloudflare's status page; uploads and downloads fail until it does.",
    async run() {
      const headMs = await timed(() => bucket.head(PROBED_KEY));
      return judge({ headMs }, ["warn", isSlow(headMs), "R2 answers slowly: see Cloudflare's status page."]);
    },
  };
  const pings = Object.entries(objects).map(([name, ping]): Check => ({
    name: `object ${name}`,
    unanswered: `Objects of the class ${name} do not answer: see Cloudflare's status page and the Worker's log.`,
    async run() {
      const pingMs = await timed(ping);
      return judge({ pingMs }, ["warn", isSlow(pingMs), `Objects of the class ${name} answer slowly.`]);
    },
  }));
  const backups = newestBackupMs === undefined ? [] : [backupCheck(facts, newestBackupMs)];
  return [database, schema, sizes, ...others, media, ...pings, ...backups];
}

/** A platform without a backup counts from its own beginning, so a new one has a night to make the first. */
const backupCheck = (facts: FactsStore, newestBackupMs: () => Promise<number | null>): Check => ({
  name: "backups",
  unanswered: "The bucket of backups does not answer: see Cloudflare's status page.",
  async run(nowMs) {
    const newestMs = await newestBackupMs();
    const ageMs = Math.max(nowMs - (newestMs ?? (await facts.bornMs()) ?? nowMs), 0);
    return judge({ newest: newestMs === null ? "none" : new Date(newestMs).toISOString(), ageMs }, [
      "warn",
      ageMs > LIMITS.backupWarnMs,
      "There is no whole backup of the last 36 hours: run `plat platform backup` every night.",
    ]);
  },
});

function fullness(bytes: number): readonly Complaint[] {
  const full =
    "D1 is nearly full and refuses writes at 10 GB: delete files, or add a shard for new tenants (see the page `shards`).";
  return [
    ["fail", bytes > LIMITS.databaseFailBytes, full],
    ["warn", bytes > LIMITS.databaseWarnBytes, full],
  ];
}
