import type { Read } from "../../platform/copies/fresh-cache.ts";
import { noLocationCache, type LocationCache } from "../../platform/copies/location-cache.ts";
import type { Revocation, TrustStore, TrustUpdate } from "./trust-store.ts";

type Add = (rows: readonly Revocation[]) => void;
type Copy = (update: TrustUpdate, afterSeq: number) => void;

/** The result of a refresh, and when its read began. */
export interface TrustReading {
  readonly update: TrustUpdate;
  readonly readAtMs: number;
  /** False: the result is the location's copy. */
  readonly isFromD1: boolean;
  /** The database was restored since the isolate read it: the isolate must drop its copy and read everything again. */
  readonly isOther: boolean;
}

export interface Known {
  /** The number of the newest revocation that the isolate has. */
  readonly lastSeq: number;
  /**
   * The newest number of some time ago. News begin after it, so that isolates that are a little behind can use them.
   */
  readonly earlierSeq: number;
  readonly loadedAtMs: number;
  /** The generation of the database that the isolate read; undefined if it has read nothing. */
  readonly generation: string | undefined;
}

/** The location's news: keys, and the revocations after a number. */
interface News {
  readonly afterSeq: number;
  readonly update: TrustUpdate;
}

/**
 * The location's base: every valid revocation up to a number. It lies in pages, since a copy has a maximum size. An old
 * page is correct too, since news replace rows.
 */
interface BasePage {
  /** The end of the page before; 0 for the first one. */
  readonly afterSeq: number;
  readonly untilSeq: number;
  /** The generation of the database. Numbers of a base from before a restore may have been given again. */
  readonly generation: string;
  readonly revocations: readonly Revocation[];
  readonly isLast: boolean;
}

/** The pages that fit together, from the first one on. */
interface Base {
  readonly pages: number;
  readonly untilSeq: number;
  readonly generation: string;
  readonly revocations: readonly Revocation[];
  /** No page is missing at the end. */
  readonly isWhole: boolean;
}

const NEWS = "trust news";
const basePage = (page: number): string => `trust base ${page}`;
/** The greatest age of news. The age of an isolate's copy counts from their read, so it stays at most 5 s in all. */
const NEWS_AGE_MS = 2_000;
/** An isolate writes news at most this often. */
const WRITE_EVERY_MS = 1_000;
/** One isolate of a location reads news from D1 in this time. */
const CLAIM_MS = 1_000;
/** The same time while D1 does not respond. */
const PROBE_MS = 4_000;
/**
 * The greatest age of a base, with which a new isolate begins, before it adds the news; and the rows of a page. A page
 * has some two megabytes (our choice), half of what a copy may have.
 */
const BASE = { ageMs: 300_000, pageRows: 10_000 } as const;

export type TrustFrom = "location" | "D1";

export type TrustSource = ReturnType<typeof createTrustSource>;

/**
 * Reads keys and revocations for an isolate: from the location's news (a new isolate also reads the base), else from
 * D1. A result of D1 becomes the location's copy.
 */
