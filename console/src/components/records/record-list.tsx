import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useList, type ListAnswer, type PageStart } from "../../api/lists.ts";
import { DataTable, type TableColumn } from "../lists/data-table.tsx";
import { NothingFound, SearchBox } from "../lists/search-box.tsx";
import { MakeLink } from "../button.tsx";
import { Page as Frame } from "../page.tsx";
import { Empty } from "../states.tsx";
import { recordHref, type RecordKind } from "./records.ts";

interface RecordListProps<T> {
  readonly kind: RecordKind;
  readonly words: {
    readonly title: string;
    readonly lead: string;
    readonly make: string;
    readonly emptyTitle: string;
    readonly emptyText: string;
    /** Absent: the service cannot search these. */
    readonly search?: string;
  };
  readonly mayMake: boolean;
  readonly ask: (page: PageStart & { readonly q?: string }) => Promise<ListAnswer>;
  readonly columns: readonly TableColumn<T>[];
  readonly idOf: (row: T) => string;
}

/** The page with all records of a kind, each a link to its own. What is searched is in the address. */
export function RecordList<T extends object>({ kind, words, mayMake, ask, columns, idOf }: RecordListProps<T>) {
  const search = useSearch({ strict: false });
  const q = words.search === undefined ? undefined : search.q;
  const navigate = useNavigate();
  const searched = q === undefined ? {} : { q };
  const list = useList<T>([kind, searched], (page) => ask({ ...page, ...searched }), { keepRows: true });
  const make: ReactNode = mayMake && <MakeLink href={`/${kind}/new`}>{words.make}</MakeLink>;
  return (
    <Frame title={words.title} lead={words.lead} actions={make}>
      {words.search !== undefined && (
        <SearchBox
          label={words.search}
          value={q ?? ""}
          onChange={(to) => void navigate({ to: ".", search: to === "" ? {} : { q: to }, replace: true })}
        />
      )}
      <DataTable
        label={words.title}
        list={list}
        columns={columns}
        idOf={idOf}
        hrefOf={(row) => recordHref(kind, idOf(row))}
        empty={
          q === undefined ? (
            <Empty title={words.emptyTitle} action={make}>
              {words.emptyText}
            </Empty>
          ) : (
            <NothingFound text={q} />
          )
        }
      />
    </Frame>
  );
}
