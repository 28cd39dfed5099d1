import { describe, expect, it } from "vitest";
import { homeOf, homesOf } from "../../../src/platform/storage/home.ts";
import { createHeldTokens, secretOf } from "../../../src/oauth/homes/held-token.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createSealer } from "../../../src/platform/secrets/seal.ts";
import { StoreUnavailable } from "../../../src/platform/storage/database.ts";
import { fromBase64Url } from "../../../src/platform/text/encoding.ts";

const PEOPLE = Array.from({ length: 4_000 }, (_, n) => `person-${n}@example.org`);

describe("The home of a person", () => {
  it("is the directory while that is the only shard, and one of its homes always", () => {
    for (const email of PEOPLE.slice(0, 100)) {
      expect(homesOf(email, 1)).toEqual([0]);
      expect(homesOf(email, 256)[0]).toBe(0);
    }
  });

  it("changes with another shard for none but those who get the new one, a fair share of all", () => {
    let homes = PEOPLE.map((email) => homeOf(email, 1));
    for (let shards = 2; shards <= 40; shards++) {
      const next = PEOPLE.map((email) => homeOf(email, shards));
      const moved = next.filter((home, at) => home !== homes[at]);
      expect(new Set(moved)).toEqual(new Set([shards - 1]));
      expect(moved.length / PEOPLE.length).toBeGreaterThan(0.6 / shards);
      expect(moved.length / PEOPLE.length).toBeLessThan(1.4 / shards);
      homes = next;
    }
  });

  it("is among the homes, with every home that the person had, and these are few", () => {
    let asked = 0;
    for (const email of PEOPLE.slice(0, 200)) {
      const had = new Set(Array.from({ length: 256 }, (_, n) => homeOf(email, n + 1)));
      expect(homesOf(email, 256)).toEqual([...had]);
      asked += had.size;
    }
    expect(asked / 200).toBeLessThan(7);
  });

  it("is shared out evenly over 256 shards", () => {
    const counts = new Map<number, number>();
    for (let n = 0; n < 25_600; n++) {
      const home = homeOf(`u${n}@x.example`, 256);
      counts.set(home, (counts.get(home) ?? 0) + 1);
    }
    expect(counts.size).toBe(256);
    expect(Math.max(...counts.values())).toBeLessThan(160);
  });
});

describe("A refresh token as its client holds it", () => {
  const key = (id: string) => ({ id, bytes: systemRandom.bytes(32) });
  const [old, current] = [key("k1"), key("k2")];
  const tokensOf = (keys: ReturnType<typeof key>[], shards = 4) =>
    createHeldTokens(createSealer(keys, systemRandom), systemRandom, shards, "refresh token");
  const tokens = tokensOf([old]);

  it("of the directory is as it was before there were shards", async () => {
    const made = await tokens.make("ada@example.org", 0);
    expect(made.text).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await tokens.read(made.text)).toEqual({ ...made, email: undefined });
    expect(secretOf(made)).toEqual(fromBase64Url(made.text));
  });

  it("of another shard has its number in front, and whose it is where nobody can read it", async () => {
    const made = await tokens.make("ada@example.org", 3);
    expect(fromBase64Url(made.text.slice(0, 44))![0]).toBe(3);
    expect(secretOf(made).length).toBe(32);
    expect(await tokens.read(made.text)).toEqual(made);
    expect(made.text).toMatch(/^[A-Za-z0-9_~-]+$/);
    expect(made.text).not.toContain("ada");
  });

  it("leads to its shard without the key that sealed it, but not to its person; nor does another's seal", async () => {
    const [made, other] = [await tokens.make("ada@example.org", 3), await tokens.make("eve@example.org", 3)];
    expect(await tokensOf([current, old]).read(made.text)).toEqual(made);
    expect(await tokensOf([current]).read(made.text)).toMatchObject({ shard: 3, email: undefined });
    const mixed = made.text.slice(0, 44) + other.text.slice(44);
    expect(await tokens.read(mixed)).toMatchObject({ shard: 3, email: undefined });
  });

  it("of a shard that is not bound here is for another isolate; without a seal of ours it is no token at all", async () => {
    const made = await tokens.make("ada@example.org", 3);
    await expect(tokensOf([old], 3).read(made.text)).rejects.toThrow(StoreUnavailable);
    expect(await tokensOf([old], 1).read(`${made.text.slice(0, 44)}~x`)).toMatchObject({ shard: 0 });
    for (const text of ["", "~", "x", "A".repeat(44), `${"A".repeat(44)}~`, `${"é".repeat(44)}~~~`, "a.b.c"])
      expect(await tokens.read(text)).toMatchObject({ shard: 0, email: undefined, text });
  });
});
