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
  const sent = useRef(value);
  const report = useRef(onChange);
  report.current = onChange;
  // The address was changed by something else, such as a link or the back button.
  if (sent.current !== value) {
    sent.current = value;
    setText(value);
  }
  const settled = useSettled(text.trim());
  useEffect(() => {
    if (settled === sent.current || settled !== text.trim()) return;
    sent.current = settled;
    report.current(settled);
  }, [settled, text]);
  return [text, setText];
}
