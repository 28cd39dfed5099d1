import type { Gone, LogStats } from "../log/types.ts";
import { consumerOf } from "../consume/stub.ts";
import { logOf } from "../log/client.ts";
import type { TopicStore } from "../access/topic-store.ts";
import { nameOf, shardsOf, type Topic } from "../model/topic.ts";
import type { PushPorts } from "../push/types.ts";
import { pushOf } from "../push/stub.ts";
import type { EventNamespaces } from "../transfer/objects.ts";

/**
 * Checks whether the parts of the events service agree with each other, a page at a time, in the order of topics:
 *
 *   topic ──→ its logs ──→ its consumers, some at a time ──→ its push subscriptions, some at a time ──→ next topic
 *
 * The check changes nothing. A page does limited work and returns where the next one starts. A change during the check
 * can cause a finding that is wrong; a finding that a second check repeats is right.
 */
export interface CheckPorts extends EventNamespaces {
  readonly store: Pick<TopicStore, "after" | "find">;
  readonly push: Pick<PushPorts, "store">;
}

type CheckKind =
  /** The topic's record names a log that does not exist: nobody can publish or read. */
  | "topic_without_log"
  /** A consumer's cursor lies beyond the end of the log. */
  | "cursor_beyond_log"
  | "push_beyond_log"
  /** The record names an object that does not exist: nothing is pushed. */
  | "push_without_object";

interface CheckFinding {
  readonly kind: CheckKind;
  readonly topic: string;
  readonly shard: number | null;
  /** The name of the consumer, or the id of the push subscription. */
  readonly subject: string | null;
  readonly position: number | null;
  readonly end: number | null;
}

export interface CheckPage {
  readonly checked: { readonly topics: number; readonly consumers: number; readonly pushSubscriptions: number };
  readonly findings: readonly CheckFinding[];
  readonly next: CheckPlace | undefined;
}

/**
 * Where the next page starts. `topic`: at the topic's logs. `consumers`, `pushes`: after the consumer or subscription
 * `after`. `end`: at the next topic.
 */
export interface CheckPlace {
  readonly topic: string;
  readonly at: "topic" | "consumers" | "pushes" | "end";
  readonly after: string[];
}

/** Limits of one page. One invocation may make 1,000 calls to objects. */
const ASKED = { consumers: 50, pushes: 50, topics: 20 } as const;

export async function checkPage(ports: CheckPorts, from: CheckPlace | undefined): Promise<CheckPage> {
  const page: Checked = { checked: { topics: 0, consumers: 0, pushSubscriptions: 0 }, findings: [] };
  const { checked } = page;
  const started = from === undefined || from.at === "end" ? undefined : await ports.store.after(from.topic, 1, "from");
  // A topic that was removed since the last page is skipped.
  const unfinished = started?.find((topic) => nameOf(topic) === from?.topic);
  const topics =
    unfinished === undefined ? await ports.store.after(from?.topic ?? "", ASKED.topics, "behind") : [unfinished];
  for (const topic of topics) {
    if (topic.state !== "active") continue;
    const next = await checkTopic(ports, topic, unfinished === undefined ? FIRST : from!, page);
    if (next !== undefined) return { ...page, next };
    if (checked.consumers + checked.pushSubscriptions >= ASKED.consumers) return { ...page, next: behind(topic) };
  }
  const last = topics.at(-1);
  const isEnd = last === undefined || (unfinished === undefined && topics.length < ASKED.topics);
  return { ...page, next: isEnd ? undefined : behind(last) };
}

/** A page as far as it is checked. */
interface Checked {
  readonly checked: { topics: number; consumers: number; pushSubscriptions: number };
  readonly findings: CheckFinding[];
}

const FIRST: Omit<CheckPlace, "topic"> = { at: "topic", after: [] };
const behind = (topic: Topic): CheckPlace => ({ topic: nameOf(topic), at: "end", after: [] });

