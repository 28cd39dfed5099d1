import { createRandom } from "../../soak/lib/random.ts";
import { ASSUMED, COUNTED, PUBLISHED } from "./limits.ts";

export const SHARDS: readonly number[] = [1, 16, 256, 4_096];

/** The load that a deployment with this number of shards carries, by the limits and assumptions of `limits.ts`. */
export interface Capacity {
  readonly shards: number;
  readonly tenants: number;
  /** The load of the fullest shard, in shares of the mean. */
  readonly fullest: number;
  /** Uploads (create, PUT, commit) a second when the first shard reaches its utilization. */
  readonly uploadsPerSec: number;
  /** The same if all tenants were equal. */
  readonly uploadsPerSecEven: number;
  /** At that load, how long the slowest of a hundred round trips to the fullest shard waits for its turn. */
  readonly waitMs: number;
  readonly signInsPerSec: number;
  /** Files of three attributes. */
  readonly files: number;
  /** With all shards in D1, as far as the storage of an account goes. */
  readonly filesInD1: number;
}

export function capacityOf(shards: number, seed: number): Capacity {
  const { share: random } = createRandom(seed + shards);
  const loads = new Float64Array(shards);
  const tenants = shards * ASSUMED.tenantsPerShard;
  // New tenants are spread evenly by number, since nobody knows their load yet.
  for (let at = 0; at < tenants; at++) loads[at % shards]! += Math.exp(ASSUMED.tenantSigma * normal(random));
  const total = loads.reduce((sum, load) => sum + load, 0);
  const fullest = Math.max(...loads) / (total / shards);

  const tripsPerSec = ASSUMED.tripsPerSec * ASSUMED.utilization;
  const even = (shards * tripsPerSec) / COUNTED.upload.shard;
  const background = ASSUMED.locations / ASSUMED.revocationsEverySec;
  const filesOf = (bytes: number) => Math.floor((bytes * ASSUMED.fill) / (COUNTED.fileBytes * ASSUMED.disorder));
  return {
    shards,
    tenants,
    fullest,
    uploadsPerSec: even / fullest,
    uploadsPerSecEven: even,
    waitMs: waitOf(tripsPerSec, random),
    // The directory is also the home of its share of people.
    signInsPerSec: (tripsPerSec - background) / (COUNTED.signIn.directory + COUNTED.signIn.shard / shards),
    files: shards * filesOf(PUBLISHED.objectBytes),
    filesInD1: filesOf(Math.min(shards * PUBLISHED.databaseBytes, PUBLISHED.databasesBytes)),
  };
}

const TURNS = 200_000;

/** The wait of the slowest of a hundred round trips that arrive at random and are served in turn. */
function waitOf(arrivalsPerSec: number, random: () => number): number {
  const serviceMs = 1_000 / ASSUMED.tripsPerSec;
  const waits = new Float64Array(TURNS);
  let wait = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    waits[turn] = wait;
    const untilNextMs = (-Math.log(1 - random()) * 1_000) / arrivalsPerSec;
    wait = Math.max(0, wait + serviceMs - untilNextMs);
  }
  return waits.sort()[Math.floor(TURNS * 0.99)]!;
}

const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
