import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { guardDatabase } from "../../../src/platform/storage/database.ts";
import { objectShardsOf, type Shard, type Shards } from "../../../src/platform/storage/shards.ts";
import { unique } from "../../support/platform/unique.ts";
import { mediaApp, type MediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectJson } from "../../support/platform/call.ts";
import { casesOf } from "../../support/model-runs.ts";

/** The round trips and rows of each shard, by its number. */
interface Counted {
  readonly trips: number[];
  readonly rowsWritten: number[];
}

/** Makes the service over `count` shards. Shards that are objects belong to this test. */
function platformOf(count: number, counted: Counted, name: string): MediaApp {
  const objects = { getByName: (object: string) => env.SHARD_DATABASE.getByName(`${name}-${object}`) };
  const numbers = Array.from({ length: count - 1 }, (_, at) => [at + 1, undefined] as const);
  const shards = [{ number: 0, db: env.DB }, ...objectShardsOf(new Map(numbers), objects)].map(
    ({ number, db }): Shard => {
      counted.trips[number] = 0;
      counted.rowsWritten[number] = 0;
      const onTrip: Parameters<typeof guardDatabase>[1] = (results = []) => {
        counted.trips[number]! += 1;
        for (const { meta } of results) counted.rowsWritten[number]! += meta.rows_written;
      };
      return { number, db: guardDatabase(db, onTrip) };
    },
  );
  // Tenants are spread evenly, as new tenants are.
  const shardOf = async (tenant: string) => Number(tenant.split("x")[1]) % count;
  return mediaApp({
    shards: shards as unknown as Shards,
    placement: { shardOf, exists: async (shard) => shard < count, forget() {} },
  });
}

const TENANTS = 16;
let loads = 0;

/** Lets each tenant store a file, share it by a link, find it in a list and in a search, and delete it. */
async function load(app: MediaApp): Promise<void> {
  const run = ++loads;
  for (let at = 0; at < TENANTS; at++) {
    const as = principal({ tenant: `load${run}x${at}` });
    const body = new TextEncoder().encode(`of ${at}`);
    const headers = { "content-type": "text/plain" };
    const made = await app.call("/media/v2/files", { as, method: "POST", body, headers });
    const { id } = await expectJson(made, 202);
    const json = { color: "red" };
    expect((await app.call(`/media/v2/files/${id}/metadata`, { as, method: "PUT", json })).status).toBeLessThan(300);
    const { length } = await expectJson<unknown[]>(
      await app.call(`/media/v2/files?tenant=${as.tenant}&q=color:red`, { as }),
      200,
    );
    expect(length).toBe(1);
    expect((await app.call(`/media/v2/files/${id}`, { as })).status).toBe(200);
    expect((await app.call(`/media/v2/files/${id}`, { as, method: "DELETE" })).status).toBe(204);
    await app.settle();
  }
}

describe("the same load on more shards", () => {
  // shows: operator/shards/spread
  it("asks each of n shards for an n-th of the round trips and rows, and for no more in all", async () => {
    const name = unique("spread");
    const found = new Map<number, Counted>();
    for (const count of casesOf([1, 4, 16], 2)) {
      const counted: Counted = { trips: [], rowsWritten: [] };
      const app = platformOf(count, counted, `${name}-${count}`);
      // The first call of an object creates its tables.
      await load(app);
      counted.trips.fill(0);
      counted.rowsWritten.fill(0);
      await load(app);
      found.set(count, counted);
    }
    const [trips] = found.get(1)!.trips;
    const [rows] = found.get(1)!.rowsWritten;
    expect(trips).toBeGreaterThan(TENANTS * 4);
    for (const [count, counted] of found) {
      expect(counted.trips).toEqual(Array.from({ length: count }, () => trips! / count));
      expect(counted.rowsWritten).toEqual(Array.from({ length: count }, () => rows! / count));
    }
  });
});
