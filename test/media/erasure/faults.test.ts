import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import type { MediaJob } from "../../../src/media/model/job.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { casesOf } from "../../support/model-runs.ts";
import { allFiles, indexRows, insertCommitted, reportAt } from "../support/erasure-support.ts";
import { faultAt, withMethods, type Faults } from "../support/faults.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, START_MS, type MediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { collection } from "../support/stored-file.ts";

/** Inserts files in the directory, because these tests inject faults there. */
const inserted = (as: Principal, count: number, metadata?: string, visibility?: "private" | "public", atMs?: number) =>
  insertCommitted(as, count, metadata, visibility, atMs, 0);

const DAY_MS = LIMITS.uncommittedTtlMs;
const METADATA = '{"color":"red","tags":["a","b"]}';
type Kind = "file" | "query" | "all";

/**
 * Each call of D1, R2 and the queue in a deletion fails once, before or after it takes effect. The client repeats
 * requests without an answer, time passes, and the sweep runs. In the end every byte and row is gone, and the reports
 * count each file once.
 */
const DELETIONS = [
  { kind: "file", upTo: "first deletion" },
  // One kind runs as a whole. The others run only the part that differs: the request and the work after its answer.
  { kind: "all", upTo: "second look" },
  { kind: "query", upTo: "first deletion" },
] as const;

describe.each(casesOf(DELETIONS, 1))("a deletion of kind $kind, up to the $upTo", ({ kind, upTo }) => {
  it.each(["before", "after"] as const)("completes whichever call fails %s it is done", async (when) => {
    const { calls, ...whole } = await begin(kind, upTo, faultAt());
    expect(calls).toBeGreaterThan(3);
    const begun = [whole];
    for (let number = 0; number < calls; number++) {
      const faults = faultAt();
      faults.arm(number, when);
      begun.push(await begin(kind, upTo, faults));
    }
    await finish();
    const gone = begun.flatMap((deletion) => deletion.gone);
    for (const prefix of ["blob/", "variant/", "incoming/"])
      expect((await env.MEDIA.list({ prefix })).objects.map(({ key }) => key)).toEqual([]);
    for (const deletion of begun) {
      const [files, late] = [deletion.gone.length, upTo === "second look" ? 1 : 0];
      expect(await reportsOf(deletion.as)).toEqual({ files, bytes: files * 5, late, unverified: 0 });
    }
    const clients = begun.map(({ as }) => as.clientName);
    expect(await rowsLeft(clients, gone)).toEqual({ files: 0, variants: 0, retired: 0 });
    expect(await indexRows(gone)).toBe(0);
    const keptSets = { all: 0, query: 1, file: 2 }[kind];
    expect(await keySetsOf(clients)).toBe(keptSets * begun.length);
  });
});

let nextStartMs = START_MS;

/**
 * Does one deletion, days earlier than the previous one, so that its sweep finds nothing of the previous one. Returns
 * the number of its calls.
 */
async function begin(kind: Kind, upTo: "first deletion" | "second look", faults: Faults) {
  const startMs = (nextStartMs -= 3 * DAY_MS);
  const as = principal();
  const ids = await inserted(as, 2, METADATA, "private", startMs);
  // No row names the place of the late object.
  await env.DB.prepare("UPDATE file SET known_places = NULL WHERE id = ?").bind(ids[0]).run();
  const [other] = await inserted(as, 1, '{"color":"blue"}', "private", startMs);
  await giveBytes(ids[0]!);
  const { app, consume } = faulty(faults);
  app.clock.nowMs = startMs;
  await requested(app, as, kind, ids[0]!);
  await consume();
  if (upTo === "second look") {
    // The object has a key that no row names.
    await env.MEDIA.put(`blob/${ids[0]}.late`, "late");
    app.clock.nowMs = startMs + DAY_MS;
    // The sweep fails if the fault is injected into it.
    await app.media.sweep(app.clock.nowMs).catch(() => {});
    await consume();
  }
  return { as, gone: { all: [...ids, other!], query: ids, file: [ids[0]!] }[kind], calls: faults.seen() };
}

/** Repeats until there is an answer, as a client does. A deletion whose answer was lost returns 404 then. */
async function requested(app: MediaApp, as: Principal, kind: Kind, id: string): Promise<void> {
  const query = { file: `/${id}`, query: "?tenant=acme&q=color:red", all: "?tenant=acme" }[kind];
  for (let attempt = 0; attempt < 3; attempt++) {
    const answer = await app.call(`${collection()}${query}`, { as, method: "DELETE" });
    await app.settle();
    if (answer.status < 500) return expect([204, 202, 404]).toContain(answer.status);
  }
  throw new Error("no answer");
}

