import { Plus } from "lucide-react";
import { useState } from "react";
import { Form, ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { Button } from "../../../components/button.tsx";
import { TextField } from "../../../components/forms/form.tsx";
import { PairRows, type Pair } from "../../../components/forms/pair-rows.tsx";
import { formatTerms, parseTerms, type Term } from "./query-terms.ts";
import { useMediaWords } from "../words.ts";

const NO_TERM: Term = { key: "", value: "" };

/** The search `q`, as fields or as text. It starts by a button, since each search leaves a row in the audit log. */
export function QueryBox({ q, search }: { readonly q: string; readonly search: (q: string) => void }) {
  const words = useMediaWords();
  const [text, setText] = useState(q);
  const [terms, setTerms] = useState<readonly Term[]>(() => parseTerms(q) ?? []);
  const [isText, showText] = useState(false);
  const [sent, setSent] = useState(q);
  if (sent !== q) {
    setSent(q);
    write(q);
  }
  function write(next: string): void {
    setText(next);
    setTerms(parseTerms(next) ?? []);
  }
  const change = (next: readonly Term[]) => {
    setTerms(next);
    setText(formatTerms(next));
  };
  const isReadable = parseTerms(text) !== undefined;
  const rows = terms.length === 0 ? [NO_TERM] : terms;
  return (
    <Form
      className="media-query"
      onSubmit={(event) => {
        event.preventDefault();
        search(text.trim());
      }}
    >
      {isText ? (
        <TextField
          name="q"
          label={words.query}
          placeholder={words.queryExample}
          value={text}
          onChange={setText}
          isFilter
        />
      ) : isReadable ? (
        <div className="terms">
          <PairRows
            rows={rows.map(({ key, value }): Pair => [key, value])}
            change={(next) => change(next.map(([key, value]) => ({ key, value })))}
            words={words}
            keyExample="album"
            removeLabel={words.removeTerm}
            mayRemove={terms.length > 0}
            isFilter
          />
        </div>
      ) : (
        <p className="muted">{words.notFields}</p>
      )}
      <div className="buttons">
        <Button type="submit" className="primary">
          {words.run}
        </Button>
        {!isText && isReadable && (
          <Button onPress={() => setTerms([...rows, NO_TERM])}>
            <Plus aria-hidden />
            {words.addTerm}
          </Button>
        )}
        <ToggleButtonGroup
          aria-label={words.query}
          className="segmented"
          selectedKeys={[isText ? "text" : "fields"]}
          disallowEmptySelection
          onSelectionChange={(keys) => {
            showText(keys.has("text"));
            setTerms(parseTerms(text) ?? []);
          }}
        >
          <ToggleButton id="fields">{words.asFields}</ToggleButton>
          <ToggleButton id="text">{words.asText}</ToggleButton>
        </ToggleButtonGroup>
      </div>
    </Form>
  );
}
