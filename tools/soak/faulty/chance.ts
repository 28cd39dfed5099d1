import { type FaultPlan, type FaultShares, faultLine } from "./plan.ts";
import { createRandom, type Random } from "../lib/random.ts";
import type { Fault } from "../ledgers/faults.ts";

/** Draws faults in an isolate while they are on, and logs them. */
export class Chance {
  readonly random: Random;
  readonly #plan: FaultPlan;
  readonly #draws = new Map<string, number>();
  isOn: boolean;

  constructor(plan: FaultPlan) {
    this.#plan = plan;
    this.random = createRandom(plan.seed);
    this.isOn = plan.isOn;
  }

  /**
   * Draws whether the fault happens now, and in which way. It happens at the first chance; then its ways take turns,
   * and each start begins with another way. So a short run has every fault, and a long one every way.
   */
  draw<Way>(fault: Fault, of: keyof FaultShares, ways: readonly Way[]): Way | undefined {
    if (!this.isOn) return undefined;
    const earlier = this.#draws.get(fault);
    if (earlier !== undefined && !this.random.chance(this.#plan[of])) return undefined;
    const draw = earlier === undefined ? this.#plan.starts : earlier + 1;
    this.#draws.set(fault, draw);
    return ways[draw % ways.length];
  }

  happened(fault: Fault, way: string): void {
    console.log(faultLine({ fault, way }));
  }
}
