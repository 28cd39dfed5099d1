import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createAuditLog, NOTES } from "../../src/admin/audit/audit-log.ts";
import { TEXT_CHARS } from "../../src/admin/audit/audit-store.ts";
import { createNoteBudget, type NoteKind } from "../../src/admin/audit/note-budget.ts";
import { COPY, createAuditCopies } from "../../src/admin/audit/copies.ts";
import { chain, findBreak, GENESIS } from "../../src/platform/secrets/audit-chain.ts";
import { createLog } from "../../src/platform/runtime/log.ts";
import { sanitizeForLog } from "../../src/platform/text/text.ts";
import type { AuditRecord } from "../../src/platform/ports/audit.ts";
import { counting } from "../support/counting.ts";
import { isolate } from "../support/isolate.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { makeUser } from "../support/users.ts";
import { call, expectJson, type CallInit } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { itAtNight, runs } from "../support/model-runs.ts";
import { anyText } from "../support/any-text.ts";

const record = (changes: Partial<AuditRecord> = {}): AuditRecord => ({
  atMs: 1_800_000_000_000,
  requestId: "r1",
  actor: "acme.app",
  action: "token",
  subject: "",
  outcome: "refused",
  reason: "no",
  ...changes,
});

interface Entry {
  readonly at: number;
  readonly requestId: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly outcome: string;
  readonly reason?: string;
}

const read = async (query: string, init: CallInit = {}): Promise<Response> =>
  call(`/admin/v1/audit?${query}`, { token: await tokenFor(OPERATOR), ...init });
const entries = async (query: string): Promise<Entry[]> => expectJson(await read(query), 200);
const rows = async (sql: string): Promise<Record<string, any>[]> => (await env.DB.prepare(sql).all()).results;
const clear = () => env.DB.exec("DELETE FROM audit_entry; DELETE FROM audit_copy");
/** Marks all rows as copied. */
const allCopied = () =>
  env.DB.exec("INSERT OR REPLACE INTO audit_copy SELECT 1, 'all', 1, max(seq), 1, '', '', 0, 0, 1 FROM audit_entry");

