import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RequestOpts } from "@oazapfts/runtime";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import * as api from "../../api/plinth.ts";
import { EVENT_TYPE, signIn } from "../../examples/tour/people.ts";
import { createSession, type Session } from "../../examples/tour/session.ts";
import { localWorkers, type LocalWorker, type LocalWorkers } from "../acceptance/support/local-worker.ts";
import { begin, finish, register, type Begun } from "../acceptance/support/upgrade-story.ts";
import { startUpstream, type Upstream } from "../acceptance/support/parties/upstream.ts";

/**
 * A platform is lost and comes back: with everything half done (upgrade-story.ts) it is backed up and destroyed, and an
 * empty one with the same keys is restored. Each job is killed on its way, as whole processes are.
 */
const folder = mkdtempSync(join(tmpdir(), "plinth-backup-"));
const LOST = join(folder, "lost");
const NEW = join(folder, "new");
const KILL_AFTER_MS = 40;
let workers: LocalWorkers;
let platform: LocalWorker;
let upstream: Upstream;
let begun: Begun;
let held: Readonly<Record<string, unknown>>;
let keys: readonly string[];
let backup: string;
let objects: readonly { readonly key: string; readonly bytes: ArrayBuffer; readonly options: R2PutOptions }[];

const session = (): Session => createSession(platform.url, "", "plat", true);
const operator = async () => ({ token: await signIn(session(), { id: "plat.operator", secret: workers.secret }) });

beforeAll(async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  workers = await localWorkers(join(folder, "bundle"));
  upstream = await startUpstream();
  platform = await workers.start(LOST);
});
afterAll(async () => {
  await platform?.stop();
  await upstream?.close();
  await begun?.receiver.close().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
});

/** Kills the platform while the job has just begun, starts it again, and waits for the end. */
async function endedAfterKill(restart: () => Promise<LocalWorker>): Promise<api.BackupJob> {
  await sleep(KILL_AFTER_MS);
  await platform.stop();
  platform = await restart();
  return ended();
}

async function ended(): Promise<api.BackupJob> {
  for (const by = await operator(); ; await sleep(20)) {
    const { data } = await session().expect(200, api.getBackupJob, { ...by, quiet: true });
    if (data.state !== "running") return data;
  }
}

/** Answers of the platform to everybody who may ask, by address. */
async function walk(): Promise<Readonly<Record<string, unknown>>> {
  const { cast, tokens } = begun;
  const topic = `/pubsub/v1/topics/${cast.shop.id}/${EVENT_TYPE}`;
  const [shop, billing] = [tokens.shop, tokens.billing];
  const lists = "organizations tenants users roles clients services packages identity-providers push-subscriptions";
  const asked: readonly (readonly [address: string, token: string])[] = [
    ...lists.split(" ").map((list) => [`/admin/v1/${list}?pageSize=1000`, tokens.operator] as const),
    [`/admin/v1/tenants/${cast.tenant}/members`, tokens.operator],
    [`/admin/v1/tenants/${cast.tenant}/subscriptions`, tokens.operator],
    [`/admin/v1/audit?subject=clients/${cast.shop.id}`, tokens.operator],
    ["/pubsub/v1/topics", shop],
    [topic, shop],
    [`${topic}/events?from=oldest`, billing],
    [`${topic}/consumers`, billing],
    [`${topic}/subscriptions`, billing],
    [`${topic}/subscribers`, shop],
    [`/media/v2/files?tenant=${cast.tenant}&q=title:stored`, shop],
    [`/media/v2/files/${begun.stored}/metadata`, shop],
    [`/media/v2/files/${begun.stored}/variants`, shop],
    ["/oauth2/v1/userinfo", begun.signedIn.access],
    ["/oauth2/v1/refreshtokens", begun.signedIn.access],
  ];
  const answers: Record<string, unknown> = {};
  for (const [address, token] of asked) {
    const { status, bytes } = await session().ask("GET", address, { token, quiet: true });
    answers[address] = { status, text: bytes.toString("utf8") };
  }
  return answers;
}

describe("A platform that is lost", () => {
  test("has something of each kind, and is backed up though it is killed meanwhile", async () => {
    await register(session(), workers.secret, upstream);
    begun = await begin(session(), workers.secret);
    // A variant that is being made meanwhile would answer otherwise afterwards.
    const token = begun.tokens.shop;
    const clip = (to: RequestOpts) => api.getPrivateFile(begun.stored, { clip: "64x64" }, to);
    while ((await session().expect([200, 404], clip, { token, quiet: true })).status !== 200) await sleep(20);
    const by = await operator();
    const started = await session().expect(202, (to) => api.startBackup({ bytes: "copy" }, to), by);
    backup = started.data.backup;
    expect(await endedAfterKill(() => workers.start(LOST))).toMatchObject({ backup, state: "done", error: "" });
    held = await walk();
    keys = (await session().expect(200, api.getKeys)).data.keys.map(({ kid }) => kid);
    for (const answer of Object.values(held)) expect(answer).toMatchObject({ status: 200 });
  });

  test("leaves nothing but the bucket of backups", async () => {
    const { objects: listed } = await platform.backups.list();
    objects = await Promise.all(
      listed.map(async ({ key }) => {
        const object = (await platform.backups.get(key))!;
        const { customMetadata = {} } = object;
        return { key, bytes: await object.arrayBuffer(), options: { customMetadata } };
      }),
    );
    expect(objects.length).toBeGreaterThan(20);
    await platform.stop();
    rmSync(LOST, { recursive: true });
  });

  test("is restored into an empty one in maintenance, though that is killed meanwhile", async () => {
    const empty = () => workers.start(NEW, { MAINTENANCE: "true" });
    platform = await empty();
    for (const { key, bytes, options } of objects) await platform.backups.put(key, bytes, options);
    const by = await operator();
    await session().expect(503, (to) => api.listTopics({}, to), { token: begun.tokens.shop });
    await session().expect(202, (to) => api.restoreBackup(backup, to), by);
    expect(await endedAfterKill(empty)).toMatchObject({ backup, state: "done", error: "", findings: [] });
    await session().expect(202, (to) => api.restoreBackup(backup, to), by);
    expect(await ended()).toMatchObject({ state: "failed", error: expect.stringContaining("needs an empty platform") });
    await platform.stop();
  });

  // shows: operator/backup/restore
  test("answers as before", async () => {
    platform = await workers.start(NEW);
    expect(await walk()).toEqual(held);
    // The new platform made a key of its own before the restore.
    const { data } = await session().expect(200, api.getKeys);
    expect(data.keys.map(({ kid }) => kid)).toEqual(expect.arrayContaining([...keys]));
  });

  test("goes on with everything that had begun", async () => {
    // The lock is not kept: the batch is read again.
    const { billing } = begun.tokens;
    const owner = begun.cast.shop.id;
    const read = await session().expect(200, (to) => api.readEvents(owner, EVENT_TYPE, { numEvents: 1 }, {}, to), {
      token: billing,
    });
    expect(read.data.events.map(({ id }) => id)).toEqual(begun.events.slice(0, 1));
    await finish(session(), { ...begun, lock: read.data.token ?? "" });
  });
});
