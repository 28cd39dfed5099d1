import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createRemovedFileStore } from "../../src/media/erasure/removed-store.ts";
import { LIMITS } from "../../src/media/model/limits.ts";
import { createPinnedUploadStore } from "../../src/media/uploads/pinned-upload-store.ts";
import { aroundMethods, counting } from "../support/counting.ts";
import { encodePng, gradient } from "../support/images.ts";
import { unique } from "../support/platform/unique.ts";
import { keysOf } from "./support/keys-of.ts";
import { mediaApp, START_MS } from "./support/media-app.ts";
import { principal } from "./support/principal.ts";
import { expectProblem } from "./support/problem.ts";
import { stored, uploaded } from "./support/stored-file.ts";
import { everywhere } from "../support/shards.ts";
import { itAtNight } from "../support/model-runs.ts";
import { DAY_MS } from "../../src/platform/runtime/clock.ts";

const app = mediaApp();
const PICTURE = await encodePng(gradient(64, 48));

describe("the sweep", () => {
  // shows: media/states-of-a-file/pending-one-day
  // shows: media/limits/uncommitted-file
  // shows: media/upload-and-immutability/after-a-day
  it("removes files without a commit after a day, with their bytes, and nothing else", async () => {
    const as = principal();
    const left = await uploaded(app, PICTURE, { as, query: "?clip=10x10" });
    const kept = await stored(app, PICTURE, { as });
    await app.media.sweep(START_MS + 86_400_000 - 1);
    expect(await keysOf(left.id)).toHaveLength(1);
    await app.media.sweep(START_MS + 86_400_000);
    expect(await keysOf(left.id)).toEqual([]);
    // The rows stay until the verification, when no commit or upload that began before can still write.
    await env.MEDIA.put(`blob/${left.id}`, "late");
    await app.media.sweep(START_MS + DAY_MS + LIMITS.lastWriteMs - 1);
    expect(await countOf("file", [left.id])).toBe(1);
    await app.media.sweep(START_MS + DAY_MS + LIMITS.lastWriteMs);
    expect(await countOf("file", [left.id])).toBe(0);
    expect(await countOf("variant", [left.id])).toBe(0);
    expect(await keysOf(left.id)).toEqual([]);
    expect(await keysOf(kept.id)).toHaveLength(1);
    await expectProblem(await app.call(left.commitLink, { as, method: "POST" }), 404, "element_resource_non_existing");
  });

  // shows: media/upload-and-immutability/after-a-day
  it("excludes a commit: a committed file keeps its bytes, a swept one is not committed", async () => {
    const as = principal();
    const files = await Promise.all(Array.from({ length: 12 }, () => uploaded(app, PICTURE, { as })));
    const [, ...answers] = await Promise.all([
      app.media.sweep(START_MS + 86_400_000),
      ...files.map((file) => app.call(file.commitLink, { as, method: "POST" })),
    ]);
    for (const [index, file] of files.entries()) {
      const isCommitted = answers[index]!.status === 202;
      expect(await keysOf(file.id)).toHaveLength(isCommitted ? 1 : 0);
      expect((await app.call(file.path, { as })).status).toBe(isCommitted ? 200 : 404);
    }
  });

  itAtNight("handles many files in a few round trips, page after page", async () => {
    const { env: counted, tally, reset } = counting(env);
    const costed = mediaApp({ db: counted.DB, bucket: counted.MEDIA });
    const due = START_MS + 3 * DAY_MS;
    const ids = await insertPending(300, due - DAY_MS);
    const withBytes = [ids[0]!, ids[150]!, ids[299]!];
    for (const id of withBytes)
      for (const key of [`blob/${id}`, `variant/${id}/${id}n`, `incoming/${id}/x`]) await env.MEDIA.put(key, "x");
    reset();
    await costed.media.sweep(due);
    expect(tally.d1RoundTrips).toBeLessThan(25);
    expect(tally.d1Statements).toBeLessThan(50);
    expect(tally.r2Operations["delete"]).toBeLessThan(10);
    expect(await countOf("variant", ids)).toBe(0);
    for (const id of withBytes) expect(await keysOf(id)).toEqual([]);
    expect(await countOf("file", ids)).toBe(300);
    for (const id of withBytes) await env.MEDIA.put(`incoming/${id}/late`, "x");
    reset();
    await costed.media.sweep(due + LIMITS.lastWriteMs);
    expect(tally.d1RoundTrips).toBeLessThan(25);
    expect(tally.d1Statements).toBeLessThan(40);
    expect(tally.r2Operations["delete"]).toBeLessThan(10);
    expect(await countOf("file", ids)).toBe(0);
    for (const id of withBytes) expect(await keysOf(id)).toEqual([]);
  });

  it("ends after a limited number of pages; the next run continues", async () => {
    const { env: counted, tally, reset } = counting(env);
    const costed = mediaApp({ db: counted.DB });
    const due = START_MS + 5 * DAY_MS;
    const perRun = LIMITS.sweepRows * LIMITS.sweepPages;
    const ids = await insertPending(perRun + 50, due - DAY_MS);
    reset();
    await costed.media.sweep(due);
    expect(await countOf("variant", ids)).toBe(50);
    expect(tally.d1RoundTrips).toBeLessThan(60);
    await costed.media.sweep(due);
    expect(await countOf("variant", ids)).toBe(0);
    const later = due + LIMITS.lastWriteMs;
    await costed.media.sweep(later);
    expect(await countOf("file", ids)).toBe(50);
    await costed.media.sweep(later);
    expect(await countOf("file", ids)).toBe(0);
  });

  it("does not let a file wait for those of a great deletion that were due before it", async () => {
    const due = START_MS + 13 * DAY_MS;
    const ids = await insertPending(LIMITS.sweepRows * LIMITS.sweepPages + 150, due - 2 * DAY_MS);
    const [last] = await insertPending(1, due - 2 * DAY_MS);
    const remove = (some: readonly string[], at: number) =>
      env.DB.prepare(
        "UPDATE file SET state = 'removed', removed_at = ?2, due_at = ?2 WHERE id IN (SELECT value FROM json_each(?1))",
      )
        .bind(JSON.stringify(some), at)
        .run();
    await remove(ids, due - 1);
    await remove([last!], due);
    await app.media.sweep(due);
    expect([await countOf("variant", [last!]), await countOf("variant", ids)]).toEqual([0, 151]);
    app.longJobs.splice(0);
    for (const later of [due, due + LIMITS.lastWriteMs, due + LIMITS.lastWriteMs]) await app.media.sweep(later);
    expect(await countOf("file", [last!, ...ids])).toBe(0);
    app.longJobs.splice(0);
  });

  itAtNight("hands removed files beyond its pages to the queue, which works until the next sweep", async () => {
    const busy = mediaApp();
    const due = START_MS + 7 * DAY_MS;
    const ids = await insertPending(LIMITS.sweepRows * (LIMITS.sweepPages + 2) + 50, due - DAY_MS);
    await busy.media.sweep(due);
    expect(await countOf("variant", ids)).toBe(250);
    expect(busy.longJobs).toHaveLength(1);
    busy.clock.nowMs = due + 1_000;
    await busy.consume();
    expect(await countOf("variant", ids)).toBe(150);
    busy.clock.nowMs = due + LIMITS.removedWorkMs;
    await busy.consume();
    expect(await countOf("variant", ids)).toBe(50);
    expect(busy.longJobs).toEqual([]);
    await busy.media.sweep(due);
    expect(await countOf("variant", ids)).toBe(0);
    expect(busy.longJobs).toEqual([]);
    const later = due + LIMITS.removedWorkMs + LIMITS.lastWriteMs;
    busy.clock.nowMs = later;
    await busy.media.sweep(later);
    while (busy.longJobs.length > 0) await busy.consume();
    expect(await countOf("file", ids)).toBe(0);
  });

  it("reads the files that are due, and none of those that wait", async () => {
    const { env: counted, tally, reset } = counting(env);
    const due = START_MS + 11 * DAY_MS;
    const ids = await insertPending(3000, due - DAY_MS);
    const inState = (state: string, count: number) =>
      env.DB.prepare(
        "UPDATE file SET state = ?1, due_at = ?2, size_bytes = 1 WHERE id IN (SELECT value FROM json_each(?3) LIMIT ?4)",
      )
        .bind(state, due - 1, JSON.stringify(ids), count)
        .run();
    await inState("removed", 3000);
    await inState("committed", 10);
    reset();
    const ended = await createPinnedUploadStore(counted.DB).endedLinks(due, 100);
    expect(ended.map(({ id }) => id)).toEqual(ids.slice(0, 10));
    expect(tally.d1RowsRead).toBeLessThan(50);
    reset();
    expect(await createRemovedFileStore(counted.DB).due(due, 100)).toHaveLength(100);
    // Of 3,000 files, a page reads three rows for each of its files, with their variants.
    expect(tally.d1RowsRead).toBeLessThan(1000);
    await env.DB.prepare("UPDATE file SET due_at = NULL WHERE id IN (SELECT value FROM json_each(?))")
      .bind(JSON.stringify(ids))
      .run();
  });

  it("verifies a file again an hour later if it is written to during the verification", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as });
    await app.call(file.path, { as, method: "DELETE" });
    await app.settle();
    const late = `blob/${file.id}`;
    await env.MEDIA.put(late, "late");
    const rewriting = mediaApp({
      bucket: new Proxy(env.MEDIA, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          return async (...args: unknown[]) => {
            const done: unknown = await value.apply(target, args);
            if (name === "delete") await target.put(late, "late");
            return done;
          };
        },
      }),
    });
    const lookedAt = START_MS + DAY_MS;
    await rewriting.media.sweep(lookedAt);
    const dueAt = "SELECT due_at FROM file WHERE id = ?";
    expect(await everywhere.prepare(dueAt).bind(file.id).first("due_at")).toBe(lookedAt + LIMITS.verifyAgainMs);
    await app.media.sweep(lookedAt + LIMITS.verifyAgainMs);
    expect(await countOf("file", [file.id])).toBe(0);
    expect(await keysOf(file.id)).toEqual([]);
  });

  it("deletes removed variants, and sends late ones together, in a few round trips", async () => {
    const { env: counted, tally, reset } = counting(env);
    const costed = mediaApp({ db: counted.DB, bucket: counted.MEDIA });
    const due = START_MS + 7 * DAY_MS;
    const ids = await insertPending(250, due + DAY_MS);
    await env.DB.prepare(
      `UPDATE variant SET due_at = ?1, state = CASE WHEN nonce LIKE '%0n' THEN 'removed' ELSE 'pending' END
       WHERE file_id IN (SELECT value FROM json_each(?2))`,
    )
      .bind(due, JSON.stringify(ids))
      .run();
    const removed = ids.filter((id) => id.endsWith("0"));
    const kept = `variant/${ids[1]}/${ids[1]}n`;
    for (const id of [removed[0]!, removed.at(-1)!]) await env.MEDIA.put(`variant/${id}/${id}n`, "x");
    await env.MEDIA.put(kept, "x");
    reset();
    await costed.media.sweep(due);
    expect(tally.d1RoundTrips).toBeLessThan(25);
    expect(costed.jobs.length).toBe(250 - removed.length);
    expect(new Set(costed.jobs.map(({ fileId }) => fileId))).toEqual(new Set(ids.filter((id) => !id.endsWith("0"))));
    expect(await countOf("variant", ids)).toBe(250 - removed.length);
    for (const id of [removed[0]!, removed.at(-1)!]) expect(await keysOf(id)).toEqual([]);
    expect(await keysOf(ids[1]!)).toEqual([kept]);
    costed.jobs.length = 0;
    await costed.media.sweep(due + LIMITS.variantResendMs - 1);
    expect(costed.jobs).toEqual([]);
  });

  it("passes over variants that wait for their turn few times, however many they are", async () => {
    const { env: counted, tally, reset } = counting(env);
    const due = START_MS + 15 * DAY_MS;
    const ids = await insertPending(6_000, due + DAY_MS);
    const list = JSON.stringify(ids);
    const each = (sql: string, ...values: unknown[]) =>
      env.DB.prepare(`${sql} IN (SELECT value FROM json_each(?1))`).bind(list, ...values);
    await env.DB.batch([
      each("UPDATE file SET state = 'committed', size_bytes = 1, due_at = NULL WHERE id"),
      each("UPDATE variant SET state = 'pending', lane = 'l', waits = 1, due_at = ?2 WHERE file_id", due),
    ]);
    const { rowsPerPostponement } = LIMITS;
    Object.assign(LIMITS, { rowsPerPostponement: LIMITS.sweepRows });
    try {
      reset();
      await mediaApp({ db: counted.DB }).media.sweep(due);
      expect(tally.d1RowsRead).toBeLessThan(25_000);
    } finally {
      Object.assign(LIMITS, { rowsPerPostponement });
      await env.DB.batch([each("DELETE FROM variant WHERE file_id"), each("DELETE FROM file WHERE id")]);
    }
  });

  itAtNight("sends variants though some files cannot be purged, and fails at the end", async () => {
    const due = START_MS + 9 * DAY_MS;
    const [file] = await insertPending(1, due - DAY_MS);
    await env.DB.prepare("UPDATE variant SET state = 'pending', due_at = ?1 WHERE file_id = ?2").bind(due, file).run();
    const broken = mediaApp({
      bucket: aroundMethods(env.MEDIA, (method, call) =>
        method === "delete" ? Promise.reject(new Error("injected")) : call(),
      ),
    });
    await expect(broken.media.sweep(due)).rejects.toThrow("failed: injected");
    expect(broken.jobs).toContainEqual({ fileId: file, nonce: `${file}n` });
    for (const later of [due, due + LIMITS.lastWriteMs]) await app.media.sweep(later);
    expect(await countOf("file", [file!])).toBe(0);
  });
});

