import type { Caller, Reply } from "../world/caller.ts";
import type { ChangesLedger } from "../ledgers/changes.ts";
import type { EventsLedger } from "../ledgers/events.ts";
import type { FaultsLedger } from "../ledgers/faults.ts";
import type { FilesLedger } from "../ledgers/files.ts";
import type { TokensLedger } from "../ledgers/tokens.ts";
import type { Outside } from "../world/outside.ts";
import type { Random } from "../lib/random.ts";
import type { Violations } from "../ledgers/violations.ts";
import type { World } from "../world/world.ts";

/** The run's state and tools. */
export interface Stage {
  readonly world: World;
  readonly caller: Caller;
  readonly outside: Outside;
  readonly violations: Violations;
  readonly faults: FaultsLedger;
  readonly events: EventsLedger;
  readonly files: FilesLedger;
  readonly tokens: TokensLedger;
  readonly changes: ChangesLedger;
  /** Start of the load, by the clock. */
  readonly setUpMs: number;
  /** Sometimes repeats answered requests. */
  readonly repeats: boolean;
}

/** One arrival of the load: its due time, and its own random numbers. */
export interface Turn {
  readonly dueMs: number;
  readonly random: Random;
}

export interface Operation {
  /** Relative frequency. */
  readonly weight: number;
  /** Tells whether there is something to work on. */
  isReady?(): boolean;
  run(turn: Turn): Promise<void>;
}

/** Share of repeatable, answered requests that are sent again. */
const REPEATED = 0.1;

/** Decides whether an answered request is sent again. */
export function isSentAgain({ repeats, faults }: Stage, { random }: Turn): boolean {
  const isAgain = repeats && random.chance(REPEATED);
  if (isAgain) faults.happened("request repeated");
  return isAgain;
}

/** Notes an unexpected status. */
export function expectStatus(stage: Stage, what: string, reply: Reply, statuses: readonly number[]): boolean {
  const isExpected = statuses.includes(reply.status);
  // The caller notes every 500 itself.
  if (!isExpected && reply.status !== 500)
    stage.violations.add(
      "every answer is one that can be",
      `${what}: ${reply.status} instead of ${statuses.join(" or ")}: ${reply.bytes.toString("utf8", 0, 300)}`,
    );
  return isExpected;
}
