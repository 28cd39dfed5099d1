import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../../../src/platform/storage/database.ts";
import { FreshCache } from "../../../src/platform/copies/fresh-cache.ts";
import { VirtualTime, virtualIsolate } from "../../../tools/bench/herd/virtual-time.ts";

/** A cache of texts. The test decides when a load ends, and moves the clock. */
function make(limits: Partial<ConstructorParameters<typeof FreshCache<string, string>>[0]> = {}) {
  const time = new VirtualTime();
  const cache = new FreshCache<string, string>({ ttlMs: 30_000, maxEntries: 100, ...limits }, virtualIsolate(time));
  const loads: { land(value: string): void; fail(): void }[] = [];
  const load = () =>
    new Promise<string>((resolve, reject) =>
      loads.push({ land: resolve, fail: () => reject(new StoreUnavailable("the source is away")) }),
    );
  /** A request: what it got, or "pending", or its error. */
  const get = (key = "key") => {
    let outcome = "pending";
    void cache.get(key, time.nowMs(), load).then(
      (value) => (outcome = value),
      (thrown: Error) => (outcome = thrown.message),
    );
    return () => outcome;
  };
  const runFor = (ms: number) => time.runTo(time.nowMs() + ms);
  return { time, cache, loads, get, runFor };
}

describe("FreshCache", () => {
  it("loads once while fresh, again when old, and never keeps a load from before a clear", async () => {
    const { cache, time } = make({ ttlMs: 10, maxEntries: 2, aheadMs: 10 });
    let count = 0;
    const load = async () => String(++count);
    expect(await cache.get("a", 0, load)).toBe("1");
    expect(await cache.get("a", 9, load)).toBe("1");
    expect(await cache.get("a", 10, load)).toBe("2");
    let release: (value: string) => void = () => {};
    const slow = cache.get("b", 10, () => new Promise((resolve) => (release = resolve)));
    cache.clear();
    release("99");
    expect(await slow).toBe("99");
    await time.runTo(1);
    expect(await cache.get("b", 10, load)).toBe("3");
  });

  it("keeps the newest entries up to its limit, and no failure", async () => {
    const { cache } = make({ ttlMs: 1_000, maxEntries: 2 });
    for (const key of ["1", "2", "3"]) await cache.get(key, 0, async () => key);
    let loaded = false;
    await cache.get("3", 0, async () => ((loaded = true), "3"));
    expect(loaded).toBe(false);
    await cache.get("1", 0, async () => ((loaded = true), "1"));
    expect(loaded).toBe(true);
    await expect((async () => cache.get("9", 0, () => Promise.reject(new Error("away"))))()).rejects.toThrow("away");
    expect(await cache.get("9", 0, async () => "9")).toBe("9");
  });

  it("loads a key once for all requests that ask for it, and other keys at the same time", async () => {
    const { get, loads, runFor } = make();
    const outcomes = Array.from({ length: 50 }, () => get());
    const other = get("other");
    await runFor(100);
    expect(loads).toHaveLength(2);
    loads[0]!.land("one");
    loads[1]!.land("two");
    await runFor(100);
    expect(new Set(outcomes.map((outcome) => outcome()))).toEqual(new Set(["one"]));
    expect(other()).toBe("two");
    expect(loads).toHaveLength(2);
  });

  it("reloads a key before it is old if a request asks for it, and no request waits", async () => {
    const { get, loads, runFor } = make();
    get();
    loads[0]!.land("old");
    await runFor(26_000);
    const outcomes = [get(), get(), get()];
    await runFor(1);
    expect(outcomes.map((outcome) => outcome())).toEqual(["old", "old", "old"]);
    expect(loads).toHaveLength(2);
    loads[1]!.land("new");
    await runFor(10_000);
    const next = get();
    await runFor(1);
    expect([next(), loads.length]).toEqual(["new", 2]);
  });

  it("lets each request load a value that is not kept", async () => {
    const { get, loads, runFor } = make({ keeps: (value) => value !== "nothing" });
    const outcomes = [get(), get(), get()];
    loads[0]!.land("nothing");
    await runFor(100);
    expect(loads).toHaveLength(3);
    loads[1]!.land("made meanwhile");
    loads[2]!.land("made meanwhile");
    await runFor(100);
    expect(outcomes.map((outcome) => outcome())).toEqual(["nothing", "made meanwhile", "made meanwhile"]);
  });

  it("does not strand the others if the request that loads is cancelled", async () => {
    const { get, loads, runFor } = make();
    // The runtime ends this request, which then neither succeeds nor fails.
    get();
    await runFor(1_000);
    const waiting = get();
    await runFor(1_900);
    expect([waiting(), loads.length]).toEqual(["pending", 1]);
    await runFor(200);
    expect(waiting()).toBe("the last loads failed");
    await runFor(1_000);
    const next = get();
    loads[1]!.land("found");
    await runFor(10);
    expect(next()).toBe("found");
  });

  it("keeps a value that comes late, but not in place of a younger one", async () => {
    const { get, loads, runFor } = make();
    const first = get();
    await runFor(4_100);
    expect(first()).toContain("no answer within");
    const second = get();
    loads[1]!.land("younger");
    await runFor(10);
    loads[0]!.land("late");
    await runFor(10);
    expect(second()).toBe("younger");
    const third = get();
    await runFor(1);
    expect(third()).toBe("younger");

    const late = get("other");
    await runFor(4_000);
    loads[2]!.land("late, and all there is");
    await runFor(10);
    expect(late()).toContain("no answer within");
    const after = get("other");
    await runFor(1);
    expect(after()).toBe("late, and all there is");
  });

  it("backs off after three failures in a row, and then refuses at once", async () => {
    const { get, loads, runFor } = make();
    for (let n = 0; n < 3; n++) {
      const outcome = get(`key ${n}`);
      loads[n]!.fail();
      await runFor(10);
      expect(outcome()).toBe("the source is away");
    }
    const refused = get("key 3");
    await runFor(1);
    expect([refused(), loads.length]).toEqual(["the last loads failed", 3]);
    await runFor(1_000);
    const probe = get("key 4");
    const beside = get("key 5");
    await runFor(1);
    expect([loads.length, beside()]).toEqual([4, "the last loads failed"]);
    loads[3]!.land("back");
    await runFor(10);
    expect(probe()).toBe("back");
    get("key 6");
    expect(loads).toHaveLength(5);
  });

  it("does not back off because some values cannot be read: that says nothing of the source", async () => {
    const { cache, get, loads, runFor } = make();
    for (let n = 0; n < 5; n++)
      await expect(cache.get(`bad ${n}`, 0, () => Promise.reject(new SyntaxError("no JSON")))).rejects.toThrow(
        "no JSON",
      );
    const outcome = get();
    loads[0]!.land("good");
    await runFor(1);
    expect(outcome()).toBe("good");
  });

  it("uses an older value while the source does not respond, up to its maximum age", async () => {
    for (const [withoutSourceMs, expected] of [
      [60_000, "kept"],
      [30_000, "the last loads failed"],
    ] as const) {
      const { get, loads, runFor } = make({ withoutSourceMs });
      get();
      loads[0]!.land("kept");
      await runFor(30_100);
      for (let n = 1; n <= 3; n++) {
        get("other");
        loads[n]!.fail();
        await runFor(10);
      }
      const outcome = get();
      await runFor(1);
      expect(outcome()).toBe(expected);
      await runFor(30_000);
      const over = get();
      await runFor(5_000);
      expect(over()).not.toBe("kept");
    }
  });

  it("uses another isolate's copy while its loads back off, and backs off if that isolate gets no answer", async () => {
    const { time, cache, runFor } = make();
    let copy: string | undefined;
    let asked = 0;
    const get = (key: string) => {
      let outcome = "pending";
      const source = {
        copy: async (nowMs: number) => (copy === undefined ? undefined : { value: copy, readAtMs: nowMs }),
        claim: async () => false,
        ask: async () => ({ value: `asked ${++asked}`, readAtMs: time.nowMs() }),
      };
      void cache.getFrom(key, time.nowMs(), source).then(
        (value) => (outcome = value),
        (thrown: Error) => (outcome = thrown.message),
      );
      return () => outcome;
    };
    const first = get("key");
    await runFor(2_900);
    expect(first()).toBe("pending");
    await runFor(200);
    expect(first()).toBe("another isolate got no answer");
    const refused = get("other key");
    await runFor(1);
    expect(refused()).toBe("the last loads failed");
    copy = "of another isolate";
    const copied = get("key");
    await runFor(1);
    expect([copied(), asked]).toEqual(["of another isolate", 0]);
  });

  it("counts an entry as old if the clock was set back, and keeps the value that it then loads", async () => {
    const { time, get, loads, runFor } = make();
    time.set(1_000_000);
    get();
    loads[0]!.land("of the future");
    await runFor(1);
    time.set(10_000);
    const outcome = get();
    loads[1]!.land("of now");
    await runFor(10);
    expect(outcome()).toBe("of now");
    const next = get();
    await runFor(1);
    expect([next(), loads.length]).toEqual(["of now", 2]);
  });
});
