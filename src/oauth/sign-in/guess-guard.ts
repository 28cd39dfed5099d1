import { toHex, utf8 } from "../../platform/encoding.ts";
import { networkOf } from "../../platform/ip-range.ts";
import { describeError, type Log } from "../../platform/log.ts";
import { normalizedPassword } from "../../platform/password-hash.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { GuessCounter } from "./guess-counter.do.ts";
import type { GuessKind } from "./guesses.ts";

/**
 * Holds up who tries few passwords at many accounts, which no account's own count notices: by network, and by password
 * (`guesses.ts` says how many). Successes do not count, so an office behind one address goes on.
 *
 * What is kept is made with a key of this deployment, for a day at most: nobody can guess at passwords by it.
 */
export interface GuessGuard {
  /** `account`: whom the attempt is at, known or not. `request`: of who guesses; undefined: it is not known whence they do. */
  begin(guess: {
    readonly request: Request | undefined;
    readonly account: string;
    readonly password: string;
  }): Promise<Admission>;
}

export type Admission =
  | { readonly admitted: false; readonly by: GuessKind; readonly allowedAtMs: number }
  /** `settle`: what came of the attempt; beside the answer. */
  | { readonly admitted: true; settle(failed: boolean): Promise<void> };

/** Of who is counted elsewhere. */
export const UNCOUNTED: Admission = { admitted: true, settle: async () => {} };
export const noGuessGuard: GuessGuard = { begin: async () => UNCOUNTED };

const PURPOSE = "guess";
/**
 * Who comes while all places are taken by attempts that may turn out right waits for so long, and is refused after it: an
 * office that signs in at nine is let in, one after the other.
 */
const WAIT_MS = 5_000;

export function createGuessGuard(counters: DurableObjectNamespace<GuessCounter>, sealer: Sealer, log: Log): GuessGuard {
  async function digest(text: string): Promise<string> {
    const [key] = await sealer.macKeys(PURPOSE);
    if (key === undefined) throw new Error("a sealer has a key");
    return toHex(new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(text))));
  }
  /** A counter that fails stops nobody: the account's own limit goes on. */
  async function unlessLost<T>(ask: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await ask;
    } catch (thrown) {
      log.error("guesses uncounted", { error: describeError(thrown) });
      return otherwise;
    }
  }
  return {
    async begin({ request, account: name, password }) {
      const network = request && networkOf(request.headers.get("cf-connecting-ip") ?? "");
      const account = await digest(`account ${name}`);
      const named: (readonly [GuessKind, string])[] = [["password", `password ${normalizedPassword(password)}`]];
      if (network !== undefined) named.unshift(["network", `network ${network}`]);
      const asked = await Promise.all(
        named.map(async ([kind, text]) => ({ kind, counter: counters.getByName(await digest(text)) })),
      );
      const settle = async (failed: boolean, admitted = asked.map(() => true)): Promise<void> => {
        const settled = asked
          .filter((_, at) => admitted[at] === true)
          .map(({ kind, counter }) => unlessLost(counter.settle(kind, account, failed), undefined));
        await Promise.all(settled);
      };
      const answers = await Promise.all(
        asked.map(({ kind, counter }) =>
          unlessLost<{ admitted: boolean; allowedAtMs: number }>(counter.admit(kind, account, WAIT_MS), ADMITTED),
        ),
      );
      const at = answers.findIndex(({ admitted }) => !admitted);
      const refused = answers[at];
      if (refused === undefined) return { admitted: true, settle };
      await settle(
        false,
        answers.map(({ admitted }) => admitted),
      );
      return { admitted: false, by: asked[at]?.kind ?? "network", allowedAtMs: refused.allowedAtMs };
    },
  };
}

const ADMITTED = { admitted: true, allowedAtMs: 0 } as const;
