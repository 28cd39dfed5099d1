import { useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { getOperatedFile, type OperatedFileReport } from "../../../../../api/plinth.ts";
import { answer, operations } from "../../../api/client.ts";
import { replaceMetadata } from "../../../api/metadata.ts";
import { SmallButton } from "../../../components/button.tsx";
import { CodeBlock } from "../../../components/copy.tsx";
import { FormFault } from "../../../components/forms/form-fault.ts";
import { ServiceForm, TextField } from "../../../components/forms/form.tsx";
import { PairRows, type Pair } from "../../../components/forms/pair-rows.tsx";
import { useChanges } from "../../../components/forms/use-write.ts";
import { Card } from "../../../components/page.tsx";
import { say } from "../../../components/toasts/say.ts";
import { useWords } from "../../../words/words.ts";
import { fieldsOf, isSame, readable, textOf, withoutSpace, type Field } from "./metadata.ts";
import { useMediaWords } from "../words.ts";

/** Metadata as fields or as JSON. Both edit the same text, so a change in one appears in the other. */
export function MetadataCard({ file, mayChange }: { readonly file: OperatedFileReport; readonly mayChange: boolean }) {
  const words = useMediaWords();
  const { common } = useWords();
  const queries = useQueryClient();
  const [json, setJson] = useState(() => readable(file.metadataText));
  const [fields, setFields] = useState(() => fieldsOf(file.metadataText));
  const [isJson, showJson] = useState(fields === undefined);
  const [seen, see] = useState(file.metadataText);
  const changes = useChanges({ metadata: withoutSpace(file.metadataText) });
  if (seen !== file.metadataText) {
    see(file.metadataText);
    // Keeps text that was typed meanwhile.
    if (isSame(json, seen)) {
      setJson(readable(file.metadataText));
      setFields(fieldsOf(file.metadataText));
      changes.forget({ metadata: withoutSpace(file.metadataText) });
    }
  }
  if (!mayChange)
    return (
      <Card>
        <CodeBlock label={words.metadata} code={readable(file.metadataText)} />
      </Card>
    );
  const change = (next: readonly Field[]) => {
    setFields(next);
    setJson(readable(textOf(next)));
  };
  const typeJson = (next: string) => {
    setJson(next);
    setFields(fieldsOf(next));
  };
  async function save(): Promise<void> {
    const text = isJson || fields === undefined ? json : textOf(fields);
    if (!isObject(text)) throw new FormFault("metadata", words.metadataMalformed);
    const typed = { metadata: withoutSpace(text) };
    const { metadataText: now } = await answer(getOperatedFile(file.id, operations));
    if ("metadata" in changes.over({ metadata: withoutSpace(now) }, typed)) await replaceMetadata(file.id, text);
    changes.forget(typed);
    say.done(words.metadataSaved);
    void queries.invalidateQueries({ queryKey: ["files"] });
    await queries.invalidateQueries({ queryKey: ["file", file.id] });
  }
  return (
    <Card
      title={words.metadata}
      actions={
        <ToggleButtonGroup
          aria-label={words.metadata}
          className="segmented"
          selectedKeys={[isJson ? "json" : "form"]}
          disallowEmptySelection
          onSelectionChange={(keys) => showJson(keys.has("json"))}
        >
          <ToggleButton id="form" isDisabled={fields === undefined}>
            {words.metadataForm}
          </ToggleButton>
          <ToggleButton id="json">{words.metadataJson}</ToggleButton>
        </ToggleButtonGroup>
      }
    >
      <ServiceForm act={common.save} onSubmit={save}>
        {isJson || fields === undefined ? (
          <TextField
            name="metadata"
            label={words.metadataJson}
            value={json}
            onChange={typeJson}
            isMultiline
            isRequired
            help={fields === undefined ? words.metadataOnlyJson : undefined}
          />
        ) : (
          <div className="terms">
            {fields.length === 0 && <p className="muted">{words.noMetadata}</p>}
            <PairRows
              rows={fields.map(({ name, text }): Pair => [name, text])}
              change={(next) => change(next.map(([name, text]) => ({ name, text })))}
              words={words}
              removeLabel={words.removeField}
            />
            <SmallButton onPress={() => change([...fields, { name: "", text: "" }])}>
              <Plus aria-hidden />
              {words.addField}
            </SmallButton>
          </div>
        )}
      </ServiceForm>
    </Card>
  );
}

function isObject(json: string): boolean {
  try {
    const parsed: unknown = JSON.parse(json);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}
