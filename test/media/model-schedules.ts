import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect } from "vitest";
import type { MediaJob } from "../../src/media/model/job.ts";
import type { Fate } from "./support/faults.ts";
import {
  answer,
  bytesOf,
  CALLERS,
  expirePending,
  filesOf,
  isChange,
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
  type StoredAtOnce,
  type UploadWay,
  type Visibility,
  type Whose,
  type World,
} from "./support/file-model.ts";
import { START_MS } from "./support/media-app.ts";
import { CONTENTS, Driver, erasureText, type Shown } from "./support/model-driver.ts";
import type { Target } from "../../src/shards/moves.ts";
import { everywhere } from "../support/shards.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/platform/runtime/clock.ts";

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

/** A call before its files are known. Numbers choose among them, the latest first. */
type Intent = { readonly by: number | "owner"; readonly file: number; readonly isAstray: boolean } & Wish;
type Wish =
  | {
      readonly do: "create";
      readonly visibility: Visibility;
      readonly type: string;
      readonly variants: readonly string[];
    }
  | ({ readonly do: "store" } & StoredAtOnce)
  | { readonly do: "put"; readonly content: number; readonly how: (Call & { do: "put" })["how"] }
  | { readonly do: "commit"; readonly tenant: string | undefined; readonly metadata: number; readonly shared: boolean }
  | { readonly do: "describe"; readonly metadata: number }
  | { readonly do: "delete" | "read metadata" | "list variants" | "report" }
  | { readonly do: "add variants" | "delete variants"; readonly variants: readonly string[] }
  | { readonly do: "fetch"; readonly variant: string; readonly fallback: boolean; readonly tenant: string | undefined }
  | { readonly do: "content"; readonly variant: string; readonly signed: boolean }
  | { readonly do: "delete all" | "delete by query"; readonly q: string }
  | ({ readonly do: "list"; readonly of: Whose } & Listing)
  | ({ readonly do: "bulk add" | "bulk delete"; readonly variants: readonly string[] } & Listing)
  /** Repeats the latest change. */
  | { readonly do: "repeat" };

type Step = { readonly fates: readonly Fate[] } & (
  | {
      readonly do: "at once";
      /** The steps that create a file, in order and without faults. */
      readonly before: readonly Intent[];
      /** Delivers all messages before the calls. */
      readonly delivers: Delivers;
      readonly calls: readonly Intent[];
      readonly delivery?: Delivery | undefined;
      readonly sweeps: boolean;
      /** Number of steps that moves of tenants make during the calls, until the isolate ends. */
      readonly moves?: number | undefined;
    }
  | { readonly do: "move"; readonly tenant: number; readonly to: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "compare" | "repair" }
);

/** `again`: delivers them once more later. */
type Delivers = "none" | "all" | "all, and again";

/** Delivers a message to the consumer, the dead-letter consumer, or both at once; `again`: and once more later. */
interface Delivery {
  readonly which: number;
  readonly to: "consumer" | "consumer twice" | "dead" | "both";
  readonly again: boolean;
}

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

const creating = weighted<Wish>(
  [5, of("create", { visibility, type: fc.constant("image/png"), variants })],
  [1, of("create", { visibility, type: fc.constant("text/plain"), variants: fc.constant([]) })],
);
const creatingWrongly = of("create", { visibility, type: fc.constant("text/plain"), variants: fc.constant(VARIANTS) });
const put = of("put", { content, how: mostly<any>("right", "no length", "wrong type", "broken off") });
const shared = mostly(false, true);
const commit = of("commit", { tenant, metadata, shared });
/** Its answer may be lost, and then a list at the same time would show an id that the model does not know. */
const storingAtOnce = fc
  .record({ visibility, isImage: mostly(true, false), variants, content, tenant, metadata, shared })
  .map(({ isImage, ...given }): Wish => {
    const made = isImage ? { type: "image/png" } : { type: "text/plain", variants: [] };
    return { do: "store", ...given, ...made };
  });
