import { formatValue, read, type Body } from "./values.ts";

const GAP = "  ";
/** The smallest width of a shortened column. */
const NARROWEST = 6;
const segmenter = new Intl.Segmenter();
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}])/u;

/** Terminal columns that a text takes. */
export const widthOf = (text: string): number =>
  [...segmenter.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0);

export interface Table {
  /** Renders rows; the first call begins with the titles. */
  lines(rows: readonly Body[]): string[];
}

/**
 * Renders a table in parts, so that a long list needs no memory. Columns grow when a later part needs it. In a
 * terminal, the widest columns are shortened until a row fits. If it is too narrow for that, a row takes a line for each
 * of its cells: a table that shortens names and times is of no use.
 */
export function createTable(
  given: readonly Column[],
  terminal: number | undefined,
  bold: (text: string) => string,
): Table {
  // Lists come last: in a pipe, where nothing is shortened, the cells before them are in columns.
  const isList = ({ kind }: Titled): number => (kind === "list" ? 1 : 0);
  const columns = given.map(titled).toSorted((one, other) => isList(one) - isList(other));
  const titles = columns.map(({ title }) => title);
  const natural = titles.map(widthOf);
  const titleWidth = Math.max(...natural);
  let begun: "table" | "blocks" | undefined;
  const block = (row: readonly string[]): string[] =>
    row.flatMap((cell, index) =>
      cell === "" ? [] : [`${bold(padded(titles[index] ?? "", titleWidth))}${GAP}${cell}`],
    );
  return {
    lines(rows) {
      const cells = rows.map((row) => columns.map((column) => cellOf(column, row)));
      for (const [index, width] of natural.entries())
        natural[index] = Math.max(width, ...cells.map((row) => widthOf(row[index] ?? "")));
      const widths = fit(natural, columns, terminal);
      const isFirst = begun === undefined;
      begun ??= terminal !== undefined && totalOf(widths) > terminal ? "blocks" : "table";
      if (begun === "blocks")
        return cells.flatMap((row, index) => [...(isFirst && index === 0 ? [] : [""]), ...block(row)]);
      const head = isFirst ? [bold(line(titles, widths, terminal))] : [];
      return [...head, ...cells.map((row) => line(row, widths, terminal))];
    },
  };
}

function cellOf({ field, kind }: Titled, row: Body): string {
  const value = read(row, field);
  if (kind === "flag") return value === true ? "yes" : "";
  return formatValue(kind === "time" ? "at" : field, value);
}

/** Chooses the widths. The first column and times identify a row, so they are never shortened, nor are `whole` ones. */
function fit(natural: readonly number[], columns: readonly Titled[], terminal: number | undefined): number[] {
  const widths = [...natural];
  if (terminal === undefined) return widths;
  const mayBeCut = columns.map(({ kind }, index) => index > 0 && kind !== "time" && kind !== "whole");
  while (totalOf(widths) > terminal) {
    const widest = Math.max(...widths.filter((_, index) => mayBeCut[index] === true));
    if (widest <= NARROWEST) break;
    widths[widths.findIndex((width, index) => mayBeCut[index] === true && width === widest)] = widest - 1;
  }
  return widths;
}

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));

const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)));

function line(cells: readonly string[], widths: readonly number[], terminal: number | undefined): string {
  const shown = cells.map((cell, index) => {
    const width = widths[index] ?? 0;
    return padded(terminal === undefined ? cell : cut(cell, width), width);
  });
  return shown.join(GAP).trimEnd();
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  for (const { segment } of segmenter.segment(text)) {
    if (widthOf(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Renders one record: a line a field, and a line for each item of a list. */
export function recordLines(record: Body, dim: (text: string) => string): string[] {
  const fields = flatten(record);
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  return fields.flatMap(([name, value]) => {
    const texts =
      Array.isArray(value) && value.length > 0 ? value.map((one) => formatValue("", one)) : [formatValue(name, value)];
    return texts.map((text, index) => `${dim((index === 0 ? name : "").padEnd(width))}${GAP}${text}`.trimEnd());
  });
}

const flatten = (record: Body, prefix = ""): [string, unknown][] =>
  Object.entries(record).flatMap(([name, value]): [string, unknown][] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? flatten(value as Body, `${prefix}${name}.`)
      : [[`${prefix}${name}`, value]],
  );

/** A field alone, or with its own title or kind. */
export type Column<Row = any> =
  | PathOf<Row>
  | {
      readonly field: PathOf<Row>;
      /** Default: the field in capitals; `createdAt` is CREATED. */
      readonly title?: string;
      /** Default: a field that ends with `At` is a time. */
      readonly kind?: Kind;
    };

type Kind = "time" | "list" | "flag" | "count" | "whole";

interface Titled {
  readonly field: string;
  readonly title: string;
  readonly kind: Kind | undefined;
}

function titled(column: Column): Titled {
  const { field, title, kind } = typeof column === "string" ? { field: column } : column;
  const isTime = field.endsWith("At");
  const name = field.slice(field.lastIndexOf(".") + 1, isTime ? -"At".length : undefined);
  return {
    field,
    title: title ?? name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toUpperCase(),
    kind: kind ?? (isTime ? "time" : undefined),
  };
}

/** Paths to the fields of a type; a dot leads into an object, `quota.files`. */
type PathOf<T> = {
  [K in keyof T & string]-?: NonNullable<T[K]> extends string | number | boolean | readonly unknown[]
    ? K
    : `${K}.${PathOf<NonNullable<T[K]>>}`;
}[keyof T & string];
