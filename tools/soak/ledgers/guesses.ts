import type { Violations } from "./violations.ts";

/** Wrong passwords in a row that an account takes (contract 2.6). */
const LIMIT = 15;

/** Wrong passwords for one account: what was sent, and what was answered. Times by `performance.now()`. */
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

  /** The password was looked at. What got no answer may have been counted or not. */
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
    // The one that was told of the block was not counted.
    const before = this.#sent.filter((sentMs) => sentMs < answeredMs).length - 1;
    this.#violations.expect("no account is blocked early", before >= LIMIT, () => `after ${before} guesses`);
    this.#blockedMs = Math.min(this.#blockedMs, answeredMs);
  }
}
