/**
 * Segments: how events are packed into rows and cross from the log to its readers.
 *
 * A segment is some events that were published together. `events` holds them as the JSON texts that readers get, one
 * a line (JSON text has no line breaks), so an event is written as text once and never parsed again, and a payload of
 * any characters comes back as it was: JSON spells NUL and lone surrogates in ASCII.
 */
export interface Segment {
  /** Position of the first event; the others follow without a gap. Positions of a shard start at 1. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly createdAtMs: number;
  readonly events: string;
  /** Size of each payload in UTF-8, comma-separated. */
  readonly payloadBytes: string;
  /** Positions of the events, where it holds those of one tenant alone. */
  readonly seqs?: readonly number[] | undefined;
}

/** An event ready to be stored: its JSON text from `"tenant"` on; the log puts `id` and `createdAt` in front. */
export interface NewEvent {
  readonly text: string;
  readonly payloadBytes: number;
}

/** An event at its place in a shard. */
export interface LogEvent {
  readonly seq: number;
  readonly createdAtMs: number;
  readonly text: string;
  readonly payloadBytes: number;
}

/** Packs events in their order into segments of at most `maxChars`; a longer event fills one alone. */
export function packSegments(
  events: readonly NewEvent[],
  ids: readonly string[],
  firstSeq: number,
  createdAtMs: number,
  maxChars: number,
): Segment[] {
  const segments: Segment[] = [];
  let lines: string[] = [];
  let sizes: number[] = [];
  let chars = 0;
  const close = () => {
    if (lines.length === 0) return;
    const first = (segments.at(-1)?.lastSeq ?? firstSeq - 1) + 1;
    segments.push({
      firstSeq: first,
      lastSeq: first + lines.length - 1,
      createdAtMs,
      events: lines.join("\n"),
      payloadBytes: sizes.join(","),
    });
    lines = [];
    sizes = [];
    chars = 0;
  };
  for (const [index, event] of events.entries()) {
    const line = `${ID_BEFORE}${ids[index]!}","createdAt":${createdAtMs},${event.text}`;
    if (chars + line.length > maxChars) close();
    lines.push(line);
    sizes.push(event.payloadBytes);
    chars += line.length + 1;
  }
  close();
  return segments;
}

/** The events of a segment that lie behind a position. */
export function unpackSegment(segment: Segment, afterSeq: number): LogEvent[] {
  const sizes = segment.payloadBytes.split(",");
  return segment.events
    .split("\n")
    .map((text, index) => ({
      seq: segment.seqs?.[index] ?? segment.firstSeq + index,
      createdAtMs: segment.createdAtMs,
      text,
      payloadBytes: Number(sizes[index]),
    }))
    .filter((event) => event.seq > afterSeq);
}

/** The id of an event, with which its text begins. */
export const idOf = (text: string): string => text.slice(ID_BEFORE.length, text.indexOf('"', ID_BEFORE.length));

/** The text with another id. */
export const withId = (text: string, id: string): string =>
  `${ID_BEFORE}${id}${text.slice(ID_BEFORE.length + idOf(text).length)}`;

const ID_BEFORE = '{"id":"';
