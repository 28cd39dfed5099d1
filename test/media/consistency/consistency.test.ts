import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { compareKeys } from "../../../src/media/consistency/keyspaces.ts";
import { createRemovedFileStore } from "../../../src/media/erasure/removed-store.ts";
import { counting } from "../../support/counting.ts";
import { clear, fileId, goodFile, goodVariant, makeFile, makeOwner, makeVariant, nonce, put, run } from "./rows.ts";
import { BY, compare, drain, findingsOf, laterMs, repair, runner, shortly } from "./runner.ts";
import { casesOf, itAtNight } from "../../support/model-runs.ts";

beforeEach(clear);

/** Makes some hundred good files and variants with faults of each kind among them. Returns the expected findings. */
async function world(files: number): Promise<string[]> {
  const owner = await makeOwner();
  const faults: string[] = [];
  const orphan = async (key: string): Promise<void> => {
    await env.MEDIA.put(key, "whose?");
    faults.push(`orphan_object ${key}`);
  };
  for (let at = 0; at < files; at++) {
    const id = await goodFile(owner, at % 3 === 0);
    if (at % 2 === 0) await goodVariant(id);
    switch (at % 40) {
      case 0:
        await orphan(`blob/${fileId()}`);
        break;
      case 5:
        await orphan(`blob/${id}.0123456789abcdef`);
        break;
      case 8: {
        const bare = await makeFile({ owner, sizeBytes: 1, etag: "e" });
        faults.push(`missing_bytes blob/${bare}`);
        break;
      }
      case 11: {
        const place = `blob/${fileId()}.e`;
        await makeFile({ owner, sizeBytes: 1, etag: "e", blobKey: place, id: place.slice(5, 29) });
        faults.push(`missing_bytes ${place}`);
        break;
      }
      case 13:
        await orphan(`variant/${id}/${nonce()}`);
        break;
      case 17:
        await orphan(`variant/${id}/${await makeVariant(id, "failed")}`);
        break;
      case 19:
        faults.push(`missing_variant variant/${id}/${await makeVariant(id, "ready", 5)}`);
        break;
      case 21:
        await orphan(`variant/${fileId()}/${nonce()}`);
        break;
      case 23:
        await orphan(`incoming/${fileId()}/${nonce()}`);
        break;
      case 25:
        await orphan(`incoming/${id}`);
        break;
      case 29:
        await run("UPDATE file SET size_bytes = 3 WHERE id = ?1", id);
        faults.push(`size_differs ${await placeOf(id)}`);
        break;
      case 31:
        await run("UPDATE file SET etag = 'other' WHERE id = ?1", id);
        faults.push(`etag_differs ${await placeOf(id)}`);
        break;
      case 33: {
        const name = await goodVariant(id);
        await run("UPDATE variant SET size_bytes = 99 WHERE nonce = ?1", name);
        faults.push(`size_differs variant/${id}/${name}`);
        break;
      }
    }
  }
  for (const key of [
    "blob/",
    "blob/strange",
    "blob/\u{1F600}",
    "blob/\uFFFD",
    "variant/x",
    "variant/zz/é",
    "incoming/y",
  ])
    await orphan(key);
  return faults.toSorted();
}

const placeOf = (id: string): Promise<string | null> =>
  env.DB.prepare("SELECT coalesce(blob_key, 'blob/' || id) AS key FROM file WHERE id = ?")
    .bind(id)
    .first<string>("key");

const countBy = (faults: readonly string[], kind: string): number =>
  faults.filter((fault) => fault.startsWith(`${kind} `)).length;

