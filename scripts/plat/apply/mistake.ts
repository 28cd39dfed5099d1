import { harmless } from "../../../src/platform/text.ts";

/** A place in the file, both numbers from 1, as editors count. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Why the file is refused, and where. */
export interface Mistake {
  readonly place: Place;
  /** What is wrong and, where that is known, what to write instead. Never holds a secret. */
  readonly reason: string;
}

export const START: Place = { line: 1, column: 1 };

/** A reason repeats what the file has there, and that may be anything. */
const REASON_CHARS = 1_000;

/** `platform.yaml:12:5: reason`, a line for each, in the order of the file. */
export const showMistakes = (file: string, mistakes: readonly Mistake[]): string[] =>
  [...mistakes]
    .sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
    .map(({ place, reason }) => `${file}:${place.line}:${place.column}: ${harmless(reason, REASON_CHARS)}`);
