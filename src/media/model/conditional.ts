import { matchesAny } from "../../platform/text/entity-tag.ts";
import { parseHttpDate } from "../../platform/text/http-date.ts";

/** Conditional requests (RFC 9110 section 13) for a representation that never changes. Pure. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  readonly lastModifiedMs: number;
}

export type Precondition = "proceed" | "not_modified" | "failed";

/** Evaluates the request's conditions in the order of RFC 9110 section 13.2.2, except `If-Range` (`rangeApplies`). */
export function evaluateConditions(headers: Headers, current: Validators, nowMs: number): Precondition {
  const ifMatch = headers.get("if-match");
  if (ifMatch !== null) {
    if (!matchesAny(ifMatch, current.etag, "strong")) return "failed";
  } else {
    const unmodifiedSinceMs = parseHttpDate(headers.get("if-unmodified-since"), nowMs);
    if (unmodifiedSinceMs !== undefined && wholeSeconds(current.lastModifiedMs) > unmodifiedSinceMs) return "failed";
  }
  const ifNoneMatch = headers.get("if-none-match");
  if (ifNoneMatch !== null) return matchesAny(ifNoneMatch, current.etag, "weak") ? "not_modified" : "proceed";
  const modifiedSinceMs = parseHttpDate(headers.get("if-modified-since"), nowMs);
  const unchanged = modifiedSinceMs !== undefined && wholeSeconds(current.lastModifiedMs) <= modifiedSinceMs;
  return unchanged ? "not_modified" : "proceed";
}

/** A `Range` counts if there is no `If-Range` or if `If-Range` names this representation (section 13.1.5). */
export function rangeApplies(headers: Headers, current: Validators, nowMs: number): boolean {
  const ifRange = headers.get("if-range");
  if (ifRange === null) return true;
  if (ifRange.includes('"')) return ifRange.trim() === current.etag;
  return parseHttpDate(ifRange, nowMs) === wholeSeconds(current.lastModifiedMs);
}

/** Cuts a time to seconds, because HTTP dates have no milliseconds. */
const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;
