import { toHex } from "../../platform/text/encoding.ts";
import { networkOf } from "../../platform/outside/ip-range.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { normalizedPassword } from "../../platform/secrets/password-hash.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { createMac } from "./browser.ts";
import type { GuessCounter } from "./guess-counter.do.ts";
import type { GuessKind } from "./guesses.ts";

/**
 * Slows down guessing of few passwords at many accounts, which no single account notices: by network and by password
 * (limits in `guesses.ts`). Successful sign-ins do not count, so an office behind one address can go on.
 *
 * Counters store keyed digests for a day at most, so they do not help to guess passwords.
 */
export interface GuessGuard {
  /**
   * `account`: the account that is tried, known or not. `request`: the guesser's; undefined if the network is unknown.
   */
  begin(guess: {
    readonly request: Request | undefined;
    readonly account: string;
    readonly password: string;
  }): Promise<Admission>;
}

export type Admission =
  | { readonly admitted: false; readonly by: GuessKind; readonly allowedAtMs: number }
  /** `settle`: reports the result of the attempt, after the response. */
  | { readonly admitted: true; settle(failed: boolean): Promise<void> };

/** For attempts that are counted elsewhere. */
export const UNCOUNTED: Admission = { admitted: true, settle: async () => {} };
export const noGuessGuard: GuessGuard = { begin: async () => UNCOUNTED };

const PURPOSE = "guess";
/**
 * An attempt waits this long for a slot before it is refused. So an office that signs in at nine gets in one by one.
 */
const WAIT_MS = 5_000;

export function createGuessGuard(counters: DurableObjectNamespace<GuessCounter>, sealer: Sealer, log: Log): GuessGuard {
  const digest = async (text: string): Promise<string> => toHex(await createMac(sealer, PURPOSE, text));
  /** A counter that fails stops nobody: the limit of the account still applies. */
  async function orOnError<T>(ask: Promise<T>, otherwise: T): Promise<T> {
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
      const limits = await Promise.all(
        named.map(async ([kind, text]) => ({ kind, counter: counters.getByName(await digest(text)) })),
      );
      const settle = async (failed: boolean, admitted = limits.map(() => true)): Promise<void> => {
        const settled = limits
          .filter((_, at) => admitted[at] === true)
          .map(({ kind, counter }) => orOnError(counter.settle(kind, account, failed), undefined));
        await Promise.all(settled);
      };
      const answers = await Promise.all(
        limits.map(({ kind, counter }) =>
          orOnError<{ admitted: boolean; allowedAtMs: number }>(counter.admit(kind, account, WAIT_MS), ADMITTED),
        ),
      );
      const at = answers.findIndex(({ admitted }) => !admitted);
      const refused = answers[at];
      if (refused === undefined) return { admitted: true, settle };
      await settle(
        false,
        answers.map(({ admitted }) => admitted),
      );
      return { admitted: false, by: limits[at]?.kind ?? "network", allowedAtMs: refused.allowedAtMs };
    },
  };
}

const ADMITTED = { admitted: true, allowedAtMs: 0 } as const;
