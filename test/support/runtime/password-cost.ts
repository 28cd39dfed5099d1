import { onTestFinished } from "vitest";

/**
 * A password check takes 75 ms on purpose, and a hundred test files sign people in. So tests hash at a lower cost,
 * except tests of the cost itself.
 */
const load = () => import("../../../src/platform/secrets/password-hash.ts");

export async function lowerPasswordCost(): Promise<void> {
  const { cost } = await load();
  cost.log2N = 4;
}

/** Restores the real cost until the end of the test that calls it, or whose `beforeEach` calls it. */
export async function realPasswordCost(): Promise<void> {
  const { cost, PASSWORD_COST } = await load();
  Object.assign(cost, PASSWORD_COST);
  onTestFinished(lowerPasswordCost);
}
