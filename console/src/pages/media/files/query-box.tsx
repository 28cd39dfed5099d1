import { Plus, X } from "lucide-react";
import { useState } from "react";
import { Form, ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { Button } from "../../../components/button.tsx";
import { TextField } from "../../../components/forms/form.tsx";
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
          isRequired
        />
      ) : isReadable ? (
        <div className="terms">
          {rows.map((term, at) => (
            // Rows have no identity but their place.
            // oxlint-disable-next-line react/no-array-index-key
            <div key={at} className="term">
              <TextField
                name={`key${at}`}
                label={words.key}
                value={term.key}
                placeholder="album"
                isRequired
                onChange={(key) => change(rows.map((one, place) => (place === at ? { ...one, key } : one)))}
              />
              <TextField
                name={`value${at}`}
                label={words.value}
                value={term.value}
                isRequired
                onChange={(value) => change(rows.map((one, place) => (place === at ? { ...one, value } : one)))}
              />
              {terms.length > 0 && (
                <Button
                  className="icon"
                  aria-label={words.removeTerm(term.key)}
                  onPress={() => change(rows.filter((_, place) => place !== at))}
                >
                  <X aria-hidden size={16} />
                </Button>
              )}
            </div>
          ))}
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
            <Plus aria-hidden size={16} />
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
