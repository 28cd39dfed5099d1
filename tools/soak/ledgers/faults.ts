/** What can go wrong, as people read it. */
const ANYWHERE = ["connection cut", "request repeated", "receiver failed", "service failed"] as const;
/** In a platform of the soak's own, whose Worker is the faulty one. */
const INSIDE = [
  "TopicLog aborted",
  "TopicConsumer aborted",
  "PushSubscription aborted",
  "LoginAttempts aborted",
  "queue message repeated",
  "crons run twice at once",
] as const;
/** Of its own, too: from outside nobody can. */
const KILLED = "platform killed";
export type Fault = (typeof ANYWHERE)[number] | (typeof INSIDE)[number] | typeof KILLED;

export interface FaultRow {
  readonly fault: string;
  /** As far as the run knows: what a killed platform did not tell any more is not counted. */
  readonly times: number;
  /** Of its ways; empty where it has one way alone. */
  readonly ways: Readonly<Record<string, number>>;
}

/** Counts the faults that really happened. */
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

  /** Whether a fault inside the platform did not happen yet. */
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
