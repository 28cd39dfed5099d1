import * as fc from "fast-check";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { MediaJob } from "../../src/media/job.ts";
import type { Fate } from "./faults.ts";
import {
  answer,
  bytesOf,
  CALLERS,
  expirePending,
  filesOf,
  mayHaveHappened,
  mayLinger,
  METADATA,
  NO_ANSWER,
  pairsOf,
  TENANTS,
  variantsOf,
  type Answer,
  type Call,
  type Listing,
  type ModelFile,
  type Visibility,
  type World,
} from "./file-model.ts";
import { START_MS } from "./media-app.ts";
import { CONTENTS, Driver, erasureText, type Shown } from "./model-driver.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const VARIANTS = ["clip-4x4", "crop-2x2", "clip-3x5"];
const QUERIES = ["color:red", "price:9", "a.b:true", "price:9 color:red", "a.b.c:red", "color:none"];

const ORDERS: readonly (readonly [Visibility, Listing["sort"]])[] = [
  ["private", []],
  [
    "private",
    [
      ["price", "desc"],
      ["color", "asc"],
    ],
  ],
  [
    "public",
    [
      ["", "desc"],
      ["a.b", "asc"],
    ],
  ],
];

/** A call before it is known which files there are; numbers choose among them, the latest first. */
type Intent = { readonly by: number | "owner"; readonly file: number; readonly isAstray: boolean } & Wish;
type Wish =
  | {
      readonly do: "create";
      readonly visibility: Visibility;
      readonly type: string;
      readonly variants: readonly string[];
    }
  | { readonly do: "put"; readonly content: number; readonly how: (Call & { do: "put" })["how"] }
  | { readonly do: "commit"; readonly tenant: string | undefined; readonly metadata: number }
  | { readonly do: "describe"; readonly metadata: number }
  | { readonly do: "delete" | "read metadata" | "list variants" | "report" }
  | { readonly do: "add variants" | "delete variants"; readonly variants: readonly string[] }
  | { readonly do: "fetch"; readonly variant: string; readonly fallback: boolean; readonly tenant: string | undefined }
  | { readonly do: "content"; readonly variant: string; readonly signed: boolean }
  | { readonly do: "delete all" | "delete by query"; readonly q: string }
  | ({ readonly do: "list" } & Listing)
  | ({ readonly do: "bulk add" | "bulk delete"; readonly variants: readonly string[] } & Listing)
  /** The latest change once more. */
  | { readonly do: "repeat" };

type Step = { readonly fates: readonly Fate[] } & (
  | { readonly do: "calls"; readonly calls: readonly Intent[] }
  /** A file from its creation to its commit. */
  | { readonly do: "store"; readonly intents: readonly Intent[] }
  | { readonly do: "deliver"; readonly which: number; readonly how: "once" | "twice" | "dead" | "both" | "and again" }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "sweep" | "compare" | "repair" }
);

