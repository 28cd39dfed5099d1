import { useState } from "react";
import { Panel } from "../../../components/dialogs.tsx";
import { FormFault } from "../../../components/forms/form-fault.ts";
import { SelectField, ServiceForm, TextField } from "../../../components/forms/form.tsx";
import { say } from "../../../components/toasts/say.ts";
import { makeVariants } from "./bulk.ts";
import { parseSize } from "../file/crop.ts";
import { THUMBNAIL, type Owner } from "../owner.ts";
import { useMediaWords } from "../words.ts";

/** Asks for one variant of every image that matches. */
export function BulkVariants({
  owner,
  q,
  close,
}: {
  readonly owner: Owner;
  readonly q: string;
  readonly close: () => void;
}) {
  const words = useMediaWords();
  const [type, setType] = useState<"clip" | "crop">("clip");
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
        <SelectField
          name="type"
          label={words.kind}
          value={type}
          onChange={(kind) => setType(kind === "crop" ? "crop" : "clip")}
          options={[
            { id: "clip", name: words.kinds.clip },
            { id: "crop", name: words.kinds.crop },
          ]}
        />
        <TextField name="size" label={words.size} help={words.sizeHelp} value={size} onChange={setSize} isRequired />
      </ServiceForm>
    </Panel>
  );
}
