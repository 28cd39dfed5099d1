import { Search, X } from "lucide-react";
import { Button, Input, SearchField } from "react-aria-components";
import { useWords } from "../../words/words.ts";
import { Empty } from "../states.tsx";
import { useSearchText } from "../use-settled.ts";

interface SearchBoxProps {
  readonly label: string;
  /** The present search, from the address. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The search of a list. It shows the text at once, and searches when typing pauses. */
export function SearchBox({ label, value, onChange }: SearchBoxProps) {
  const { common } = useWords();
  const [text, setText] = useSearchText(value, onChange);
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