const listing: fc.Arbitrary<Listing> = fc.record({
  q: mostly("", ...QUERIES),
  types: mostly<readonly string[]>([], ["image/png"], ["text/plain"], ["text/plain", "image/png"]),
  sort: fc.array(fc.tuple(fc.constantFrom("", "color", "price", "a.b", "none"), fc.constantFrom("asc", "desc")), {
    maxLength: 2,
  }),
  pageSize: mostly(3, 1, 2, 1000),
  pageNumber: mostly(1, 2, 3),
});
const whose = mostly<Whose>("own", "all", "a", "b");
const reading = weighted<Wish>(
  [3, listing.chain((asked) => whose.map((ofWhom) => ({ do: "list" as const, of: ofWhom, ...asked })))],
  [2, of("fetch", { variant, fallback: fc.boolean(), tenant })],
  [2, of("content", { variant, signed: fc.boolean() })],
  [1, of("read metadata", {})],
  [1, of("list variants", {})],
  [1, of("report", {})],
);
const describing = of("describe", { metadata });
const adding = of("add variants", { variants: fc.subarray(VARIANTS, { minLength: 1 }) });
const removing = of("delete variants", { variants });
const deleting = of("delete", {});
const deletingAll = of("delete all", { q: fc.constant("") });
const deletingByQuery = of("delete by query", { q: fc.constantFrom(...QUERIES) });
const bulk = fc
  .record({ variants: fc.subarray(VARIANTS, { minLength: 1 }), pageSize: mostly(3, 1, 2, 1000), asked: listing })
  .map(({ variants: names, pageSize, asked }) => ({ ...asked, sort: [], variants: names, pageSize }));
const changing = weighted<Wish>(
  [8, bulk.map((asked) => ({ do: "bulk add" as const, ...asked }))],
  [4, bulk.map((asked) => ({ do: "bulk delete" as const, ...asked, types: [] }))],
  [8, creating],
  [1, creatingWrongly],
  [12, put],
  [16, commit],
  [8, describing],
  [12, adding],
  [8, removing],
  [8, deleting],
  [4, deletingAll],
  [4, deletingByQuery],
  [12, of("repeat", {})],
);
const call = intentOf(weighted([2, changing], [1, reading]));

const fates: fc.Arbitrary<readonly Fate[]> = weighted<readonly Fate[]>(
  [2, fc.constant([])],
  [3, fc.array(fc.constantFrom<Fate>("done", "done", "late", "failed", "lost"), { minLength: 1, maxLength: 9 })],
);

const right = (choice: fc.Arbitrary<Wish>) =>
  intentOf(choice).map((intent) => ({ ...intent, file: 0, isAstray: false }));
const storing = [
  right(creating),
  right(of("put", { content, how: fc.constant("right" as const) })),
  right(of("commit", { tenant: fc.constant(undefined), metadata, shared })),
] as const;
const delivery: fc.Arbitrary<Delivery> = fc.record({
  which: fc.nat(5),
  to: fc.constantFrom("consumer", "consumer", "consumer twice", "dead", "both"),
  again: mostly(false, true),
});

const deletion = fc.oneof(deleting, deleting, deletingAll, deletingByQuery);

/** Calls that conflict, on a file that is created, uploaded or committed. */
const RACES = [
  [0, storingAtOnce, storingAtOnce],
  [1, storingAtOnce, commit],
  [3, storingAtOnce, deletingAll],
  [3, storingAtOnce, deletingByQuery],
  [1, put, put],
  [1, put, deleting],
  [1, put, commit],
  [2, put, commit],
  [2, put, deleting],
  [2, commit, commit],
  [2, commit, deleting],
  [2, commit, deletingAll],
  [2, commit, deletingByQuery],
  [3, describing, describing],
  [3, describing, deletingByQuery],
  [3, describing, deleting],
  [3, deletingAll, deletingByQuery],
  [3, deletingAll, deleting],
  [3, deleting, adding],
  [3, adding, removing],
  [3, reading, deleting],
  [3, reading, deletingAll],
] as const;

const atOnce = (
  before: fc.Arbitrary<readonly Intent[]>,
  calls: fc.Arbitrary<readonly Intent[]>,
  delivered: fc.Arbitrary<Delivery | undefined>,
  { sweeps = false, delivers = fc.constant<Delivers>("none") } = {},
): fc.Arbitrary<Step> =>
  fc
    .record({ before, delivers, calls, delivery: delivered, sweeps: fc.constant(sweeps), fates, moves })
    .map((given) => ({ do: "at once", ...given }));

const moves = weighted<number | undefined>(
  [1, fc.constant(undefined)],
  [2, fc.integer({ min: 1, max: 16 })],
  [1, fc.constant(Infinity)],
);
const none = fc.constant([]);
const oneCall = fc.tuple(call);
const noDelivery = fc.constant(undefined);
const maybeDelivery = mostly<Delivery | undefined>(undefined, { which: 0, to: "consumer", again: false });