describe("a comparison", () => {
  const LAYOUTS = [
    [40, { pageKeys: 2, suspects: 9 }],
    [40, {}],
    [40, { pageKeys: 1, suspects: 1 }],
    [40, { pageKeys: 13, suspects: 1 }],
    [120, { pageKeys: 32, suspects: 5 }],
  ] as const;
  it.each(casesOf(LAYOUTS, 2))(
    "finds each fault and nothing else, wherever its pages end (%i files, %o)",
    async (size, limits) => {
      const faults = await world(size);
      const files = await env.DB.prepare("SELECT count(*) AS n FROM file").first<number>("n");
      const variants = await env.DB.prepare("SELECT count(*) AS n FROM variant WHERE state = 'ready'").first<number>(
        "n",
      );
      const objects = (await env.MEDIA.list()).objects.length;
      const small = runner({ limits });
      const id = await compare(small);
      expect(shortly(await findingsOf(small, id))).toEqual(faults);
      expect(await small.consistency.find(id)).toMatchObject({
        state: "done",
        finishedAt: expect.any(Number),
        checked: { files, variants, objects },
        keptFindings: faults.length,
        found: {
          orphan_object: countBy(faults, "orphan_object"),
          missing_bytes: countBy(faults, "missing_bytes"),
          missing_variant: countBy(faults, "missing_variant"),
          size_differs: countBy(faults, "size_differs"),
          etag_differs: countBy(faults, "etag_differs"),
        },
      });
    },
  );

  it("names the owner of the bytes and the state on both sides", async () => {
    const owner = await makeOwner();
    const bare = await makeFile({ owner, sizeBytes: 7, etag: "e" });
    const file = await goodFile(owner);
    await run("UPDATE file SET size_bytes = 3 WHERE id = ?1", file);
    const object = (await env.MEDIA.head(`blob/${file}`))!;
    const all = runner();
    expect(await findingsOf(all, await compare(all))).toMatchObject([
      {
        kind: "missing_bytes",
        fileId: bare,
        client: "shop",
        tenant: "acme",
        outcome: null,
        rowBytes: 7,
        rowEtag: "e",
        objectBytes: null,
        objectEtag: null,
      },
      { kind: "size_differs", fileId: file, rowBytes: 3, objectBytes: object.size, objectEtag: object.etag },
    ]);
  });

  it("accepts work in progress and files that wait for removal", async () => {
    const [owner, retired] = [await makeOwner(), await makeOwner(true)];
    await makeFile({ owner, state: "pending" });
    const pending = await makeFile({ owner, state: "pending" });
    for (const key of [`blob/${pending}`, `blob/${pending}.e1`, `incoming/${pending}`, `incoming/${pending}/r`])
      await put(key, "x");
    for (const [id, state] of [
      [retired, "committed"],
      [owner, "removed"],
      [retired, "removed"],
      // The row of a retired owner is deleted before the last of its files.
      [999_999, "removed"],
    ] as const) {
      await makeVariant(await makeFile({ owner: id, state, sizeBytes: 1, etag: "e" }), "ready", 5);
      const file = await makeFile({ owner: id, state, sizeBytes: 1, etag: "e" });
      const name = await makeVariant(file, "ready", 5);
      for (const key of [`blob/${file}`, `variant/${file}/${name}`, `variant/${file}/${nonce()}`, `incoming/${file}`])
        await put(key, "x");
    }
    const linked = await goodFile(owner);
    await run("UPDATE file SET due_at = 5 WHERE id = ?1", linked);
    await put(`incoming/${linked}`, "x");
    for (const state of ["declared", "pending", "failed", "removed"]) await makeVariant(linked, state);
    for (const state of ["pending", "removed"]) await put(`variant/${linked}/${await makeVariant(linked, state)}`, "x");
    const all = runner();
    expect(shortly(await findingsOf(all, await compare(all)))).toEqual([]);
  });

  it("ignores objects without a row for some minutes", async () => {
    await env.MEDIA.put(`blob/${fileId()}`, "x");
    const all = runner();
    expect(await findingsOf(all, await compare(all, Date.now()))).toEqual([]);
    expect(await findingsOf(all, await compare(all, Date.now() + 16 * 60_000))).toHaveLength(1);
  });

  it("stores a limited number of findings, and counts all", async () => {
    for (let at = 0; at < 9; at++) await env.MEDIA.put(`blob/${fileId()}`, "x");
    const bounded = runner({ limits: { pageKeys: 2, keptFindings: 5 } });
    const id = await compare(bounded);
    expect(await findingsOf(bounded, id)).toHaveLength(5);
    expect(await bounded.consistency.find(id)).toMatchObject({ found: { orphan_object: 9 }, keptFindings: 5 });
  });

  itAtNight("reads a page in a few round trips, however many findings it has", async () => {
    await world(80);
    const { env: counted, tally, reset } = counting(env);
    const costed = runner({ db: counted.DB, bucket: counted.MEDIA, limits: { suspects: 4 } });
    await costed.consistency.start({ ...BY, nowMs: laterMs() });
    while (costed.messages.length > 0) {
      const message = costed.messages.shift() as { id: string };
      reset();
      await costed.consistency.step(message.id, laterMs());
      expect(tally.d1RoundTrips).toBeLessThanOrEqual(5);
      expect(tally.d1Statements).toBeLessThanOrEqual(6);
      expect(tally.r2Operations["list"] ?? 0).toBeLessThanOrEqual(1);
      expect(tally.r2Operations["head"] ?? 0).toBeLessThanOrEqual(4);
    }
  });

  it("runs once at a time: a second start returns the run under way", async () => {
    const all = runner();
    const nowMs = laterMs();
    const started = await Promise.all(Array.from({ length: 5 }, () => all.consistency.start({ ...BY, nowMs })));
    const ids = started.map((one) => (one.ok ? one.value.id : one.error));
    expect(new Set(ids).size).toBe(1);
    const audit = await env.DB.prepare("SELECT actor, action, subject, outcome FROM audit_entry").all();
    expect(audit.results).toEqual([
      { actor: BY.actor, action: "compare", subject: `media/consistency/${ids[0]}`, outcome: "done" },
    ]);
    await all.consistency.step(ids[0]!, nowMs);
    expect((await all.consistency.repair(ids[0]!, { ...BY, nowMs })).ok).toBe(false);
  });
});