/** Checks a topic from this place on. Returns where to continue if it has too many consumers or subscriptions. */
async function checkTopic(
  ports: CheckPorts,
  topic: Topic,
  { at, after }: Omit<CheckPlace, "topic">,
  { checked, findings }: Checked,
): Promise<CheckPlace | undefined> {
  const name = nameOf(topic);
  const ends = await logsOf(ports, topic);
  if (at === "topic") {
    checked.topics += 1;
    for (const [shard, end] of ends.entries())
      if (end === undefined) findings.push({ ...NOTHING, kind: "topic_without_log", topic: name, shard });
  }
  if (at !== "pushes") {
    const more = await checkConsumers(ports, topic, ends, at === "consumers" ? after : [], findings);
    checked.consumers += more.count;
    if (more.after !== undefined) return { topic: name, at: "consumers", after: more.after };
  }
  const more = await checkPushes(ports, topic, ends, at === "pushes" ? after : [], findings);
  checked.pushSubscriptions += more.count;
  return more.after && { topic: name, at: "pushes", after: more.after };
}

const NOTHING = { shard: null, subject: null, position: null, end: null } as const;

/** The end of each shard's log; undefined: the log does not exist. */
function logsOf({ logs }: CheckPorts, topic: Topic): Promise<(number | undefined)[]> {
  return Promise.all(
    shardsOf(topic).map(async (shard) => {
      const stats = (await logOf(logs, topic, shard).stats()) as LogStats | Gone;
      return stats.kind === "gone" ? undefined : stats.lastSeq;
    }),
  );
}

interface More {
  readonly count: number;
  /** The last one that was checked, if there are more after it. */
  readonly after: string[] | undefined;
}

/** Checks some of the consumers. The first shard's log has their names. */
async function checkConsumers(
  { logs, consumers }: CheckPorts,
  topic: Topic,
  ends: readonly (number | undefined)[],
  [after]: readonly string[],
  findings: CheckFinding[],
): Promise<More> {
  if (ends[0] === undefined) return { count: 0, after: undefined };
  const names: readonly string[] = await logOf(logs, topic, 0).consumersAfter(after ?? "", ASKED.consumers);
  const cursors = await Promise.all(
    names.map(async (name): Promise<readonly number[] | undefined> => consumerOf(consumers, topic, name).position()),
  );
  for (const [at, cursor] of cursors.entries())
    findings.push(...beyond("cursor_beyond_log", topic, names[at]!, cursor ?? [], ends));
  const last = names.at(-1);
  return { count: names.length, after: names.length < ASKED.consumers || last === undefined ? undefined : [last] };
}

async function checkPushes(
  { push, pushSubscriptions }: CheckPorts,
  topic: Topic,
  ends: readonly (number | undefined)[],
  [client = "", name = ""]: readonly string[],
  findings: CheckFinding[],
): Promise<More> {
  const { records, next } = await push.store.ofTopicAfter(topic.incarnation, client, name, ASKED.pushes);
  const cursors = await Promise.all(
    records.map(async ({ id }): Promise<readonly number[] | undefined> =>
      pushOf(pushSubscriptions, topic, id).position(),
    ),
  );
  for (const [at, cursor] of cursors.entries()) {
    const subject = records[at]!.id;
    if (cursor === undefined) findings.push({ ...NOTHING, kind: "push_without_object", topic: nameOf(topic), subject });
    else findings.push(...beyond("push_beyond_log", topic, subject, cursor, ends));
  }
  return { count: records.length, after: next };
}

const beyond = (
  kind: CheckKind,
  topic: Topic,
  subject: string,
  cursor: readonly number[],
  ends: readonly (number | undefined)[],
): CheckFinding[] =>
  cursor.flatMap((position, shard) => {
    const end = ends[shard];
    return end !== undefined && position > end ? [{ kind, topic: nameOf(topic), shard, subject, position, end }] : [];
  });
