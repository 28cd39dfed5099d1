import { File as FileIcon, FileImage } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import {
  Checkbox,
  GridList,
  GridListItem,
  GridListLoadMoreItem,
  Size,
  Virtualizer,
  type Selection,
} from "react-aria-components";
import type { OperatedFile } from "../../../../../api/plinth.ts";
import type { List } from "../../../api/lists.ts";
import {
  GRID_CHUNK,
  MOST_COLUMNS,
  REM_PX,
  useRowNumbers,
  useRowWindow,
  WindowedGrid,
  type GridOptions,
} from "../../../components/lists/row-window.ts";
import { useIsNarrow } from "../../../components/use-is-narrow.ts";
import { useFormats } from "../../../words/formats.ts";
import { useWords } from "../../../words/words.ts";
import { useMediaWords } from "../words.ts";

/** In rem. */
const sized = (width: number, height: number): Size => new Size(width * REM_PX, height * REM_PX);
const WIDE = {
  minItemSize: sized(9.9, 13.1),
  maxItemSize: sized(16, 14.7),
  minSpace: new Size(12, 12),
  maxColumns: MOST_COLUMNS,
  preserveAspectRatio: true,
};
const NARROW = { ...WIDE, minItemSize: sized(7.9, 13.1), minSpace: new Size(8, 8) };

/** Files that fit into the lowest grid; twice as many fit into a medium one. The virtual grid needs a fixed height. */
const SHORT = 6;

interface FileGridProps {
  readonly list: List<OperatedFile>;
  readonly selected: Selection;
  readonly select: (keys: Selection) => void;
}

export const nameOf = (
  { fileName, id }: Pick<OperatedFile, "fileName" | "id">,
  metadata?: Readonly<Record<string, unknown>>,
): string => fileName ?? (typeof metadata?.["name"] === "string" ? metadata["name"] : id);

const CHUNKS = { chunk: GRID_CHUNK, chunks: 2 };

/** Files as pictures, up to 100,000. Scrolling loads further pages by the service's links. */
export function FileGrid({ list, selected, select }: FileGridProps) {
  const words = useMediaWords();
  const { common } = useWords();
  const format = useFormats();
  const look = useIsNarrow() ? NARROW : WIDE;
  const frame = useRef<HTMLDivElement>(null);
  const count = list.rows.length;
  const { from, to, before, after, onScrollCapture } = useRowWindow(
    count,
    CHUNKS,
    ({ scrollTop, scrollHeight }) => (scrollTop / scrollHeight) * count,
  );
  const files = useMemo(() => list.rows.slice(from, to), [list.rows, from, to]);
  const ids = useMemo(() => files.map(({ id }) => id), [files]);
  useRowNumbers({ frame, ids, before, count, head: 0 });
  return (
    <div ref={frame} onScrollCapture={onScrollCapture}>
      <Virtualizer<GridOptions> layout={WindowedGrid} layoutOptions={{ ...look, before, after }}>
        <GridList
          aria-label={words.title}
          layout="grid"
          className={`file-grid ${list.hasMore || list.rows.length > SHORT * 2 ? "" : list.rows.length > SHORT ? "two" : "one"}`}
          selectionMode="multiple"
          selectionBehavior="toggle"
          selectedKeys={selected}
          onSelectionChange={select}
        >
          {files.map((file) => {
            const name = nameOf(file, file.metadata);
            return (
              <GridListItem
                key={file.id}
                id={file.id}
                textValue={name}
                href={`/media/files/${file.id}`}
                className="file-tile"
              >
                <Checkbox slot="selection" className="check tile-check">
                  <span className="box" aria-hidden>
                    <svg viewBox="0 0 18 18">
                      <polyline points="3 9 7.5 13.5 15 5" />
                    </svg>
                  </span>
                </Checkbox>
                <Picture address={file.preview} contentType={file["Content-Type"]} />
                <strong className="tile-name">{name}</strong>
                <span className="muted tile-size">
                  {format.bytes(file.size)} · {file["Content-Type"].replace(/;.*/, "")}
                </span>
              </GridListItem>
            );
          })}
          {list.hasMore && after === 0 && (
            <GridListLoadMoreItem onLoadMore={list.loadMore} isLoading={list.isLoadingMore}>
              <span className="muted">{common.loadingMore}</span>
            </GridListLoadMoreItem>
          )}
        </GridList>
      </Virtualizer>
    </div>
  );
}

/** The picture; a sign in its place if there is none or its link has expired. */
export function Picture({
  address,
  contentType,
}: {
  readonly address: string | undefined;
  readonly contentType: string;
}) {
  const [broken, setBroken] = useState<string>();
  const Icon = contentType.startsWith("image/") ? FileImage : FileIcon;
  return (
    <span className="tile-picture">
      {address === undefined || broken === address ? (
        <Icon aria-hidden strokeWidth={1.25} />
      ) : (
        <img src={address} alt="" loading="lazy" draggable={false} onError={() => setBroken(address)} />
      )}
    </span>
  );
}