/** Inserts `count` rows, one a second from `fromMs` on. */
async function fill(count: number, fromMs: number, columns: string, share: string): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
     INSERT INTO audit_entry (at, request_id, actor, action, subject, outcome, reason, share)
     SELECT ?2 + i * 1000, 'r' || i, ${columns}, '', ${share} FROM n`,
  )
    .bind(count, fromMs)
    .run();
}

beforeEach(clear);

/** The dependencies of an audit log. */
const PORTS = { db: env.DB, log: heardLog, operatorClientId: OPERATOR.clientId, wait: async () => {} };

describe("a row of a refusal", () => {
  it("keeps the text without control characters", async () => {
    const audit = createAuditLog(PORTS);
    const strange = `a\u0000b\r\n\u001B[31m\u202Eevil\uD800 "quoted" 'x' é 日本`;
    await audit.note(record({ actor: strange, reason: strange }));
    const [entry] = await entries("outcome=refused");
    const shown = `a\uFFFDb\uFFFD\uFFFD\uFFFD[31m\uFFFDevil\uFFFD "quoted" 'x' é 日本`;
    expect(entry).toMatchObject({ actor: shown, reason: shown, outcome: "refused", at: 1_800_000_000_000 });
    expect(await entries(`actor=${encodeURIComponent(strange.toWellFormed())}`)).toHaveLength(1);
  });

  it("cuts each text to its limit", async () => {
    const audit = createAuditLog(PORTS);
    const long = "😀".repeat(50_000);
    await audit.note(record({ requestId: long, actor: long, action: long, subject: long, reason: long }));
    const [row] = await rows("SELECT * FROM audit_entry");
    expect(row!["actor"]).toHaveLength(TEXT_CHARS.actor);
    expect(row!["reason"]).toHaveLength(TEXT_CHARS.reason);
    expect(row!["reason"].isWellFormed()).toBe(true);
    expect(row!["reason"].endsWith("…")).toBe(true);
    for (const column of ["request_id", "action", "subject"]) expect(row![column].length).toBeLessThanOrEqual(512);
  });

  it("has the whole address of an operator, however long", async () => {
    const actor = `operator ${"a".repeat(64)}@${"b".repeat(185)}.org`;
    await createAuditLog(PORTS).note(record({ actor }));
    expect((await entries(`actor=${encodeURIComponent(actor)}`)).map((entry) => entry.actor)).toEqual([actor]);
  });

  it("is short and harmless for a client id that a stranger made up", async () => {
    const clientId = `${"x".repeat(10_000)}\n\u001B[2J`;
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: "s" };
    expect((await call("/oauth2/v1/token", { form })).status).toBe(401);
    await expect.poll(() => entries("")).toHaveLength(1);
    const [entry] = await entries("");
    expect(JSON.stringify(entry)).not.toMatch(/\\n|\\u001b/i);
    expect(JSON.stringify(entry).length).toBeLessThan(2_500);
  });

  it("is lost without failing the request if the database is away", async () => {
    const errors: string[] = [];
    const db = { prepare: () => ({ bind: () => ({ run: () => Promise.reject(new Error("away")) }) }) };
    const log = { ...heardLog, error: (event: string) => void errors.push(event) };
    await createAuditLog({ ...PORTS, db: db as unknown as D1Database, log }).note(record());
    expect(errors).toEqual(["audit row lost"]);
  });
});

describe("many rows of refusals", () => {
  const unknown = { actor: "" };

  it("are limited; a row of each kind counts the rest", async () => {
    const over = Promise.withResolvers<void>();
    const waited: number[] = [];
    const wait = (ms: number) => {
      waited.push(ms);
      return over.promise;
    };
    const audit = createAuditLog({ ...PORTS, wait });
    const all = Array.from({ length: NOTES.unknownRows + 50 }, () => audit.note(record(unknown)));
    const guesses = Array.from({ length: NOTES.rowsEach + 3 }, () => audit.note(record()));
    await Promise.all([...all.slice(0, NOTES.unknownRows), ...guesses.slice(0, NOTES.rowsEach)]);
    const rowsInAll = NOTES.unknownRows + NOTES.rowsEach;
    expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: rowsInAll }]);
    over.resolve();
    await Promise.all([...all, ...guesses]);
    expect(waited).toEqual([NOTES.windowMs]);
    expect(
      (
        await rows("SELECT subject, actor, action, outcome, reason, share FROM audit_entry ORDER BY seq DESC LIMIT 2")
      ).toReversed(),
    ).toMatchObject([
      {
        subject: "",
        actor: "",
        action: "token",
        outcome: "refused",
        reason: /…and 50 more of this kind/,
        share: "unknown",
      },
      { subject: "acme.app", action: "token", reason: /…and 3 more of this kind/, share: "known" },
    ]);
    expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: rowsInAll + 2 }]);
    await audit.note(record({ ...unknown, atMs: record().atMs + NOTES.windowMs }));
    expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: rowsInAll + 3 }]);
  });

  itAtNight("of 210 unknown clients hide neither ten guesses at a user nor ten at a client", async () => {
    const user = await makeUser();
    const client = await makeClient({ tenant: user.tenant });
    const token = (form: Record<string, string>): Promise<Response> => call("/oauth2/v1/token", { form });
    const credentials = { grant_type: "client_credentials", client_secret: "wrong" };
    const isRefused = async (sent: Promise<Response>[]) => {
      for (const { status } of await Promise.all(sent)) expect([400, 401]).toContain(status);
    };
    await clear();
    await isRefused(Array.from({ length: 210 }, (_, at) => token({ ...credentials, client_id: `junk.c${at}` })));
    const guess = { grant_type: "password", plat_id_provider: "legacy_idp", username: user.email };
    await isRefused(Array.from({ length: 10 }, (_, at) => token({ ...guess, password: `a wrong guess ${at}` })));
    await isRefused(Array.from({ length: 10 }, () => token({ ...credentials, client_id: client.clientId })));
    await expect.poll(() => entries(`subject=users/${user.email}&pageSize=100`)).toHaveLength(10);
    await expect.poll(() => entries(`subject=clients/${client.clientId}&pageSize=100`)).toHaveLength(10);
  });

  const limits = { unknownRows: 3, rowsEach: 2, knownRows: 4, kinds: 3, windowMs: 100 };
  const anyKind = fc.record({ action: fc.constantFrom("a", "b"), about: fc.constantFrom("", "", "x", "y", "z") });

  it("never exceed the limits of a window, and every record is written or counted, at any times", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 60 }), anyKind), { maxLength: 100 }), (notes) => {
        const budget = createNoteBudget(limits);
        let nowMs = 0;
        let tellerMs: number | undefined;
        let told = 0;
        const collect = (): void => {
          const counts = budget.collect();
          expect(counts.length).toBeLessThanOrEqual(limits.kinds + 1);
          for (const { count } of counts) told += count;
        };
        const written: { at: number; kind: NoteKind }[] = [];
        for (const [gap, kind] of notes) {
          nowMs += gap;
          // A teller returns when its wait is over. Every third one ended with its request.
          if (tellerMs !== undefined && nowMs >= tellerMs + limits.windowMs) {
            if (tellerMs % 3 !== 0) collect();
            tellerMs = undefined;
          }
          const place = budget.take(kind, nowMs);
          if (place === "row") written.push({ at: nowMs, kind });
          if (place === "counted, and tell") tellerMs = nowMs;
        }
        collect();
        expect(written.length + told).toBe(notes.length);
        // Windows follow each other, so any stretch of a window's length touches two at most.
        const most = (from: number, of: (kind: NoteKind) => boolean): number =>
          written.filter(({ at, kind }) => at >= from && at < from + limits.windowMs && of(kind)).length;
        for (const { at, kind } of written) {
          const each = most(at, ({ action, about }) => action === kind.action && about === kind.about);
          expect(each).toBeLessThanOrEqual(2 * (kind.about === "" ? limits.unknownRows : limits.rowsEach));
          expect(most(at, ({ about }) => about !== "")).toBeLessThanOrEqual(2 * limits.knownRows);
        }
      }),
    );
  });

  it("leave each kind its own share, and count all kinds beyond the limit as one", () => {
    const budget = createNoteBudget(limits);
    const take = (action: string, about: string) => budget.take({ action, about }, 0);
    for (let count = 0; count < 50; count++) take("token", "");
    expect(take("revoke", "")).toBe("row");
    expect([take("token", "users/a"), take("token", "users/a"), take("token", "users/a")]).toEqual([
      "row",
      "row",
      "counted",
    ]);
    expect(take("token", "users/b")).toBe("row");
    // The budget is used up, but each account still gets its first row.
    const names = ["c", "d", "e", "f"].map((name) => `users/${name}`);
    expect(names.map((name) => take("sign in", name))).toEqual(names.map(() => "row"));
    for (const name of names) take("sign in", name);
    expect(budget.collect()).toEqual([
      { action: "token", about: "", count: 47 },
      { action: "token", about: "users/a", count: 1 },
      { action: "sign in", about: "users/c", count: 1 },
      { action: "", about: "", count: 3 },
    ]);
  });

  it("are counted even if the request that waits is cut off, or the clock goes back", () => {
    const budget = createNoteBudget({ ...limits, unknownRows: 1 });
    const take = (nowMs: number) => budget.take({ action: "a", about: "" }, nowMs);
    expect([take(0), take(1), take(2)]).toEqual(["row", "counted, and tell", "counted"]);
    expect([take(200), take(202)]).toEqual(["row", "counted, and tell"]);
    expect(budget.collect()).toEqual([{ action: "a", about: "", count: 3 }]);
    expect([take(-9_000), take(-8_999)]).toEqual(["row", "counted, and tell"]);
  });
});

describe("sanitizeForLog", () => {
  it("removes controls, changes of direction and half characters, and cuts at the limit", () => {
    fc.assert(
      fc.property(anyText({ maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, maxChars) => {
        const shown = sanitizeForLog(text, maxChars);
        expect(shown.length).toBeLessThanOrEqual(Math.max(maxChars, 1));
        expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        expect(sanitizeForLog(shown, maxChars)).toBe(shown);
      }),
      { numRuns: runs(20) },
    );
  });
});

describe("GET /audit", () => {
  const at = 1_800_000_000_000;
  beforeEach(async () => {
    const audit = createAuditLog(PORTS);
    const records: Partial<AuditRecord>[] = [
      { actor: "plat.operator", action: "put", subject: "users/ada@a.example", outcome: "done" },
      { actor: "plat.operator", action: "delete", subject: "users/bob@a.example", outcome: "done" },
      { actor: "user ada@a.example", action: "sign in", subject: "users/ada@a.example" },
      { actor: "acme.app", action: "token" },
      { actor: "", action: "token" },
    ];
    // Two rows have the same time. The one that was written later is the newer one.
    for (const [index, changes] of records.entries())
      await audit.note(
        record({ atMs: at + Math.min(index, 3) * 1000, requestId: `r${index}`, reason: "", ...changes }),
      );
  });
  const ids = async (query: string) => (await entries(query)).map((entry) => entry.requestId);

  // shows: operator/conventions/get-audit
  it.each([
    ["", ["r4", "r3", "r2", "r1", "r0"]],
    ["action=token", ["r4", "r3"]],
    ["actor=plat.operator", ["r1", "r0"]],
    ["actor=", ["r4"]],
    ["actor=plat", []],
    ["requestId=r3", ["r3"]],
    ["requestId=r3&action=put", []],
    ["requestId=nobody", []],
    ["outcome=refused", ["r4", "r3", "r2"]],
    ["subject=users/", ["r2", "r1", "r0"]],
    ["subject=users/ada@a.example", ["r2", "r0"]],
    ["subject=users/ada%25", []],
    ["subject=", ["r4", "r3", "r2", "r1", "r0"]],
    [`since=${at + 2000}`, ["r4", "r3", "r2"]],
    [`until=${at + 2000}`, ["r2", "r1", "r0"]],
    [`since=${at + 1000}&until=${at + 2000}`, ["r2", "r1"]],
    ["since=2&until=1", []],
    ["subject=users/&outcome=done&action=put&actor=plat.operator", ["r0"]],
    [`subject=users/ada&since=${at + 1}`, ["r2"]],
    ["action=token&actor=acme.app&outcome=done", []],
    ["unknown=1", ["r4", "r3", "r2", "r1", "r0"]],
  ])("%s", async (query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  // shows: operator/conventions/get-audit
  it.each(["", "outcome=refused&", "subject=users/&"])(
    "shows every row once when a reader follows links: %s",
    async (filter) => {
      const whole = await ids(filter);
      const seen: string[] = [];
      let next: string | undefined = `${filter}pageSize=2`;
      while (next !== undefined) {
        const response: Response = await read(next);
        next = /\?([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
        seen.push(...(await expectJson<Entry[]>(response, 200)).map((entry) => entry.requestId));
        // A concurrent write adds a row.
        await createAuditLog({
          db: env.DB,
          log: heardLog,
          operatorClientId: OPERATOR.clientId,
          wait: async () => {},
        }).note(record({ atMs: at + 9000, requestId: "late", subject: "users/x" }));
      }
      expect(seen).toEqual(whole);
      const jumped = await ids(`${filter}pageSize=1&pageNumber=2&until=${at + 8000}`);
      expect(jumped).toEqual(whole.slice(1, 2));
    },
  );
});

describe("GET /audit with wrong input", () => {
  it.each(["since=yesterday", "until=-1", "since=1.5", "outcome=maybe", "since=1&since=2", "cursor=x", "pageSize=0"])(
    "%s",
    async (query) => {
      expect(await expectJson(await read(query), 400)).toMatchObject({ type: "validation_violation" });
    },
  );

  it("refuses a cursor of another list", async () => {
    const cursor = btoa('["a"]').replaceAll("=", "");
    expect((await read(`cursor=${cursor}`)).status).toBe(400);
  });
});

it("GET /audit needs the operator's token", async () => {
  expect((await call("/admin/v1/audit")).status).toBe(401);
  expect((await read("", { token: await tokenFor(await makeClient()) })).status).toBe(403);
});

describe("a log of 100,000 rows", () => {
  beforeEach(async () => {
    await fill(
      100_000,
      1_700_000_000_000,
      `'app' || (i % 500), 'act' || (i % 7), 'users/u' || (i % 1000), CASE i % 5 WHEN 0 THEN 'done' ELSE 'refused' END`,
      `CASE i % 5 WHEN 0 THEN 'done' ELSE 'known' END`,
    );
  });

  /** Returns the answer to a query, and the number of rows that the database read for it. */
  const ask = async (query: string) => {
    const { env: bindings, tally } = counting(env);
    const answer = await isolate(bindings).fetch(`/admin/v1/audit?${query}`, {
      headers: { authorization: `Bearer ${await tokenFor(OPERATOR)}` },
    });
    const next = /\?([^>]*)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
    const found = answer.status === 200 ? await answer.json<Entry[]>() : [];
    return { status: answer.status, ids: found.map(({ requestId }) => requestId), next, read: tally.d1RowsRead };
  };
  const middle = 1_700_050_000_000;
  /** Rows of tokens and keys, which an isolate reads once. */
  const BESIDE = 50;
  /** The rows of 15 minutes, one a second, and 64 rows to the next entry in the index of times. */
  const SLACK = 15 * 60 + 64;

  it.each([
    ["", 17],
    ["action=act3", 17 * 7],
    ["outcome=done", 17 * 5],
    ["actor=app7", 17 * 500],
    ["subject=users/u777&actor=app277", 17 * 1000],
    [`until=${middle}`, 17 + SLACK],
    [`since=${middle}`, 17],
    [`actor=app7&until=${middle}`, 17 * 500 + SLACK],
    [`outcome=refused&since=${middle}`, 2 * 17],
  ])("reads on until a page is full: %s", async (query, most) => {
    const { ids, read: rowsRead } = await ask(query);
    expect(ids).toHaveLength(16);
    expect(rowsRead).toBeLessThanOrEqual(most + BESIDE);
  });

  it("is left where the rows are older than those that are wanted", async () => {
    const { ids, next, read: rowsRead } = await ask("requestId=r5&since=1700099000000");
    expect([ids, next]).toEqual([[], undefined]);
    expect(rowsRead).toBeLessThanOrEqual(1_000 + SLACK + BESIDE);
  });

  it("reads 50,000 rows for a page, and its link goes on behind them", async () => {
    const first = await ask("requestId=r5");
    expect(first.ids).toEqual([]);
    expect(first.read).toBeLessThanOrEqual(50_000 + BESIDE);
    const second = await ask(first.next!);
    expect(second.ids).toEqual(["r5"]);
    expect(second.next).toBeUndefined();
    // A page ends at the limit of rows, even if it is not full, and has a link to the next one.
    expect((await ask("requestId=r99999")).ids).toEqual(["r99999"]);
    expect((await ask("requestId=r99999")).next).toBeDefined();
    expect((await ask("requestId=r5&pageNumber=2")).status).toBe(400);
    expect((await ask("actor=app7&pageNumber=2&pageSize=50")).ids).toHaveLength(50);
  });

  it("loses rows that are 90 days old and rows beyond their share", async () => {
    const kept = {
      ageMs: 90 * 86_400_000,
      rows: { operator: 0, done: 1_000, known: 3_000, unknown: 0, "": 0 },
      uncopied: { known: 400_000, unknown: 400_000 },
    };
    const audit = createAuditLog(
      { db: env.DB, log: heardLog, operatorClientId: OPERATOR.clientId, wait: async () => {} },
      kept,
    );
    await allCopied();
    // The last row is of 1_700_099_999_000: the first 40,000 are too old.
    await audit.sweep(1_700_040_000_000 + kept.ageMs);
    const counted = () =>
      rows("SELECT outcome, count(*) AS n, min(at) AS oldest FROM audit_entry GROUP BY outcome ORDER BY outcome");
    expect(await counted()).toEqual([
      { outcome: "done", n: 1_000, oldest: 1_700_095_000_000 },
      { outcome: "refused", n: 3_000, oldest: 1_700_096_251_000 },
    ]);
    await audit.sweep(1_700_040_000_000 + kept.ageMs);
    expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: 4_000 }]);
    await audit.sweep(1_700_098_000_000 + kept.ageMs);
    expect(await rows("SELECT count(*) AS n, min(at) AS oldest FROM audit_entry")).toEqual([
      { n: 2_000, oldest: 1_700_098_000_000 },
    ]);
  }, 30_000);
});

it("refusals of strangers push out neither changes nor rows about accounts, and a sweep has a limit", async () => {
  await put(`organizations/${unique("org")}`, { name: "x" });
  await fill(10, Date.now(), `'', 'sign in', 'users/ada', 'refused'`, `'known'`);
  await fill(90_000, Date.now() + 60_000, `'', 'token', '', 'refused'`, `'unknown'`);
  const audit = createAuditLog({
    db: env.DB,
    log: heardLog,
    operatorClientId: OPERATOR.clientId,
    wait: async () => {},
  });
  await allCopied();
  await audit.sweep(Date.now());
  const counted = await rows("SELECT outcome, count(*) AS n FROM audit_entry GROUP BY outcome ORDER BY outcome");
  expect(counted).toEqual([
    { outcome: "done", n: 1 },
    { outcome: "refused", n: 40_010 },
  ]);
  await fill(20_000, Date.now(), `'', 'token', '', 'refused'`, `'unknown'`);
  await allCopied();
  await audit.sweep(Date.now() + 200 * 86_400_000);
  // A sweep does 25 steps of 2,000 rows.
  expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: 10_011 }]);
}, 30_000);

it("revocations by clients and users push no change by the operator out of the log", async () => {
  const id = unique("org");
  await put(`organizations/${id}`, { name: "x" });
  await fill(12_000, Date.now() + 1_000, `'user a@b.example', 'revoke', '', 'done'`, `'done'`);
  await allCopied();
  await createAuditLog(PORTS).sweep(Date.now());
  const counted = await rows("SELECT action, count(*) AS n FROM audit_entry GROUP BY action ORDER BY action");
  expect(counted).toEqual([
    { action: "put", n: 1 },
    { action: "revoke", n: 10_000 },
  ]);
});

describe("the release before, while it still runs", () => {
  const DAY = 86_400_000;
  const write = (atMs: number) =>
    env.DB.prepare(
      `INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share)
       VALUES (?1, 'before', 'acme.app', 'token', '', 'refused', 'no', 'known')`,
    ).bind(atMs);

  it("has its rows in the log, with numbers of their own, and in its own table for a day", async () => {
    const audit = createAuditLog(PORTS);
    await env.DB.exec("DELETE FROM audit");
    await audit.note(record({ atMs: Date.now(), requestId: "first" }));
    // The transactions of the audit log ask whether the previous statement changed a row.
    const [, changed] = await env.DB.batch([write(Date.now()), env.DB.prepare("SELECT changes() AS n")]);
    expect(changed!.results).toEqual([{ n: 1 }]);
    await audit.note(record({ atMs: Date.now(), requestId: "last" }));
    expect((await entries("outcome=refused")).map(({ requestId }) => requestId)).toEqual(["last", "before", "first"]);
    await audit.sweep(Date.now() + DAY - 60_000);
    expect(await rows("SELECT count(*) AS n FROM audit")).toEqual([{ n: 1 }]);
    await audit.sweep(Date.now() + DAY + 60_000);
    expect(await rows("SELECT count(*) AS n FROM audit")).toEqual([{ n: 0 }]);
    expect(await entries("requestId=before")).toHaveLength(1);
  });

  it("makes no copy: it does not see every row", async () => {
    const plan = env.DB.prepare(
      `INSERT INTO audit_copy (number, name, rows, first_seq, last_seq, previous, head, planned_at)
       VALUES (1, 'c', 1, 1, 1, '', 'h', 1) ON CONFLICT DO NOTHING`,
    );
    expect((await plan.run()).meta.changes).toBe(0);
    expect(await rows("SELECT * FROM audit_copy")).toEqual([]);
  });
});

it("gives no number twice: where every row has left the log, the copies have the last one", async () => {
  const audit = createAuditLog({
    db: env.DB,
    log: heardLog,
    operatorClientId: OPERATOR.clientId,
    wait: async () => {},
  });
  for (const requestId of ["one", "two"]) await audit.note(record({ requestId }));
  await allCopied();
  const [{ last }] = (await rows("SELECT max(seq) AS last FROM audit_entry")) as [{ last: number }];
  await env.DB.exec("DELETE FROM audit_entry");
  await audit.note(record({ requestId: "three" }));
  expect(await rows("SELECT seq FROM audit_entry WHERE request_id = 'three'")).toEqual([{ seq: last + 1 }]);
});

describe("copies of the log in the bucket", () => {
  const DAY = 86_400_000;
  const day = Date.UTC(2026, 10, 22);
  const copiesOf = (bindings: Partial<{ bucket: R2Bucket }> = {}) =>
    createAuditCopies({ db: env.DB, bucket: env.MEDIA, log: heardLog, ...bindings });
  const copies = copiesOf();
  const ends = () => Promise.reject(new Error("ended here"));
  const unwritable = new Proxy(env.MEDIA, {
    get: (target, name) => (name === "put" ? ends : Reflect.get(target, name, target)),
  });
  /** A sweep that keeps no copied row. */
  const sweepThatKeeps = (uncopied: { known: number; unknown: number }) => () => {
    const kept = { ageMs: DAY, rows: { operator: 0, done: 0, known: 0, unknown: 0, "": 0 }, uncopied };
    const deps = { db: env.DB, log: heardLog, operatorClientId: OPERATOR.clientId, wait: async () => {} };
    return createAuditLog(deps, kept).sweep(day + 10 * DAY);
  };
  const written = async () => copies.page(0, 100, 0);
  const linesOf = async (number: number): Promise<readonly string[]> => {
    const copy = await copies.read(number);
    if (copy === undefined || copy === "missing") throw new Error(`copy ${number}: ${copy}`);
    return copy.lines;
  };
  const breakOf = async (number: number, lines?: readonly string[]) => {
    const copy = (await written()).find((one) => one.number === number)!;
    return findBreak(lines ?? (await linesOf(number)), copy);
  };
  const rowsToCopy = (count: number) => fill(count, day, `'app' || i, 'put', 'users/u' || i, 'done'`, `'operator'`);
  beforeEach(async () => {
    for (const { key } of (await env.MEDIA.list({ prefix: "audit/" })).objects) await env.MEDIA.delete(key);
  });

  it("are made once a day, each chained to the previous one, and more often when many rows wait", async () => {
    await copies.run(day);
    expect(await written()).toEqual([]);
    await rowsToCopy(3);
    await copies.run(day);
    await rowsToCopy(2);
    await copies.run(day + DAY - 1);
    expect(await written()).toHaveLength(1);
    await copies.run(day + DAY);
    await rowsToCopy(COPY.rows + 10);
    await copies.run(day + DAY + 1);
    const [first, second, third, ...rest] = await written();
    expect(rest).toEqual([]);
    expect(first).toMatchObject({
      number: 1,
      rows: 3,
      previous: GENESIS,
      name: /^audit\/2026\/11\/22-000001-[0-9a-f]{16}\.jsonl$/,
    });
    expect(second).toMatchObject({ number: 2, rows: 2, previous: first!.head, firstSeq: first!.lastSeq + 1 });
    expect(third).toMatchObject({ number: 3, rows: COPY.rows, previous: second!.head });
    for (const number of [1, 2, 3]) expect(await breakOf(number)).toBeUndefined();
    expect(JSON.parse((await linesOf(1))[1]!)).toMatchObject({
      seq: first!.firstSeq,
      actor: "app0",
      subject: "users/u0",
    });
    expect(
      await expectJson(await call("/admin/v1/audit/copies?pageSize=2", { token: await tokenFor(OPERATOR) }), 200),
    ).toHaveLength(2);
    const shown = await expectJson(await call("/admin/v1/audit/copies/1", { token: await tokenFor(OPERATOR) }), 200);
    expect(shown).toMatchObject({ head: first!.head, lines: await linesOf(1) });
    expect((await call("/admin/v1/audit/copies/9", { token: await tokenFor(OPERATOR) })).status).toBe(404);
    await env.MEDIA.delete(first!.name);
    expect((await call("/admin/v1/audit/copies/1", { token: await tokenFor(OPERATOR) })).status).toBe(404);
  });

  it("make one chain when a run is cut off, and when two run at once", async () => {
    await rowsToCopy(5);
    await expect(copiesOf({ bucket: unwritable }).run(day)).rejects.toThrow("ended here");
    await rowsToCopy(5);
    expect(await written()).toEqual([]);
    await Promise.all([copies.run(day + DAY), copies.run(day + DAY), copiesOf().run(day + DAY)]);
    const all = await written();
    expect(all[0]).toMatchObject({ number: 1, rows: 5, name: /^audit\/2026\/11\/22-/ });
    expect(all.reduce((sum, copy) => sum + copy.rows, 0)).toBeGreaterThanOrEqual(5);
    for (const { number } of all) expect(await breakOf(number)).toBeUndefined();
    expect((await env.MEDIA.list({ prefix: "audit/" })).objects).toHaveLength(all.length);
  });

  it("are planned again when a plan cannot be carried out any more", async () => {
    await rowsToCopy(5);
    await expect(copiesOf({ bucket: unwritable }).run(day)).rejects.toThrow("ended here");
    await env.DB.exec(
      "UPDATE audit_entry SET reason = 'in other words' WHERE seq = (SELECT min(seq) FROM audit_entry)",
    );
    await copies.run(day);
    expect(await breakOf(1)).toBeUndefined();
    expect((await linesOf(1))[1]).toContain("in other words");
  });

  it("show which line was changed, removed, added, moved or cut off", async () => {
    await rowsToCopy(20);
    await copies.run(day);
    const lines = await linesOf(1);
    const { name, firstSeq } = (await written())[0]!;
    const moved = lines.toSpliced(4, 2, lines[5]!, lines[4]!);
    const cases: [string, readonly string[], number, RegExp][] = [
      ["changed", lines.with(7, lines[7]!.replace("app6", "app9")), 8, new RegExp(`row ${firstSeq + 6} was changed`)],
      ["its hash", lines.with(7, lines[7]!.replace(/.{4}"\}$/, '0000"}')), 8, /was changed/],
      ["taken out", lines.toSpliced(7, 1), 8, /rows between \d+ and \d+ were taken out/],
      ["put in", lines.toSpliced(7, 0, lines[6]!), 8, /rows were moved/],
      ["moved", moved, 5, /was changed, or rows between/],
      ["the first", lines.with(0, lines[0]!.replace('"rows":20', '"rows":19')), 1, /first line was changed/],
      ["cut", lines.slice(0, 15), 16, /6 lines are missing at the end/],
      ["no line", lines.with(3, "{}"), 4, /none of a copy/],
      ["longer", [...lines, lines[20]!], 22, /./],
    ];
    for (const [what, tampered, line, reason] of cases) {
      // This write goes to the bucket itself, as an attacker with its keys would do it.
      await env.MEDIA.put(name, `${tampered.join("\n")}\n`);
      const found = await breakOf(1);
      expect(found, what).toMatchObject({ line });
      expect(found?.reason, what).toMatch(reason);
    }
    const { previous } = (await written())[0]!;
    const facts = { number: 1, rows: 20, firstSeq, lastSeq: firstSeq + 19, previous };
    const anew = await chain(
      facts,
      lines.slice(1).map((line) => ({ ...JSON.parse(line), actor: "somebody else" })),
    );
    expect(await breakOf(1, anew.lines)).toMatchObject({ line: 21, reason: /written anew/ });
  });

  it("let the sweep remove the rows that they hold, and no others", async () => {
    const sweep = sweepThatKeeps({ known: 400_000, unknown: 400_000 });
    await rowsToCopy(4);
    await sweep();
    expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: 4 }]);
    await copies.run(day);
    await rowsToCopy(1);
    await sweep();
    expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: 1 }]);
  });

  it("let refusals beyond a ceiling be dropped, with a row that says so, while none can be made", async () => {
    const sweep = sweepThatKeeps({ known: 7, unknown: 4 });
    await fill(10, day, `'', 'token', '', 'refused'`, `'unknown'`);
    await fill(3, day, `'', 'sign in', 'users/ada', 'refused'`, `'known'`);
    await fill(20, day, `'user a@b.example', 'revoke', '', 'done'`, `'done'`);
    const plan = () => copiesOf({ bucket: unwritable }).run(day);
    await expect(plan()).rejects.toThrow("ended here");
    await sweep();
    const counted = () => rows("SELECT share, count(*) AS n FROM audit_entry WHERE action <> 'audit' GROUP BY share");
    expect(await counted()).toEqual([
      { share: "done", n: 20 },
      { share: "known", n: 3 },
      { share: "unknown", n: 4 },
    ]);
    expect(await rows("SELECT outcome, reason FROM audit_entry WHERE action = 'audit'")).toEqual([
      { outcome: "done", reason: "6 refusals were dropped before they could be copied to the bucket" },
    ]);
    await sweep();
    expect(await rows("SELECT count(*) AS n FROM audit_entry")).toEqual([{ n: 28 }]);
    // The plan is not possible any more, so the remaining rows are planned again.
    await copies.run(day);
    expect(await written()).toMatchObject([{ rows: 28 }]);
    expect(await breakOf(1)).toBeUndefined();
  });
});

describe("the structured log", () => {
  it("writes one line for any text, and cuts long ones", () => {
    const lines: string[] = [];
    const spied = vi.spyOn(console, "warn").mockImplementation((line: string) => void lines.push(line));
    const steering = "\n\u001B[2J\u0085\u009B\u2028\u2029\u202E\u2066\uFEFF\u{E0001}";
    createLog("warn").warn("x", { reason: `a${steering}${"y".repeat(100_000)}`, kept: `${steering}é€🙂`, status: 400 });
    spied.mockRestore();
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(lines[0]).toContain("é€🙂");
    expect(lines[0]!.length).toBeLessThan(10_000);
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: "warn", event: "x", kept: `${steering}é€🙂`, status: 400 });
  });
});
