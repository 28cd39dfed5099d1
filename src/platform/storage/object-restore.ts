import { summarize } from "../runtime/log.ts";

/**
 * The restore of a Durable Object to an earlier time. Cloudflare keeps 30 days of its storage.
 *
 *   as it is ── prepare ──→ its next session begins as it was then ── restart ──→ as it was then
 *
 * `undo` is a bookmark: a restore to it undoes the restore. The local runtime keeps no earlier states, so it answers
 * `impossible`.
 */
export type RestoreTo = { readonly timeMs: number } | { readonly bookmark: string };

export type PrepareOutcome =
  | { readonly kind: "prepared"; readonly undo: string }
  | { readonly kind: "impossible"; readonly why: string };

export async function prepareRestore(storage: DurableObjectStorage, to: RestoreTo): Promise<PrepareOutcome> {
  try {
    const bookmark = "bookmark" in to ? to.bookmark : await storage.getBookmarkForTime(to.timeMs);
    return { kind: "prepared", undo: await storage.onNextSessionRestoreBookmark(bookmark) };
  } catch (thrown) {
    return { kind: "impossible", why: summarize(thrown) };
  }
}

/** An object that can be restored. Each call of `restart` fails, because it ends the session that answers. */
export interface Restorable {
  prepareRestore(to: RestoreTo): Promise<PrepareOutcome>;
  restart(): void;
}
