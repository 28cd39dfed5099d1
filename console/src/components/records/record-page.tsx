import { useQuery } from "@tanstack/react-query";
import { useState, type ComponentType, type ReactNode } from "react";
import { answer, operations } from "../../api/client.ts";
import { useWords } from "../../words/words.ts";
import { Button } from "../button.tsx";
import { Panel } from "../panel.tsx";
import { Fetched } from "../fetched.tsx";
import { Page as Frame } from "../page.tsx";
import { useMayEdit, useRefresh, type RecordFormProps, type RecordKind } from "./records.ts";

interface RecordPageProps<T> {
  readonly kind: RecordKind;
  readonly id: string;
  /** The operation of the service that reads it. */
  readonly ask: (
    id: string,
    options: typeof operations,
  ) => Promise<{ readonly status: number; readonly data?: T | object }>;
  /** What a person calls the record. */
  readonly nameOf: (record: T) => string;
  readonly lead?: (record: T) => string | undefined;
  /** Beside the button that edits. */
  readonly links?: ReactNode;
  /** Buttons at the foot, for whoever may edit. */
  readonly acts?: (record: T) => ReactNode;
  /** The form of the panel that edits. */
  readonly form: ComponentType<RecordFormProps<T>>;
  readonly children: (record: T) => ReactNode;
}

/** Shows one record: its name, its cards, a panel that edits it, and its acts. */
export function RecordPage<T extends object>({ kind, id, nameOf, form: Form, ...more }: RecordPageProps<T>) {
  const { common, [kind]: words } = useWords();
  const [isEditing, edit] = useState(false);
  const mayEdit = useMayEdit(kind);
  const refresh = useRefresh(kind);
  const query = useQuery({ queryKey: [kind, id], queryFn: async () => (await answer(more.ask(id, operations))) as T });
  const record = query.data;
  const close = () => edit(false);
  async function done(): Promise<void> {
    close();
    await refresh();
  }
  return (
    <Frame
      title={record === undefined ? id : nameOf(record)}
      lead={record && more.lead?.(record)}
      parent={{ href: `/${kind}`, title: words.title }}
      actions={
        record !== undefined && (
          <>
            {more.links}
            {mayEdit && <Button onPress={() => edit(true)}>{common.edit}</Button>}
          </>
        )
      }
    >
      <Fetched query={query}>
        {(one) => (
          <>
            {more.children(one)}
            {mayEdit && more.acts !== undefined && <div className="buttons">{more.acts(one)}</div>}
            <Panel title={nameOf(one)} isOpen={isEditing} close={close}>
              <Form record={one} cancel={close} done={done} />
            </Panel>
          </>
        )}
      </Fetched>
    </Frame>
  );
}
