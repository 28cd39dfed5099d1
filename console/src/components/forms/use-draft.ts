import { useState } from "react";

interface DraftField<K extends string> {
  readonly name: K;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/**
 * The texts of a form while they are typed, by the service's names of the fields. Texts of the record that is edited
 * stand in place of those that a new one begins with:
 *
 *   const [draft, field] = useDraft({ id: "", name: "" }, tenant);
 *   <TextField {...field("name")} label={words.name} />
 */
export function useDraft<const K extends string>(
  first: Readonly<Record<K, string>>,
  record: object = {},
): readonly [
  draft: Readonly<Record<K, string>>,
  field: <F extends K>(name: F) => DraftField<F>,
  setDraft: (draft: Readonly<Record<K, string>>) => void,
] {
  const [draft, setDraft] = useState(() => {
    const texts = Object.entries(record).filter(([name, value]) => name in first && typeof value === "string");
    return { ...first, ...Object.fromEntries(texts) };
  });
  const field = <F extends K>(name: F): DraftField<F> => ({
    name,
    value: draft[name],
    onChange: (value) => setDraft((old) => ({ ...old, [name]: value })),
  });
  return [draft, field, setDraft];
}
