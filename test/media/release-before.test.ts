import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { attributesOf } from "../../src/media/attributes.ts";
import { LIMITS } from "../../src/media/limits.ts";
import { createIndexStore } from "../../src/media/store/attributes.ts";
import { utf8 } from "../../src/platform/encoding.ts";
import { insertCommitted, reportAt, rowsOf } from "./erasure-support.ts";
import { collection, expectJson, keysOf, mediaApp, principal, START_MS, stored, uploaded } from "./media-app.ts";

/** While a release goes out, isolates of the one before still write, on the new tables. Its statements are quoted here. */
const app = mediaApp();
const TEXT = utf8("text");
const DAY_MS = LIMITS.uncommittedTtlMs;

it("a file that it removes goes, after a second look", async () => {
  const as = principal();
  const file = await stored(app, TEXT, { as });
  await env.DB.prepare("UPDATE file SET state = 'removed', due_at = ?2 WHERE id = ?1").bind(file.id, START_MS).run();
  await app.media.sweep(START_MS);
  expect(await keysOf(file.id)).toEqual([]);
  await env.MEDIA.put(`blob/${file.id}.late`, "late");
  await app.media.sweep(START_MS + DAY_MS - 1);
  expect(await rowsOf(file.id)).toHaveLength(1);
  await app.media.sweep(START_MS + DAY_MS);
  expect(await keysOf(file.id)).toEqual([]);
  expect(await rowsOf(file.id)).toEqual([]);
});

it("a file that it commits to a retired owner goes too, and the report ends", async () => {
  const as = principal();
  await insertCommitted(as, 2);
  const file = await uploaded(app, TEXT, { as });
  // No work after the answer takes place here.
  const halted = mediaApp({ bucket: {} as R2Bucket });
  const answer = await halted.call(`${collection()}?tenant=acme`, { as, method: "DELETE" });
  const location = answer.headers.get("location")!;
  await halted.settle();
  await env.DB.prepare(
    `UPDATE file SET owner_id = (SELECT id FROM owner WHERE client = ?2 AND tenant = 'acme'), state = 'committed',
     due_at = NULL, committed_at = 1, size_bytes = 4, etag = 'e', metadata = '{}' WHERE id = ?1 AND state = 'pending'`,
  )
    .bind(file.id, as.clientName)
    .run();
  const workOff = async () => {
    await app.media.sweep(app.clock.nowMs);
    while (app.longJobs.length > 0) await app.consume();
    return reportAt(app, as, location);
  };
  app.clock.nowMs = START_MS + LIMITS.workResendMs;
  expect(await workOff()).toMatchObject({ state: "deleted", files: { requested: 2, deleted: 3, verified: 0 } });
  expect(await keysOf(file.id)).toEqual([]);
  app.clock.nowMs = START_MS + 2 * DAY_MS;
  expect(await workOff()).toMatchObject({ state: "verified", files: { requested: 2, deleted: 3, verified: 3 } });
  expect(await rowsOf(file.id)).toEqual([]);
});

it("metadata that it replaces while a file is being indexed is indexed by the next sweep", async () => {
  const as = principal();
  const file = await stored(app, TEXT, { as, metadata: { color: "red" } });
  await env.DB.batch([
    env.DB.prepare("DELETE FROM attribute WHERE file_id = ?").bind(file.id),
    env.DB.prepare("UPDATE file SET attributes = NULL WHERE id = ?").bind(file.id),
  ]);
  const index = createIndexStore(env.DB);
  const [found] = (await index.missing(100)).filter(({ id }) => id === file.id);
  await env.DB.prepare("UPDATE file SET metadata = ?2 WHERE id = ?1").bind(file.id, '{"color":"blue"}').run();
  await index.add([{ ...found!, attributes: attributesOf(found!.metadata, found!.contentType) }]);
  await app.media.sweep(START_MS);
  for (const [color, count] of [
    ["red", 0],
    ["blue", 1],
  ] as const)
    expect(await expectJson(await app.call(`${collection()}?tenant=acme&q=color:${color}`, { as }), 200)).toHaveLength(
      count,
    );
});
