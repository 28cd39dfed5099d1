import { useSyncExternalStore } from "react";
import { commitOperatedFile, createOperatedFile } from "../../../../../api/plinth.ts";
import { answer, operations } from "../../../api/client.ts";
import { put, PutError } from "../../../api/put.ts";
import { queryClient } from "../../../api/queries.ts";
import { isMaster, THUMBNAIL, type Owner } from "../owner.ts";

/**
 * Uploads of this window. They continue while other pages are open; the page of files shows them.
 *
 *   waiting ──▶ sending ──▶ committing ──▶ done
 *      │           │ └────────────┴──▶ failed ── retry ──▶ waiting
 *      └───────────┴── cancel ──▶ cancelled ── retry ──▶ waiting
 *
 * A retry creates a new file. The platform deletes files that were not committed after a day.
 */
export interface Upload {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly owner: Owner;
  readonly state: "waiting" | "sending" | "committing" | "done" | "failed" | "cancelled";
  readonly sent: number;
  /** The id of the file, once it is committed. */
  readonly fileId?: string;
  /** The reason in the platform's words. */
  readonly reason?: string | undefined;
}

interface Task {
  readonly file: File;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly abort: AbortController;
}

/** Uploads at the same time. Browsers open some six connections to a host. */
const AT_ONCE = 3;

let uploads: readonly Upload[] = [];
const tasks = new Map<number, Task>();
const listeners = new Set<() => void>();
let lastId = 0;

export const useUploads = (): readonly Upload[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => uploads,
  );

export const isUnderWay = ({ state }: Upload): boolean =>
  state === "waiting" || state === "sending" || state === "committing";

/** Each file gets its name as metadata, so that a search finds it. */
export function upload(files: readonly File[], owner: Owner): void {
  const added = files.map((file): Upload => {
    const id = ++lastId;
    tasks.set(id, { file, metadata: { name: file.name }, abort: new AbortController() });
    return { id, name: file.name, size: file.size, owner, state: "waiting", sent: 0 };
  });
  change([...uploads, ...added]);
  pump();
}

/** A file whose commit is on its way is not cancelled: it may be stored already. */
export function cancel(ids: readonly number[]): void {
  for (const { id, state } of uploads) {
    if (!ids.includes(id) || (state !== "waiting" && state !== "sending")) continue;
    tasks.get(id)?.abort.abort();
    update(id, (one) => ({ ...one, state: "cancelled" }));
  }
}

export function retry(ids: readonly number[]): void {
  for (const id of ids) {
    const task = tasks.get(id);
    if (task === undefined) continue;
    tasks.set(id, { ...task, abort: new AbortController() });
    update(id, (one) => ({ ...one, state: "waiting", sent: 0, reason: undefined }));
  }
  pump();
}

/** Removes uploads that have ended from the list. */
export function clearEnded(): void {
  for (const one of uploads) if (!isUnderWay(one)) tasks.delete(one.id);
  change(uploads.filter(isUnderWay));
}

function pump(): void {
  const busy = uploads.filter(({ state }) => state === "sending" || state === "committing").length;
  for (const { id } of uploads.filter(({ state }) => state === "waiting").slice(0, Math.max(0, AT_ONCE - busy)))
    void run(id).finally(pump);
}

async function run(id: number): Promise<void> {
  const task = tasks.get(id);
  const { owner } = uploads.find((one) => one.id === id)!;
  if (task === undefined) return;
  update(id, (one) => ({ ...one, state: "sending" }));
  try {
    const type = task.file.type === "" ? "application/octet-stream" : task.file.type;
    const variants = isMaster(type) ? { clip: THUMBNAIL } : {};
    const asked = createOperatedFile(
      owner.tenant,
      owner.client,
      owner.visibility,
      { "Content-Type": type },
      variants,
      operations,
    );
    const { id: fileId, uploadLink } = (await answer(asked)) as { id: string; uploadLink: string };
    await put(uploadLink, task.file, type, task.abort.signal, (sent) => update(id, (one) => ({ ...one, sent })));
    if (task.abort.signal.aborted) return;
    update(id, (one) => ({ ...one, state: "committing", sent: one.size }));
    await answer(commitOperatedFile(fileId, task.metadata, operations));
    update(id, (one) => ({ ...one, state: "done", fileId }));
    tasks.delete(id);
    if (!uploads.some(isUnderWay)) void queryClient.invalidateQueries({ queryKey: ["files"] });
  } catch (thrown) {
    if (task.abort.signal.aborted) return;
    const reason = thrown instanceof PutError ? thrown.reason : thrown instanceof Error ? thrown.message : "";
    update(id, (one) => ({ ...one, state: "failed", reason }));
  }
}

/** Makes the browser ask before a window with uploads is closed. */
const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

const update = (id: number, to: (one: Upload) => Upload): void =>
  change(uploads.map((one) => (one.id === id ? to(one) : one)));

function change(next: readonly Upload[]): void {
  uploads = next;
  if (next.some(isUnderWay)) addEventListener("beforeunload", ask);
  else removeEventListener("beforeunload", ask);
  for (const listener of listeners) listener();
}
