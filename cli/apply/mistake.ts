import { sanitizeForLog } from "../../src/platform/text/text.ts";

/** A place in the file, line and column from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A reason to refuse the file, with its place. */
export interface Mistake {
  readonly place: Place;
  /** The mistake, and the correction if known. Never holds a secret. */
  readonly reason: string;
}

export const START: Place = { line: 1, column: 1 };

/** The longest reason: it may quote the file, which may contain anything. */
export const REASON_CHARS = 1_000;

/** Sorts by place. */
export const inOrder = (one: { readonly place: Place }, other: { readonly place: Place }): number =>
  one.place.line - other.place.line || one.place.column - other.place.column;

/** Renders `platform.yaml:12:5: reason`, a line for each, in order. */
export const showMistakes = (file: string, mistakes: readonly Mistake[]): string[] =>
  [...mistakes]
    .sort(inOrder)
    .map(({ place, reason }) => `${file}:${place.line}:${place.column}: ${sanitizeForLog(reason, REASON_CHARS)}`);
