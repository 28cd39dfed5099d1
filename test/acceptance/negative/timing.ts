import type { Answer } from "./answer.ts";

/** How long each kind takes in the middle, in ms. They take turns, so that whatever else runs delays all alike. */
export async function medians(
  kinds: readonly string[],
  rounds: number,
  ask: (kind: string, round: number) => Promise<Answer>,
): Promise<Record<string, number>> {
  const samples = new Map<string, number[]>(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < rounds; round++)
    for (const kind of kinds) {
      const startedMs = performance.now();
      await ask(kind, round);
      samples.get(kind)?.push(performance.now() - startedMs);
    }
  return Object.fromEntries(
    [...samples].map(([kind, times]) => [kind, times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0]),
  );
}
