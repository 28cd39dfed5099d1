import { READ } from "../model/limits.ts";
import type { LogEvent } from "../log/segments.ts";

/** What a look at stored events gives. */
export interface View {
  /** Event objects as JSON, comma-separated. */
  readonly events: string;
  /** The id to look after for more; null when this was the end. */
  readonly next: string | null;
}

/** The first ones that fit into an answer; one at least. */
export function fitting<E extends LogEvent>(events: readonly E[], limit: number): readonly E[] {
  let payloadBytes = 0;
  let chars = 0;
  const end = events.findIndex((event, index) => {
    payloadBytes += event.payloadBytes;
    chars += event.text.length + 1;
    const isTooMuch = payloadBytes > READ.maxPayloadBytes || chars > READ.maxAnswerChars;
    return index === limit || (index > 0 && isTooMuch);
  });
  return end === -1 ? events : events.slice(0, end);
}
