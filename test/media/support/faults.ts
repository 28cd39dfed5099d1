import { env } from "cloudflare:workers";
import type { MediaJob } from "../../../src/media/model/job.ts";
import { guardDatabase } from "../../../src/platform/storage/database.ts";
import type { TenantObjects } from "../../../src/platform/storage/tenant-objects.ts";
import { testObjects } from "../../support/shards.ts";
import { shardsOf, type Shards } from "../../../src/platform/storage/shards.ts";

/**
 * The fate of a call of D1, R2 or a queue: `late` ones run after later ones, `failed` ones do not run, `lost` ones run
 * without an answer.
 */
export type Fate = "done" | "late" | "failed" | "lost";

/** The delay of a late call: as long as two or three calls. */
const LATE_MS = 6;

/** The real database and bucket, and a queue that stores its messages. Calls fail as planned for the step. */
export class FaultyBindings {
  readonly shards: Shards = faultyShards((run) => this.#meet(run));
  readonly objects: TenantObjects = {
    ...testObjects,
    at: (number) => ({ number, db: faultyDatabase((run) => this.#meet(run), testObjects.at(number).db) }),
  };
  readonly db: D1Database = this.shards[0].db;
  readonly bucket: R2Bucket = this.#bucket((run) => this.#meet(run));
  /** The same bucket, whose calls do not fail. */
  readonly soundBucket: R2Bucket = this.#bucket((run) => run());
  readonly queue: Queue<MediaJob> = this.#faultyQueue();
  /** Messages that were sent and are not acknowledged. */
  messages: MediaJob[] = [];
  /** Calls of the step without an answer. */
  unanswered = 0;
  #fates: Fate[] = [];
  /** When objects were written, by the test's clock. */
  readonly #uploaded = new Map<string, number>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The fates of the next calls, in order. Later calls succeed. */
  plan(fates: readonly Fate[]): void {
    this.#fates = [...fates];
    this.unanswered = 0;
  }

  /** Lets another call fail as planned, too. */
  around = <T>(run: () => Promise<T>): Promise<T> => this.#meet(run);

  async #meet<T>(run: () => Promise<T>): Promise<T> {
    const fate = this.#fates.shift() ?? "done";
    if (fate === "late") await scheduler.wait(LATE_MS);
    if (fate === "done" || fate === "late") return run();
    this.unanswered += 1;
    if (fate === "failed") throw new Error("injected: failed");
    const answer = await run();
    await (answer as Partial<R2ObjectBody> | null)?.body?.cancel();
    throw new Error("injected: answer lost");
  }

  #bucket(meet: Meet): R2Bucket {
    const dated = <T extends R2Object>(object: T): T =>
      new Proxy(object, {
        get: (target, name) => {
          const value: unknown =
            name === "uploaded" ? new Date(this.#uploaded.get(target.key) ?? 0) : Reflect.get(target, name, target);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
    const methods = {
      head: async (key: string) => {
        const object = await env.MEDIA.head(key);
        return object === null ? null : dated(object);
      },
      list: async (options: R2ListOptions) => {
        const listed = await env.MEDIA.list(options);
        return { ...listed, objects: listed.objects.map(dated) };
      },
      put: async (key: string, ...rest: [ReadableStream, R2PutOptions]) => {
        const object = await env.MEDIA.put(key, ...rest);
        if (object !== null) this.#uploaded.set(key, this.#nowMs());
        return object;
      },
    };
    return new Proxy(env.MEDIA, {
      get: (target, name) => {
        const own: unknown = Reflect.get(methods, name);
        const method = (own ?? (Reflect.get(target, name, target) as object)) as (
          ...args: unknown[]
        ) => Promise<unknown>;
        return (...args: unknown[]) => meet(() => method.apply(own === undefined ? target : methods, args));
      },
    });
  }

  #faultyQueue(): Queue<MediaJob> {
    const sendBatch = (messages: readonly { body: MediaJob }[]): Promise<void> =>
      this.#meet(async () => void this.messages.push(...messages.map(({ body }) => body)));
    return { sendBatch } as unknown as Queue<MediaJob>;
  }
}

type Meet = <T>(run: () => Promise<T>) => Promise<T>;

function faultyShards(meet: Meet): Shards {
  const [first, ...others] = shardsOf(env).map(({ number, db }) => ({ number, db: faultyDatabase(meet, db) }));
  return [first!, ...others];
}

/** Guarded like the Worker's database. Statements of others pass unchanged. */
function faultyDatabase(meet: Meet, behind = env.DB): D1Database {
  const real = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const wrapped = new Proxy(statement, {
      get(target, name) {
        const method = Reflect.get(target, name, target) as (...args: unknown[]) => Promise<unknown>;
        if (name === "bind") return (...args: unknown[]) => wrap(target.bind(...args));
        return (...args: unknown[]) => meet(() => method.apply(target, args));
      },
    });
    real.set(wrapped, statement);
    return wrapped;
  };
  const db = {
    prepare: (sql: string) => wrap(behind.prepare(sql)),
    batch: (statements: D1PreparedStatement[]) =>
      meet(() => behind.batch(statements.map((statement) => real.get(statement) ?? statement))),
  };
  return guardDatabase(db as unknown as D1Database);
}

export type Faults = ReturnType<typeof faultAt>;

/**
 * The real database and bucket with one failing operation: the one with this number, `before` or `after` it takes
 * effect.
 */
export function faultAt() {
  let [failing, when, count] = [Infinity, "before", 0];
  const around = async <T>(perform: () => Promise<T>): Promise<T> => {
    const fails = count++ === failing;
    if (fails && when === "before") throw new Error("injected: not done");
    const done = await perform();
    if (fails) throw new Error("injected: done, and its answer is lost");
    return done;
  };
  const bucket = new Proxy(env.MEDIA, {
    get: (target, name) => {
      const method = (Reflect.get(target, name, target) as (...args: unknown[]) => unknown).bind(target);
      if (!["head", "get", "put", "delete", "list"].includes(String(name))) return method;
      return (...args: unknown[]) => around(async () => method(...args));
    },
  });
  return {
    db: faultyDatabase(around),
    shards: faultyShards(around),
    bucket,
    /** Counts an operation of another kind, too. */
    around,
    /** Starts anew; the operation to fail, counted from 0. */
    arm(number: number, at: "before" | "after"): void {
      [failing, when, count] = [number, at, 0];
    },
    /** The number of operations since then. */
    seen: (): number => count,
  };
}

/** The real bucket with some methods replaced. */
export const withMethods = (methods: object): R2Bucket =>
  new Proxy(env.MEDIA, {
    get: (target, name) => Reflect.get(methods, name) ?? (target as any)[name].bind(target),
  });
