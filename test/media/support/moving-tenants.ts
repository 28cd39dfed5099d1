import { env } from "cloudflare:workers";
import { createMedia } from "../../../src/media/service.ts";
import { shardsOf, type Placement, type Shards } from "../../../src/platform/storage/shards.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { FIRST_TENANT_OBJECT, type TenantObjects } from "../../../src/platform/storage/tenant-objects.ts";
import { createMoves, type FileMover, type Moves, type Target } from "../../../src/shards/moves.ts";
import { createMoveStore, type MoveStore } from "../../../src/shards/move-store.ts";
import { createPlacement } from "../../../src/shards/placement.ts";
import { createPlacementStore } from "../../../src/shards/placement-store.ts";
import { createTenantObjectStore } from "../../../src/shards/tenant-object-store.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";
import { everywhere } from "../../support/shards.ts";

type Media = ReturnType<typeof createMedia>;

/** Tables of moves, and places. An object forgets its tenant with the copy. */
const MOVE_TABLES = [
  "tenant_move",
  "moving_tenant",
  "moving_change",
  "departed_tenant",
  "departed_to",
  "past_place",
  "ended_move",
  "tenant_copy",
];

/** Copies of places as an isolate has them, which are old after a move. */
export const keptPlacement = (): Placement =>
  createPlacement({
    store: createPlacementStore(env.DB),
    shards: shardsOf(env).length,
    objects: { place() {}, copy: async () => {}, store: createTenantObjectStore(env.DB) },
    isolate: ownIsolate,
  });

/** Tenants of the directory whose files lie in these shards; each again in its own. */
export async function placeTenants(places: Readonly<Record<string, number>>): Promise<void> {
  await everywhere.batch(MOVE_TABLES.map((table) => everywhere.prepare(`DELETE FROM ${table}`)));
  const named = Object.entries(places).map(([tenant, shard]) => ({ tenant, shard }));
  const given = JSON.stringify(named);
  await env.DB.batch([
    env.DB.prepare("INSERT INTO organization (id, name, created_at) VALUES ('moving', '', 0) ON CONFLICT DO NOTHING"),
    env.DB.prepare(
      `INSERT INTO tenant (id, organization, name, created_at) SELECT value ->> 'tenant', 'moving', '', 0
       FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
    ).bind(given),
    env.DB.prepare("DELETE FROM tenant_object"),
    env.DB.prepare(
      `INSERT INTO tenant_object (number, tenant) SELECT value ->> 'shard', value ->> 'tenant' FROM json_each(?)
       WHERE value ->> 'shard' >= ${FIRST_TENANT_OBJECT}`,
    ).bind(given),
    env.DB.prepare(
      `INSERT INTO tenant_shard (tenant, shard) SELECT value ->> 'tenant', value ->> 'shard' FROM json_each(?) WHERE true
       ON CONFLICT DO UPDATE SET shard = excluded.shard`,
    ).bind(given),
  ]);
}

class Crash extends Error {}

/** Moves over these bindings, by an isolate of their own. */
export class MovingTenants {
  readonly #moves: Moves;
  /** Calls until the isolate ends; later ones do nothing. */
  #left = Infinity;
  #begun = 0;

  constructor(media: Media, shards: Shards, clock: { nowMs: number }, objects?: TenantObjects) {
    const dying = <T extends object>(real: T): T =>
      new Proxy(real, {
        get: (target, name) => {
          const method = Reflect.get(target, name, target) as (...args: unknown[]) => unknown;
          return (...args: unknown[]) => {
            if (this.#left-- <= 0) return Promise.reject(new Crash());
            return method.apply(target, args);
          };
        },
      });
    const { db } = shards[0];
    this.#moves = createMoves({
      shards,
      objects: objects && { ...objects, setting: { for: "asked", near: undefined } },
      objectStore: createTenantObjectStore(db),
      store: dying<MoveStore>(createMoveStore(db)),
      places: createPlacementStore(db),
      mover: dying<FileMover>(media.mover),
      clock: { nowMs: () => clock.nowMs },
      random: systemRandom,
      log: heardLog,
      isBackupRunning: async () => false,
    });
  }

  async begin(tenant: string, to: Target, nowMs: number): Promise<void> {
    this.#left = Infinity;
    // Ids of moves grow with the time, which may stand still in a test.
    await this.#moves.begin(tenant, to, nowMs + this.#begun++, () => env.DB.prepare("SELECT 1")).catch(() => undefined);
  }

  /** Runs all moves, each at most so many calls, as if time had passed. */
  async run(calls = Infinity): Promise<void> {
    const tenants = await this.underWay();
    await env.DB.exec("UPDATE tenant_move SET due_at = 0 WHERE due_at IS NOT NULL");
    await Promise.all(
      tenants.map(async (tenant) => {
        this.#left = calls;
        await this.#moves.run(tenant);
      }),
    );
  }

  async underWay(): Promise<readonly string[]> {
    const { results } = await env.DB.prepare("SELECT tenant FROM tenant_move WHERE state <> 'done'").all<{
      tenant: string;
    }>();
    return results.map(({ tenant }) => tenant);
  }

  /** Until nothing is under way. */
  async rest(): Promise<void> {
    for (let round = 0; (await this.underWay()).length > 0; round++) {
      if (round === 20) throw new Error(`moves do not end: ${JSON.stringify(await this.all())}`);
      await this.run();
    }
  }

  all = async (): Promise<unknown> => (await env.DB.prepare("SELECT * FROM tenant_move").all()).results;
}
