/** Broken invariants. All occurrences are counted; a few of each are shown. */
export class Violations {
  readonly #found = new Map<string, string[]>();

  /** `invariant`: the rule. `detail`: the place where it is broken. */
  add(invariant: string, detail: string): void {
    const known = this.#found.get(invariant);
    if (known === undefined) this.#found.set(invariant, [detail]);
    else known.push(detail);
  }

  /** Notes a violation unless the invariant holds. */
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
