import { PlinthError } from "../../../packages/sdk/src/errors.ts";
import { ifStill, type Answered, type Data, type Operations } from "./client.ts";

/** A record that others change all the time is given up. */
const ATTEMPTS = 3;

/**
 * Writes a record on condition that it is as it was read: the page may show what it was a while ago.
 *
 *   read ──▶ written on condition that it is as read
 *    ▲                 │ 412: changed meanwhile, or the answer to an earlier try was lost
 *    └─────────────────┘
 */
export async function rewrite<G extends Answered | undefined, A>(
  read: () => Promise<G>,
  write: (now: Data<G>, under: Operations, attempt: number) => Promise<A>,
): Promise<A> {
  for (let attempt = 1; ; attempt += 1) {
    const got = await read();
    try {
      return await write(got?.data as Data<G>, ifStill(got), attempt);
    } catch (refused) {
      if (attempt === ATTEMPTS || !(refused instanceof PlinthError) || refused.status !== 412) throw refused;
    }
  }
}
