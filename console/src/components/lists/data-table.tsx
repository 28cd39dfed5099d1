import { useMemo, useRef, type ReactNode } from "react";
import {
  Cell,
  Collection,
  Column,
  Row,
  Table,
  TableBody,
  TableHeader,
  TableLoadMoreItem,
  Virtualizer,
} from "react-aria-components";
import type { List } from "../../api/lists.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { REM_PX, useRowNumbers, useRowWindow, WindowedTable, type TableOptions } from "./row-window.ts";
import { Loading } from "../states.tsx";
import { useIsNarrow } from "../use-is-narrow.ts";

export interface TableColumn<T> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  /** The column's share of the width; 1 by default. */
  readonly share?: number;
  readonly align?: "end";
  /** The column is left out on screens below 700 px. */
  readonly wideOnly?: boolean;
}

interface DataTableProps<T> {
  /** The name of the list for screen readers. */
  readonly label: string;
  readonly list: List<T>;
  readonly columns: readonly TableColumn<T>[];
  readonly idOf: (row: T) => string;
  /** The page of a row; the whole row leads there. */
  readonly hrefOf?: (row: T) => string;
  /** Opens a row, if it has no page. */
  readonly onOpen?: (row: T) => void;
  /** Shown if there are no rows. */
  readonly empty: ReactNode;
}

/** As in `table.css`. */
const ROW_PX = 3.2 * REM_PX;
const HEAD_PX = 2.8 * REM_PX;
/** Room for a badge. */
const LEAST_COLUMN_PX = 5 * REM_PX;
const MOST_VISIBLE_ROWS = 14;
/** A window of 200 rows. */
const CHUNKS = { chunk: 50, chunks: 4 };

/**
 * A list as a table. Scrolling loads further pages by the service's links. 100,000 rows are possible, since only few
 * are in the document and only a window of them is known to the component set. Shows loading, empty, refused and failed
 * too.
 */
export function DataTable<T extends object>(props: DataTableProps<T>) {
  const { list, empty } = props;
  const { common } = useWords();
  const format = useFormats();
  const count = list.rows.length;
  const found = count === 0 ? common.nothingFound : common.rows(format.number(count), list.hasMore);
  return (
    <>
      {/* Who searches without seeing the list hears what came of it. */}
      <p role="status" className="hidden">
        {list.state === "there" && found}
      </p>
      {list.state === "loading" ? (
        <Loading rows={6} />
      ) : list.state === "failed" ? (
        <FaultNotice error={list.error} retry={list.retry} />
      ) : count === 0 ? (
        empty
      ) : (
        <Rows {...props} />
      )}
    </>
  );
}

function Rows<T extends object>({ label, list, columns, idOf, hrefOf, onOpen }: DataTableProps<T>) {
  const { common } = useWords();
  const isNarrow = useIsNarrow();
  const frame = useRef<HTMLDivElement>(null);
  const count = list.rows.length;
  const { from, to, before, after, onScrollCapture } = useRowWindow(
    count,
    CHUNKS,
    ({ scrollTop }) => scrollTop / ROW_PX,
  );
  const rows = useMemo(() => list.rows.slice(from, to), [list.rows, from, to]);
  const ids = useMemo(() => rows.map(idOf), [rows, idOf]);
  useRowNumbers({ frame, ids, before, count, head: 1 });
  const shown = columns.filter(({ wideOnly }) => !isNarrow || wideOnly !== true);
  const visible = Math.min(count + Number(list.hasMore), MOST_VISIBLE_ROWS);
  return (
    <div ref={frame} className={`table-frame rows-${visible}`} onScrollCapture={onScrollCapture}>
      <Virtualizer<TableOptions>
        layout={WindowedTable}
        layoutOptions={{ rowHeight: ROW_PX, headingHeight: HEAD_PX, before, after }}
      >
        <Table
          aria-label={label}
          className="table"
          onRowAction={(key) => {
            const row = rows.find((one) => idOf(one) === key);
            if (row !== undefined) onOpen?.(row);
          }}
        >
          <TableHeader>
            {shown.map(({ id, title, share = 1, align }, at) => (
              <Column
                key={id}
                id={id}
                isRowHeader={at === 0}
                width={`${share}fr`}
                minWidth={LEAST_COLUMN_PX}
                className={align ?? ""}
              >
                {title}
              </Column>
            ))}
          </TableHeader>
          <TableBody>
            {/* A row is made once: a page that is loaded adds its own rows alone. */}
            <Collection items={rows} dependencies={[isNarrow, common]}>
              {(row) => {
                const href = hrefOf?.(row);
                return (
                  <Row id={idOf(row)} {...(href !== undefined && { href })}>
                    {shown.map(({ id, cell, align }) => (
                      <Cell key={id} className={align ?? ""}>
                        <Words>{cell(row)}</Words>
                      </Cell>
                    ))}
                  </Row>
                );
              }}
            </Collection>
            {list.hasMore && after === 0 && (
              <TableLoadMoreItem onLoadMore={list.loadMore} isLoading={list.isLoadingMore}>
                <span className="muted">{common.loadingMore}</span>
              </TableLoadMoreItem>
            )}
          </TableBody>
        </Table>
      </Virtualizer>
    </div>
  );
}

/** The bold text of a cell, which the mouse shows whole too. */
export const Bold = ({ children }: { readonly children: string }) => <strong title={children}>{children}</strong>;

/** The text of a cell. If it is too long, it ends in dots, and the mouse shows it whole. */
const Words = ({ children }: { readonly children: ReactNode }) =>
  typeof children === "string" ? (
    <span className="cell-text" title={children}>
      {children}
    </span>
  ) : (
    children
  );