export function createTrustSource(store: Pick<TrustStore, "readUpdate">, location: LocationCache) {
  let wroteAtMs = Number.NEGATIVE_INFINITY;

  /** Reads page by page. A page that was read counts, even if the next one is never read. */
  async function readD1(afterSeq: number, nowMs: number, add: Add, copy: Copy): Promise<TrustUpdate> {
    const first = await store.readUpdate(afterSeq, nowMs);
    add(first.revocations);
    copy(first, afterSeq);
    let last = first;
    while (last.isMore === true) {
      const after = last.revocations.at(-1)?.seq ?? afterSeq;
      last = await store.readUpdate(after, nowMs);
      add(last.revocations);
      copy(last, after);
    }
    return last;
  }

  /** Limits writes of the location's copy, since some requests ask D1 each time. */
  function mayWrite(nowMs: number): boolean {
    const may = Math.abs(nowMs - wroteAtMs) >= WRITE_EVERY_MS;
    if (may) wroteAtMs = nowMs;
    return may;
  }

  const writeNews = (afterSeq: number, update: TrustUpdate, nowMs: number): void => {
    if (update.isMore === true) return;
    const news: News = { afterSeq, update };
    location.put(NEWS, { value: news, readAtMs: nowMs }, NEWS_AGE_MS);
  };

  /**
   * Writes what a new isolate has read after `afterSeq`, so that others need not read it: pages of the base from number
   * `page` on, then empty news. Returns the number of the next page.
   */
  function writeBase(page: number, afterSeq: number, update: TrustUpdate, nowMs: number): number {
    const { revocations, generation = "", isMore = false } = update;
    const pages = Math.max(1, Math.ceil(revocations.length / BASE.pageRows));
    let after = afterSeq;
    for (let at = 0; at < pages; at++) {
      const rows = revocations.slice(at * BASE.pageRows, (at + 1) * BASE.pageRows);
      const untilSeq = rows.at(-1)?.seq ?? after;
      const isLast = !isMore && at === pages - 1;
      const value: BasePage = { afterSeq: after, untilSeq, generation, revocations: rows, isLast };
      location.put(basePage(page + at), { value, readAtMs: nowMs }, BASE.ageMs);
      after = untilSeq;
    }
    writeNews(after, { ...update, revocations: [] }, nowMs);
    return page + pages;
  }

  async function findBase(nowMs: number): Promise<Base | undefined> {
    let base: Base | undefined;
    const within = { nowMs, maxAgeMs: BASE.ageMs, sinceMs: Number.NEGATIVE_INFINITY };
    while (base?.isWhole !== true) {
      const found = await location.find(basePage(base?.pages ?? 0), within);
      const page = found?.value as BasePage | undefined;
      if (page === undefined || page.afterSeq !== (base?.untilSeq ?? 0)) break;
      if (base !== undefined && page.generation !== base.generation) break;
      const { untilSeq, generation, isLast: isWhole } = page;
      const revocations: readonly Revocation[] = [...(base?.revocations ?? []), ...page.revocations];
      base = { pages: (base?.pages ?? 0) + 1, untilSeq, generation, revocations, isWhole };
    }
    return base;
  }

  return {
    /** Returns false if another isolate of the location is reading now, whose news are worth waiting for. */
    claim: (nowMs: number, isFailing: boolean): Promise<boolean> =>
      location.claim(NEWS, { nowMs, forMs: isFailing ? PROBE_MS : CLAIM_MS, isAlone: isFailing }),
    /**
     * `from` "D1": not from the location's news, which may be from before a change. "location": "none" if it has no
     * news, "behind" if the isolate needs more than they say. `add` gets the revocations, oldest first.
     */
    async read(known: Known, nowMs: number, from: TrustFrom, add: Add): Promise<TrustReading | "none" | "behind"> {
      const { lastSeq, earlierSeq, loadedAtMs } = known;
      const isOther = ({ generation = "" }: TrustUpdate, than = known.generation): boolean =>
        than !== undefined && generation !== than;
      const askD1 = async (afterSeq: number, copy: Copy): Promise<TrustReading> => {
        const update = await readD1(afterSeq, nowMs, add, copy);
        return { update, readAtMs: nowMs, isFromD1: true, isOther: isOther(update) };
      };
      if (location === noLocationCache) return from === "location" ? "none" : askD1(lastSeq, () => undefined);
      const isNew = loadedAtMs === Number.NEGATIVE_INFINITY;
      const [foundNews, candidate] = await Promise.all([
        from === "location" ? location.find(NEWS, { nowMs, maxAgeMs: NEWS_AGE_MS, sinceMs: loadedAtMs }) : undefined,
        isNew ? findBase(nowMs) : undefined,
      ]);
      const news = foundNews as Read<News> | undefined;
      /** Tells whether a base is usable: the news, or else D1, must be of the same generation. */
      const isBase = (found: Base | undefined, update: TrustUpdate): found is Base =>
        found !== undefined && !isOther(update, found.generation);
      const base = news === undefined || isBase(candidate, news.value.update) ? candidate : undefined;
      const knownSeq = Math.max(lastSeq, base?.untilSeq ?? 0);
      // After a restore everything is read again, from D1.
      const isUseful = news !== undefined && !isOther(news.value.update) && news.value.afterSeq <= knownSeq;
      if (isUseful) {
        if (base !== undefined) add(base.revocations);
        add(news.value.update.revocations);
        const { update } = news.value;
        return { update, readAtMs: news.readAtMs, isFromD1: false, isOther: false };
      }
      if (from === "location") return news === undefined ? "none" : "behind";
      // An isolate is new once, so it seldom writes the base. A whole base needs no further page.
      let page = !isNew || base?.isWhole === true ? undefined : (base?.pages ?? 0);
      const ask = (afterSeq: number): Promise<TrustReading> =>
        askD1(afterSeq, (update, after) => {
          if (page !== undefined) page = writeBase(page, after, update, nowMs);
          else if (mayWrite(nowMs)) writeNews(after, update, nowMs);
        });
      const reading = await ask(isNew ? knownSeq : earlierSeq);
      if (base === undefined) return reading;
      if (!isBase(base, reading.update)) {
        page = 0;
        return ask(0);
      }
      add(base.revocations);
      return reading;
    },
  };
}
