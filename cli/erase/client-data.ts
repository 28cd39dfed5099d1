import { ok, type ApiResponse, type RequestOpts, type WithHeaders } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { AdminRefusal, allRows, type AdminClient } from "../client/admin-client.ts";
import { clean, countOf } from "../terminal/values.ts";
import { filesOf } from "./plan.ts";

/** The number of deletions that were requested. The number of files is from the dry run before each. */
export interface Gone {
  readonly topics: number;
  readonly files: number;
  readonly bytes: number;
}

export const NOTHING: Gone = { topics: 0, files: 0, bytes: 0 };
export const plus = (one: Gone, other: Gone): Gone => ({
  topics: one.topics + other.topics,
  files: one.files + other.files,
  bytes: one.bytes + other.bytes,
});

export interface Saying {
  /** Reports a finished step. */
  done(text: string): void;
  /** Reports a wait. */
  waiting(text: string): void;
  wait(ms: number): Promise<void>;
}

/** Longer than the 30 s after which every isolate knows a new secret or record. */
const KNOWN_AFTER_MS = 45_000;
const ASK_AGAIN_MS = 2_000;
const FIRST_POLL_MS = 100;
const LONGEST_POLL_MS = 5_000;

const DELETIONS = [api.deletePrivateFiles, api.deletePublicFiles];

/**
 * Deletes a client's topics, and its files in a tenant, with the client's own token. Waits until they are gone,
 * including deletions that an earlier run started. Can be repeated.
 */
export async function eraseClientData(own: AdminClient, name: string, tenant: string, say: Saying): Promise<Gone> {
  const { opts } = own;
  await untilKnown(() => ok(api.listTopics({ pageSize: 1 }, opts)), say);
  const topics = await eraseTopics(opts, name, say);
  const files = await eraseFiles(opts, name, tenant, say);
  return { topics, ...files };
}

/** Retries while an isolate still holds the client's old record and refuses the new secret. */
async function untilKnown(ask: () => Promise<unknown>, { waiting, wait }: Saying): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += ASK_AGAIN_MS) {
    try {
      await ask();
      return;
    } catch (error) {
      const isOld = error instanceof AdminRefusal && [400, 401].includes(error.status);
      if (!isOld || waitedMs >= KNOWN_AFTER_MS) throw error;
      if (waitedMs === 0) waiting("not every part of the platform knows the client's new secret yet");
      await wait(ASK_AGAIN_MS);
    }
  }
}

async function eraseTopics(opts: RequestOpts, name: string, say: Saying): Promise<number> {
  const find = async (): Promise<api.Topic[]> => {
    const visible = await allRows((page) => api.listTopics(page, opts));
    return visible.filter(({ topicOwnerClient }) => topicOwnerClient === name);
  };
  const topics = await find();
  for (const { eventType } of topics) await ok(api.deleteTopic(name, eventType, opts));
  await until(
    async () => (await find()).length === 0,
    `${countOf(topics.length, "topic")} of ${clean(name)} to go`,
    say,
  );
  if (topics.length > 0) {
    const names = topics.map(({ eventType }) => clean(eventType)).join(", ");
    say.done(`${clean(name)}: ${countOf(topics.length, "topic")} (${names}) removed.`);
  }
  return topics.length;
}

async function eraseFiles(opts: RequestOpts, name: string, tenant: string, say: Saying): Promise<Omit<Gone, "topics">> {
  const gone = { files: 0, bytes: 0 };
  for (const remove of DELETIONS) {
    const { files, bytes } = (await ok(remove(tenant, { dryRun: true }, opts))) as api.FileCount;
    if (files === 0) continue;
    await accepted(remove(tenant, {}, opts));
    gone.files += files;
    gone.bytes += bytes;
  }
  // An earlier run may have started erasures and stopped while it waited.
  for (const { id, files, ...erasure } of await allRows((page) => api.listErasures(tenant, page, opts))) {
    if (erasure.state !== "deleting") continue;
    const isDone = async (): Promise<boolean> => (await ok(api.getErasure(id, opts))).state !== "deleting";
    await until(isDone, `the bytes of ${countOf(files.requested, "file")} of ${clean(name)} to be deleted`, say);
  }
  if (gone.files > 0) say.done(`${clean(name)}: ${filesOf(gone)} deleted.`);
  return gone;
}

/** Waits for a success whose body does not matter. */
const accepted = async (answer: Promise<WithHeaders<ApiResponse>>): Promise<void> => void (await answer);

/** Polls without a time limit: the person can stop and repeat the command. */
async function until(isSo: () => Promise<boolean>, what: string, { waiting, wait }: Saying): Promise<void> {
  for (let pauseMs = FIRST_POLL_MS; !(await isSo()); pauseMs = Math.min(LONGEST_POLL_MS, pauseMs * 1.5)) {
    if (pauseMs === FIRST_POLL_MS) waiting(`waiting for ${what}`);
    await wait(pauseMs);
  }
}