/**
 * Makes a platform whose calls go through `faults`, also to the queue. A message without an acknowledgement returns.
 */
function faulty(faults: Faults): { app: MediaApp; consume: () => Promise<void> } {
  const messages: MediaJob[] = [];
  const jobs = {
    sendBatch: (sent: readonly { body: MediaJob }[]) =>
      faults.around(async () => void messages.push(...sent.map(({ body }) => body))),
  } as unknown as Queue<MediaJob>;
  const app = mediaApp({ db: faults.db, bucket: faults.bucket, jobs });
  return {
    app,
    async consume() {
      for (let round = 0; round < 50 && messages.length > 0; round++) {
        const taken = messages.splice(0);
        const { retried } = await app.consume({ jobs: taken });
        if (retried > 0) messages.push(...taken);
      }
    },
  };
}

/** Lets time pass without faults: the cron runs, and its messages are consumed. */
async function finish(): Promise<void> {
  const app = mediaApp({ db: env.DB });
  for (let days = 0; days < 3; days++) {
    app.clock.nowMs = START_MS + days * DAY_MS;
    for (let run = 0; run < 3; run++) await app.media.sweep(app.clock.nowMs);
    for (; app.longJobs.length > 0;) await app.consume();
  }
}

async function giveBytes(id: string): Promise<void> {
  await env.DB.prepare(
    "INSERT INTO variant (file_id, nonce, type, size, state, created_at) VALUES (?, 'n', 'clip', '1x1', 'ready', 0)",
  )
    .bind(id)
    .run();
  for (const key of [`blob/${id}`, `variant/${id}/n`, `incoming/${id}/collected`]) await env.MEDIA.put(key, "12345");
}

const reportsOf = async (as: Principal): Promise<object | null> =>
  env.DB.prepare(
    `SELECT sum(verified_files) AS files, sum(deleted_bytes) AS bytes, sum(late_objects) AS late,
      sum(verified_at IS NULL OR deleted_at IS NULL OR files <> deleted_files OR files <> verified_files OR
        bytes <> deleted_bytes) AS unverified FROM erasure
     WHERE requester_id = (SELECT id FROM requester WHERE client = ?)`,
  )
    .bind(as.clientName)
    .first();

const rowsLeft = async (clients: readonly string[], ids: readonly string[]): Promise<object | null> =>
  env.DB.prepare(
    `SELECT (SELECT count(*) FROM file WHERE id IN (SELECT value FROM json_each(?1))) AS files,
      (SELECT count(*) FROM variant WHERE file_id IN (SELECT value FROM json_each(?1))) AS variants,
      (SELECT count(*) FROM owner WHERE client IN (SELECT value FROM json_each(?2)) AND erasure_id IS NOT NULL) AS retired`,
  )
    .bind(JSON.stringify(ids), JSON.stringify(clients))
    .first();

const keySetsOf = async (clients: readonly string[]): Promise<number | null> =>
  env.DB.prepare(
    `SELECT count(*) AS n FROM key_set JOIN owner ON owner.id = owner_id
     WHERE client IN (SELECT value FROM json_each(?))`,
  )
    .bind(JSON.stringify(clients))
    .first<number>("n");

describe("a lost answer", () => {
  it.each([
    ["all", 2, "?tenant=acme"],
    ["all, of nothing", 0, "?tenant=acme"],
    ["query", 2, "?tenant=acme&q=color:red"],
  ])("%s: spares files that were created before the repeated deletion", async (_, count, query) => {
    const as = principal();
    await inserted(as, count, METADATA);
    let late: readonly string[] = [];
    const db = {
      prepare: (sql: string) => env.DB.prepare(sql),
      async batch(statements: D1PreparedStatement[]) {
        const done = await env.DB.batch(statements);
        if (late.length > 0) return done;
        late = await inserted(as, 3, METADATA);
        throw new Error("injected: done, and its answer is lost");
      },
    } as unknown as D1Database;
    const app = mediaApp({ db });
    const answer = await app.call(`${collection()}${query}`, { as, method: "DELETE" });
    expect([202, 204]).toContain(answer.status);
    await app.settle();
    expect(await allFiles(late)).toEqual({ committed: 3, bytes: [] });
    expect((await app.call(`${collection()}/${late[0]}/metadata`, { as })).status).toBe(200);
    const report = await reportAt(app, as, answer.headers.get("location")!);
    expect(report.files).toMatchObject({ requested: count, deleted: count });
  });
});

