import { type Body, readNumber, toJson } from "../terminal/values.ts";
import type { Given, Option } from "./command.ts";
import type { Io } from "../terminal/io.ts";
import { type Column, createTable } from "../terminal/table.ts";

/** The service's limit. */
const LARGEST_PAGE = 1000;
const USUAL_PAGE = 200;

export const LIST_OPTIONS: readonly Option[] = [
  { flag: "limit", value: "<count>", help: "the most rows to print; default: all" },
  { flag: "page-size", value: "<count>", help: `rows that one request asks for, 1 to ${LARGEST_PAGE}; ${USUAL_PAGE}` },
];

export interface Bounds {
  readonly limit: number;
  readonly pageSize: number;
}

/** Asks for one row more than the limit, which shows that there are more. */
export function readBounds(options: Given, usualLimit = Infinity): Bounds {
  const limit = options.value("limit");
  const size = options.value("page-size");
  const rows = limit === undefined ? usualLimit : readNumber(limit, "--limit", { min: 1, max: 1e9 });
  const pageSize =
    size === undefined
      ? Math.min(USUAL_PAGE, rows + 1)
      : readNumber(size, "--page-size", { min: 1, max: LARGEST_PAGE });
  return { limit: rows, pageSize };
}

export interface Listing<Row> {
  readonly io: Io;
  readonly asJson: boolean;
  readonly columns: readonly Column<Row>[];
  readonly limit: number;
  /** The plural for an empty list: `tenants`. */
  readonly nouns: string;
}

/**
 * Prints rows as they come, as a table or as one JSON array. Prints nothing before the first row. A failure after it
 * leaves the array open, so that nobody parses a part of the list as all of it.
 */
export async function printRows<Row extends Body>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  { io, asJson, columns, limit, nouns }: Listing<Row>,
): Promise<void> {
  const table = createTable(columns, io.columns, io.paint.bold);
  let waiting: Row[] = [];
  let count = 0;
  let isCut = false;
  const flush = async (): Promise<void> => {
    if (waiting.length > 0) await io.out(`${table.lines(waiting).join("\n")}\n`);
    waiting = [];
  };
  for await (const row of rows) {
    if (count === limit) {
      isCut = true;
      break;
    }
    count++;
    if (asJson) await io.out(`${count === 1 ? "[" : ","}\n${indented(toJson(row, 2))}`);
    else if (waiting.push(row) === LARGEST_PAGE) await flush();
  }
  if (asJson) await io.out(count === 0 ? "[]\n" : "\n]\n");
  else await flush();
  if (!asJson && count === 0) io.err(`There are no ${nouns}.\n`);
  if (isCut) io.err(`There are more: --limit ${limit} ended the list here.\n`);
}

const indented = (text: string): string => text.replaceAll(/^/gm, "  ");
