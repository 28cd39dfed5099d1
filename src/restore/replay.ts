import { describeError, type Log } from "../platform/runtime/log.ts";
import type { RestorePoint, RestorePointStore } from "./restore-point-store.ts";

/**
 * The replay of erasures. Records that were removed between the restored time and the restore are in the database
 * again; the copies of the audit log in the bucket name them. The bucket is listed, because the restored database does
 * not know the copies that were made since.
 *
 *   copy ── its lines "delete", done, since the time ──→ not there: absent; made since the restore: kept; else erased
 *
 * A step does a few lines and stores its position. If a step breaks off, its lines are done again and find nothing. A
 * record that was made since the restore is another one of the same name, so it stays.
 */
export interface ReplayDeps {
  readonly bucket: Pick<R2Bucket, "list" | "get">;
  readonly log: Log;
  /** Removes the subject of a row of the audit log, as an operator does. */
  erase(subject: string, madeUntilMs: number): Promise<EraseOutcome>;
}

/** `made_since`: the record was made after the restore. `other`: the subject cannot be erased by its name. */
type EraseOutcome = "erased" | "absent" | "made_since" | "other" | { readonly refused: string };

export interface ReplayReport {
  readonly done: boolean;
  /** The copy that was read. */
  readonly copy: string | null;
  readonly lines: readonly { readonly subject: string; readonly at: number; readonly outcome: string }[];
}

/** Erasures of one step, and the size of the largest copy that is read. */
const STEP = { erasures: 20, readBytes: 32 * 1024 * 1024 } as const;
const PREFIX = "audit/";

export async function replayStep(
  deps: ReplayDeps,
  store: RestorePointStore,
  point: RestorePoint,
): Promise<ReplayReport> {
  const { restoredTo, markedAt } = point;
  const copy = restoredTo === null ? undefined : await nextCopy(deps.bucket, point, restoredTo);
  if (restoredTo === null || markedAt === null || copy === undefined) return { done: true, copy: null, lines: [] };
  const lines: { subject: string; at: number; outcome: string }[] = [];
  let at = copy.from;
  for (; at < copy.lines.length && lines.length < STEP.erasures; at++) {
    const line = erasureOf(copy.lines[at] ?? "");
    if (line === undefined || line.at <= restoredTo || line.at > markedAt) continue;
    const outcome = await deps.erase(line.subject, restoredTo).catch((thrown: unknown): EraseOutcome => {
      deps.log.error("an erasure was not replayed", { subject: line.subject, error: describeError(thrown) });
      return { refused: "it failed: repeat it by hand" };
    });
    if (outcome !== "other") lines.push({ ...line, outcome: typeof outcome === "string" ? outcome : outcome.refused });
  }
  await store.replayed(point, copy.name, at);
  return { done: false, copy: copy.name, lines };
}

interface Copy {
  readonly name: string;
  readonly lines: readonly string[];
  /** The first line that is not done. */
  readonly from: number;
}

/** The copy that is not finished, else the next one; undefined: none is left. */
async function nextCopy(
  bucket: ReplayDeps["bucket"],
  { replayedName, replayedLines }: RestorePoint,
  restoredTo: number,
): Promise<Copy | undefined> {
  // A copy is named after the day on which it was planned, which is not before its rows.
  const day = new Date(restoredTo).toISOString().slice(0, 10).replaceAll("-", "/");
  if (replayedName !== "") {
    const lines = await linesOf(bucket, replayedName);
    if (replayedLines < lines.length) return { name: replayedName, lines, from: replayedLines };
  }
  const { objects } = await bucket.list({ prefix: PREFIX, startAfter: replayedName || `${PREFIX}${day}`, limit: 1 });
  const name = objects[0]?.key;
  return name === undefined ? undefined : { name, lines: await linesOf(bucket, name), from: 0 };
}

async function linesOf(bucket: ReplayDeps["bucket"], name: string): Promise<readonly string[]> {
  const object = await bucket.get(name);
  if (object === null) return [];
  if (object.size <= STEP.readBytes) return (await object.text()).split("\n");
  await object.body.cancel();
  throw new Error(`the copy ${name} is larger than any that the platform writes`);
}

/** A row of a done removal; undefined: another row. */
function erasureOf(text: string): { readonly subject: string; readonly at: number } | undefined {
  if (!text.includes('"delete"')) return undefined;
  const row = JSON.parse(text) as { action?: unknown; outcome?: unknown; subject?: unknown; at?: unknown };
  const { subject, at } = row;
  if (row.action !== "delete" || row.outcome !== "done") return undefined;
  return typeof subject === "string" && typeof at === "number" ? { subject, at } : undefined;
}
