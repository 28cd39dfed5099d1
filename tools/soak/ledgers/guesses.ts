import type { Violations } from "./violations.ts";

/** Wrong passwords in a row before an account is blocked. */
const LIMIT = 15;

/** Guesses at one account: sent and answered. Times by `performance.now()`. */
export class GuessesLedger {
  readonly #violations: Violations;
  readonly #sent: number[] = [];
  #wrong = 0;
  #blockedMs = Number.POSITIVE_INFINITY;

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  sent(nowMs: number): void {
    this.#sent.push(nowMs);
  }

  /** The password was checked. An unanswered guess may or may not have counted. */
  wrong(sentMs: number): void {
    this.#wrong += 1;
    this.#violations.expect(
      "no password is looked at beyond the limit",
      this.#wrong <= LIMIT,
      () => `${this.#wrong} were`,
    );
    const isLate = this.#blockedMs < sentMs;
    this.#violations.expect("a block lasts", !isLate, () => "a guess was looked at after a block was told of");
  }

  blocked(answeredMs: number): void {
    // The guess that was told of the block did not count.
    const before = this.#sent.filter((sentMs) => sentMs < answeredMs).length - 1;
    this.#violations.expect("no account is blocked early", before >= LIMIT, () => `after ${before} guesses`);
    this.#blockedMs = Math.min(this.#blockedMs, answeredMs);
  }
}
