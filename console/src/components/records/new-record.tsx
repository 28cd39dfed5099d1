import { useNavigate } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { Card, Page as Frame } from "../page.tsx";
import { recordHref, useRefresh, type RecordKind } from "./records.ts";

interface NewRecordProps {
  readonly kind: RecordKind;
  readonly words: { readonly title: string; readonly make: string };
  /** `cancel` goes back to the list, `done` on to the page of the new record. */
  readonly form: ComponentType<{ readonly cancel: () => void; readonly done: (id: string) => Promise<void> }>;
}

/** The page that makes a record. */
export function NewRecord({ kind, words, form: Form }: NewRecordProps) {
  const navigate = useNavigate();
  const refresh = useRefresh(kind);
  return (
    <Frame title={words.make} parent={{ href: `/${kind}`, title: words.title }}>
      <Card>
        <Form
          cancel={() => void navigate({ href: `/${kind}` })}
          done={async (id) => {
            void refresh();
            await navigate({ href: recordHref(kind, id) });
          }}
        />
      </Card>
    </Frame>
  );
}
