import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commit, lockedForMs, take, unread, type ConsumerState } from "../../src/events/lock.ts";

const MAX_OUTCOMES = 4;

type Step =
  | { readonly do: "read"; readonly count: number; readonly ttlMs: number; readonly autoCommit: boolean }
  /** `back` 0 is the latest token that was handed out. */
  | { readonly do: "commit"; readonly back: number }
  | { readonly do: "wait"; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("read" as const),
    count: fc.integer({ min: 1, max: 5 }),
    ttlMs: fc.integer({ min: 1, max: 20 }),
    autoCommit: fc.boolean(),
  }),
  fc.record({ do: fc.constant("commit" as const), back: fc.nat(6) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.nat(15) }),
);

describe("the lock's rules", () => {
  it("agree with a model in which a batch is a set of numbers that is committed or not", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let state: ConsumerState = unread(1);
        let nowMs = 1000;
        // The model: what is committed, who holds which numbers until when, and what every token came to.
        let committed = 0;
        let held: { token: string; upTo: number; untilMs: number } | undefined;
        const ends = new Map<string, "already_committed" | "lock_expired">();
        const tokens: string[] = [];

        for (const [index, next] of steps.entries()) {
          if (next.do === "wait") nowMs += next.ms;
          if (held !== undefined && nowMs >= held.untilMs) {
            ends.set(held.token, "lock_expired");
            held = undefined;
          }
          expect(lockedForMs(state, nowMs)).toBe(held === undefined ? 0 : held.untilMs - nowMs);

          if (next.do === "read" && held === undefined) {
            const upTo = committed + next.count;
            const { ttlMs, autoCommit } = next;
            state = take(state, { upTo: [upTo], ttlMs, autoCommit, nonce: `n${index}` }, nowMs, MAX_OUTCOMES);
            if (autoCommit) committed = upTo;
            else {
              held = { token: state.lock!.token, upTo, untilMs: nowMs + ttlMs };
              expect(tokens).not.toContain(held.token);
              tokens.push(held.token);
            }
          }
          if (next.do === "commit") {
            const token = tokens.at(-1 - next.back) ?? "never issued";
            const outcome = commit(state, token, nowMs, MAX_OUTCOMES);
            expect(outcome.kind).toBe(token === held?.token ? "committed" : "not_locked");
            if (outcome.kind === "committed") {
              state = outcome.state;
              committed = held!.upTo;
              ends.set(token, "already_committed");
              held = undefined;
            } else if (outcome.why !== "unknown_token") expect(outcome.why).toBe(ends.get(token));
            // The last few are remembered; older ones may be forgotten.
            else
              expect(tokens.length - tokens.indexOf(token)).toBeGreaterThan(
                token === "never issued" ? 0 : MAX_OUTCOMES,
              );
          }
          expect(state.cursor).toEqual([committed]);
          expect(state.outcomes.length).toBeLessThanOrEqual(MAX_OUTCOMES);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("end a lock at the very millisecond of its expiry", () => {
    const state = take(unread(1), { upTo: [1], ttlMs: 1000, autoCommit: false, nonce: "n" }, 5000, MAX_OUTCOMES);
    const { token } = state.lock!;
    expect(lockedForMs(state, 5999)).toBe(1);
    expect(commit(state, token, 5999, MAX_OUTCOMES).kind).toBe("committed");
    expect(lockedForMs(state, 6000)).toBe(0);
    expect(commit(state, token, 6000, MAX_OUTCOMES)).toEqual({ kind: "not_locked", why: "lock_expired" });
  });

  it("start a token with the epoch, which grows with every lock", () => {
    const batch = { upTo: [1], ttlMs: 1, autoCommit: false, nonce: "n" };
    const first = take(unread(1), batch, 0, MAX_OUTCOMES);
    const second = take(first, batch, 10, MAX_OUTCOMES);
    expect([first.lock!.token, second.lock!.token]).toEqual(["1.n", "2.n"]);
  });
});
