/** A program that serves. */
export interface ServerModule {
  readonly id: string;
  /** Relative to the checkout; it calls `offer` (lib/offer.ts). */
  readonly module: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Where its state lies: in memory unless told (lib/state-dir.ts). */
  readonly stateOn?: "memory" | "disk";
  /** Why this machine cannot run it; undefined when it can. Its subjects are left out then. */
  absent?(): string | undefined;
}
