import { useNavigate, useSearch } from "@tanstack/react-router";
import { operations } from "../../api/client.ts";
import { useList, type ListAnswer, type PageStart } from "../../api/lists.ts";
import { useWords } from "../../words/words.ts";
import { MakeLink } from "../button.tsx";
import { DataTable, type TableColumn } from "../lists/data-table.tsx";
import { NothingFound, SearchBox } from "../lists/search-box.tsx";
import { Page as Frame } from "../page.tsx";
import { Empty } from "../states.tsx";
import { recordHref, useMayEdit, type RecordKind } from "./records.ts";

interface RecordListProps<T> {
  readonly kind: RecordKind;
  /** The operation of the service that lists them. */
  readonly ask: (page: PageStart & { readonly q?: string }, options: typeof operations) => Promise<ListAnswer>;
  readonly idOf: (row: T) => string;
  readonly columns: readonly TableColumn<T>[];
}

/** Shows all records of a kind, each a link to its own page. The address has the search. */
export function RecordList<T extends object>({ kind, ask, idOf, columns }: RecordListProps<T>) {
  const { common, [kind]: words } = useWords();
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  // Words for a search: this kind can be searched.
  const searched = "search" in words && search.q !== undefined ? { q: search.q } : {};
  const list = useList<T>([kind, searched], (page, options) => ask({ ...page, ...searched }, options), {
    keepRows: true,
  });
  const make = useMayEdit(kind) && <MakeLink href={`/${kind}/new`}>{words.make}</MakeLink>;
  return (
    <Frame title={words.title} lead={words.lead} actions={make}>
      {"search" in words && (
        <SearchBox
          label={words.search}
          value={searched.q ?? ""}
          onChange={(q) => void navigate({ to: ".", search: q === "" ? {} : { q }, replace: true })}
        />
      )}
      <DataTable
        label={words.title}
        list={list}
        columns={columns}
        idOf={idOf}
        hrefOf={(row) => recordHref(kind, idOf(row))}
        empty={
          searched.q === undefined ? (
            <Empty title={words.emptyTitle} action={make}>
              {words.emptyText}
            </Empty>
          ) : "nothing" in words ? (
            <Empty title={common.nothingFound}>{words.nothing(searched.q)}</Empty>
          ) : (
            <NothingFound text={searched.q} />
          )
        }
      />
    </Frame>
  );
}
