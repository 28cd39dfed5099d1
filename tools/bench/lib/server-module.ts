/** A program that serves, as a process of its own. */
export interface ServerModule {
  readonly id: string;
  /** Relative to the checkout; it calls `offer` (lib/offer.ts). */
  readonly module: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The place of its state; in memory unless told (lib/state-dir.ts). */
  readonly stateOn?: "memory" | "disk";
  /** Says why this machine cannot run it; its subjects are left out then. */
  absent?(): string | undefined;
}

/** Plinth as `npm start` serves it, whatever the environment says. */
export const PLINTH: ServerModule = {
  id: "plinth",
  module: "tools/bench/servers/platform.ts",
  env: { LOG_LEVEL: "warn", ALLOW_LOOPBACK: "true" },
};
export const PLINTH_ON_DISK: ServerModule = { ...PLINTH, stateOn: "disk" };

/** The bare Worker of a bench, in the same runtime as Plinth. */
export const bareWorker = (bench: string): ServerModule => ({
  id: "bare",
  module: "tools/bench/servers/bare.ts",
  env: { BENCH_CONFIG: `tools/bench/${bench}/bare/wrangler.toml` },
});
