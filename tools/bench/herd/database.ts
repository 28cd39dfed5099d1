import { StoreUnavailable } from "../../../src/platform/storage/database.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** The capacity of the modelled database, and when it stalls. */
export interface DatabaseModel {
  readonly queriesPerSec: number;
  /** Queries of other work, evenly spread. */
  readonly othersPerSec: number;
  /** The time of the network, to the database and back. */
  readonly roundTripMs: number;
  readonly stallsAtMs: number;
  readonly stallMs: number;
}

/** The longest time in the queue. Cloudflare does not publish that of D1. */
const QUEUED_MS = 30_000;

/**
 * A database that runs one query at a time, in the order in which they come. A query whose caller has gone away costs
 * as much as any other; one that was queued for 30 s is refused ("Requests queued for too long").
 */
export class Database {
  readonly #time: VirtualTime;
  readonly #model: DatabaseModel;
  readonly #perQueryMs: number;
  #freeAtMs = 0;
  #othersUntilMs = 0;
  /** Queries of the isolates by the second in which they came. */
  readonly perSec: number[] = [];

  constructor(time: VirtualTime, model: DatabaseModel) {
    this.#time = time;
    this.#model = model;
    this.#perQueryMs = 1000 / model.queriesPerSec;
  }

  /** How long a query would wait now. */
  get queueMs(): number {
    return Math.max(0, this.#freeAtMs - this.#time.nowMs());
  }

  /** Resolves when the answer is back at the isolate. Rejects if the query was queued for too long. */
  query(): Promise<void> {
    const nowMs = this.#time.nowMs();
    const second = Math.floor(nowMs / 1000);
    this.perSec[second] = (this.perSec[second] ?? 0) + 1;
    const halfMs = this.#model.roundTripMs / 2;
    this.#runOthers(nowMs + halfMs);
    const endsAtMs = this.#run(nowMs + halfMs);
    return new Promise((resolve, reject) => {
      if (endsAtMs !== undefined) this.#time.at(endsAtMs + halfMs, resolve);
      else this.#time.at(nowMs + QUEUED_MS, () => reject(new StoreUnavailable("queued for too long")));
    });
  }

  #runOthers(untilMs: number): void {
    const gapMs = 1000 / this.#model.othersPerSec;
    for (; this.#othersUntilMs + gapMs <= untilMs;) this.#run((this.#othersUntilMs += gapMs));
  }

  #run(atMs: number): number | undefined {
    const { stallsAtMs, stallMs } = this.#model;
    const freeAtMs = Math.max(this.#freeAtMs, atMs);
    const startMs = freeAtMs >= stallsAtMs && freeAtMs < stallsAtMs + stallMs ? stallsAtMs + stallMs : freeAtMs;
    if (startMs - atMs > QUEUED_MS) return undefined;
    this.#freeAtMs = startMs + this.#perQueryMs;
    return this.#freeAtMs;
  }
}
