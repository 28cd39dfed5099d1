import { useNavigate } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { useWords } from "../../words/words.ts";
import { Card, Page as Frame } from "../page.tsx";
import { useOpenNew, useRefresh, type RecordFormProps, type RecordKind } from "./records.ts";

interface NewRecordProps {
  readonly kind: RecordKind;
  readonly form: ComponentType<RecordFormProps<never>>;
}

/** Creates a record. To cancel leads back to the list, to save on to the page of the new record. */
export function NewRecord({ kind, form: Form }: NewRecordProps) {
  const words = useWords()[kind];
  const navigate = useNavigate();
  const refresh = useRefresh(kind);
  const openNew = useOpenNew(kind);
  return (
    <Frame title={words.make} parent={{ href: `/${kind}`, title: words.title }}>
      <Card>
        <Form
          cancel={() => void navigate({ href: `/${kind}` })}
          done={async (id) => {
            void refresh();
            await openNew(id);
          }}
        />
      </Card>
    </Frame>
  );
}
