import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { operations, type answer } from "../../api/client.ts";
import { useList, type ListAnswer, type PageStart } from "../../api/lists.ts";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";
import { Button, SmallButton } from "../button.tsx";
import { Panel } from "../panel.tsx";
import { DeleteButton } from "../forms/act-button.tsx";
import { Card } from "../page.tsx";
import { Rows } from "./rows.tsx";

interface ListCardProps<T> {
  readonly words: {
    readonly title: string;
    /** The button that creates one. */
    readonly make: string;
    /** In place of no rows. */
    readonly empty: string;
    /** The consequence of a removal. */
    readonly remove: string;
  };
  /** What the rows are: the first part of their queries' keys. */
  readonly of: "services" | "packages";
  readonly ask: (page: PageStart, options: typeof operations) => Promise<ListAnswer>;
  readonly idOf: (row: T) => string;
  readonly show: (row: T) => ReactNode;
  /** The form of one, or of a new one. */
  readonly form: (row: T | undefined, close: () => void, refresh: () => Promise<void>) => ReactNode;
  readonly remove: (id: string, options: typeof operations) => Parameters<typeof answer>[0];
}

/** Shows a short list on a card: each row is edited in a panel and removed after a question, unless it is built in. */
export function ListCard<T extends { readonly builtIn?: boolean }>(props: ListCardProps<T>) {
  const { words, of, ask, idOf, show, form, remove } = props;
  const { common } = useWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const list = useList<T>([of, "list"], ask);
  const [edited, edit] = useState<{ readonly row: T | undefined }>();
  const close = () => edit(undefined);
  const refresh = () => queries.invalidateQueries({ queryKey: [of] });
  return (
    <Card
      title={words.title}
      actions={rights.write && <SmallButton onPress={() => edit({ row: undefined })}>{words.make}</SmallButton>}
    >
      <Rows list={list} empty={words.empty} idOf={idOf}>
        {(row) => (
          <>
            <div>{show(row)}</div>
            {rights.write && row.builtIn !== true && (
              <div className="buttons">
                <Button aria-label={`${common.edit}: ${idOf(row)}`} onPress={() => edit({ row })}>
                  {common.edit}
                </Button>
                <DeleteButton isOfMany name={idOf(row)} remove={() => remove(idOf(row), operations)} after={refresh}>
                  {words.remove}
                </DeleteButton>
              </div>
            )}
          </>
        )}
      </Rows>
      {edited !== undefined && (
        <Panel title={edited.row === undefined ? words.make : idOf(edited.row)} isOpen close={close}>
          {form(edited.row, close, refresh)}
        </Panel>
      )}
    </Card>
  );
}
