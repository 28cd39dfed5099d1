import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { metadataCondition, typeCondition } from "../../../src/media/metadata/attributes.ts";
import type { Condition } from "../../../src/media/metadata/attributes.ts";
import { createFilterStore } from "../../../src/media/search/filter-store.ts";
import { unique } from "../../support/platform/unique.ts";
import { addFiles, makeOwner } from "./listing-files.ts";

async function owner(given: readonly { metadata: unknown; type?: string }[]) {
  const { caller, ownerId } = await makeOwner();
  const files = given.map(({ metadata, type = "image/png" }) => ({ id: unique("f"), metadata, type }));
  await addFiles(ownerId, files);
  return { caller, ids: files.map(({ id }) => id) };
}

async function selected(
  { caller, ids }: Awaited<ReturnType<typeof owner>>,
  conditions: readonly Condition[],
  rowBudget = 100_000,
): Promise<number[] | string> {
  const found = await createFilterStore(env.DB, rowBudget).select(caller, conditions);
  if (found.kind !== "selected") return found.kind;
  const rows = await env.DB.prepare(found.idsSql).bind(found.parameter).all<{ id: string }>();
  return rows.results.map(({ id }) => ids.indexOf(id)).sort((a, b) => a - b);
}

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));

describe("the files of a filter", () => {
  // shows: media/query/keys
  // shows: media/query/64-attributes-256-bytes
  it("meet all conditions, each once: numbers and texts, elements of arrays, long values, types", async () => {
    const long = "ä".repeat(300);
    const files = await owner([
      { metadata: { price: 9, color: "red" } },
      { metadata: { price: "9", color: ["red", "blue"] }, type: "text/plain; charset=utf-8" },
      { metadata: { price: [9, "9"], a: { b: true } } },
      { metadata: { "a.b": "true", text: long, price: 9.5 } },
      { metadata: { text: `${long}.` }, type: "Text/Plain" },
      { metadata: { "": "x", a: { "": "y" } } },
    ]);
    expect(await selected(files, [metadataCondition("price", "9")])).toEqual([0, 1, 2]);
    expect(await selected(files, [metadataCondition("price", "9.0")])).toEqual([]);
    expect(await selected(files, [metadataCondition("price", "9"), metadataCondition("color", "red")])).toEqual([0, 1]);
    expect(await selected(files, [metadataCondition("a.b", "true")])).toEqual([2, 3]);
    expect(await selected(files, [metadataCondition("text", long)])).toEqual([3]);
    expect(await selected(files, [typeCondition(["text/plain"])])).toEqual([1, 4]);
    expect(await selected(files, [typeCondition(["text/plain;charset=utf-8", "image/png"])])).toEqual([0, 1, 2, 3, 5]);
    expect(await selected(files, [metadataCondition("", "x"), metadataCondition("a.", "y")])).toEqual([5]);
    expect(await selected(files, [metadataCondition("x", "' OR 1=1 --")])).toEqual([]);
  });

  it("include those whose pairs are only in the record", async () => {
    const longKey = "k".repeat(300);
    const files = await owner([
      { metadata: { ...many(64), late: "x", k1: [1, "other"] } },
      { metadata: { late: "x", k1: 1 } },
      { metadata: { [longKey]: "x", k1: 1 } },
      { metadata: { ...many(64), late: "y" } },
    ]);
    expect(await selected(files, [metadataCondition("late", "x")])).toEqual([0, 1]);
    expect(await selected(files, [metadataCondition("k1", "1")])).toEqual([0, 1, 2, 3]);
    expect(await selected(files, [metadataCondition("k1", "1"), metadataCondition("late", "x")])).toEqual([0, 1]);
    expect(await selected(files, [metadataCondition(longKey, "x")])).toEqual([2]);
    expect(await selected(files, [metadataCondition("late", "z")])).toEqual([]);
  });

  it("cost the same for any size of the record", async () => {
    const small = await owner([{ metadata: { all: 1, ...many(70) } }]);
    expect(await selected(small, [metadataCondition("k69", "69")], 17)).toEqual([0]);
    expect(await selected(small, [metadataCondition("k69", "69")], 16)).toBe("too_broad");
    const large = await owner([{ metadata: { all: 1, ...many(2499) } }]);
    expect(await selected(large, [metadataCondition("k2498", "2498")], 17)).toEqual([0]);
    expect(await selected(large, [metadataCondition("k2498", "2498")], 16)).toBe("too_broad");
  });

  it("are refused if even the rarest condition takes more rows than the budget", async () => {
    const files = await owner(Array.from({ length: 40 }, (_, at) => ({ metadata: { all: 1, half: at % 2, one: at } })));
    const [all, half, one] = ["all:1", "half:1", "one:7"].map((text) =>
      metadataCondition(...(text.split(":") as [string, string])),
    );
    expect(await selected(files, [all!], 180)).toBe("too_broad");
    expect(await selected(files, [all!, half!], 380)).toHaveLength(20);
    expect(await selected(files, [all!, half!], 379)).toBe("too_broad");
    expect(await selected(files, [all!, half!, one!], 180)).toEqual([7]);
    const caller = { client: "nobody", tenant: "acme", visibility: "private" as const, isPerson: false };
    const nobody = { caller, ids: [] };
    expect(await selected(nobody, [all!])).toBe("nothing");
  });
});
