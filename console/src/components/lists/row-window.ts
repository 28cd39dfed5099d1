import { useEffect, useState, type RefObject, type UIEvent } from "react";
import { GridLayout, TableLayout, type GridLayoutOptions, type TableLayoutProps } from "react-aria-components";

/**
 * A window of rows: the part of a long list that the component set gets, since each row that it knows costs memory and
 * time even if nobody sees it. The layouts here place the window among all rows, so that the scroll bar shows the whole
 * list. Scrolling moves the window by chunks; it keeps half a chunk or more beyond the visible rows.
 */
interface RowWindow {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

interface Chunks {
  /** Rows by which the window moves. */
  readonly chunk: number;
  /** Chunks in a window. */
  readonly chunks: number;
}

/** The numbers of rows before and after the window, for the layouts. */
interface Beyond {
  readonly before?: number;
  readonly after?: number;
}

export function useRowWindow(
  count: number,
  { chunk, chunks }: Chunks,
  firstSeen: (scrolled: Element) => number,
): RowWindow & Required<Beyond> & { readonly onScrollCapture: (event: UIEvent) => void } {
  const [at, moveTo] = useState(0);
  const last = Math.max(0, Math.ceil(count / chunk) - chunks);
  const from = Math.min(at, last) * chunk;
  const to = Math.min(count, from + chunk * chunks);
  return {
    from,
    to,
    before: from,
    after: count - to,
    onScrollCapture: ({ target }) => {
      const ahead = firstSeen(target as Element) - (chunk * (chunks - 1)) / 2;
      moveTo(Math.max(0, Math.min(last, Math.round(ahead / chunk))));
    },
  };
}

const hasMoved = (next: Beyond, old: Beyond): boolean => next.before !== old.before || next.after !== old.after;

export type TableOptions = TableLayoutProps & Beyond;

/** A table whose rows are all as high as its options say. */
export class WindowedTable<T extends object> extends TableLayout<T, TableOptions> {
  #before = 0;
  #after = 0;

  override shouldInvalidateLayoutOptions(next: TableOptions, old: TableOptions): boolean {
    return hasMoved(next, old) || super.shouldInvalidateLayoutOptions(next, old);
  }

  override update(...[context]: Parameters<TableLayout<T, TableOptions>["update"]>): void {
    const { before = 0, after = 0 } = context.layoutOptions ?? {};
    this.#before = before;
    this.#after = after;
    super.update(context);
  }

  protected override buildRowGroup(...[y, node]: Parameters<TableLayout<T, TableOptions>["buildRowGroup"]>) {
    const rowPx = this.getEstimatedRowHeight();
    const built = super.buildRowGroup(y + this.#before * rowPx, node);
    built.layoutInfo.rect.y = y;
    built.layoutInfo.rect.height += (this.#before + this.#after) * rowPx;
    return built;
  }
}

/** The size of letters, which rows and tiles follow: 15 px if the browser is set to nothing else. */
export const REM_PX = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

/** Columns of a grid: a window begins at the start of a line for each number up to this. */
export const MOST_COLUMNS = 10;
/** The least common multiple of the numbers up to `MOST_COLUMNS`. */
export const GRID_CHUNK = 2520;

export type GridOptions = GridLayoutOptions & Beyond;

/** A grid with `maxColumns` and `preserveAspectRatio`, so that each line is as high as the others. */
export class WindowedGrid<T extends object> extends GridLayout<T, GridOptions> {
  #beforePx = 0;
  #afterPx = 0;

  override shouldInvalidateLayoutOptions(next: GridOptions, old: GridOptions): boolean {
    return hasMoved(next, old) || super.shouldInvalidateLayoutOptions(next, old);
  }

  override update(...[context]: Parameters<GridLayout<T, GridOptions>["update"]>): void {
    const { before = 0, after = 0 } = context.layoutOptions ?? {};
    super.update(context);
    const { collection } = this.virtualizer!;
    const [first] = collection.getKeys();
    const linePx = (first === undefined ? 0 : (this.getLayoutInfo(first)?.rect.height ?? 0)) + this.gap.height;
    this.#beforePx = (before / this.numColumns) * linePx;
    this.#afterPx = Math.ceil(after / this.numColumns) * linePx;
    for (const key of collection.getKeys()) {
      const info = this.getLayoutInfo(key);
      if (info !== null) info.rect.y += this.#beforePx;
    }
  }

  override getContentSize() {
    const size = super.getContentSize().copy();
    size.height += this.#beforePx + this.#afterPx;
    return size;
  }
}

interface Numbered {
  readonly frame: RefObject<HTMLElement | null>;
  /** The ids of the rows in the window. */
  readonly ids: readonly string[];
  readonly before: number;
  readonly count: number;
  /** Rows of the head. */
  readonly head: number;
}

/** Tells screen readers the number of each row in the whole list. The component set counts only the window. */
export function useRowNumbers({ frame, ids, before, count, head }: Numbered): void {
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const numbers = new Map(ids.map((id, at) => [id, String(before + at + 1 + head)]));
    const set = (target: Element | null, name: string, value: string | undefined): void => {
      if (value !== undefined && target?.getAttribute(name) !== value) target?.setAttribute(name, value);
    };
    const number = (): void => {
      set(element.querySelector("[aria-rowcount]"), "aria-rowcount", String(count + head));
      for (const row of element.querySelectorAll<HTMLElement>("[role=row][data-key]"))
        set(row, "aria-rowindex", numbers.get(row.dataset["key"] ?? ""));
    };
    number();
    const observer = new MutationObserver(number);
    observer.observe(element, { childList: true, subtree: true, attributeFilter: ["aria-rowindex", "aria-rowcount"] });
    return () => observer.disconnect();
  }, [frame, ids, before, count, head]);
}
