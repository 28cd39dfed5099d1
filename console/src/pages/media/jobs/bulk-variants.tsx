import { useState } from "react";
import { Panel } from "../../../components/panel.tsx";
import { FormFault } from "../../../components/forms/form-fault.ts";
import { ServiceForm, TextField } from "../../../components/forms/form.tsx";
import { say } from "../../../components/toasts/say.ts";
import { makeVariants } from "./bulk.ts";
import { parseSize } from "../file/crop.ts";
import { THUMBNAIL, type MatchingProps } from "../owner.ts";
import { VariantKindField, type VariantKind } from "../variant-kind-field.tsx";
import { useMediaWords } from "../words.ts";

/** Asks for one variant of every image that matches. */
export function BulkVariants({ owner, q, close }: MatchingProps) {
  const words = useMediaWords();
  const [type, setType] = useState<VariantKind>("clip");
  const [size, setSize] = useState(THUMBNAIL);
  return (
    <Panel title={words.makeVariantsTitle} isOpen close={close}>
      <p className="muted">{words.makeVariantsText}</p>
      <ServiceForm
        act={words.start}
        cancel={close}
        onSubmit={async () => {
          if (parseSize(size.trim()) === undefined) throw new FormFault("size", words.sizeMalformed);
          makeVariants({ owner, q, type, size: size.trim() });
          say.done(words.started);
          close();
        }}
      >
        <VariantKindField value={type} onChange={setType} />
        <TextField name="size" label={words.size} help={words.sizeHelp} value={size} onChange={setSize} isRequired />
      </ServiceForm>
    </Panel>
  );
}
