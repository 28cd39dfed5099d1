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

/** All that a run knows and works with. */
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
  /** When the load began, by the clock. */
  readonly setUpMs: number;
  /** Requests are repeated at times though they were answered. */
  readonly repeats: boolean;
}

/** One arrival of the load: when it was due, and random numbers of its own. */
export interface Turn {
  readonly dueMs: number;
  readonly random: Random;
}

export interface Operation {
  /** How often it is chosen beside the others. */
  readonly weight: number;
  /** Whether there is something to do it with. */
  isReady?(): boolean;
  run(turn: Turn): Promise<void>;
}

/** Of what may be repeated, and of what is answered, this share is sent again. */
const REPEATED = 0.1;

/** Whether what was answered is sent again. */
export function isSentAgain({ repeats, faults }: Stage, { random }: Turn): boolean {
  const isAgain = repeats && random.chance(REPEATED);
  if (isAgain) faults.happened("request repeated");
  return isAgain;
}

/** Notes an answer that is none of those that can be. */
export function expectStatus(stage: Stage, what: string, reply: Reply, statuses: readonly number[]): boolean {
  const isExpected = statuses.includes(reply.status);
  // 500 is told of for itself.
  if (!isExpected && reply.status !== 500)
    stage.violations.add(
      "every answer is one that can be",
      `${what}: ${reply.status} instead of ${statuses.join(" or ")}: ${reply.bytes.toString("utf8", 0, 300)}`,
    );
  return isExpected;
}
