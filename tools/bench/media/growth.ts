import { askFor } from "../lib/exchange.ts";
import { sample } from "../lib/load.ts";
import { Connection, type Answer } from "../lib/connection.ts";
import { whole } from "../lib/statistics.ts";
import type { Study, StudyContext, StudyMark, Table } from "../lib/study.ts";
import { archived, PRICES } from "./archive.ts";
import { answerTo, exchangeOf } from "./asked.ts";
import { TENANT } from "../lib/platform.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { CLIENTS, openPlinth, type Target } from "./target.ts";
import { collectionOf } from "./upload.ts";
import { PAGE_SIZE } from "./works.ts";

const FIRST_SIZE = 1_000;
/** From the first size to the last. */
const MAX_TIME_GROWTH = 2;
/**
 * From the last size but one to the last. Among few files a plan may read less than its budget, so smaller sizes do
 * not count.
 */
const MAX_ROWS_GROWTH = 1.1;
/**
 * For a filtered and sorted page. The query first counts matches up to the square root of the number of files, to
 * choose its plan.
 */
const MAX_SURVEY_GROWTH = Math.sqrt(10) * MAX_ROWS_GROWTH;

/** A page of the archive. */
interface Listing {
  readonly label: string;
  query(size: number): string;
  /** The file before the page; the page is the first one without it. */
  after?(size: number): number;
  /** The first file of the page. */
  first(size: number): number;
  /** `MAX_ROWS_GROWTH` unless told. */
  readonly maxRowsGrowth?: number;
}

const ARCHIVE = { client: CLIENTS.archivist, tenant: TENANT };

const middle = (size: number): number => size / 2;
/** A file in the middle of the price order. */
const middlePrice = (size: number): number => Math.min(size, PRICES) / 2;
const red = 2;

const LISTINGS: readonly Listing[] = [
  { label: "first page", query: () => "", first: () => 0 },
  { label: "page in the middle, by its cursor", query: () => "", after: middle, first: (size) => middle(size) + 1 },
  {
    label: "a term that one file has",
    query: (size) => `&q=order:${archived(middle(size)).metadata.order}`,
    first: middle,
  },
  { label: "a term that a quarter of the files has", query: () => "&q=color:red", first: () => red },
  { label: "sorted by an attribute", query: () => "&sort=price", first: () => 0 },
  {
    label: "sorted, page in the middle",
    query: () => "&sort=price",
    after: middlePrice,
    first: (size) => (size > PRICES ? middlePrice(size) + PRICES : middlePrice(size) + 1),
  },
  { label: "sorted downwards", query: () => "&sort=price:desc", first: (size) => Math.min(size, PRICES) - 1 },
  {
    label: "sorted, a quarter of the files",
    query: () => "&q=color:red&sort=price",
    first: () => red,
    maxRowsGrowth: MAX_SURVEY_GROWTH,
  },
];

/**
 * Grows an archive tenfold at each step. At each size one client lists pages, which D1 then has in memory, so the disk
 * is no part of the time. `rows read` is D1's own count.
 */
export const growthStudy: Study = {
  id: "growth",
  label: `The cost of a page of ${PAGE_SIZE} while the files grow in number`,
  async run(context) {
    const plinth = await openPlinth(await context.serverOf(PLINTH_ON_DISK));
    const sizes = sizesUpTo(context.maxEvents);
    const measured: Measured[] = [];
    for (const size of sizes) {
      context.progress(`an archive of ${whole(size)} files`);
      await plinth.server.ask({ fill: { ...ARCHIVE, files: size } });
      for (const listing of LISTINGS) {
        context.stopping.throwIfAborted();
        measured.push({ listing, size, ...(await measure(plinth, listing, size, context)) });
      }
    }
    return { tables: [tableOf(sizes, measured)], marks: LISTINGS.flatMap((listing) => marksOf(listing, measured)) };
  },
};

