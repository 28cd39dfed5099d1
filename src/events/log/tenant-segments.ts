import { LOG } from "../model/limits.ts";
import { masked, type OwnTenant } from "./hidden-ids.ts";
import { idOf, unpackSegment, withId, type Segment } from "./segments.ts";
import type { ReadOutcome } from "./types.ts";

/** What is read of one tenant's events. */
export interface TenantRead {
  readonly afterSeq: number;
  /** No event behind this position. */
  readonly throughSeq?: number;
  /** As `TopicLog.read` takes them. */
  readonly minEvents: number;
  readonly aheadChars: number;
  readonly maxChars: number;
}

/**
 * Reads the events of one tenant out of a log's segments, which end at `lastSeq`. The others are passed over here, so they
 * cross no border. How many of them one call passes is bounded: it says then that there may be more behind `endSeq`.
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
    const passedAll = seenChars >= LOG.passedChars;
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

/** The tenant's events of a segment behind a position, with the ids that their reader is shown. */
function ofTenant(
  segment: Segment,
  afterSeq: number,
  own: OwnTenant,
): (Segment & { seqs: readonly number[] }) | undefined {
  const found = unpackSegment(segment, afterSeq).filter(({ text }) => TENANT.exec(text)?.[1] === own.tenant);
  if (found.length === 0) return undefined;
  return {
    ...segment,
    events: found.map(({ text }) => withId(text, masked(idOf(text), own)!)).join("\n"),
    payloadBytes: found.map(({ payloadBytes }) => payloadBytes).join(","),
    seqs: found.map(({ seq }) => seq),
  };
}

/** The tenant stands right behind what the log adds in front (segments.ts). */
const TENANT = /^\{"id":"[^"]*","createdAt":\d+,"tenant":"([^"\\]*)"/;
