/** Faults that a drill can begin, and the ways of each. */
const WAYS = {
  /** `stall`: answers come when it is over. `overloaded`: refused at once. `full`: writes are refused. */
  database: ["stall", "overloaded", "full"],
  bucket: ["down"],
  queue: ["fail"],
  /** Of topics, consumers, push subscriptions and sign-in. `abort`: each call resets its object. */
  objects: ["stall", "abort"],
} as const;

export type FaultName = keyof typeof WAYS;

const begun = new Map<FaultName, { readonly how: string; readonly untilMs: number }>();
/** A promise per look, since a request must not wait for another one's. */
const STEP_MS = 100;

export const faults = {
  help: Object.entries(WAYS)
    .flatMap(([what, ways]) => ways.map((how) => `/drill/${what}/${how}`))
    .join(" "),

  /** False if there is no such fault. */
  begin(what: FaultName, how: string, seconds: number): boolean {
    const ways: readonly string[] = WAYS[what] ?? [];
    if (!ways.includes(how)) return false;
    begun.set(what, { how, untilMs: Date.now() + seconds * 1000 });
    return true;
  },

  clear: (): void => begun.clear(),

  now(what: FaultName): string | undefined {
    const fault = begun.get(what);
    return fault !== undefined && fault.untilMs > Date.now() ? fault.how : undefined;
  },

  /** Returns when the part does not stall, or no more. */
  async stalled(what: FaultName): Promise<void> {
    while (this.now(what) === "stall") await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  },

  describe(): string {
    const lines = [...begun.keys()].flatMap((what) => {
      const how = this.now(what);
      return how === undefined ? [] : [`${what}: ${how}`];
    });
    return lines.length === 0 ? "no fault" : lines.join("\n");
  },
};
