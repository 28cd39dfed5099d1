import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { afterFailure, isBlocked, type Attempts } from "../../../src/oauth/sign-in/account-block.ts";
import { cheapHash } from "../../support/users.ts";
import { runs } from "../../support/model-runs.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/platform/runtime/clock.ts";

const START_MS = Date.UTC(2027, 0, 1);

const HASH = cheapHash("right");

const newAccount = () => env.LOGIN_ATTEMPTS.get(env.LOGIN_ATTEMPTS.newUniqueId());
type Account = ReturnType<typeof newAccount>;
const attempt = async (account: Account, password: string): Promise<string> =>
  (await account.attempt(HASH, password)).kind;
const fail = async (account: Account, times: number): Promise<string[]> => {
  const kinds: string[] = [];
  for (let n = 0; n < times; n++) kinds.push(await attempt(account, "guess"));
  return kinds;
};
/** The object's rows. */
const stored = (account: Account) =>
  runInDurableObject(account, async (_, state) => ({
    tables: state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\'`).toArray(),
    alarmAtMs: await state.storage.getAlarm(),
  }));
/** Evicts the object, which must be in memory for that. */
const restart = async (account: Account): Promise<void> => {
  await runInDurableObject(account, () => {});
  await evictDurableObject(account);
};
const atTime = (timeMs: number): void => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(timeMs);
};

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The specified table in another form: the times of all failures since the account was clear, and of its blocks. */
class Model {
  #failures: { readonly atMs: number; readonly begins: boolean }[] = [];
  #blockedUntilMs = 0;
  #blocks = 0;

  attempt(right: boolean, nowMs: number): string {
    if (nowMs < this.#blockedUntilMs) return "blocked";
    const lastMs = this.#failures.at(-1)?.atMs ?? -Infinity;
    if (nowMs - Math.max(lastMs, this.#blockedUntilMs) >= DAY_MS) this.clear();
    if (right) {
      this.clear();
      return "ok";
    }
    const since = [
      ...this.#failures.slice(this.#failures.findLastIndex(({ begins }) => begins) + 1).map(({ atMs }) => atMs),
      nowMs,
    ];
    const gaps = since.map((atMs, at) => (at === 0 ? Infinity : atMs - since[at - 1]!));
    const inARow = since.length - gaps.findLastIndex((gapMs) => gapMs >= 15 * MINUTE_MS);
    const tooMany = since.length >= (this.#blocks === 0 ? 30 : 15);
    const begins = inARow >= 15 || tooMany;
    this.#failures.push({ atMs: nowMs, begins });
    if (!begins) return "wrong";
    this.#blocks = this.#blocks === 0 && tooMany ? 2 : this.#blocks + 1;
    this.#blockedUntilMs = nowMs + ([15, 30, 120][this.#blocks - 1] ?? 480) * MINUTE_MS;
    return "wrong";
  }

  clear(): void {
    this.#failures = [];
    this.#blockedUntilMs = 0;
    this.#blocks = 0;
  }
}

/** Mostly failures close together, so that blocks occur. */
const step = fc.record({
  right: fc.nat(30).map((n) => n === 0),
  afterMs: fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 0, max: MINUTE_MS }) },
    { weight: 1, arbitrary: fc.constantFrom(15 * MINUTE_MS - 1, 15 * MINUTE_MS, 15 * MINUTE_MS + 1, 40 * MINUTE_MS) },
    { weight: 1, arbitrary: fc.constantFrom(2 * 60 * MINUTE_MS, 8 * 60 * MINUTE_MS, DAY_MS - 1, DAY_MS) },
  ),
});

describe("The rules of attempts", () => {
  // shows: oauth/states-of-a-user-account/each-failed-attempt-restarts-the-interval
  // shows: oauth/accounts/a-success
  it("agree with the model on random schedules", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
        const model = new Model();
        let known: Attempts | undefined;
        let nowMs = START_MS;
        for (const { right, afterMs } of steps) {
          nowMs += afterMs;
          const blocked = isBlocked(known, nowMs);
          if (!blocked) known = right ? undefined : afterFailure(known, nowMs);
          expect(blocked ? "blocked" : right ? "ok" : "wrong").toBe(model.attempt(right, nowMs));
        }
      }),
      { numRuns: runs(200) },
    );
  });

  /** Tries passwords as fast as possible, or with a pause of `pauseMs` after each few. */
  // shows: oauth/accounts/guesses-in-a-day
  it.each([
    ["without a pause", 15, 0],
    ["14 every 15 minutes, which never made a block", 14, 15 * MINUTE_MS],
    ["one every 15 minutes", 1, 15 * MINUTE_MS],
  ])("allow 90 passwords in a day, 45 on each later day: %s", (_, few, pauseMs) => {
    let known: Attempts | undefined;
    const triedAtMs: number[] = [];
    let nowMs = START_MS;
    while (nowMs < START_MS + 3 * DAY_MS) {
      for (let n = 0; n < few && !isBlocked(known, nowMs); n++) {
        known = afterFailure(known, nowMs);
        triedAtMs.push(nowMs);
      }
      nowMs = Math.max(
        nowMs + Math.max(pauseMs, 1),
        known !== undefined && isBlocked(known, nowMs) ? known.untilMs : 0,
      );
    }
    for (const fromMs of triedAtMs.filter((atMs, at) => atMs !== triedAtMs[at - 1])) {
      const within = triedAtMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + DAY_MS).length;
      expect(within).toBeLessThanOrEqual(fromMs < START_MS + DAY_MS ? 90 : 60);
    }
    expect(triedAtMs.filter((atMs) => atMs >= START_MS + 2 * DAY_MS).length).toBeLessThanOrEqual(60);
  });
});

