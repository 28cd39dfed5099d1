import { LOG } from "../model/limits.ts";
import { maskId, type OwnTenant } from "./hidden-ids.ts";
import { idOf, unpackSegment, withId, type Segment } from "./segments.ts";
import type { ReadOutcome } from "./types.ts";

/** Parameters for reading the events of one tenant. */
export interface TenantRead {
  readonly afterSeq: number;
  /** Stop once this position is read. Default: the end of the log. */
  readonly throughSeq?: number;
  /** Same meaning as in `TopicLog.read`. */
  readonly minEvents: number;
  readonly aheadChars: number;
  readonly maxChars: number;
}

/**
 * Reads one tenant's events from the segments of a log that ends at `lastSeq`. The log skips other tenants' events
 * itself, so that they are not sent between objects. One call scans a bounded amount; `isCut` then says that more
 * events may follow `endSeq`.
 */
export function readTenant(
  stored: Iterable<Segment>,
  lastSeq: number,
  own: OwnTenant,
  { afterSeq, throughSeq = Infinity, minEvents, aheadChars, maxChars }: TenantRead,
): Extract<ReadOutcome, { kind: "segments" }> {
  const segments: Segment[] = [];
  let events = 0;
  let chars = 0;
  let seenChars = 0;
  let endSeq = afterSeq;
  for (const segment of stored) {
    const isEnough = chars >= maxChars || (chars >= aheadChars && events >= minEvents) || endSeq >= throughSeq;
    const passedAll = seenChars >= LOG.skippedChars;
    if (isEnough || passedAll) return { kind: "segments", segments, endSeq, atEnd: false, isCut: !isEnough };
    const found = ofTenant(segment, afterSeq, own);
    if (found !== undefined) {
      segments.push(found);
      events += found.seqs.length;
      chars += found.events.length;
    }
    seenChars += segment.events.length;
    endSeq = segment.lastSeq;
  }
  return { kind: "segments", segments, endSeq: lastSeq, atEnd: true };
}

/** The tenant's events of a segment after a position, with the masked ids that the reader gets. */
function ofTenant(
  segment: Segment,
  afterSeq: number,
  own: OwnTenant,
): (Segment & { seqs: readonly number[] }) | undefined {
  const found = unpackSegment(segment, afterSeq).filter(({ text }) => TENANT.exec(text)?.[1] === own.tenant);
  if (found.length === 0) return undefined;
  return {
    ...segment,
    events: found.map(({ text }) => withId(text, maskId(idOf(text), own)!)).join("\n"),
    payloadBytes: found.map(({ payloadBytes }) => payloadBytes).join(","),
    seqs: found.map(({ seq }) => seq),
  };
}

/** The tenant directly follows the fields that the log puts first (segments.ts). */
const TENANT = /^\{"id":"[^"]*","createdAt":\d+,"tenant":"([^"\\]*)"/;
