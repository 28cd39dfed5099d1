/**
 * The faults of a drill: each part, its ways to fail, and what users see. `stall`: answers come when it is over.
 * `database` is the first database, `shards` are the others and the shard that is an object.
 */
const WAYS = {
  database: {
    stall: "all works from copies for some seconds; then tokens, publish and read get 503, the rest waits for the end",
    overloaded: "tokens, publish and read work from copies for some seconds; the rest gets 503",
    full: "reads, tokens and publish work; new topics, files, sign-ins and operators' changes get 503",
  },
  shards: {
    stall: "files, sign-ins and new push subscriptions of these databases wait for the end; the rest works",
    overloaded: "files, sign-ins and new push subscriptions of these databases get 503; the rest works",
    full: "all reads work; new files, sign-ins and push subscriptions of these databases get 503",
  },
  bucket: {
    stall: "uploads and contents wait for the end; lists and links work",
    down: "uploads and contents get 503; lists and links work",
  },
  queue: {
    down: "all requests work; new variants stay pending until the cron sends their jobs, up to 20 minutes later",
    fail: "all requests work; variants stay pending, up to 20 minutes longer than this lasts",
  },
  images: {
    stall: "all requests work; variants stay pending until the end",
    down: "all requests work; variants stay pending, up to 20 minutes longer than this lasts",
  },
  objects: {
    stall: "publish, read, push subscriptions, sign-ins and metrics wait for the end; files and tokens work",
    abort: "publish, read, push subscriptions, sign-ins and metrics get 503; files and tokens work",
  },
} as const;

export type FaultName = keyof typeof WAYS;

const begun = new Map<FaultName, { readonly how: string; readonly untilMs: number }>();
/**
 * The pause between two looks at a fault. Each request waits for itself: it must not wait for another one's promise.
 */
const STEP_MS = 100;

export const faults = {
  help: Object.entries(WAYS)
    .flatMap(([what, ways]) => Object.keys(ways).map((how) => `/drill/${what}/${how}`))
    .join(" "),

  /** Begins a fault. Returns false if there is no such fault. */
  begin(what: FaultName, how: string, seconds: number): boolean {
    if (!Object.hasOwn(WAYS, what) || !Object.hasOwn(WAYS[what], how)) return false;
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
      return how === undefined ? [] : [`${what}: ${how}. ${(WAYS[what] as Record<string, string>)[how]!}`];
    });
    return lines.length === 0 ? "no fault" : lines.join("\n");
  },
};
