import { Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button, Input, SearchField } from "react-aria-components";
import { useWords } from "../../words/words.ts";
import { Empty } from "../states.tsx";

/** The service is asked when typing has paused for so long. */
const QUIET_MS = 200;

interface SearchBoxProps {
  readonly label: string;
  /** The present search, from the address. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The search of a list. It shows the text at once, and searches when typing pauses. */
export function SearchBox({ label, value, onChange }: SearchBoxProps) {
  const { common } = useWords();
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const report = useRef(onChange);
  report.current = onChange;
  // The address was changed by something else, such as a link or the back button.
  if (sent.current !== value) {
    sent.current = value;
    setText(value);
  }
  useEffect(() => {
    const asked = text.trim();
    if (asked === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = asked;
      report.current(asked);
    }, QUIET_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <SearchField aria-label={label} className="search-box" value={text} onChange={setText} maxLength={100}>
      <Search aria-hidden />
      <Input placeholder={label} />
      <Button className="button icon" aria-label={common.clear}>
        <X aria-hidden />
      </Button>
    </SearchField>
  );
}

/** Shown if a search finds no rows. */
export function NothingFound({ text }: { readonly text: string }) {
  const { common } = useWords();
  return <Empty title={common.nothingFound}>{common.nothingBegins(text)}</Empty>;
}
