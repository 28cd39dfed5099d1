import type { ReactNode } from "react";
import type { List } from "../../api/lists.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { useWords } from "../../words/words.ts";
import { Button } from "../button.tsx";
import { Loading } from "../states.tsx";

interface RowsProps<T> {
  readonly list: List<T>;
  /** In place of no rows. */
  readonly empty: string;
  readonly idOf: (row: T) => string;
  readonly children: (row: T) => ReactNode;
}

/** Shows a short list on a card. Loading, empty and failed are shown in its place; a button reads more. */
export function Rows<T>({ list, empty, idOf, children }: RowsProps<T>) {
  const { common } = useWords();
  if (list.state === "loading") return <Loading rows={2} />;
  if (list.state === "failed") return <FaultNotice error={list.error} retry={list.retry} />;
  if (list.rows.length === 0) return <p className="muted">{empty}</p>;
  return (
    <>
      <ul className="rows">
        {list.rows.map((row) => (
          <li key={idOf(row)}>{children(row)}</li>
        ))}
      </ul>
      {list.hasMore && (
        <Button onPress={list.loadMore} isPending={list.isLoadingMore}>
          {common.showMore}
        </Button>
      )}
    </>
  );
}
