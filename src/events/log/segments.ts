/**
 * Segments: how events are packed into rows and sent from the log to its readers.
 *
 * A segment holds events that were published together. `events` has one JSON text per line, exactly as readers get it.
 * JSON text has no line breaks, so an event is serialized once and never parsed again. JSON escapes NUL and lone
 * surrogates in ASCII, so every payload survives unchanged.
 */
export interface Segment {
  /** Position of the first event; the others follow without a gap. Positions of a shard start at 1. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly createdAtMs: number;
  readonly events: string;
  /**
   * UTF-8 size of each payload, comma-separated; after them the `traceparent` of the publish if it has spans. Older
   * releases read only as many sizes as there are events, and so ignore it.
   */
  readonly payloadBytes: string;
  /** Positions of the events, if the segment holds those of one tenant only. */
  readonly seqs?: readonly number[] | undefined;
}

/** An event ready to be stored: its JSON text from `"tenant"` on. The log puts `id` and `createdAt` before it. */
export interface NewEvent {
  readonly text: string;
  readonly payloadBytes: number;
}

/** An event and its position in a shard. */
export interface LogEvent {
  readonly seq: number;
  readonly createdAtMs: number;
  readonly text: string;
  readonly payloadBytes: number;
  /** The `traceparent` of the publish, if it has spans. */
  readonly trace?: string | undefined;
}

/** The events of a publish. The first one has the position `firstSeq`. */
interface Published {
  readonly events: readonly NewEvent[];
  readonly ids: readonly string[];
  readonly firstSeq: number;
  readonly createdAtMs: number;
  readonly trace: string | undefined;
}

/** Packs events into segments of at most `maxChars`, in order. A longer event fills a segment alone. */
export function packSegments({ events, ids, firstSeq, createdAtMs, trace }: Published, maxChars: number): Segment[] {
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
      payloadBytes: [...sizes, ...(trace === undefined ? [] : [trace])].join(","),
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

/** The events of a segment after a position. */
export function unpackSegment(segment: Segment, afterSeq: number): LogEvent[] {
  const sizes = segment.payloadBytes.split(",");
  const lines = segment.events.split("\n");
  const trace = sizes[lines.length];
  return lines
    .map((text, index) => ({
      seq: segment.seqs?.[index] ?? segment.firstSeq + index,
      createdAtMs: segment.createdAtMs,
      text,
      payloadBytes: Number(sizes[index]),
      ...(trace === undefined ? {} : { trace }),
    }))
    .filter((event) => event.seq > afterSeq);
}

/** The id of an event, which its text starts with. */
export const idOf = (text: string): string => text.slice(ID_BEFORE.length, text.indexOf('"', ID_BEFORE.length));

/** The text with another id. */
export const withId = (text: string, id: string): string =>
  `${ID_BEFORE}${id}${text.slice(ID_BEFORE.length + idOf(text).length)}`;

const ID_BEFORE = '{"id":"';
