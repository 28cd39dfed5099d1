import { useEffect, useMemo } from "react";
import { keepPreviousData, useInfiniteQuery, type QueryKey } from "@tanstack/react-query";
import { operations, whole } from "./client.ts";

/** The beginning of a page of a list, from the service's `next` link. */
export interface PageStart {
  readonly pageSize: number;
  readonly cursor?: string;
  readonly pageNumber?: number;
}

export interface ListAnswer {
  readonly status: number;
  readonly data?: unknown;
  readonly headers?: Headers;
}

/** A whole list, for a search that the service does not have. */
export async function readAll<T>(ask: (page: PageStart) => Promise<ListAnswer>): Promise<readonly T[]> {
  const rows: T[] = [];
  for (let page: PageStart | undefined = { pageSize: 1_000 }; page !== undefined;) {
    const { data, headers } = await whole(ask(page));
    rows.push(...(data as readonly T[]));
    page = nextOf(headers?.get("link") ?? "");
  }
  return rows;
}

interface ListOptions {
  readonly enabled?: boolean;
  /** Shows the rows of the last search until those of the next one are there. */
  readonly keepRows?: boolean;
  /** How long rows count as fresh; 10 s by default. */
  readonly staleMs?: number;
}

const PAGE_SIZE = 100;
/** After so many pages, further ones are larger. */
const LONG_AFTER_PAGES = 5;
const LONG_PAGE_SIZE = 500;
const FIRST_PAGE: PageStart = { pageSize: PAGE_SIZE };

/**
 * A list that is read page by page, as it is scrolled. A request for rows that nobody waits for any more is broken off:
 *
 *   const list = useList<Tenant>(["tenants"], (page, options) => listTenants(page, options));
 */
export function useList<T>(
  key: QueryKey,
  ask: (page: PageStart, options: typeof operations) => Promise<ListAnswer>,
  { enabled = true, keepRows = false, staleMs }: ListOptions = {},
): List<T> {
  const query = useInfiniteQuery({
    queryKey: key,
    enabled,
    ...(staleMs !== undefined && { staleTime: staleMs }),
    ...(keepRows && { placeholderData: keepPreviousData }),
    initialPageParam: FIRST_PAGE,
    queryFn: async ({ pageParam, signal }) => {
      const { data, headers } = await whole(ask(pageParam, { ...operations, signal }));
      return { rows: data as readonly T[], next: nextOf(headers?.get("link") ?? "") };
    },
    getNextPageParam: ({ next }, { length }) =>
      next?.cursor !== undefined && length >= LONG_AFTER_PAGES ? { ...next, pageSize: LONG_PAGE_SIZE } : next,
  });
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.rows) ?? [], [query.data]);
  // A search reads a limited part of the list for a page, so a page may be empty although others follow.
  const { hasNextPage, isFetchingNextPage, isError, fetchNextPage } = query;
  const goesOn = rows.length === 0 && hasNextPage;
  useEffect(() => {
    if (goesOn && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [goesOn, isFetchingNextPage, isError, fetchNextPage]);
  return {
    rows,
    state:
      query.isPending || (goesOn && !isError) ? "loading" : query.data === undefined || goesOn ? "failed" : "there",
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void (query.isFetchingNextPage || query.fetchNextPage()),
    retry: () => void query.refetch(),
  };
}

export interface List<T> {
  readonly rows: readonly T[];
  readonly state: "loading" | "failed" | "there";
  readonly error: Error | null;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  readonly loadMore: () => void;
  readonly retry: () => void;
}

/** The page that the `next` link of a `Link` header leads to (RFC 8288). */
export function nextOf(header: string): PageStart | undefined {
  for (const [, address = "", parameters = ""] of header.matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!/;\s*rel="?next"?/i.test(parameters)) continue;
    const { searchParams } = new URL(address, "https://platform.invalid");
    const cursor = searchParams.get("cursor");
    const pageNumber = searchParams.get("pageNumber");
    return {
      pageSize: Number(searchParams.get("pageSize") ?? PAGE_SIZE),
      ...(cursor !== null && { cursor }),
      ...(pageNumber !== null && { pageNumber: Number(pageNumber) }),
    };
  }
  return undefined;
}
