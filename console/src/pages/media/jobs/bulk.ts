import { useSyncExternalStore } from "react";
import { createOperatedBulkVariants } from "../../../../../api/plinth.ts";
import { operations, whole } from "../../../api/client.ts";
import { nextOf, type PageStart } from "../../../api/lists.ts";
import { sessionNow } from "../../../session/session.ts";
import type { Owner } from "../owner.ts";

/**
 * Requests variants for many files, page by page, from this window. It continues while other pages are open. The
 * browser stores the position, so that after the window was closed, it can continue there. The platform makes requested
 * variants in any case; a repeated request starts nothing twice.
 *
 *   asking ──▶ asked
 *     └──▶ stopped (by hand, or the window was closed), or failed ── go on ──▶ asking
 */
export interface Bulk {
  readonly id: string;
  readonly owner: Owner;
  readonly q: string;
  readonly type: "clip" | "crop";
  readonly size: string;
  readonly state: "asking" | "asked" | "stopped" | "failed";
  /** The numbers of images so far, and of variants that were started. */
  readonly files: number;
  readonly started: number;
  /** The page to request next. */
  readonly next: PageStart;
  readonly error?: unknown;
}

/** The first page. The service starts at most 100 variants for each call. */
const FIRST: PageStart = { pageSize: 100 };
/** The storage key of the signed-in person. */
const kept = (): string => {
  const session = sessionNow();
  const { user, organization } = session.state === "signedOut" ? { user: "", organization: "" } : session.person;
  return `plinth-media-variants ${user} ${organization}`;
};
const MOST_KEPT = 10;

let known: readonly Bulk[] | undefined;
const bulks = (): readonly Bulk[] => (known ??= restore());
/** Work whose next page is being requested, so that a quick stop and restart does not request it twice. */
const running = new Set<string>();
const listeners = new Set<() => void>();

export const useBulks = (): readonly Bulk[] =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, bulks);

export function makeVariants(wanted: Pick<Bulk, "owner" | "q" | "type" | "size">): void {
  const id = crypto.randomUUID();
  const bulk: Bulk = { ...wanted, id, state: "asking", files: 0, started: 0, next: FIRST };
  change([bulk, ...bulks()].slice(0, MOST_KEPT));
  void run(id);
}

export const stop = (id: string): void => update(id, (one) => ({ ...one, state: "stopped" }));

export function goOn(id: string): void {
  update(id, (one) => ({ ...one, state: "asking", error: undefined }));
  void run(id);
}

const asking = (id: string): Bulk | undefined => bulks().find((one) => one.id === id && one.state === "asking");

async function run(id: string): Promise<void> {
  if (running.has(id)) return;
  running.add(id);
  try {
    for (let bulk = asking(id); bulk !== undefined; bulk = asking(id)) {
      const { owner, q, type, size, next: page } = bulk;
      const query = { [type]: size, ...(q !== "" && { q }), ...page };
      const { data, headers } = await whole(
        createOperatedBulkVariants(owner.tenant, owner.client, owner.visibility, query, operations),
      );
      const { files, transformations } = data as { files: number; transformations: number };
      const next = nextOf(headers?.get("link") ?? "");
      update(id, (one) => ({
        ...one,
        files: one.files + files,
        started: one.started + transformations,
        ...(next === undefined ? { state: "asked" } : { next }),
      }));
    }
  } catch (error) {
    update(id, (one) => ({ ...one, state: "failed", error }));
  } finally {
    running.delete(id);
  }
}

const update = (id: string, to: (one: Bulk) => Bulk): void =>
  change(bulks().map((one) => (one.id === id ? to(one) : one)));

function change(next: readonly Bulk[]): void {
  known = next;
  localStorage.setItem(kept(), JSON.stringify(next.map(({ error: _error, ...one }) => one)));
  for (const listener of listeners) listener();
}

/** Reads stored work. Its window is gone, or is another one that still works: then nothing is started twice. */
function restore(): readonly Bulk[] {
  try {
    const found = JSON.parse(localStorage.getItem(kept()) ?? "[]") as readonly Bulk[];
    return found.map((one) => (one.state === "asking" ? { ...one, state: "stopped" } : one));
  } catch {
    return [];
  }
}
