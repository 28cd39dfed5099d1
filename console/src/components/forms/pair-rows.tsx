import { X } from "lucide-react";
import { Button } from "../button.tsx";
import { TextField } from "./form.tsx";

/** A key and its value, as they are typed. */
export type Pair = readonly [key: string, value: string];

interface PairRowsProps {
  readonly rows: readonly Pair[];
  readonly change: (rows: readonly Pair[]) => void;
  readonly words: { readonly key: string; readonly value: string };
  readonly keyExample?: string;
  /** Names the button that removes a row. */
  readonly removeLabel: (key: string) => string;
  readonly mayRemove?: boolean;
  /** Pairs of a search, of which an empty one counts for nothing. */
  readonly isFilter?: boolean;
}

/** Edits pairs of a key and a value, one pair a row. */
export function PairRows(props: PairRowsProps) {
  const { rows, change, words, keyExample, removeLabel, mayRemove = true, isFilter = false } = props;
  const replace = (at: number, pair: Pair) => change(rows.with(at, pair));
  return rows.map(([key, value], at) => (
    // Rows have no identity but their place.
    // oxlint-disable-next-line react/no-array-index-key
    <div key={at} className="term">
      <TextField
        name={`key${at}`}
        label={words.key}
        value={key}
        {...(keyExample !== undefined && { placeholder: keyExample })}
        isFilter={isFilter}
        isRequired={!isFilter}
        onChange={(to) => replace(at, [to, value])}
      />
      <TextField
        name={`value${at}`}
        label={words.value}
        value={value}
        isFilter={isFilter}
        isRequired={!isFilter}
        onChange={(to) => replace(at, [key, to])}
      />
      {mayRemove && (
        <Button className="icon" aria-label={removeLabel(key)} onPress={() => change(rows.toSpliced(at, 1))}>
          <X aria-hidden />
        </Button>
      )}
    </div>
  ));
}