describe("many files", () => {
  it.each([
    ["the message of the request is lost", 0],
    ["the first step does not send for the next one", 1],
  ])("%s: are resumed by the sweep a quarter of an hour after the last step", async (_, lost) => {
    const as = principal();
    const ids = await inserted(as, LIMITS.erasePage + 3);
    // These are files of the previous release: each needs requests to the bucket, so a step has a page of them.
    await env.DB.prepare("UPDATE file SET known_places = NULL WHERE id IN (SELECT value FROM json_each(?))")
      .bind(JSON.stringify(ids))
      .run();
    for (const id of [ids[0]!, ids.at(-1)!]) await env.MEDIA.put(`blob/${id}`, "12345");
    let sends = 0;
    const messages: MediaJob[] = [];
    const jobs = {
      async sendBatch(sent: readonly { body: MediaJob }[]) {
        if (sends++ === lost) throw new Error("injected");
        messages.push(...sent.map(({ body }) => body));
      },
    } as unknown as Queue<MediaJob>;
    const app = mediaApp({ db: env.DB, jobs });
    const answer = await app.call(`${collection()}?tenant=acme`, { as, method: "DELETE" });
    expect(answer.status).toBe(202);
    await app.settle();
    // The consumer stops after a few attempts, as if it was killed.
    const [message] = messages.splice(0);
    if (message !== undefined) expect(await app.consume({ jobs: [message] })).toEqual({ acked: 0, retried: 1 });
    const own = (job: MediaJob) => "work" in job && answer.headers.get("location")!.endsWith(job.id);
    app.clock.nowMs = START_MS + LIMITS.workResendMs;
    await app.media.sweep(app.clock.nowMs);
    expect(messages.filter(own)).toHaveLength(1);
    for (; messages.length > 0;) await app.consume({ jobs: messages.splice(0) });
    expect(await reportsOf(as)).toMatchObject({ files: 0, bytes: ids.length * 5 });
    for (const id of [ids[0]!, ids.at(-1)!]) expect(await keysOf(id)).toEqual([]);
    await finish();
  });

  it("are counted once when messages arrive twice or at once", async () => {
    const as = principal();
    const ids = await inserted(as, LIMITS.erasePage + 3);
    const app = mediaApp({ db: env.DB });
    await app.call(`${collection()}?tenant=acme`, { as, method: "DELETE" });
    await app.settle();
    for (let round = 0; round < 20 && app.longJobs.length > 0; round++) {
      const [job] = app.longJobs.splice(0);
      await app.consume({ jobs: [job, job, job] });
      await app.consume({ jobs: [job] });
    }
    app.clock.nowMs = START_MS + DAY_MS;
    await Promise.all([app.media.sweep(app.clock.nowMs), app.media.sweep(app.clock.nowMs)]);
    for (let round = 0; round < 20 && app.longJobs.length > 0; round++) {
      const [job] = app.longJobs.splice(0);
      await app.consume({ jobs: [job, job] });
    }
    expect(await reportsOf(as)).toEqual({ files: ids.length, bytes: ids.length * 5, late: 0, unverified: 0 });
  });
});

describe("a bucket that does not answer", () => {
  const { stepMs } = LIMITS;
  beforeEach(() => void Object.assign(LIMITS, { stepMs: 100 }));
  afterEach(() => void Object.assign(LIMITS, { stepMs }));
  const bucketThat = (remove: () => Promise<void>) => mediaApp({ db: env.DB, bucket: withMethods({ delete: remove }) });

  it("holds up neither a message for long nor the other work of a sweep", async () => {
    const failing = bucketThat(() => Promise.reject(new Error("injected")));
    const as = principal();
    await inserted(as, 1);
    const deleted = await failing.call(`${collection()}?tenant=acme`, { as, method: "DELETE" });
    await failing.settle().catch(() => {});
    const id = deleted.headers.get("location")!.split("/").at(-1)!;

    const hanging = bucketThat(() => new Promise(() => {}));
    expect(await hanging.consume({ jobs: [{ work: "erase", id }] })).toEqual({ acked: 0, retried: 1 });
    await expect(hanging.media.sweep(START_MS + LIMITS.workResendMs)).rejects.toThrow("no answer within 100 ms");
    expect(hanging.longJobs).toContainEqual({ work: "erase", id });

    const sound = mediaApp({ db: env.DB });
    await sound.consume({ jobs: [{ work: "erase", id }] });
    expect(await reportAt(sound, as, `/media/v2/erasures/${id}`)).toMatchObject({ state: "deleted" });
  });
});
