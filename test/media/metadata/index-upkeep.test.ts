import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { utf8 } from "../../../src/platform/text/encoding.ts";
import { indexRows, insertCommitted } from "../support/erasure-support.ts";
import { mediaApp } from "../support/media-app.ts";
import { testPlacement } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { collection, stored, type StoredFile } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { counting } from "../../support/counting.ts";
import { everywhere, shardDb } from "../../support/shards.ts";

const app = mediaApp();
const TEXT = utf8("text");

const keySets = async (as: Principal): Promise<string[]> => {
  const sql = "SELECT keys FROM key_set WHERE owner_id IN (SELECT id FROM owner WHERE client = ?) ORDER BY keys";
  const { results } = await everywhere.prepare(sql).bind(as.clientName).all<{ keys: string }>();
  return results.map(({ keys }) => (JSON.parse(keys) as string[]).filter((key) => key.startsWith(".")).join());
};

const replace = async (file: StoredFile, as: Principal, json: unknown): Promise<number> =>
  (await app.call(`${file.path}/metadata`, { method: "PUT", as, json })).status;

/** Returns the ids in sorted order. Files without the attribute come last; the listing finds them by their key sets. */
const sortedIds = async (as: Principal, sort = "none"): Promise<string[]> => {
  const files = await expectJson<{ id: string }[]>(
    await app.call(`${collection()}?tenant=acme&sort=${sort}`, { as }),
    200,
  );
  return files.map(({ id }) => id);
};

/** The index rows of a file, in order. */
const indexOf = async (id: string): Promise<[key: string, value: unknown, leads: number][]> => {
  const sql = "SELECT key, value, leads FROM attribute WHERE file_id = ? ORDER BY key, value";
  const { results } = await everywhere.prepare(sql).bind(id).all<{ key: string; value: unknown; leads: number }>();
  return results.map(({ key, value, leads }) => [key, value, leads]);
};

describe("a key set", () => {
  it("goes when its last file gets other keys, and returns with them", async () => {
    const as = principal();
    const file = await stored(app, TEXT, { as, metadata: { k0: 1 } });
    for (let at = 1; at <= 12; at++) {
      expect(await replace(file, as, { [`k${at}`]: 1 })).toBe(200);
      expect(await keySets(as)).toEqual([`.k${at}`]);
    }
    expect(await replace(file, as, { k12: 2 })).toBe(200);
    expect(await keySets(as)).toEqual([".k12"]);
    expect(await sortedIds(as)).toEqual([file.id]);
  });

  it("stays while another file has it, after replaced metadata and after a deletion", async () => {
    const as = principal();
    const [first, second, third] = await Promise.all(
      [1, 2, 3].map((color) => stored(app, TEXT, { as, metadata: { color } })),
    );
    expect(await replace(first!, as, { size: 1 })).toBe(200);
    expect(await keySets(as)).toEqual([".color", ".size"]);
    expect(await sortedIds(as)).toEqual([first!.id, second!.id, third!.id].toSorted());
    expect((await app.call(second!.path, { as, method: "DELETE" })).status).toBe(204);
    await app.settle();
    expect(await keySets(as)).toEqual([".color", ".size"]);
    expect(await sortedIds(as)).toEqual([first!.id, third!.id].toSorted());
    expect((await app.call(third!.path, { as, method: "DELETE" })).status).toBe(204);
    await app.settle();
    expect(await keySets(as)).toEqual([".size"]);
  });

  it("stays, with the index rows, when a stranger tries to replace the metadata", async () => {
    const as = principal();
    const file = await stored(app, TEXT, { as, metadata: { color: "red" } });
    const rows = await indexRows([file.id]);
    expect(await replace(file, principal(), { size: 1 })).toBe(404);
    expect([await indexRows([file.id]), await keySets(as)]).toEqual([rows, [".color"]]);
    expect(await sortedIds(as, "color")).toEqual([file.id]);
  });
});

describe("changed metadata", () => {
  const { env: bindings, tally, reset } = counting(env);
  const counted = mediaApp({ db: bindings.DB });
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, at]));

  it("writes the file and those index rows that differ", async () => {
    const as = principal();
    const file = await stored(counted, TEXT, { as, metadata: many });
    const change = async (json: unknown): Promise<number> => {
      reset();
      expect((await counted.call(`${file.path}/metadata`, { method: "PUT", as, json })).status).toBe(200);
      return tally.d1RowsWritten;
    };
    expect(await change(many)).toBe(1);
    // The row of the old value goes, and that of the new one comes.
    expect(await change({ ...many, k3: "red" })).toBe(3);
    expect(await indexOf(file.id)).toContainEqual([".k3", "red", 1]);
    expect(await indexOf(file.id)).not.toContainEqual([".k3", 3, 1]);
  });

  it("keeps a value that another key of the file no longer has, and moves the row that the file sorts by", async () => {
    const as = principal();
    const file = await stored(counted, TEXT, { as, metadata: { a: "x", b: "x", list: ["m", "n"] } });
    expect(await replace(file, as, { b: "x", list: ["n", "m"] })).toBe(200);
    const rows = (await indexOf(file.id)).filter(([key]) => key.startsWith("."));
    expect(rows).toEqual([
      [".b", "x", 1],
      [".list", "m", 0],
      [".list", "n", 1],
    ]);
  });
});

describe("a file's row that another database gave", () => {
  it("brings its index rows and its key set, and takes them with it", async () => {
    const as = principal();
    const [kept, gone] = await insertCommitted(as, 2, '{"color":"red"}');
    const index = [
      ["#keys", expect.any(String), 0],
      ["#type", "text/plain", 1],
      [".color", "red", 1],
    ];
    expect([await indexOf(kept!), await indexOf(gone!), await keySets(as)]).toEqual([index, index, [".color"]]);
    const remove = (id: string) => everywhere.prepare("DELETE FROM file WHERE id = ?").bind(id).run();
    await remove(gone!);
    expect([await indexOf(kept!), await indexOf(gone!), await keySets(as)]).toEqual([index, [], [".color"]]);
    await remove(kept!);
    expect([await indexOf(kept!), await keySets(as)]).toEqual([[], []]);
  });
});

describe("a retired owner", () => {
  it("is deleted after the last of its key sets", async () => {
    const as = principal();
    await insertCommitted(as, 1);
    // The numbers of owners are unique only within a shard.
    const db = shardDb(await testPlacement.shardOf(as.tenant, 0));
    const owner = await db.prepare("SELECT id FROM owner WHERE client = ?").bind(as.clientName).first<number>("id");
    await db
      .prepare("INSERT INTO key_set (owner_id, digest, keys) SELECT ?1, 'd' || value, '[]' FROM json_each(?2)")
      .bind(owner, JSON.stringify(Array.from({ length: LIMITS.rowsPerDelete + 5 }, (_, at) => at)))
      .run();
    const answer = await app.call(`${collection()}?tenant=acme`, { as, method: "DELETE" });
    expect(answer.status).toBe(202);
    await app.settle();
    while (app.longJobs.length > 0) await app.consume();
    const left = (table: string, column: string) =>
      db.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${column} = ?`).bind(owner).first("n");
    expect([await left("owner", "id"), await left("key_set", "owner_id")]).toEqual([0, 0]);
  });
});