/** A move to shard 3 is one to an object of the tenant's own. */
const targetOf = (to: number): Target => (to === 3 ? { near: undefined } : to);

const moveStep = fc.record({ do: fc.constant("move" as const), tenant: fc.nat(), to: fc.nat(3), fates: none });

const step: fc.Arbitrary<Step> = weighted<Step>(
  [1, atOnce(fc.tuple(...storing), none, noDelivery)],
  [4, atOnce(fc.tuple(...storing.slice(0, 2)), fc.tuple(right(commit)), noDelivery)],
  [2, atOnce(fc.tuple(storing[0]), fc.tuple(right(put)), noDelivery)],
  [3, atOnce(none, fc.tuple(intentOf(storingAtOnce)), maybeDelivery)],
  [2, atOnce(fc.tuple(...storing), fc.tuple(right(deletion)), noDelivery)],
  [12, atOnce(none, oneCall, noDelivery)],
  [3, atOnce(none, fc.tuple(call, call), maybeDelivery)],
  [
    5,
    fc
      .constantFrom(...RACES)
      .chain(([stage, first, second]) =>
        atOnce(fc.tuple(...storing.slice(0, stage)), fc.tuple(right(first), right(second)), maybeDelivery),
      ),
  ],
  [
    4,
    atOnce(fc.tuple(...storing), fc.tuple(right(fc.oneof(removing, removing, adding, deletion, reading))), noDelivery, {
      delivers: fc.constantFrom("all", "all, and again"),
    }),
  ],
  [6, atOnce(none, none, delivery)],
  [2, atOnce(none, oneCall, delivery)],
  [2, atOnce(none, none, noDelivery, { sweeps: true })],
  [1, atOnce(none, oneCall, maybeDelivery, { sweeps: true })],
  [
    3,
    fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(MINUTE_MS, 4 * MINUTE_MS, 16 * MINUTE_MS, HOUR_MS, DAY_MS),
      fates: none,
    }),
  ],
  [3, moveStep],
  [1, fc.record({ do: fc.constantFrom("compare" as const, "repair" as const), fates })],
);

/** A tenant moves in each schedule, early enough that other steps happen meanwhile. */
export const schedule: fc.Arbitrary<readonly Step[]> = fc
  .tuple(fc.array(step, { minLength: 10, maxLength: 24, size: "max" }), moveStep, fc.nat(9))
  .map(([steps, move, at]) => steps.toSpliced(at, 0, move));

/**
 * Runs a schedule on the service and the model, step by step; then lets all work finish, compares, and deletes
 * everything.
 */
export async function runSchedule(uploads: UploadWay, steps: readonly Step[]): Promise<void> {
  await Driver.wipe();
  const run = new Run(uploads);
  for (const next of steps) await run.step(next);
  await run.rest();
  await run.checkAll();
  await run.deleteAll();
}

class Run {
  readonly #driver: Driver;
  /** The possible worlds: several only within a step, until a look shows which one is real. */
  #worlds: World[];
  #latest: Call | undefined;
  /** Acknowledged messages that come once more. */
  #again: MediaJob[] = [];
  #compared: string | undefined;

  constructor(uploads: UploadWay) {
    this.#driver = new Driver(uploads);
    this.#worlds = [{ nowMs: START_MS, uploads, files: [], erasures: [] }];
  }

