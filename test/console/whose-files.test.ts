import { describe, expect, it } from "vitest";
import { FIND_LIMITS, looksLikeFile, ownersToAsk, tenantOf } from "../../console/src/app/whose-files.ts";

const files = (client: string, count = 1) => ({ client, visibility: "private" as const, files: count });

describe("the palette's search for files", () => {
  it("asks many clients only for what looks like a file's name", () => {
    for (const text of ["harbour-09.png", "Bill of May.PDF", "a.b.jpeg"])
      expect([text, looksLikeFile(text)]).toEqual([text, true]);
    for (const text of [
      "Signing keys",
      "harbour-09",
      "harbour-09.p",
      "ada@demo.example",
      "v1/files.json",
      ".png",
      "end.",
    ])
      expect([text, looksLikeFile(text)]).toEqual([text, false]);
  });

  it("begins with the open page's tenant", () => {
    expect(tenantOf("/tenants/demo", {})).toBe("demo");
    expect(tenantOf("/topics", { tenant: "east" })).toBe("east");
    for (const path of ["/tenants", "/tenants/new", "/people/tenants"])
      expect([path, tenantOf(path, {})]).toEqual([path, undefined]);
  });

  it("asks those looked at last first, nobody twice, nobody without files, and not too many", () => {
    const last = { tenant: "demo", client: "demo.shop", visibility: "private" } as const;
    const demo = { tenant: "demo", owners: [files("demo.orders"), files("demo.empty", 0), files("demo.shop")] };
    const east = { tenant: "east", owners: [files("demo.shop")] };
    expect(ownersToAsk(last, [demo, east])).toEqual([
      last,
      { tenant: "demo", client: "demo.orders", visibility: "private" },
      { tenant: "east", client: "demo.shop", visibility: "private" },
    ]);
    expect(ownersToAsk(undefined, [])).toEqual([]);
    const many = Array.from({ length: 200 }, (_, at) => files(`demo.c${at}`));
    expect(ownersToAsk(last, [{ tenant: "demo", owners: many }])).toHaveLength(FIND_LIMITS.owners);
  });
});
