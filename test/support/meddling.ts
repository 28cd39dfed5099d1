import { env } from "cloudflare:workers";
import { Browser, toInit } from "./browser.ts";
import { directoryWith } from "./directory.ts";
import { isolate } from "./isolate.ts";
import { ORIGIN } from "./platform/call.ts";

/**
 * A browser at a platform where an action runs just before a transaction, once `state.armed` is set. `sizes` has the
 * numbers of statements of the transactions in question; the reads before them have other numbers.
 */
export function meddled(meddle: () => Promise<unknown>, sizes: readonly number[] = [3]) {
  const state = { armed: false };
  const db = directoryWith({
    async batch(statements) {
      if (state.armed && sizes.includes(statements.length)) await meddle();
      return env.DB.batch(statements);
    },
  });
  const worker = isolate({ DB: db });
  const browser = new Browser({ send: (address, init) => worker.fetch(address.slice(ORIGIN.length), toInit(init)) });
  return { browser, state };
}
