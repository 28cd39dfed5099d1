import { onTestFinished } from "vitest";
import { DELIVERY } from "../../../../src/events/model/limits.ts";
import { ENDPOINT } from "../../../../src/platform/delivery/limits.ts";

type Limits = {
  -readonly [Name in keyof typeof DELIVERY]: (typeof DELIVERY)[Name] extends number ? number : readonly number[];
};

/**
 * Sets other limits until the test ends or the returned function is called, for waits and numbers that are too large
 * for a test.
 */
export function limits(changes: Partial<Limits>): () => void {
  const [before, ofEndpoints] = [{ ...DELIVERY }, { ...ENDPOINT }];
  Object.assign(DELIVERY, changes);
  Object.assign(ENDPOINT, Object.fromEntries(Object.entries(changes).filter(([name]) => name in ENDPOINT)));
  const restore = () => void (Object.assign(DELIVERY, before), Object.assign(ENDPOINT, ofEndpoints));
  onTestFinished(restore);
  return restore;
}
