import { ifStill, whole, type Answered, type Data, type Operations } from "./client.ts";

/** A record that others change all the time is given up. */
export const REWRITES = 3;

/**
 * Changes a record as it is now: the page may show what it was a while ago. If it was changed between the read and the
 * write, or the answer to an earlier try was lost, it is read once more.
 */
export async function rewrite<G extends Answered, A extends Answered>(
  get: () => Promise<G>,
  put: (now: Data<G>, under: Operations) => Promise<A>,
): Promise<A> {
  for (let attempt = 1; ; attempt += 1) {
    const got = await whole(get());
    const written = await put(got.data as Data<G>, ifStill(got));
    if (written.status !== 412 || attempt === REWRITES) return written;
  }
}