const weighted = <T>(...choices: readonly [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  weighted([4, fc.constant(usual)], [1, fc.constantFrom(...others)]);

const content = fc.nat(CONTENTS.length - 1);
const metadata = fc.nat(METADATA.length - 1);
const variants = fc.subarray(VARIANTS);
const variant = fc.constantFrom("", "", ...VARIANTS);
const visibility = fc.constantFrom<Visibility>("private", "public");
const tenant = mostly<string | undefined>(undefined, ...TENANTS);

const wish = <W extends Wish>(name: W["do"], fields: { [K in keyof Omit<W, "do">]: fc.Arbitrary<W[K]> }) =>
  fc.record({ do: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<Wish>;
const of = <D extends Wish["do"]>(
  name: D,
  fields: { [K in keyof Omit<Wish & { do: D }, "do">]: fc.Arbitrary<(Wish & { do: D })[K]> },
): fc.Arbitrary<Wish> => wish(name, fields as any);

const intentOf = (choice: fc.Arbitrary<Wish>): fc.Arbitrary<Intent> =>
  fc
    .record({
      by: mostly<number | "owner">("owner", 0, 1, 2),
      file: fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 4),
      isAstray: fc.constantFrom(...Array(15).fill(false), true),
    })
    .chain((given) => choice.map((wished) => ({ ...given, ...wished })));

const create = weighted<Wish>(
  [9, of("create", { visibility, type: fc.constant("image/png"), variants })],
  [2, of("create", { visibility, type: fc.constant("text/plain"), variants: mostly([], VARIANTS) })],
);
const put = of("put", { content, how: mostly<any>("right", "no length", "wrong type", "broken off") });
const commit = of("commit", { tenant, metadata });
const listing: fc.Arbitrary<Listing> = fc.record({
  q: mostly("", ...QUERIES),
  types: mostly<readonly string[]>([], ["image/png"], ["text/plain"], ["text/plain", "image/png"]),
  sort: fc.array(fc.tuple(fc.constantFrom("", "color", "price", "a.b", "none"), fc.constantFrom("asc", "desc")), {
    maxLength: 2,
  }),
  pageSize: mostly(3, 1, 2, 1000),
  pageNumber: mostly(1, 2, 3),
});
const reading = weighted<Wish>(
  [3, listing.map((asked) => ({ do: "list" as const, ...asked }))],
  [2, of("fetch", { variant, fallback: fc.boolean(), tenant })],
  [2, of("content", { variant, signed: fc.boolean() })],
  [1, of("read metadata", {})],
  [1, of("list variants", {})],
  [1, of("report", {})],
);
const bulk = fc
  .record({ variants: fc.subarray(VARIANTS, { minLength: 1 }), pageSize: mostly(3, 1, 2, 1000), asked: listing })
  .map(({ variants: names, pageSize, asked }) => ({ ...asked, sort: [], variants: names, pageSize }));
const changing = weighted<Wish>(
  [2, bulk.map((asked) => ({ do: "bulk add" as const, ...asked }))],
  [1, bulk.map((asked) => ({ do: "bulk delete" as const, ...asked, types: [] }))],
  [2, create],
  [3, put],
  [4, commit],
  [2, of("describe", { metadata })],
  [3, of("add variants", { variants: fc.subarray(VARIANTS, { minLength: 1 }) })],
  [2, of("delete variants", { variants })],
  [2, of("delete", {})],
  [1, of("delete all", { q: fc.constant("") })],
  [1, of("delete by query", { q: fc.constantFrom(...QUERIES) })],
  [3, of("repeat", {})],
);
const call = intentOf(weighted([2, changing], [1, reading]));

const fates: fc.Arbitrary<readonly Fate[]> = weighted<readonly Fate[]>(
  [2, fc.constant([])],
  [3, fc.array(fc.constantFrom<Fate>("done", "done", "failed", "lost"), { minLength: 1, maxLength: 9 })],
);

const right = (choice: fc.Arbitrary<Wish>) =>
  intentOf(choice).map((intent) => ({ ...intent, file: 0, isAstray: false }));
const stepOf = (arbitrary: fc.Arbitrary<object>): fc.Arbitrary<Step> =>
  fc.tuple(arbitrary, fates).map(([step, planned]) => ({ ...step, fates: planned }) as Step);

const step: fc.Arbitrary<Step> = weighted<Step>(
  [
    4,
    stepOf(
      fc.record({
        do: fc.constant("store"),
        intents: fc.tuple(
          right(create),
          right(of("put", { content, how: fc.constant("right" as const) })),
          right(of("commit", { tenant: fc.constant(undefined), metadata })),
        ),
      }),
    ),
  ],
  [16, stepOf(fc.record({ do: fc.constant("calls"), calls: fc.array(call, { minLength: 1, maxLength: 1 }) }))],
  [5, stepOf(fc.record({ do: fc.constant("calls"), calls: fc.array(call, { minLength: 2, maxLength: 2 }) }))],
  [
    7,
    stepOf(
      fc.record({
        do: fc.constant("deliver"),
        which: fc.nat(5),
        how: fc.constantFrom("once", "once", "once", "twice", "dead", "both", "and again"),
      }),
    ),
  ],
  [
    3,
    stepOf(
      fc.record({
        do: fc.constant("wait"),
        ms: fc.constantFrom(MINUTE_MS, 4 * MINUTE_MS, 16 * MINUTE_MS, HOUR_MS, DAY_MS),
      }),
    ),
  ],
  [3, stepOf(fc.record({ do: fc.constantFrom("sweep", "sweep", "sweep", "compare", "repair") }))],
);

export const schedule = fc.array(step, { minLength: 15, maxLength: 30, size: "max" });

/** Runs a schedule on the room and on the model, step by step; then everything comes to rest, is looked at, and goes. */
export async function runSchedule(steps: readonly Step[]): Promise<void> {
  await Driver.wipe();
  const run = new Run();
  for (const next of steps) await run.step(next);
  await run.rest();
  await run.checkAll();
  await run.deleteAll();
}

class Run {
  readonly #driver = new Driver();
  /** Several only within a step: which of them it is shows. */
  #worlds: World[] = [{ nowMs: START_MS, files: [], erasures: [] }];
  #latest: Call | undefined;
  /** Settled, and to come once more. */
  #again: MediaJob[] = [];
  #compared: string | undefined;

  get #world(): World {
    return this.#worlds[0]!;
  }

  async step(next: Step): Promise<void> {
    const { bindings, app } = this.#driver;
    bindings.plan(next.fates);
    switch (next.do) {
      case "calls":
        await this.#say(next.calls);
        break;
      case "store":
        bindings.plan([]);
        for (const intent of next.intents) await this.#say([intent]);
        break;
      case "deliver":
        await this.#deliver(next.which, next.how);
        break;
      case "wait":
        this.#wait(next.ms);
        break;
      case "sweep":
        await this.#sweep();
        break;
      case "compare":
      case "repair": {
        const by = { actor: "operator", requestId: "request", nowMs: app.clock.nowMs };
        const { consistency } = app.media;
        const asked = next.do === "compare" ? consistency.start(by) : consistency.repair(this.#compared ?? "none", by);
        const started = await asked.catch(() => undefined);
        if (started?.ok === true) this.#compared = started.value.id;
      }
    }
    await app.settle();
    bindings.plan([]);
    await this.#look();
  }

  #wait(ms: number): void {
    this.#driver.app.clock.nowMs += ms;
    for (const world of this.#worlds) world.nowMs += ms;
  }

  async #say(intents: readonly Intent[]): Promise<void> {
    const calls = intents.flatMap((intent) => toCall(this.#world, intent, this.#latest) ?? []);
    if (calls.length === 0) return;
    this.#latest = calls.find(mayHaveHappened) ?? this.#latest;
    const seen = await Promise.all(calls.map((one) => this.#driver.call(one)));
    await this.#driver.app.settle();
    if (this.#driver.bindings.unanswered === 0) expect(seen.map(({ status }) => status)).not.toContain(NO_ANSWER);
    this.#worlds = answerAll(this.#worlds, calls, seen);
  }

  /** What may have changed or not is in two worlds; without a fault it has changed. */
  #mayHave(change: (world: World) => void): void {
    const changed = this.#worlds.map((world) => structuredClone(world));
    for (const world of changed) change(world);
    this.#worlds = this.#driver.bindings.unanswered === 0 ? changed : [...changed, ...this.#worlds];
  }

  async #sweep(): Promise<void> {
    const { app } = this.#driver;
    await app.media.sweep(app.clock.nowMs);
    this.#mayHave(expirePending);
  }

  async #deliver(which: number, how: (Step & { do: "deliver" })["how"]): Promise<void> {
    const { bindings, makings } = this.#driver;
    const waiting = [...bindings.messages, ...this.#again];
    const job = waiting[which % waiting.length];
    if (job === undefined) return;
    const copies = how === "twice" ? [job, job] : [job];
    const settled = await Promise.all([
      this.#driver.deliver(copies, { dead: how === "dead" }),
      ...(how === "both" ? [this.#driver.deliver(copies, { dead: true })] : []),
    ]);
    const isSettled = settled.every(({ retried }) => retried === 0);
    if (bindings.unanswered === 0) expect(isSettled).toBe(true);
    if (isSettled) {
      bindings.messages = bindings.messages.filter((other) => other !== job);
      this.#again = this.#again.filter((other) => other !== job);
      if (how === "and again") this.#again.push(job);
    }
    if (!this.#driver.isVariantJob(job)) return;
    const making = makings.get(job.nonce);
    if (making?.state !== "pending") return;
    const before = this.#worlds;
    const set = (state: "ready" | "failed") => {
      this.#worlds = before;
      this.#mayHave((world) => setVariant(world, making.file, making.variant, state));
      return this.#worlds;
    };
    const file = fileOf(this.#world, making.file);
    const made = isImage(file) ? "ready" : "failed";
    this.#worlds = how === "both" ? [...set(made), ...set("failed")] : set(how === "dead" ? "failed" : made);
  }

  /** Of the worlds that there may be, the one that is there. */
  async #look(): Promise<void> {
    const shown = await this.#driver.look(new Set(this.#world.files.map(({ id }) => id)));
    const fitting = this.#worlds.filter((world) => JSON.stringify(showOf(world)) === JSON.stringify(sorted(shown)));
    if (fitting.length === 0) expect(sorted(shown)).toEqual(showOf(this.#world));
    this.#worlds = fitting.slice(0, 1);
  }

  /** Faults have ended: all that is due is done, whatever it waits for. */
  async rest(): Promise<void> {
    const { bindings, app } = this.#driver;
    bindings.plan([]);
    for (const ms of [16 * MINUTE_MS, DAY_MS, DAY_MS, 16 * MINUTE_MS]) {
      this.#wait(ms);
      await this.#sweep();
      for (let round = 0; bindings.messages.length + this.#again.length > 0; round++) {
        expect(round).toBeLessThan(20);
        const jobs = [...bindings.messages.splice(0), ...this.#again.splice(0)];
        expect((await this.#driver.deliver(jobs)).retried).toBe(0);
      }
      await app.settle();
    }
    for (const { files } of this.#worlds)
      for (const file of files)
        for (const [name, state] of Object.entries(file.variants))
          if (state === "pending") file.variants[name] = isImage(file) ? "ready" : "failed";
    await this.#look();
  }

  /** After the rest, all that there is is what the model says. */
  async checkAll(): Promise<void> {
    const { files, erasures } = this.#world;
    const committed = files.filter(({ state }) => state === "committed");
    for (const file of files) await this.#readAll(file);
    expect(await this.#keys()).toEqual(
      committed
        .flatMap((file) => [
          `blob/${file.id}`,
          ...[...this.#driver.makings]
            .filter(([, making]) => making.file === file.id && making.state === "ready")
            .map(([nonce]) => `variant/${file.id}/${nonce}`),
        ])
        .sort(),
    );
    expect(await rows("SELECT count(*) AS n FROM file WHERE state <> 'committed'")).toEqual([{ n: 0 }]);
    expect(await rows("SELECT count(*) AS n FROM variant WHERE state NOT IN ('ready', 'failed')")).toEqual([{ n: 0 }]);
    expect(await rows("SELECT count(*) AS n FROM owner WHERE erasure_id IS NOT NULL")).toEqual([{ n: 0 }]);
    for (const tenantId of TENANTS) {
      const own = committed.filter((file) => file.tenant === tenantId);
      const bytes = own.reduce((sum, file) => sum + bytesOf(file, CONTENTS), 0);
      expect(await this.#driver.app.media.usage(tenantId)).toEqual({ files: own.length, bytes });
    }
    for (const by of CALLERS.keys()) await this.#listAll(by);
    await this.#checkIndex(committed);
    await this.#checkErasures();
    for (const { id, client } of erasures)
      if (id !== undefined)
        await this.#say([{ do: "report", by: CALLERS.findIndex((caller) => caller.client === client) } as any]);
    await this.#compare();
  }

  /** By every way; what is removed by none. */
  async #readAll(file: ModelFile): Promise<void> {
    const by = CALLERS.findIndex(({ client }) => client === file.client);
    const on = { by, file: file.id, visibility: file.visibility };
    const reads: Call[] = [
      { ...on, do: "read metadata" },
      { ...on, do: "list variants" },
      ...["", ...Object.keys(file.variants), "crop-1x1"].flatMap((name): Call[] => [
        { ...on, do: "fetch", variant: name, fallback: false, tenant: undefined },
        { ...on, do: "content", variant: name, signed: false },
      ]),
    ];
    for (const asked of reads) this.#worlds = answerAll(this.#worlds, [asked], [await this.#driver.call(asked)]);
    for (const name of Object.keys(file.links)) {
      if (file.visibility === "public") continue;
      const asked: Call = { ...on, do: "content", variant: name, signed: true };
      this.#worlds = answerAll(this.#worlds, [asked], [await this.#driver.call(asked)]);
    }
  }

  /** By pages that follow one another, unsorted and sorted. */
  async #listAll(by: number): Promise<void> {
    for (const from of CALLERS[by]!.reaches)
      for (const [kind, sort] of ORDERS) {
        const all = { by, tenant: from, visibility: kind, q: "", types: [], sort, pageSize: 1000, pageNumber: 1 };
        const seen = await this.#driver.listAll({ do: "list", ...all, pageSize: 2 });
        this.#worlds = answerAll(this.#worlds, [{ do: "list", ...all }], [seen]);
      }
  }

  async #checkIndex(committed: readonly ModelFile[]): Promise<void> {
    const found = await rows("SELECT file_id, key, value FROM attribute WHERE key LIKE '.%'");
    const text = ([id, key, value]: readonly unknown[]) => `${id as string} ${key as string} ${JSON.stringify(value)}`;
    const expected = committed.flatMap((file) =>
      pairsOf(METADATA[file.metadata]).map((pair) => text([file.id, ...pair])),
    );
    expect(found.map((row: any) => text([row.file_id, row.key, row.value])).sort()).toEqual(expected.sort());
    const types = await rows("SELECT file_id AS id FROM attribute WHERE key = '#type' ORDER BY file_id");
    expect(types).toEqual(committed.map(({ id }) => ({ id })).sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  /** Every deletion has come to its end, with exact counts. */
  async #checkErasures(): Promise<void> {
    const open = await rows(
      `SELECT * FROM erasure WHERE verified_at IS NULL OR deleted_at IS NULL OR deleted_files <> files
        OR verified_files <> files OR deleted_bytes <> bytes`,
    );
    expect(open).toEqual([]);
  }

  /** The operator's own comparison finds nothing wrong. */
  async #compare(): Promise<void> {
    const { app, bindings } = this.#driver;
    const { consistency } = app.media;
    const by = { actor: "operator", requestId: "request", nowMs: app.clock.nowMs };
    const started = await consistency.start(by);
    if (!started.ok) throw new Error("a run is under way after the rest");
    while (bindings.messages.length > 0) await this.#driver.deliver(bindings.messages.splice(0));
    const done = (await consistency.find(started.value.id))!;
    expect(done).toMatchObject({ state: "done", found: NOTHING_FOUND });
    const makings = [...this.#driver.makings.values()].filter(({ state }) => state === "ready").length;
    const files = Object.keys(showOf(this.#world).files).length;
    expect(done.checked).toEqual({ files, variants: makings, objects: files + makings });
  }

  async deleteAll(): Promise<void> {
    for (const by of [0, 2])
      for (const from of CALLERS[by]!.reaches)
        for (const kind of ["private", "public"] as const) {
          const asked: Call = { do: "delete all", by, tenant: from, visibility: kind };
          this.#worlds = answerAll(this.#worlds, [asked], [await this.#driver.call(asked)]);
          expect(filesOf(this.#world, { client: CALLERS[by]!.client, tenant: from, visibility: kind })).toEqual([]);
        }
    await this.#driver.app.settle();
    await this.rest();
    await this.#checkErasures();
    expect(await this.#keys()).toEqual([]);
    for (const table of ["file", "variant", "attribute", "key_set"])
      expect([table, await rows(`SELECT * FROM ${table}`)]).toEqual([table, []]);
  }

  async #keys(): Promise<string[]> {
    return (await env.MEDIA.list()).objects.map(({ key }) => key).sort();
  }
}

const NOTHING_FOUND = { orphan_object: 0, missing_bytes: 0, missing_variant: 0, size_differs: 0, etag_differs: 0 };

const rows = async (sql: string): Promise<object[]> => (await env.DB.prepare(sql).all()).results;

const fileOf = (world: World, id: string): ModelFile => world.files.find((file) => file.id === id)!;

const isImage = ({ upload }: ModelFile): boolean => CONTENTS[upload!]!.isImage;

/** A making that is not pending any more stays as it is. */
function setVariant(world: World, id: string, name: string, state: "ready" | "failed"): void {
  const file = fileOf(world, id);
  if (file.state === "committed" && file.variants[name] === "pending") file.variants[name] = state;
}

const showOf = (world: World): Shown => ({
  files: Object.fromEntries(
    world.files
      .filter(({ state }) => state !== "removed")
      .map((file) => [
        file.id,
        {
          state: file.state,
          tenant: file.tenant,
          metadata: file.state === "pending" ? {} : METADATA[file.metadata],
          uploaded: file.upload !== undefined,
          variants: variantsOf(file),
        },
      ])
      .sort(([a], [b]) => (a! < b! ? -1 : 1)),
  ),
  erasures: world.erasures.map(erasureText).sort(),
});

const sorted = ({ files, erasures }: Shown): Shown => ({
  files: Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))),
  erasures,
});

/**
 * Checks the answers to calls that were under way at once: there is an order of the calls in which each of them may be
 * given. A change whose answer did not come may have happened or not.
 */
function answerAll(worlds: readonly World[], calls: readonly Call[], seen: readonly Answer[]): World[] {
  const after: World[] = [];
  const complaints: { readonly call: Call; readonly seen: Answer; readonly expected: Answer }[] = [];
  const goOn = (world: World, left: readonly number[]): void => {
    if (left.length === 0) return void after.push(world);
    for (const at of left) {
      const rest = left.filter((other) => other !== at);
      const then = structuredClone(world);
      const expected = answer(then, calls[at]!, seen[at]!, CONTENTS);
      if (seen[at]!.status === NO_ANSWER) {
        goOn(world, rest);
        if (mayHaveHappened(calls[at]!) && expected.status < 300) goOn(then, rest);
      } else if (fits(seen[at]!, expected) || mayLinger(world, calls[at]!, seen[at]!)) goOn(then, rest);
      else complaints.push({ call: calls[at]!, seen: seen[at]!, expected });
    }
  };
  for (const world of worlds) goOn(world, [...calls.keys()]);
  const [first] = complaints;
  if (after.length === 0 && first !== undefined)
    expect({ call: first.call, ...first.seen }).toEqual({ call: first.call, ...first.expected });
  return after;
}

const fits = (seen: Answer, expected: Answer): boolean =>
  seen.status === expected.status && JSON.stringify(seen.says) === JSON.stringify(expected.says);

function toCall(world: World, intent: Intent, latest: Call | undefined): Call | undefined {
  if (intent.do === "repeat") return latest;
  const file = world.files.at(-1 - (intent.file % Math.max(1, world.files.length)));
  const { isAstray, by: given, ...wished } = intent;
  if (wished.do === "create") return { ...wished, by: given === "owner" ? 0 : given };
  if (file === undefined) return undefined;
  const owner = CALLERS.findIndex(({ client, reaches }) => client === file.client && reaches.includes(file.tenant));
  const by = given === "owner" ? Math.max(0, owner) : given;
  const ways: readonly Visibility[] = file.visibility === "public" ? ["public", "private"] : ["private", "public"];
  const on = { by, visibility: ways[isAstray ? 1 : 0]! };
  const ofTenant = { ...on, tenant: file.tenant || CALLERS[by]!.tenant };
  switch (wished.do) {
    case "report": {
      const erasure = world.erasures.findLast(({ id }) => id !== undefined)?.id;
      return erasure === undefined ? undefined : { do: "report", by, erasure };
    }
    case "delete all":
      return { do: "delete all", ...ofTenant };
    case "delete by query":
      return { do: "delete by query", ...ofTenant, q: wished.q };
    case "list":
    case "bulk add":
    case "bulk delete":
      return { ...wished, ...ofTenant };
    case "content": {
      const signed = wished.signed && file.visibility === "private" && file.links[wished.variant] !== undefined;
      return { ...wished, ...on, signed, file: file.id };
    }
    default:
      return { ...wished, ...on, file: file.id } as Call;
  }
}
