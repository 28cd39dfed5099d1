import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ChangesLedger } from "../../tools/soak/ledgers/changes.ts";
import { EventsLedger, type ReadEvent } from "../../tools/soak/ledgers/events.ts";
import { readOptions } from "../../tools/soak/options.ts";
import { createRandom } from "../../tools/soak/lib/random.ts";
import { Violations } from "../../tools/soak/ledgers/violations.ts";
import { npm } from "../acceptance/support/process/program.ts";
import { useWorld } from "../acceptance/support/use-world.ts";
import { OPERATOR_SECRET } from "../acceptance/support/world.ts";

const out = mkdtempSync(join(tmpdir(), "plinth-soak-out-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

describe("npm run soak", () => {
  const world = useWorld();

  test("holds every invariant under faults of all kinds, except the one that is damaged on purpose", async () => {
    const args = ["--seconds", "2", "--rate", "25", "--seed", "7", "--damage", "push", "--out", out];
    const soak = npm("soak", {}, ["--", ...args]);
    expect(await soak.ended, soak.output()).toBe(1);
    expect(soak.output()).toMatch(/1 broken, with --seed 7:\nwhat was acknowledged is pushed \(1 ×\)\n {2}event \S+\n/);
    expect(soak.output()).toMatch(/ms from when it was due +answered +lost +p50 +p90 +p99 +max\n/);
    const report = JSON.parse(readFileSync(join(out, "soak.json"), "utf8"));
    expect(report).toMatchObject({ seed: 7, kills: [{}], broken: [expect.any(String), expect.any(String)] });
    const happened = report.faults.filter(({ times }: { times: number }) => times > 0);
    expect(happened.map(({ fault }: { fault: string }) => fault)).toEqual(
      expect.arrayContaining([
        "platform killed",
        "TopicLog aborted",
        "TopicConsumer aborted",
        "PushSubscription aborted",
        "LoginAttempts aborted",
        "queue message repeated",
        "crons run twice at once",
      ]),
    );
    expect(soak.output()).toMatch(/faults +times\n {2}platform killed +1\n {2}TopicLog aborted +\d+ {2}\w+ \d/);
    expect(soak.output()).toMatch(/ answers a second for 25 arrivals; 2xx [\d.]+ %, .*, no answer [\d.]+ %\n/);
    expect(report.shares["2xx"]).toBeGreaterThan(0);
    const svg = readFileSync(join(out, "soak.svg"), "utf8");
    expect(svg).toContain("prefers-color-scheme: dark");
    expect(svg.match(/class="kill"/g)).toHaveLength(1);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  test("loads a running platform and leaves it running", async () => {
    const args = ["--seconds", "1", "--rate", "30", "--url", world().url, "--out", out];
    const soak = npm("soak", { OPERATOR_CLIENT_SECRET: OPERATOR_SECRET }, ["--", ...args]);
    expect(await soak.ended, soak.output()).toBe(0);
    expect(soak.output()).toContain("Every invariant held.");
    // A foreign platform has no faults inside.
    expect(soak.output()).not.toMatch(/killed|aborted|queue message|crons/);
    expect((await fetch(`${world().url}/health`)).status).toBe(200);
  });
});

describe("the checks of a soak", () => {
  const event = (n: number): ReadEvent => ({ id: `e${n}`, payload: `p${n}`, tenant: "acme" });
  const found = (story: (ledger: EventsLedger) => void): string => {
    const violations = new Violations();
    story(new EventsLedger(violations));
    return violations.lines().join("\n");
  };
  /** Published at 0, 10, …, read at 100, 200, … under locks of a second, committed 50 later, pushed. */
  const publish = (ledger: EventsLedger, ...numbers: number[]): void => {
    for (const n of numbers) {
      ledger.acknowledged([event(n)], [`e${n}`], n * 10, n * 10 + 5);
      ledger.pushed.add(`e${n}`);
    }
  };
  const read = (ledger: EventsLedger, batch: number, ...numbers: number[]): void => {
    const atMs = batch * 100;
    ledger.read(`t${batch}`, numbers.map(event), { sentMs: atMs, answeredMs: atMs + 10, ttlMs: 1_000 });
  };
  const commit = (ledger: EventsLedger, batch: number, ...numbers: number[]): void => {
    ledger.ending(`t${batch}`, batch * 100 + 50);
    ledger.commit(`t${batch}`, numbers.map(event), batch * 100 + 60);
  };
  const consume = (ledger: EventsLedger, batch: number, ...numbers: number[]): void => {
    read(ledger, batch, ...numbers);
    commit(ledger, batch, ...numbers);
  };

  test.each<[found: string, story: (ledger: EventsLedger) => void]>([
    ["", (ledger) => (publish(ledger, 1, 2, 3), consume(ledger, 1, 1, 2), consume(ledger, 2, 3), ledger.check())],
    [
      "read and committed (1 ×)\n  event e2",
      (ledger) => (publish(ledger, 1, 2), consume(ledger, 1, 1), ledger.check()),
    ],
    ["at most one lock at a time", (ledger) => (read(ledger, 1, 1), read(ledger, 2, 1))],
    ["is not delivered again", (ledger) => (publish(ledger, 1), consume(ledger, 1, 1), read(ledger, 2, 1))],
    ["an event is committed once", (ledger) => (consume(ledger, 1, 1), consume(ledger, 2, 1))],
    ["order within a tenant", (ledger) => (publish(ledger, 1, 2), consume(ledger, 1, 2, 1), ledger.check())],
    ["was published so", (ledger) => (consume(ledger, 1, 1), ledger.check())],
    ["is in the topic", (ledger) => (ledger.pushed.add("e1"), ledger.check())],
    ["gets the same batch", (ledger) => (read(ledger, 1, 1), read(ledger, 1, 2))],
  ])("%j", (expected, story) => {
    const lines = found(story);
    expect(lines).toContain(expected);
    expect(lines === "").toBe(expected === "");
  });

  test("find a change without an audit row, with two, and a row without a change", () => {
    const violations = new Violations();
    const changes = new ChangesLedger();
    for (const n of [1, 2, 3]) changes.done.set(`r${n}`, `roles/${n}`);
    changes.unknown("roles/4");
    const row = (requestId: string, subject: string) => ({ requestId, subject, outcome: "done" });
    const rows = [
      row("r1", "roles/1"),
      row("r3", "roles/3"),
      row("r3", "roles/3"),
      row("x", "roles/4"),
      row("y", "roles/5"),
    ];
    changes.check(rows, violations);
    expect(violations.lines()).toEqual([
      "each change has one row of the audit log (2 ×)",
      "  roles/2: 0 rows of request r2",
      "  roles/3: 2 rows of request r3",
      "the audit log tells of no change that nobody made (1 ×)",
      "  roles/5: 1 rows, 0 unanswered attempts",
    ]);
  });
});

describe("the options of a soak", () => {
  test("a seed determines the numbers", () => {
    const numbers = (seed: number): number[] => {
      const random = createRandom(seed);
      return Array.from({ length: 5 }, () => random.share());
    };
    expect(numbers(7)).toEqual(numbers(7));
    expect(numbers(7)).not.toEqual(numbers(8));
  });

  test.each([
    [["--seconds", "0"], "--seconds must be a whole number from 1 to 3600, not 0"],
    [["--rate", "fast"], "--rate must be a whole number"],
    [["--damage", "all"], "--damage must be one of push, events, media, audit, not all"],
    [["--url", "plinth.example"], "--url must be an address"],
    [["--sceonds", "1"], "npm run soak"],
  ])("%j is refused", (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });

  test("a foreign platform is not killed; --help runs nothing", () => {
    expect(readOptions(["--url", "http://127.0.0.1:1/"])).toMatchObject({ kills: 0, url: "http://127.0.0.1:1" });
    expect(readOptions(["--seconds", "60"])).toMatchObject({ kills: 4, rate: 40 });
    expect(readOptions(["--help"])).toBeUndefined();
  });
});
