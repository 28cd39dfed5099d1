/** What was found broken. Many faults of one kind are one story: a few are told, all are counted. */
export class Violations {
  readonly #found = new Map<string, string[]>();

  /** `invariant`: what should hold. `detail`: where it does not. */
  add(invariant: string, detail: string): void {
    const known = this.#found.get(invariant);
    if (known === undefined) this.#found.set(invariant, [detail]);
    else known.push(detail);
  }

  /** Whether the invariant holds, noted when not. */
  expect(invariant: string, holds: boolean, detail: () => string): void {
    if (!holds) this.add(invariant, detail());
  }

  get count(): number {
    return this.#found.size;
  }

  lines(atMost = 5): string[] {
    return [...this.#found].flatMap(([invariant, details]) => [
      `${invariant} (${details.length} ×)`,
      ...details.slice(0, atMost).map((detail) => `  ${detail}`),
    ]);
  }
}
