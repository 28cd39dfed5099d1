import { setTimeout as sleep } from "node:timers/promises";
import * as api from "../../api/plinth.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { createAdminClient, find } from "../../cli/client/admin-client.ts";
import { eraseTenant } from "../../cli/erase/erase.ts";
import { makePlan } from "../../cli/erase/plan.ts";
import { emailOf } from "./people.ts";
import type { Session } from "./session.ts";

export const STOPPED = "It was stopped.";

/**
 * Removes the records of a tour, however far it came: the tenant like `plat tenant erase`, then the rest. The audit
 * log stays. Returns a sentence for each record that could not be removed. Waiting can be stopped.
 */
export async function clearUp(
  session: Session,
  operatorSecret: string,
  name: string,
  isStopped: () => boolean,
): Promise<readonly string[]> {
  session.chapter("What the tour made is removed");
  const { base, platform, note } = session;
  const operator = createAdminClient({ base, platform, secret: operatorSecret, onRepeat: note });
  const { opts } = operator;
  const wait = async (ms: number): Promise<void> => {
    await sleep(ms);
    if (isStopped()) throw new UserError(STOPPED);
  };
  const say = { done: note, waiting: note, wait };
  const email = emailOf(name);
  const eraseIt = async (): Promise<void> => {
    const plan = await find(makePlan(operator, name));
    if (plan !== undefined) await eraseTenant(operator, plan, say);
  };
  /** For each record its name, the command to remove it by hand, and its removal. */
  const parts = [
    [`tenant ${name}`, `tenant erase ${name} --yes`, eraseIt],
    [`user ${email}`, `user delete ${email}`, () => find(api.deleteUser(email, opts))],
    [`role ${name}`, `role delete ${name}`, () => find(api.deleteRole(name, opts))],
    [`organization ${name}`, `organization delete ${name}`, () => find(api.deleteOrganization(name, opts))],
  ] as const;
  const left: string[] = [];
  for (const [what, command, remove] of parts) {
    try {
      await remove();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      left.push(`The ${what} is left: ${why}\n  npm run plat -- ${command}`);
    }
  }
  if (left.length === 0) note(`The user ${email}, the role and the organization ${name} are gone too.`);
  return left;
}