  get #world(): World {
    return this.#worlds[0]!;
  }

  async step(next: Step): Promise<void> {
    const { bindings, app } = this.#driver;
    switch (next.do) {
      case "at once": {
        for (const intent of next.before) await this.#atOnce([intent], undefined, false);
        if (next.before.length > 0) await this.#look();
        const messagesLeft = () => (next.delivers === "none" ? 0 : bindings.messages.length);
        // A job of a tenant that moves is left in the queue, since it is retried until the move goes on.
        for (let left = Infinity, count = messagesLeft(); count > 0 && count < left; count = messagesLeft()) {
          left = count;
          const which = this.#again.length;
          await this.#atOnce([], { which, to: "consumer", again: next.delivers === "all, and again" }, false);
          await this.#look();
        }
        bindings.plan(next.fates);
        await this.#atOnce(next.calls, next.delivery, next.sweeps, next.moves);
        break;
      }
      case "move": {
        const tenantId = TENANTS[next.tenant % TENANTS.length]!;
        await this.#driver.moving.begin(tenantId, targetOf(next.to), app.clock.nowMs);
        break;
      }
      case "wait":
        this.#wait(next.ms);
        break;
      case "compare":
      case "repair": {
        bindings.plan(next.fates);
        const { consistency } = app.media;
        const by = this.#operator();
        const asked = next.do === "compare" ? consistency.start(by) : consistency.repair(this.#compared ?? "none", by);
        const started = await asked.catch(() => undefined);
        if (started?.ok === true) this.#compared = started.value.id;
      }
    }
    bindings.plan([]);
    await this.#look();
  }

  #operator() {
    return { actor: "operator", requestId: "request", nowMs: this.#driver.app.clock.nowMs };
  }

  #wait(ms: number): void {
    this.#driver.app.clock.nowMs += ms;
    for (const world of this.#worlds) world.nowMs += ms;
  }

  async #atOnce(
    intents: readonly Intent[],
    message: Delivery | undefined,
    sweeps: boolean,
    moveCalls?: number,
  ): Promise<void> {
    const { app, bindings, moving } = this.#driver;
    const isMoving = (await moving.underWay()).length > 0;
    const calls = intents.flatMap((intent) => toCall(this.#world, intent, this.#latest) ?? []);
    this.#latest = calls.find(mayHaveHappened) ?? this.#latest;
    const [seen, delivered] = await Promise.all([
      Promise.all(calls.map((one) => this.#driver.call(one))),
      message === undefined ? undefined : this.#deliver(message),
      // The sweep fails if a fault is planned for it. The next sweep repeats its work.
      sweeps ? app.media.sweep(app.clock.nowMs).catch(() => {}) : undefined,
      moveCalls === undefined ? undefined : moving.run(moveCalls),
    ]);
    // Changes of a tenant that moves may be refused for a moment, reads never.
    const isShaky = bindings.unanswered > 0 || isMoving;
    await app.settle();
    const events: Event[] = seen.map((answered, at) => ({ call: calls[at]!, seen: answered }));
    // A commit whose first write had no answer looks again, when somebody may have deleted the file.
    for (const [at, { status }] of seen.entries()) {
      const asked = calls[at]!;
      if (asked.do === "commit" && status === 404 && bindings.unanswered > 0)
        events.push({ becomes: [(world) => void answer(world, asked, { status: 202 }, CONTENTS)] });
    }
    if (delivered !== undefined) events.push({ becomes: delivered });
    if (sweeps) events.push({ becomes: isShaky ? this.#expiries() : [(world) => expirePending(world)] });
    if (bindings.unanswered === 0)
      for (const [at, { status }] of seen.entries())
        if (!isMoving || !isChange(calls[at]!))
          expect({ call: calls[at], status }).not.toMatchObject({ status: NO_ANSWER });
    this.#worlds = afterAll(this.#worlds, events, isShaky);
  }

  /** The expiries that may happen now. Each shard has its own sweep, and some may fail. Nothing else changes. */
  #expiries(): ((world: World) => void)[] {
    const swept = structuredClone(this.#world);
    expirePending(swept);
    const expired = this.#world.files.filter(({ state }, at) => state !== swept.files[at]!.state).map(({ id }) => id);
    return Array.from({ length: 2 ** Math.min(expired.length, 6) }, (_, chosen) => {
      const spared = new Set(expired.filter((_id, at) => (chosen & (1 << at)) !== 0));
      return (world: World) => expirePending(world, spared);
    });
  }

  /** Delivers a message. Returns the possible states of its variant. */
  async #deliver({ which, to, again }: Delivery): Promise<((world: World) => void)[] | undefined> {
    const { bindings, makings } = this.#driver;
    const waiting = [...this.#again, ...bindings.messages];
    const job = waiting[which % waiting.length];
    if (job === undefined) return undefined;
    const settled = await Promise.all([
      ...(to === "dead" ? [] : [this.#driver.deliver(to === "consumer twice" ? [job, job] : [job])]),
      ...(to === "dead" || to === "both" ? [this.#driver.deliver([job], { dead: true })] : []),
    ]);
    const isSettled = settled.every(({ retried }) => retried === 0);
    if (bindings.unanswered === 0 && (await this.#driver.moving.underWay()).length === 0) expect(isSettled).toBe(true);
    if (isSettled) {
      bindings.messages = bindings.messages.filter((other) => other !== job);
      this.#again = this.#again.filter((other) => other !== job);
      if (again) this.#again.push(job);
    }
    const making = this.#driver.isVariantJob(job) ? makings.get(job.nonce) : undefined;
    if (making?.state !== "pending") return undefined;
    const become = (state: "ready" | "failed") => (world: World) =>
      setVariant(world, making.file, making.variant, state);
    const made = become(isImage(fileOf(this.#world, making.file)) ? "ready" : "failed");
    return to === "both" ? [made, become("failed")] : [to === "dead" ? become("failed") : made];
  }

  /** Finds the possible world that is real. */
  async #look(): Promise<void> {
    const shown = await this.#driver.look(new Set(this.#world.files.map(({ id }) => id)));
    const known = new Set(this.#worlds.flatMap(({ files }) => files.map(({ id }) => id)));
    const unknown = Object.keys(shown.files).filter((id) => !known.has(id));
    const named = this.#worlds.flatMap((world) => namings(world, unknown));
    const fitting = named.filter((world) => JSON.stringify(showOf(world)) === JSON.stringify(sorted(shown)));
    if (fitting.length === 0) expect(sorted(shown)).toEqual(showOf(named[0] ?? this.#world));
    this.#worlds = fitting.slice(0, 1);
  }

  /** Does all work that is due without faults, however long it waits. */
  async rest(): Promise<void> {
    const { bindings, app } = this.#driver;
    bindings.plan([]);
    await this.#driver.moving.rest();
    for (const ms of [16 * MINUTE_MS, DAY_MS, DAY_MS, 16 * MINUTE_MS]) {
      this.#wait(ms);
      await this.#atOnce([], undefined, true);
      for (let round = 0; bindings.messages.length + this.#again.length > 0; round++) {
        expect(round).toBeLessThan(100);
        const jobs = [...bindings.messages.splice(0), ...this.#again.splice(0)];
        expect((await this.#driver.deliver(jobs)).retried).toBe(0);
      }
      await app.settle();
      // The first sweep after a quarter of an hour brings every variant: none waits for a turn that does not come.
      expect(await rows(`SELECT file.id FROM variant ${OF_LIVE_FILES} AND variant.state = 'pending'`)).toEqual([]);
    }
    for (const { files } of this.#worlds)
      for (const file of files)
        for (const [name, state] of Object.entries(file.variants))
          if (state === "pending") file.variants[name] = isImage(file) ? "ready" : "failed";
    await this.#look();
  }

  /** Checks that the state equals the model. */
  async checkAll(): Promise<void> {
    const { files, erasures } = this.#world;
    const committed = files.filter(({ state }) => state === "committed");
    for (const file of files) await this.#readAll(file);
    expect(await this.#keys()).toEqual(
      committed
        .flatMap((file) => [
          this.#driver.masters.get(file.id)!,
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
      expect(await this.#driver.app.media.usage(tenantId)).toEqual({
        files: own.length,
        bytes,
        pending: { files: 0, bytes: 0 },
      });
    }
    for (const by of CALLERS.keys()) await this.#listAll(by);
    await this.#checkIndex(committed);
    await this.#checkErasures();
    for (const { id, client } of erasures)
      if (id !== undefined)
        await this.#ask({ do: "report", by: CALLERS.findIndex((caller) => caller.client === client), erasure: id });
    await this.#compare();
  }

  async #ask(asked: Call): Promise<void> {
    const seen = await this.#driver.call(asked);
    this.#worlds = afterAll(this.#worlds, [{ call: asked, seen }], false);
  }

  /** Reads a file at every address. A removed file is readable at none. */
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
    for (const asked of reads) await this.#ask(asked);
    for (const name of Object.keys(file.links)) {
      if (file.visibility === "public") continue;
      const asked: Call = { ...on, do: "content", variant: name, signed: true };
      await this.#ask(asked);
    }
  }

  /** Lists all pages, unsorted and sorted. */
  async #listAll(by: number): Promise<void> {
    const ask = async (asked: Omit<Call & { do: "list" }, "do" | "by" | "q" | "types" | "pageSize" | "pageNumber">) => {
      const all: Call = { do: "list", by, q: "", types: [], pageSize: 1000, pageNumber: 1, ...asked };
      const seen = await this.#driver.listAll({ ...all, pageSize: 2 });
      this.#worlds = afterAll(this.#worlds, [{ call: all, seen }], false);
    };
    for (const reached of CALLERS[by]!.reaches) {
      for (const [kind, sort] of ORDERS) await ask({ of: "own", tenant: reached, visibility: kind, sort });
      await ask({ of: "all", tenant: reached, visibility: "private", sort: [] });
      await ask({ of: "a", tenant: reached, visibility: "public", sort: [["price", "desc"]] });
    }
  }

  async #checkIndex(committed: readonly ModelFile[]): Promise<void> {
    const found = await rows("SELECT file_id, key, value FROM attribute WHERE key LIKE '.%'");
    const text = ([id, key, value]: readonly unknown[]) => `${id as string} ${key as string} ${JSON.stringify(value)}`;
    const expected = committed.flatMap((file) =>
      pairsOf(METADATA[file.metadata]).map((pair) => text([file.id, ...pair])),
    );
    expect(found.map((row: any) => text([row.file_id, row.key, row.value])).sort()).toEqual(expected.sort());
    const types = await rows("SELECT file_id AS id FROM attribute WHERE key = '#type'");
    expect(new Set(types.map((row: any) => row.id as string))).toEqual(new Set(committed.map(({ id }) => id)));
    expect(types).toHaveLength(committed.length);
  }

  /** Checks that every deletion is verified, with exact counts. */
  async #checkErasures(): Promise<void> {
    const open = await rows(
      `SELECT * FROM erasure WHERE verified_at IS NULL OR deleted_at IS NULL OR deleted_files <> files
        OR verified_files <> files OR deleted_bytes <> bytes`,
    );
    expect(open).toEqual([]);
  }

  /** Checks that the consistency report finds nothing. */
  async #compare(): Promise<void> {
    const { app, bindings } = this.#driver;
    const { consistency } = app.media;
    const started = await consistency.start(this.#operator());
    if (!started.ok) throw new Error("a run is under way after the rest");
    while (bindings.messages.length > 0) await this.#driver.deliver(bindings.messages.splice(0));
    const done = (await consistency.find(started.value.id))!;
    expect(done).toMatchObject({ state: "done", found: NOTHING_FOUND });
    const makings = [...this.#driver.makings.values()].filter(({ state }) => state === "ready").length;
    const files = Object.keys(showOf(this.#world).files).length;
    expect(done.checked).toEqual({ files, variants: makings, objects: files + makings });
  }

  /** Deletes all files. The deletions must find every key with bytes at once, and none late. */
  async deleteAll(): Promise<void> {
    const before = await lateObjects();
    for (const by of [0, 2])
      for (const from of CALLERS[by]!.reaches)
        for (const kind of ["private", "public"] as const) {
          const asked: Call = { do: "delete all", by, tenant: from, visibility: kind };
          await this.#ask(asked);
          expect(filesOf(this.#world, { client: CALLERS[by]!.client, tenant: from, visibility: kind })).toEqual([]);
        }
    await this.#driver.app.settle();
    // Copies of public content were made while everything was read.
    for (const { id: file, visibility: kind } of this.#world.files)
      await this.#ask({ do: "content", by: 0, file, visibility: kind, variant: "", signed: false });
    await this.rest();
    await this.#checkErasures();
    expect(await lateObjects()).toEqual(before);
    expect(await this.#keys()).toEqual([]);
    for (const table of ["file", "variant", "attribute", "key_set", "moved_file"])
      expect([table, await rows(`SELECT * FROM ${table}`)]).toEqual([table, []]);
  }

  async #keys(): Promise<string[]> {
    return (await env.MEDIA.list()).objects.map(({ key }) => key).sort();
  }
}

const NOTHING_FOUND = { orphan_object: 0, missing_bytes: 0, missing_variant: 0, size_differs: 0, etag_differs: 0 };

/** The rows of all shards; counts named `n` are added up. */
async function rows(sql: string): Promise<object[]> {
  const { results } = await everywhere.prepare(sql).all<object>();
  const counts = results.map((row) => (Object.keys(row).join() === "n" ? (row as { n: number }).n : undefined));
  if (results.length === 0 || counts.includes(undefined)) return results;
  return [{ n: counts.reduce<number>((sum, n) => sum + n!, 0) }];
}

const OF_LIVE_FILES = `JOIN file ON file.id = variant.file_id JOIN owner ON owner.id = file.owner_id
  WHERE file.state = 'committed' AND owner.erasure_id IS NULL`;

const lateObjects = () => rows("SELECT sum(late_objects) AS late FROM erasure WHERE late_objects > 0 HAVING late > 0");

/** The world with the ids of files whose answers were lost, in each order; nobody can name those that are removed. */
function namings(world: World, ids: readonly string[]): readonly World[] {
  const files = world.files.filter(({ id, state }) => id !== "" || state !== "removed");
  const at = files.findIndex(({ id }) => id === "");
  if (at === -1) return [{ ...world, files }];
  return ids.flatMap((id) => {
    const named = files.with(at, { ...files[at]!, id });
    const others = ids.filter((other) => other !== id);
    return namings({ ...world, files: named }, others);
  });
}

const fileOf = (world: World, id: string): ModelFile => world.files.find((file) => file.id === id)!;

const isImage = ({ upload }: ModelFile): boolean => CONTENTS[upload!]!.isImage;

/** A rendition that is not pending any more stays as it is. */
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
          shared: file.state === "committed" && file.commit?.shared === true,
          upload: file.upload,
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

/** A call with or without an answer, or other work, with its possible outcomes. */
type Event = { readonly call: Call; readonly seen: Answer } | { readonly becomes: readonly ((world: World) => void)[] };

/**
 * Checks the answers to parallel calls: some order of events must allow each of them. A change without an answer may
 * have happened or not; with faults so may any other work. Bits of a number stand for the events that happened. Orders
 * and choices that lead to the same world with the same remaining events are joined, so few are left of many orders.
 */
function afterAll(worlds: readonly World[], events: readonly Event[], withFaults: boolean): World[] {
  const complaints: { readonly call: Call; readonly seen: Answer; readonly expected: Answer }[] = [];
  const all = 2 ** events.length - 1;
  const reached = Array.from({ length: all + 1 }, () => new Map<string, World>());
  const reach = (happened: number, world: World) => void reached[happened]!.set(JSON.stringify(world), world);
  for (const world of worlds) reach(0, world);
  // An event adds its bit, so each number comes after all from which it is reached.
  for (let happened = 0; happened < all; happened++)
    for (const world of reached[happened]!.values())
      for (const [at, event] of events.entries()) {
        const next = happened | (1 << at);
        if (next === happened) continue;
        if ("becomes" in event) {
          if (withFaults) reach(next, world);
          for (const become of event.becomes) {
            const then = structuredClone(world);
            become(then);
            reach(next, then);
          }
          continue;
        }
        const { call: asked, seen } = event;
        const then = structuredClone(world);
        const expected = answer(then, asked, seen, CONTENTS);
        if (seen.status === NO_ANSWER) {
          reach(next, world);
          if (mayHaveHappened(asked) && expected.status < 300) reach(next, then);
        } else if (fits(asked, seen, expected, events.length === 1) || mayLinger(world, asked, seen)) reach(next, then);
        else complaints.push({ call: asked, seen, expected });
      }
  const after = [...reached[all]!.values()];
  const [first] = complaints;
  if (after.length === 0 && first !== undefined)
    expect({ call: first.call, ...first.seen }).toEqual({ call: first.call, ...first.expected });
  return after;
}

/** A bulk request finds its files before it adds variants to them, so others may come in between. */
function fits(asked: Call, seen: Answer, expected: Answer, isAlone: boolean): boolean {
  const says =
    asked.do === "bulk add" && !isAlone && seen.status === 202
      ? { ...(expected.says as object), transformations: (seen.says as { transformations: number }).transformations }
      : expected.says;
  return seen.status === expected.status && JSON.stringify(seen.says) === JSON.stringify(says);
}

function toCall(world: World, intent: Intent, latest: Call | undefined): Call | undefined {
  if (intent.do === "repeat") return latest?.do === "store" ? undefined : latest;
  const file = world.files.at(-1 - (intent.file % Math.max(1, world.files.length)));
  const { isAstray, by: given, ...wished } = intent;
  if (wished.do === "create" || wished.do === "store") return { ...wished, by: given === "owner" ? 0 : given };
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
    case "put":
      return file.hasLink ? { ...wished, ...on, file: file.id } : undefined;
    default:
      return { ...wished, ...on, file: file.id } as Call;
  }
}
