import { env } from "cloudflare:workers";
import { createDeps } from "../../src/deps.ts";
import { guardDatabase } from "../../src/platform/storage/database.ts";
import { shardBinding, shardsOf } from "../../src/platform/storage/shards.ts";
import { databaseWith } from "./directory.ts";

/** The sent statements, by shard. */
export type Sent = ReadonlyMap<number, Set<string>>;

/** Returns bindings over the real databases. `before` runs before each call, and `sent` has the statements. */
export function watched(before: () => Promise<void> = async () => {}) {
  const shards = shardsOf(env);
  const sent: Sent = new Map(shards.map(({ number }) => [number, new Set<string>()]));
  const bindings = shards.map(({ number, db }) => {
    const slow = guardDatabase(db, undefined, async (_, call) => {
      await before();
      return call();
    });
    const noted = databaseWith(slow, {
      prepare(sql) {
        sent.get(number)!.add(sql);
        return slow.prepare(sql);
      },
    });
    return [shardBinding(number), noted] as const;
  });
  return { bindings: Object.fromEntries(bindings), sent };
}

/** Ends a run: this call of a database is not made, and no later one is. */
class Broken extends Error {}

/** Moves of a tenant between shards, by an isolate of their own. */
export class WatchedMoves {
  readonly #tenant: string;
  readonly #moves: ReturnType<typeof createDeps>["moves"];
  readonly sent: Sent;
  #thrown: unknown;
  /** The number of calls of databases until the run breaks off. */
  #left = Infinity;

  /** `meanwhile` runs before each call of a database. If it throws, the called method throws the same. */
  constructor(tenant: string, meanwhile: () => Promise<void> = async () => {}) {
    this.#tenant = tenant;
    const { bindings, sent } = watched(async () => {
      if (this.#left-- <= 0) throw new Broken();
      // A move catches every error, so the test keeps it.
      await meanwhile().catch((thrown: unknown) => (this.#thrown ??= thrown));
    });
    this.#moves = createDeps({ ...env, ...bindings }).moves;
    this.sent = sent;
  }

  /** Begins a move and runs it until `calls` of databases are made. Returns whether it broke off. */
  async breaking(to: number, calls: number): Promise<boolean> {
    this.#left = calls;
    await this.#moves.begin(this.#tenant, to, Date.now(), () => env.DB.prepare("SELECT 1")).catch(() => undefined);
    await this.#run();
    const isBroken = this.#left < 0;
    this.#left = Infinity;
    return isBroken;
  }

  /** Runs the move to its end, including the removal of old rows. */
  async rest(): Promise<void> {
    for (let run = 0; (await this.#state()) !== "done"; run++) {
      if (run === 20) throw new Error("the move does not end");
      await this.#run();
    }
  }

  async to(shard: number): Promise<void> {
    await this.breaking(shard, Infinity);
    await this.rest();
  }

  /** Runs the move as if time had passed. */
  async #run(): Promise<void> {
    await env.DB.prepare("UPDATE tenant_move SET due_at = 1 WHERE tenant = ? AND state <> 'done'")
      .bind(this.#tenant)
      .run();
    await this.#moves.run(this.#tenant);
    if (this.#thrown !== undefined) throw this.#thrown;
  }

  #state = (): Promise<string | null> =>
    env.DB.prepare("SELECT state FROM tenant_move WHERE tenant = ?").bind(this.#tenant).first<string>("state");
}
