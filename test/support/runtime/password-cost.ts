import { onTestFinished } from "vitest";

/**
 * A password check takes 75 ms on purpose, and a hundred test files sign people in. So tests hash at a lower cost, but for
 * those that are about the cost.
 */
const load = () => import("../../../src/platform/secrets/password-hash.ts");

export async function lowerPasswordCost(): Promise<void> {
  const { cost } = await load();
  cost.log2N = 4;
}

/** Until the end of the test that calls it, or whose `beforeEach` does. */
export async function realPasswordCost(): Promise<void> {
  const { cost, PASSWORD_COST } = await load();
  Object.assign(cost, PASSWORD_COST);
  onTestFinished(lowerPasswordCost);
}