describe("The object LoginAttempts", () => {
  // shows: oauth/states-of-a-user-account/each-failed-attempt-restarts-the-interval
  // shows: oauth/accounts/a-success
  it("agrees with the model too, evicted and woken at random", { timeout: 30_000 }, async () => {
    const event = fc.oneof(
      { weight: 30, arbitrary: step },
      { weight: 1, arbitrary: fc.constantFrom("evict", "alarm", "unlock") },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 20, maxLength: 60, size: "max" }), async (events) => {
        const account = newAccount();
        const model = new Model();
        let nowMs = START_MS;
        for (const one of events) {
          atTime(nowMs);
          if (one === "evict") await restart(account);
          else if (one === "alarm") await runDurableObjectAlarm(account);
          else if (one === "unlock") {
            await account.unlock();
            model.clear();
          } else {
            nowMs += one.afterMs;
            atTime(nowMs);
            expect(await attempt(account, one.right ? "right" : "guess")).toBe(model.attempt(one.right, nowMs));
          }
        }
      }),
      { numRuns: runs(5) },
    );
  });

  // shows: oauth/states-of-a-user-account/active-15-invalid-attempts-within-15-minutes
  // shows: oauth/limits/invalid-attempts
  // shows: asvs/v6-authentication/6.3.1
  it("returns wrong up to the fifteenth failure, and then blocks even the right password", async () => {
    atTime(START_MS);
    const account = newAccount();
    expect(await fail(account, 15)).toEqual(Array.from({ length: 15 }, () => "wrong"));
    expect(await attempt(account, "guess")).toBe("blocked");
    expect(await attempt(account, "right")).toBe("blocked");
  });

  it("reports the one attempt that began the block", async () => {
    const account = newAccount();
    const told: boolean[] = [];
    for (let n = 0; n < 15; n++) {
      const outcome = await account.attempt(HASH, "guess");
      if (outcome.kind === "wrong") told.push(outcome.blockedFromNow);
    }
    expect(told).toEqual([...Array.from({ length: 14 }, () => false), true]);
  });

  // shows: oauth/states-of-a-user-account/blocked-15-minutes-over
  // shows: oauth/states-of-a-user-account/attempts-during-the-block
  // shows: oauth/limits/invalid-attempts
  it("opens 15 minutes after the fifteenth failure, whatever came during the block", async () => {
    atTime(START_MS);
    const account = newAccount();
    await fail(account, 15);
    atTime(START_MS + 15 * MINUTE_MS - 1);
    expect(await fail(account, 3)).toEqual(["blocked", "blocked", "blocked"]);
    atTime(START_MS + 15 * MINUTE_MS);
    expect(await fail(account, 15)).not.toContain("blocked");
    expect(await attempt(account, "right")).toBe("blocked");
  });

  // shows: oauth/accounts/a-block-again
  it("blocks longer each time, and for 15 minutes again after a quiet day", async () => {
    const account = newAccount();
    let nowMs = START_MS;
    for (const minutes of [15, 30, 120, 480, 480]) {
      atTime(nowMs);
      expect(await fail(account, 16)).toEqual([...Array.from({ length: 15 }, () => "wrong"), "blocked"]);
      nowMs += minutes * MINUTE_MS;
      atTime(nowMs - 1);
      expect(await attempt(account, "right")).toBe("blocked");
    }
    atTime(nowMs + DAY_MS);
    await fail(account, 15);
    atTime(nowMs + DAY_MS + 15 * MINUTE_MS);
    expect(await attempt(account, "right")).toBe("ok");
  });

  it("counts a named browser by itself, by the same rules", async () => {
    atTime(START_MS);
    const account = newAccount();
    const by = async (device: string, password: string) => (await account.attempt(HASH, password, device)).kind;
    await fail(account, 15);
    for (let n = 0; n < 15; n++) expect(await by("one", "guess")).toBe("wrong");
    expect(await by("one", "right")).toBe("blocked");
    expect(await by("another", "right")).toBe("ok");
    await restart(account);
    expect([await attempt(account, "right"), await by("one", "right")]).toEqual(["blocked", "blocked"]);
    // A right password in one browser unlocks no other.
    expect(await by("another", "right")).toBe("ok");
    expect(await attempt(account, "right")).toBe("blocked");
    await account.unlock();
    expect([await attempt(account, "right"), await by("one", "right")]).toEqual(["ok", "ok"]);
  });

  it("counts a few browsers by themselves at a time, and all others as strangers", async () => {
    const account = newAccount();
    for (let n = 0; n < 60; n++) await account.attempt(HASH, "guess", `device ${n}`);
    expect(await stored(account)).toMatchObject({ tables: [{ name: "failed" }] });
    const rows = await runInDurableObject(account, (_, state) =>
      state.storage.sql.exec("SELECT * FROM failed").toArray(),
    );
    expect(rows.length).toBeLessThanOrEqual(52);
  });

  // shows: oauth/accounts/parallel-guesses
  it("lets 15 of 40 parallel guesses try a password, and verifies no more than these", async () => {
    const verifications = countVerifications();
    const account = newAccount();
    const kinds = await Promise.all(Array.from({ length: 40 }, () => attempt(account, "guess")));
    expect(kinds.filter((kind) => kind === "wrong")).toHaveLength(15);
    expect(kinds.filter((kind) => kind === "blocked")).toHaveLength(25);
    expect(verifications()).toBe(15);
  });

  // shows: oauth/accounts/parallel-honest-sign-ins
  it("signs in all of 40 parallel right passwords, even after 14 failures", async () => {
    const account = newAccount();
    await fail(account, 14);
    const kinds = await Promise.all(Array.from({ length: 40 }, () => attempt(account, "right")));
    expect(new Set(kinds)).toEqual(new Set(["ok"]));
    expect(await fail(account, 14)).not.toContain("blocked");
    expect(await attempt(account, "right")).toBe("ok");
  });

  // shows: oauth/token/unknown-user-wrong-password
  it("verifies one password with or without a hash, and never accepts one without", async () => {
    const verifications = countVerifications();
    const account = newAccount();
    expect((await account.attempt(undefined, "")).kind).toBe("wrong");
    expect(verifications()).toBe(1);
    expect((await account.attempt(HASH, "right")).kind).toBe("ok");
    expect(verifications()).toBe(2);
  });

  it("keeps the count over a restart", async () => {
    const account = newAccount();
    await fail(account, 14);
    await restart(account);
    await fail(account, 1);
    await restart(account);
    expect(await attempt(account, "right")).toBe("blocked");
  });

  it("is unlocked at once", async () => {
    const account = newAccount();
    await fail(account, 15);
    await account.unlock();
    expect(await attempt(account, "right")).toBe("ok");
    await newAccount().unlock();
  });
});

