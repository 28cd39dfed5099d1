import { SelectField } from "../../components/forms/form.tsx";
import { useMediaWords } from "./words.ts";

export type VariantKind = "clip" | "crop";

interface VariantKindFieldProps {
  readonly value: VariantKind;
  readonly onChange: (kind: VariantKind) => void;
}

/** Chooses how a variant fits its size. */
export function VariantKindField({ value, onChange }: VariantKindFieldProps) {
  const { kind, kinds } = useMediaWords();
  return (
    <SelectField
      name="type"
      label={kind}
      value={value}
      onChange={(chosen) => onChange(chosen === "crop" ? "crop" : "clip")}
      options={[
        { id: "crop", name: kinds.crop },
        { id: "clip", name: kinds.clip },
      ]}
    />
  );
}
