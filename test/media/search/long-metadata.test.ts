import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { unique } from "../../support/platform/unique.ts";
import { directoryWith } from "../../support/directory.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectJson } from "../../support/platform/call.ts";
import { addFiles, makeOwner, type PlainFile } from "./listing-files.ts";
import { itAtNight } from "../../support/model-runs.ts";

const LONG = "ä".repeat(32_000);

/** The bytes of metadata that each statement returned. */
const reads: number[] = [];
let isBroken = false;
const db = directoryWith({
  prepare: (sql) => (sql.startsWith("SELECT file.id, file.metadata") ? metadataStatement(sql) : env.DB.prepare(sql)),
});
const metadataStatement = (sql: string) => ({
  bind: (ids: string) => ({
    async all() {
      if (isBroken) throw new Error("D1 is away");
      const found = await env.DB.prepare(sql).bind(ids).all<{ metadata: string }>();
      reads.push(found.results.reduce((bytes, { metadata }) => bytes + 2 * metadata.length, 0));
      return found;
    },
  }),
});

const app = mediaApp({ db });
const { caller, ownerId } = await makeOwner();
const as = principal({ clientName: caller.client });
/** 10 MB of metadata in 160 files; each seventh file has little. */
const files: PlainFile[] = Array.from({ length: 160 }, (_, at) => ({
  id: unique(`f${String(at).padStart(3, "0")}`),
  metadata: at % 7 === 0 ? { at } : { at, long: LONG },
  type: "image/png",
}));
const list = (query: string) => app.call(`/media/v2/files?tenant=acme&sort=at${query}`, { as });

interface Item {
  readonly id: string;
  readonly metadata: unknown;
}

beforeAll(async () => {
  for (let at = 0; at < files.length; at += 20) await addFiles(ownerId, files.slice(at, at + 20));
});

describe("a page with much metadata", () => {
  it("is complete, by number and by cursor", async () => {
    const all = await expectJson<Item[]>(await list("&pageSize=1000"), 200);
    expect(all.map(({ metadata }) => metadata)).toEqual(files.map(({ metadata }) => metadata));
    const first = await list("&pageSize=150");
    const next = /<([^>]*)>; rel="next"/.exec(first.headers.get("link") ?? "")![1]!;
    expect(await expectJson<Item[]>(first, 200)).toEqual(all.slice(0, 150));
    expect(await expectJson<Item[]>(await list("&pageSize=150&pageNumber=2"), 200)).toEqual(all.slice(150));
    expect(await expectJson<Item[]>(await app.call(next, { as }), 200)).toEqual(all.slice(150));
  });

  it("is read in parts that fit into memory, each after those before it were taken", async () => {
    reads.length = 0;
    const answer = await list("&pageSize=1000");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(reads).toHaveLength(1);
    const reader = answer.body!.getReader();
    await reader.read();
    expect(reads.length).toBeLessThan(3);
    while (!(await reader.read()).done);
    expect(reads).toHaveLength(3);
    expect(Math.max(...reads)).toBeLessThan(4.1 * 1024 * 1024);
  });

  it("is one text without further reads if its metadata are short", async () => {
    reads.length = 0;
    expect(await expectJson(await list("&pageSize=1"), 200)).toHaveLength(1);
    expect(reads).toHaveLength(0);
    expect(await expectJson(await list("&pageSize=50"), 200)).toHaveLength(50);
    expect(reads).toHaveLength(1);
  });

  itAtNight("leaves out files that are removed while it is sent: one, a whole part, all", async () => {
    const removed = async (from: number, to: number): Promise<Item[]> => {
      const answer = await list("&pageSize=1000");
      const state = (name: string) =>
        env.DB.prepare(
          `UPDATE file SET state = ?2, removed_at = iif(?2 = 'removed', 1, NULL) WHERE id IN (SELECT value FROM json_each(?1))`,
        )
          .bind(JSON.stringify(files.slice(from, to).map(({ id }) => id)), name)
          .run();
      await state("removed");
      const items = await expectJson<Item[]>(answer, 200);
      await state("committed");
      return items;
    };
    expect(await removed(159, 160)).toHaveLength(159);
    // The first part was read before; short metadata came with the page.
    const left = await removed(0, 160);
    expect(left.length).toBeLessThan(110);
    expect(left.map(({ id }) => id)).toEqual(
      files.map(({ id }) => id).filter((id) => left.some((item) => item.id === id)),
    );
  });

  it("breaks off if the database fails after the first part; before it, the answer is an error", async () => {
    const answer = await list("&pageSize=1000");
    isBroken = true;
    await expect(answer.text()).rejects.toThrow();
    const refused = await list("&pageSize=1000");
    expect(refused.status).toBe(500);
    await refused.text();
    isBroken = false;
    await (await list("&pageSize=1000&")).body!.cancel();
  });
});
