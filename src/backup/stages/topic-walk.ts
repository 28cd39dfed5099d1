import type { PartStore } from "../bucket/part-store.ts";
import type { JobRecord } from "../model/job.ts";
import { tableSection } from "../model/part.ts";
import type { TopicAddress } from "../model/ports.ts";
import { Refused, type JobLists } from "../model/stage.ts";

/** A place in the topics that the backup's own rows list. So the backup has objects and rows of the same topics. */
export interface TopicPlace {
  /** The number of a part with topics, and the line in it. */
  readonly part: number;
  readonly line: number;
}

export const FIRST_TOPIC: TopicPlace = { part: 0, line: 0 };

export function createTopicWalk(parts: PartStore) {
  let last: { readonly digest: string; readonly lines: readonly string[] } | undefined;

  async function linesOf(digest: string): Promise<readonly string[]> {
    if (last?.digest === digest) return last.lines;
    const lines = await readPart(parts, digest);
    last = { digest, lines };
    return lines;
  }

  return {
    /** The topic at a place, and its place: after the end of a part, the first one of the next part. */
    async topicAt(
      place: TopicPlace,
      { facts }: JobRecord,
      lists: JobLists,
    ): Promise<{ readonly topic: TopicAddress; readonly place: TopicPlace } | undefined> {
      const [part, following] = lists.partsOf(tableSection("topic"), place.part, 2);
      if (part === undefined) return undefined;
      const lines = await linesOf(part.digest);
      const isHere = part.number !== place.part || place.line < lines.length;
      const at = isHere
        ? { part: part.number, line: part.number === place.part ? place.line : 0 }
        : following && { part: following.number, line: 0 };
      if (at === undefined) return undefined;
      const text = (isHere ? lines : await linesOf(following!.digest))[at.line]!;
      return { topic: topicOf(text, facts.tables["topic"]?.columns ?? []), place: at };
    },
  };
}

function topicOf(text: string, columns: readonly string[]): TopicAddress {
  const row = JSON.parse(text) as unknown[];
  const value = (name: string): unknown => row[columns.indexOf(name)];
  return {
    owner: value("owner") as string,
    eventType: value("event_type") as string,
    incarnation: value("incarnation") as string,
    shards: value("shards") as number,
  };
}

/** Reads the lines of a part. Fails the job if the part is missing or changed. */
export async function readPart(parts: PartStore, digest: string): Promise<readonly string[]> {
  const read = await parts.read(digest);
  if (!read.ok) throw new Refused(`${read.error}: part/${digest}. Verify the backup, and use another one.`);
  return read.value;
}
