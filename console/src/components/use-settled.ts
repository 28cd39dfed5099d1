import { useEffect, useRef, useState } from "react";

/** The service is asked when typing has paused for so long. */
const QUIET_MS = 200;

/** The text, once it has not changed for a moment. */
export function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), QUIET_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/**
 * The text of a search, which the address has: it is shown as it is typed, and goes into the address when typing
 * pauses.
 */
export function useSearchText(
  value: string,
  onChange: (value: string) => void,
): readonly [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(value);
  const seen = useRef(value);
  /** What this field has put into the address, and is not seen there yet. */
  const sent = useRef<readonly string[]>([]);
  const report = useRef(onChange);
  report.current = onChange;
  if (seen.current !== value) {
    seen.current = value;
    const at = sent.current.indexOf(value);
    sent.current = at === -1 ? [] : sent.current.slice(at + 1);
    // Something else changed the address, such as a link or the back button.
    if (at === -1) setText(value);
  }
  const settled = useSettled(text.trim());
  useEffect(() => {
    if (settled !== text.trim() || settled === (sent.current.at(-1) ?? seen.current)) return;
    sent.current = [...sent.current, settled];
    report.current(settled);
  }, [settled, text]);
  return [text, setText];
}
