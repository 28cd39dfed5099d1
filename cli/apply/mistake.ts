import { sanitizeForLog } from "../../src/platform/text.ts";

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
export const REASON_CHARS = 1_000;

/** As the file has them. */
export const inOrder = (one: { readonly place: Place }, other: { readonly place: Place }): number =>
  one.place.line - other.place.line || one.place.column - other.place.column;

/** `platform.yaml:12:5: reason`, a line for each, in the order of the file. */
export const showMistakes = (file: string, mistakes: readonly Mistake[]): string[] =>
  [...mistakes]
    .sort(inOrder)
    .map(({ place, reason }) => `${file}:${place.line}:${place.column}: ${sanitizeForLog(reason, REASON_CHARS)}`);