/** Inserts pending files of this time, each with a declared variant whose nonce is the id and `n`. */
async function insertPending(count: number, createdAt: number): Promise<string[]> {
  const run = unique("f");
  const ids = Array.from({ length: count }, (_, index) => `${run}-${String(index).padStart(4, "0")}`);
  const list = JSON.stringify(ids);
  await env.DB.batch([
    env.DB.prepare("INSERT INTO owner (client, tenant, visibility) VALUES (?1, '', 'private')").bind(run),
    env.DB.prepare(
      `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at)
       SELECT value, owner.id, 'pending', 'image/png', ?2, ?3 FROM json_each(?4) JOIN owner ON owner.client = ?1`,
    ).bind(run, createdAt, createdAt + DAY_MS, list),
    env.DB.prepare(
      `INSERT INTO variant (file_id, nonce, type, size, state, created_at)
       SELECT value, value || 'n', 'clip', '9x9', 'declared', ?1 FROM json_each(?2)`,
    ).bind(createdAt, list),
  ]);
  return ids;
}

async function countOf(table: "file" | "variant", ids: readonly string[]): Promise<number> {
  const column = table === "file" ? "id" : "file_id";
  const sql = `SELECT count(*) AS n FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?1))`;
  return (await everywhere.prepare(sql).bind(JSON.stringify(ids)).first<number>("n")) ?? 0;
}