describe("The storage of LoginAttempts", () => {
  const nothing = { tables: [], alarmAtMs: null };

  it("is empty after a sign-in or an unlocking without failures", async () => {
    const account = newAccount();
    await attempt(account, "right");
    await account.unlock();
    expect(await stored(account)).toEqual(nothing);
  });

  it("holds the count until a day after the last failure, then nothing", async () => {
    atTime(START_MS);
    const account = newAccount();
    await fail(account, 3);
    expect((await stored(account)).alarmAtMs).toBe(START_MS + DAY_MS);
    atTime(START_MS + DAY_MS);
    expect(await runDurableObjectAlarm(account)).toBe(true);
    expect(await stored(account)).toEqual(nothing);
    expect(await fail(account, 15)).not.toContain("blocked");
    expect(await attempt(account, "right")).toBe("blocked");
  });

  it("is empty a day after a block, and holds the count if the alarm fires early", async () => {
    atTime(START_MS);
    const account = newAccount();
    await fail(account, 15);
    const lastMs = START_MS + 15 * MINUTE_MS + DAY_MS;
    atTime(START_MS + 15 * MINUTE_MS - 1);
    await runDurableObjectAlarm(account);
    expect((await stored(account)).alarmAtMs).toBe(lastMs);
    expect(await attempt(account, "right")).toBe("blocked");
    atTime(lastMs);
    await runDurableObjectAlarm(account);
    expect(await stored(account)).toEqual(nothing);
  });
});

/** Each verification ends in one comparison of keys. Digests, which are longer, are compared elsewhere. */
function countVerifications(): () => number {
  const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
  return () => compare.mock.calls.filter(([key]) => key.byteLength === 32).length;
}