/** Sizes grow tenfold; the last is the allowed maximum. */
function sizesUpTo(max: number): number[] {
  const sizes = [FIRST_SIZE];
  for (let size = FIRST_SIZE * 10; size < max * 10; size *= 10) sizes.push(Math.min(size, max));
  return sizes.filter((size, index) => index === 0 || size > FIRST_SIZE);
}

interface Measured {
  readonly listing: Listing;
  readonly size: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rowsRead: number;
}

async function measure(plinth: Target, listing: Listing, size: number, context: StudyContext) {
  const headers = await plinth.authorize("archivist");
  const isRight = (answer: Answer): boolean => JSON.parse(answer.body())[0].id === archived(listing.first(size)).id;
  const begin = `${collectionOf(plinth, "private")}?tenant=${TENANT}&pageSize=${PAGE_SIZE}${listing.query(size)}`;
  const asked = { status: 200, headers };
  const after = listing.after?.(size);
  const path = after === undefined ? begin : placedAfter(after, await answerTo(plinth, begin, asked));
  await answerTo(plinth, path, { ...asked, isRight });
  const { request } = exchangeOf(plinth, path, asked);
  const connection = await Connection.open(plinth.server);
  const ask = async (): Promise<void> => void (await askFor(200, connection, request));
  const times = await sample(context, ask).finally(() => connection.close());
  const page = { ...ARCHIVE, query: path.slice(path.indexOf("?")) };
  const rowsRead: number = await plinth.server.ask({ countRows: page });
  return { ...times, rowsRead };
}

/**
 * Returns the path of the page after a file. It takes the cursor of the second page and replaces the last file's id
 * and price, because walking to the middle of a million files would take hours.
 */
function placedAfter(index: number, firstPage: Answer): string {
  const next = /<([^>]+)>; rel="next"/.exec(firstPage.header("link") ?? "")?.[1] ?? "";
  const url = new URL(next);
  const last = JSON.parse(firstPage.body()).at(-1);
  const to = archived(index);
  const parts: unknown[] = JSON.parse(Buffer.from(url.searchParams.get("cursor") ?? "", "base64url").toString());
  const placed = parts.map((part) =>
    part === last.id ? to.id : part === last.metadata.price ? to.metadata.price : part,
  );
  url.searchParams.set("cursor", Buffer.from(JSON.stringify(placed)).toString("base64url"));
  return `${url.pathname}${url.search}`;
}

function tableOf(sizes: readonly number[], measured: readonly Measured[]): Table {
  return {
    head: ["files", ...sizes.flatMap((size) => [`${whole(size)}: p50 ms`, "p99", "rows read"])],
    rows: LISTINGS.map((listing) => [
      listing.label,
      ...sizes.flatMap((size) => {
        const { p50Ms, p99Ms, rowsRead } = find(measured, listing, size);
        return [p50Ms.toFixed(2), p99Ms.toFixed(2), whole(rowsRead)];
      }),
    ]),
  };
}

function marksOf(listing: Listing, measured: readonly Measured[]): StudyMark[] {
  const own = measured.filter((one) => one.listing === listing);
  const [first, before, last] = [own[0]!, own.at(-2), own.at(-1)!];
  if (before === undefined) return [];
  const time = last.p50Ms / first.p50Ms;
  const rows = last.rowsRead / before.rowsRead;
  const maxRows = listing.maxRowsGrowth ?? MAX_ROWS_GROWTH;
  return [
    {
      text:
        `${listing.label}, ${whole(last.size)} files: time ${time.toFixed(2)} of ${whole(first.size)} files, mark: at most ` +
        `${MAX_TIME_GROWTH}; rows read ${rows.toFixed(2)} of ${whole(before.size)} files, mark: at most ${maxRows.toFixed(1)}`,
      reached: time <= MAX_TIME_GROWTH && rows <= maxRows,
    },
  ];
}

const find = (measured: readonly Measured[], listing: Listing, size: number): Measured =>
  measured.find((one) => one.listing === listing && one.size === size)!;
