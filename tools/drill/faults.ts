/** The faults of a drill, with the ways of each. */
const WAYS = {
  /** `stall`: answers come when it is over. `overloaded`: refused at once. `full`: writes are refused. */
  database: ["stall", "overloaded", "full"],
  bucket: ["down"],
  queue: ["fail"],
  /** The objects of topics, consumers, push subscriptions and sign-in. `abort`: each call resets its object. */
  objects: ["stall", "abort"],
} as const;

export type FaultName = keyof typeof WAYS;

const begun = new Map<FaultName, { readonly how: string; readonly untilMs: number }>();
/**
 * The pause between two looks at a fault. Each request waits for itself: it must not wait for another one's promise.
 */
const STEP_MS = 100;

export const faults = {
  help: Object.entries(WAYS)
    .flatMap(([what, ways]) => ways.map((how) => `/drill/${what}/${how}`))
    .join(" "),

  /** Begins a fault. Returns false if there is no such fault. */
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

  /** Waits while the part stalls. */
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