describe("a repair", () => {
  it("leaves only findings that nobody can decide; the next run finds no others", async () => {
    const faults = await world(80);
    const all = runner({ limits: { pageKeys: 20, repairs: 3 } });
    const id = await compare(all);
    await repair(all, id);
    const report = (await all.consistency.find(id))!;
    expect(report).toMatchObject({ state: "repaired", repairedAt: expect.any(Number) });
    expect(report.repaired).toEqual({
      orphan_object: countBy(faults, "orphan_object"),
      missing_bytes: countBy(faults, "missing_bytes"),
      missing_variant: countBy(faults, "missing_variant"),
    });
    const undecided = faults.filter((fault) => /^(size|etag)/.test(fault));
    for (const { kind, outcome } of await findingsOf(all, id))
      expect(outcome).toBe(/differs/.test(kind) ? null : "repaired");
    expect(shortly(await findingsOf(all, await compare(all)))).toEqual(undecided);

    const remade = faults.filter((fault) => fault.startsWith("missing_variant"));
    expect(all.messages).toHaveLength(remade.length);
    for (const message of all.messages)
      expect(
        await env.DB.prepare(
          "SELECT state, due_at - created_at AS due_after, size_bytes FROM variant WHERE file_id = ? AND nonce = ?",
        )
          .bind(...("nonce" in message ? [message.fileId, message.nonce] : []))
          .first(),
      ).toEqual({ state: "pending", due_after: LIMITS.variantResendMs, size_bytes: null });
    const removed = await env.DB.prepare(
      "SELECT id, due_at = removed_at AS due FROM file WHERE state = 'removed'",
    ).all();
    expect(removed.results).toHaveLength(countBy(faults, "missing_bytes"));
    const reasons = await env.DB.prepare("SELECT reason FROM audit_entry WHERE action = 'repair' ORDER BY seq").all();
    expect(reasons.results).toEqual([
      { reason: "started" },
      {
        reason: `objects deleted: ${countBy(faults, "orphan_object")}, variants made again: ${remade.length}, files removed: ${removed.results.length}`,
      },
    ]);
  });

  // shows: operator/restore/hold
  it("deletes no object that is younger than a restore of the database, until the hold is released", async () => {
    const owner = await makeOwner();
    const [old, young] = [`blob/${fileId()}`, `blob/${fileId()}`];
    await env.MEDIA.put(old, "before");
    await scheduler.wait(5);
    const restoredTo = Date.now();
    await scheduler.wait(5);
    await env.MEDIA.put(young, "stored since, its row is lost");
    const uncommitted = await makeFile({ owner, state: "pending", dueAt: 1 });
    await run("UPDATE file SET created_at = ?2 WHERE id = ?1", uncommitted, restoredTo - 1);
    const later = await makeFile({ owner, state: "pending", dueAt: 1 });
    await run("UPDATE file SET created_at = ?2 WHERE id = ?1", later, restoredTo + 1);
    await run("UPDATE restore_point SET held = 1, restored_to = ?1, marked_at = ?1", restoredTo);
    const all = runner();
    const held = await compare(all);
    await repair(all, held);
    expect((await findingsOf(all, held)).map(({ key, outcome }) => [key, outcome])).toEqual([
      [old, "repaired"],
      [young, null],
    ]);
    expect([await env.MEDIA.head(old), (await env.MEDIA.head(young))?.key]).toEqual([null, young]);
    // The restore may have undone the commit of the upload, so the sweep does not remove its bytes either.
    const removed = createRemovedFileStore(env.DB);
    expect((await removed.due(laterMs(), 10)).map(({ id }) => id)).toEqual([later]);

    await run("UPDATE restore_point SET held = 0");
    await repair(all, await compare(all));
    expect(await env.MEDIA.head(young)).toBeNull();
    expect((await removed.due(laterMs(), 10)).map(({ id }) => id)).toContain(uncommitted);
  });

  it("changes nothing that differs from its finding", async () => {
    const owner = await makeOwner();
    const [restored, removed] = [
      await makeFile({ owner, sizeBytes: 1, etag: "e" }),
      await makeFile({ owner, sizeBytes: 1, etag: "e" }),
    ];
    const file = await goodFile(owner);
    const [variant, brought] = [await makeVariant(file, "ready", 5), await makeVariant(file, "ready", 5)];
    const orphan = `blob/${fileId()}`;
    await env.MEDIA.put(orphan, "x");
    const all = runner();
    const id = await compare(all);
    expect(await findingsOf(all, id)).toHaveLength(5);

    await run("UPDATE file SET etag = ?2 WHERE id = ?1", restored, (await put(`blob/${restored}`, "x")).etag);
    await run("UPDATE file SET state = 'removed', removed_at = 1, erasure_id = 'e2' WHERE id = ?1", removed);
    await run("UPDATE variant SET state = 'removed' WHERE nonce = ?1", variant);
    await env.MEDIA.put(`variant/${file}/${brought}`, "small");
    // A new object may belong to work in progress.
    await repair(all, id, Date.now());
    expect((await findingsOf(all, id)).map(({ outcome }) => outcome)).toEqual(Array(5).fill("obsolete"));
    expect(await env.MEDIA.head(orphan)).not.toBeNull();
    expect(await env.DB.prepare("SELECT state FROM file WHERE id = ?").bind(restored).first("state")).toBe("committed");
    expect(all.messages).toEqual([]);
    const { repaired } = (await all.consistency.find(id))!;
    expect(repaired).toEqual({ orphan_object: 0, missing_bytes: 0, missing_variant: 0 });
  });

  it("changes no row that was changed at the last moment", async () => {
    const owner = await makeOwner();
    const bare = await makeFile({ owner, sizeBytes: 1, etag: "e" });
    const [other, file] = [await makeOwner(true), await goodFile(owner)];
    await run("UPDATE owner SET erasure_id = NULL, client = 'other' WHERE id = ?1", other);
    const retired = await makeFile({ owner: other, sizeBytes: 1, etag: "e" });
    const variants = [await makeVariant(file, "ready", 5), await makeVariant(await goodFile(other), "ready", 5)];
    const unwanted = await makeVariant(file, "ready", 5);
    const all = runner({
      wrap: (context) => ({
        ...context,
        rows: {
          async repair(work) {
            await run("UPDATE file SET state = 'removed', removed_at = 1, erasure_id = 'e2' WHERE id = ?1", bare);
            await run("UPDATE owner SET erasure_id = 'e3' WHERE id = ?1", other);
            await run("DELETE FROM variant WHERE nonce = ?1", variants[0]);
            await run("UPDATE variant SET state = 'removed' WHERE nonce = ?1", unwanted);
            return context.rows.repair(work);
          },
        },
      }),
    });
    const id = await compare(all);
    await repair(all, id);
    expect((await findingsOf(all, id)).map(({ outcome }) => outcome)).toEqual(Array(5).fill("obsolete"));
    const state = await env.DB.prepare("SELECT state FROM file WHERE id = ?").bind(retired).first("state");
    const left = await env.DB.prepare("SELECT nonce, state FROM variant ORDER BY nonce").all();
    expect([state, left.results]).toEqual([
      "committed",
      [
        { nonce: variants[1], state: "ready" },
        { nonce: unwanted, state: "removed" },
      ],
    ]);
    const row = await env.DB.prepare("SELECT removed_at, erasure_id FROM file WHERE id = ?").bind(bare).first();
    expect(row).toEqual({ removed_at: 1, erasure_id: "e2" });
  });

  it("follows a finished comparison, runs alone, and may be requested again", async () => {
    const all = runner();
    const [first, nowMs] = [await compare(all), laterMs()];
    const second = await all.consistency.start({ ...BY, nowMs });
    expect(await all.consistency.repair(first, { ...BY, nowMs })).toEqual({ ok: false, error: "other_run" });
    expect(await all.consistency.repair("x", { ...BY, nowMs })).toEqual({ ok: false, error: "unknown" });
    await all.consistency.step(second.ok ? second.value.id : "", nowMs);
    await drain(all);
    expect(await all.consistency.repair(first, { ...BY, nowMs })).toMatchObject({ ok: true });
    expect(await all.consistency.repair(first, { ...BY, nowMs })).toMatchObject({ ok: true });
    expect(await all.consistency.start({ ...BY, nowMs })).toEqual({ ok: false, error: "repairing" });
    await drain(all);
    expect(await all.consistency.repair(first, { ...BY, nowMs })).toMatchObject({ value: { state: "repaired" } });
    const audit = await env.DB.prepare("SELECT count(*) AS n FROM audit_entry WHERE action = 'repair'").first("n");
    expect(audit).toBe(2);
  });
});

describe("compareKeys", () => {
  it("sorts keys as R2 and D1 do", async () => {
    const keys = ["a", "ab", "a/", "é", "\uFFFD", "\u{1F600}", "\u{10FFFF}", "\uE000", ""];
    const sorted = await env.DB.prepare("SELECT value FROM json_each(?) ORDER BY value")
      .bind(JSON.stringify(keys))
      .all();
    expect(keys.toSorted(compareKeys)).toEqual(sorted.results.map(({ value }) => value));
  });
});
