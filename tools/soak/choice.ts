import type { Operation } from "./load/operation.ts";
import type { Random } from "./random.ts";

/** Which operation comes next: by weight, of those that have something to work on; what was never done goes first. */
export class Choice {
  readonly #operations: readonly Operation[];
  readonly #untried: Set<Operation>;

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
    this.#untried = new Set(operations);
  }

  /** Whether each operation was chosen once. */
  get isComplete(): boolean {
    return this.#untried.size === 0;
  }

  next(random: Random): Operation {
    const ready = this.#operations.filter((operation) => operation.isReady?.() ?? true);
    const fresh = ready.filter((operation) => this.#untried.has(operation));
    const able = fresh.length > 0 ? fresh : ready;
    let left = random.share() * able.reduce((sum, { weight }) => sum + weight, 0);
    const chosen = able.find(({ weight }) => (left -= weight) < 0) ?? able[0]!;
    this.#untried.delete(chosen);
    return chosen;
  }
}
