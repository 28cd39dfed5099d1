import { useState, type ReactNode } from "react";
import type { answer } from "../../api/client.ts";
import type { List } from "../../api/lists.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";
import { DeleteButton } from "../forms/act-button.tsx";
import { Button } from "../button.tsx";
import { Panel } from "../dialogs.tsx";
import { Card } from "../page.tsx";
import { Loading } from "../states.tsx";

interface ListCardProps<T> {
  readonly title: string;
  readonly list: List<T>;
  /** The text of the button that creates a row. */
  readonly make: string;
  /** Shown if there are no rows. */
  readonly empty: string;
  readonly nameOf: (row: T) => string;
  /** True for a row that belongs to the platform and cannot change. */
  readonly isBuiltIn: (row: T) => boolean;
  readonly show: (row: T) => ReactNode;
  /** The form of a row; without one, of a new row. */
  readonly form: (row: T | undefined, close: () => void) => ReactNode;
  readonly remove: (row: T) => Parameters<typeof answer>[0];
  /** The consequence of a removal. */
  readonly removeText: string;
  readonly refresh: () => Promise<unknown>;
}

/** A short list on a card: each row is edited in a panel and removed after a question. */
export function ListCard<T>({ title, list, make, empty, nameOf, isBuiltIn, show, form, ...more }: ListCardProps<T>) {
  const { common } = useWords();
  const { rights } = usePerson();
  const [edited, edit] = useState<{ readonly row: T | undefined }>();
  const close = () => edit(undefined);
  return (
    <Card
      title={title}
      actions={
        rights.write && (
          <Button className="small" onPress={() => edit({ row: undefined })}>
            {make}
          </Button>
        )
      }
    >
      {list.state === "loading" && <Loading />}
      {list.state === "failed" && <FaultNotice error={list.error} retry={list.retry} />}
      {list.state === "there" && list.rows.length === 0 && <p className="muted">{empty}</p>}
      <ul className="rows">
        {list.rows.map((row) => (
          <li key={nameOf(row)}>
            <div>{show(row)}</div>
            {rights.write && !isBuiltIn(row) && (
              <div className="buttons">
                <Button onPress={() => edit({ row })}>{common.edit}</Button>
                <DeleteButton name={nameOf(row)} remove={() => more.remove(row)} after={more.refresh}>
                  {more.removeText}
                </DeleteButton>
              </div>
            )}
          </li>
        ))}
      </ul>
      {list.hasMore && <Button onPress={list.loadMore}>{common.loadingMore}</Button>}
      {edited !== undefined && (
        <Panel title={edited.row === undefined ? make : nameOf(edited.row)} isOpen close={close}>
          {form(edited.row, close)}
        </Panel>
      )}
    </Card>
  );
}
