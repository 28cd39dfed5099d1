import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { answer } from "../../api/client.ts";
import { useWords } from "../../words/words.ts";
import { Button } from "../button.tsx";
import { Panel } from "../dialogs.tsx";
import { Fetched } from "../fetched.tsx";
import { Page as Frame } from "../page.tsx";
import { useRefresh, type RecordKind } from "./records.ts";

interface RecordPageProps<T> {
  readonly kind: RecordKind;
  readonly id: string;
  /** The words of the list that the page leads back to. */
  readonly listTitle: string;
  readonly ask: () => Promise<{ readonly status: number; readonly data?: T | object }>;
  /** What a person calls the record. */
  readonly nameOf: (record: T) => string;
  readonly lead?: (record: T) => string | undefined;
  /** Links beside the button that edits. */
  readonly links?: ReactNode;
  readonly mayEdit: boolean;
  /** The form of the panel that edits; `done` closes the panel and reads the record again. */
  readonly form: (record: T, close: () => void, done: () => Promise<void>) => ReactNode;
  readonly children: (record: T) => ReactNode;
}

/** The page of one record: its name, its cards, and a panel that edits it. */
export function RecordPage<T extends object>(props: RecordPageProps<T>) {
  const { kind, id, nameOf, form } = props;
  const { common } = useWords();
  const [isEditing, edit] = useState(false);
  const refresh = useRefresh(kind);
  const query = useQuery({ queryKey: [kind, id], queryFn: async () => (await answer(props.ask())) as T });
  const record = query.data;
  const close = () => edit(false);
  async function done(): Promise<void> {
    close();
    await refresh();
  }
  return (
    <Frame
      title={record === undefined ? id : nameOf(record)}
      lead={record && props.lead?.(record)}
      parent={{ href: `/${kind}`, title: props.listTitle }}
      actions={
        record !== undefined && (
          <>
            {props.links}
            {props.mayEdit && <Button onPress={() => edit(true)}>{common.edit}</Button>}
          </>
        )
      }
    >
      <Fetched query={query}>
        {(one) => (
          <>
            {props.children(one)}
            <Panel title={nameOf(one)} isOpen={isEditing} close={close}>
              {form(one, close, done)}
            </Panel>
          </>
        )}
      </Fetched>
    </Frame>
  );
}
