import { Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button, Input, SearchField } from "react-aria-components";
import { useWords } from "../../words/words.ts";
import { Empty } from "../states.tsx";

/** Typing may pause so long before the service is asked. */
const QUIET_MS = 200;

interface SearchBoxProps {
  readonly label: string;
  /** What is searched now, which the address says. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The search of a list. It shows what is typed at once, and asks when the typing pauses. */
export function SearchBox({ label, value, onChange }: SearchBoxProps) {
  const { common } = useWords();
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const report = useRef(onChange);
  report.current = onChange;
  // The address changed by something else: a link, or the way back.
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
      <Search aria-hidden size={16} />
      <Input placeholder={label} />
      <Button className="button icon" aria-label={common.clear}>
        <X aria-hidden size={16} />
      </Button>
    </SearchField>
  );
}

/** In place of the rows of a search that finds none. */
export function NothingFound({ text }: { readonly text: string }) {
  const { common } = useWords();
  return <Empty title={common.nothingFound}>{common.nothingBegins(text)}</Empty>;
}
