/** Names of faults, as people read them. */
const ANYWHERE = ["connection cut", "request repeated", "receiver failed", "service failed"] as const;
/** Only in the soak's own platform with the faulty Worker. */
const INSIDE = [
  "TopicLog aborted",
  "TopicConsumer aborted",
  "PushSubscription aborted",
  "LoginAttempts aborted",
  "queue message repeated",
  "crons run twice at once",
] as const;
/** Only in the soak's own platform: a foreign one cannot be killed. */
const KILLED = "platform killed";
export type Fault = (typeof ANYWHERE)[number] | (typeof INSIDE)[number] | typeof KILLED;

export interface FaultRow {
  readonly fault: string;
  /** Known occurrences; a killed platform may not have reported its last ones. */
  readonly times: number;
  /** Counts by way; empty if there is only one. */
  readonly ways: Readonly<Record<string, number>>;
}

/** Counts the faults that happened. */
export class FaultsLedger {
  readonly #ways = new Map<string, Map<string, number>>();

  constructor(where: "inside" | "outside" | "nowhere") {
    const faults = { inside: [KILLED, ...INSIDE, ...ANYWHERE], outside: ANYWHERE, nowhere: [] }[where];
    for (const fault of faults) this.#ways.set(fault, new Map());
  }

  happened(fault: Fault, way = ""): void {
    const ways = this.#ways.get(fault);
    if (ways === undefined) throw new Error(`No such fault can happen here: ${fault}`);
    ways.set(way, (ways.get(way) ?? 0) + 1);
  }

  /** True if a fault inside the platform has not happened yet. */
  get isInsideMissing(): boolean {
    return INSIDE.some((fault) => this.#ways.get(fault)?.size === 0);
  }

  rows(): FaultRow[] {
    return [...this.#ways].map(([fault, ways]) => {
      const times = [...ways.values()].reduce((sum, count) => sum + count, 0);
      const named = [...ways].filter(([way]) => way !== "").toSorted(([a], [b]) => (a < b ? -1 : 1));
      return { fault, times, ways: Object.fromEntries(named) };
    });
  }
}
