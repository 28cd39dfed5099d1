import type { PartStore } from "../bucket/part-store.ts";
import { COUNTS, type Counts } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { logSection, SECTIONS, type Part } from "../model/part.ts";
import type { EventObjects, EventsPage, Gone, RegisterPage, TopicAddress } from "../model/ports.ts";
import type { JobLists, Stage, StepContext, StepResult } from "../model/stage.ts";
import { countsOf } from "./table-stage.ts";
import { createTopicWalk, FIRST_TOPIC, readPart, type TopicPlace } from "./topic-walk.ts";
import { placeIn } from "../model/stage.ts";

/**
 * Reads the objects of each topic: the registers of readers, then the cursors of consumers and pushes, then events up
 * to the end. In this order no cursor is beyond the last event that was read.
 *
 * Events that an earlier backup has are not read again: its parts become parts of this backup.
 *
 *   register ──▶ consumers ──▶ pushes ──▶ events ──▶ the next topic
 *      ▲──────── a log was reset ───────────┘
 *
 * After a reset, positions stand for other events. So the topic begins anew, and no backup has both.
 */
export function dumpObjects(objects: EventObjects, parts: PartStore): Stage {
  const walk = createTopicWalk(parts);
  return {
    name: "topics",
    async step(context) {
      const at = placeIn(context.position, topicFrom(FIRST_TOPIC));
      const found = await walk.topicAt(at.place, context.job, context.lists);
      if (found === undefined) return { next: undefined };
      const { counts } = context.job;
      const begun = isBeginning(at) ? { part: context.lists.lastPart(), counts } : at.begun;
      const here = { ...at, place: found.place, begun };
      const { next, ...result } = await PHASES[here.phase]({ ...context, objects, parts }, found.topic, here);
      return { ...result, next: JSON.stringify(next) };
    },
  };
}

type Phase = "register" | "consumers" | "push" | "events";

interface At {
  readonly place: TopicPlace;
  readonly phase: Phase;
  readonly shard: number;
  /** The next name in the list of consumers or pushes. */
  readonly item: number;
  /** The place in the pages of one object: the last key, and the number of pages so far. */
  readonly after: string | number | null;
  readonly page: number;
  /** The last part before this topic, and the counts then. Undefined in a job that an earlier release began. */
  readonly begun?: { readonly part: number; readonly counts: Counts } | undefined;
}

type PhaseResult = Omit<StepResult, "next"> & { readonly next: At };
interface PhaseContext extends StepContext {
  readonly objects: EventObjects;
  readonly parts: PartStore;
}

const topicFrom = (place: TopicPlace): At => ({ place, phase: "register", shard: 0, item: 0, after: null, page: 0 });
const nextTopic = ({ place }: At): At => topicFrom({ ...place, line: place.line + 1 });
const phaseFrom = (at: At, phase: Phase): At => ({ ...at, phase, shard: 0, item: 0, after: null, page: 0 });

const isBeginning = ({ phase, shard, after }: At): boolean => phase === "register" && shard === 0 && after === null;

const isGone = (page: { readonly kind: string }): page is Gone => page.kind === "gone";
const textAfter = ({ after }: At): string | undefined => (typeof after === "string" ? after : undefined);
const numberAfter = ({ after }: At): number | undefined => (typeof after === "number" ? after : undefined);

const PHASES: Readonly<Record<Phase, (context: PhaseContext, topic: TopicAddress, at: At) => Promise<PhaseResult>>> = {
  async register(context, topic, at) {
    const page = await context.objects.exportRegister(topic, at.shard, textAfter(at));
    // The topic was deleted after its row was read.
    if (isGone(page)) return { next: nextTopic(at) };
    const section = logSection(topic.incarnation, at.shard);
    const anew = afterReset(context, at, section, page);
    if (anew !== undefined) return anew;
    const info = infoOf({ kind: "register", end: 0, reset: lastReset(page) });
    const written = await context.parts.put(section, [JSON.stringify(page)], info);
    const result = { parts: [written.part], counts: countsOf([written]) };
    if (page.next !== undefined) return { ...result, next: { ...at, after: page.next } };
    const known = usable(context, section, page);
    const all = { ...result, parts: [written.part, ...known], counts: withKnown(result.counts, known) };
    const isLast = at.shard + 1 >= topic.shards;
    return { ...all, next: isLast ? phaseFrom(at, "consumers") : { ...at, shard: at.shard + 1, after: null } };
  },

  async consumers(context, topic, at) {
    const names = await registered(context, topic, ({ consumers }) => consumers);
    const some = names.slice(at.item, at.item + LIMITS.objectsAStep);
    const lines: string[] = [];
    for (const name of some) {
      const page = await context.objects.exportConsumer(topic, name);
      if (!isGone(page)) lines.push(JSON.stringify([topic, name, page]));
    }
    const result = await putLines(context.parts, SECTIONS.consumers, lines);
    const counts = { ...result.counts, consumers: lines.length };
    const isLast = at.item + some.length >= names.length;
    const next = isLast ? phaseFrom(at, "push") : { ...at, item: at.item + some.length };
    return { ...result, counts, next };
  },

  async push(context, topic, at) {
    const names = await registered(context, topic, ({ subscribers }) => subscribers);
    const name = names[at.item];
    if (name === undefined) return { next: phaseFrom(at, "events") };
    const page = await context.objects.exportPush(name, numberAfter(at));
    const following = { ...at, item: at.item + 1, after: null, page: 0 };
    if (isGone(page)) return { next: following };
    const isLast = page.next === undefined;
    const line = JSON.stringify([name, { number: at.page, isLast }, page]);
    const result = await putLines(context.parts, SECTIONS.push, [line]);
    const counts = { ...result.counts, pushSubscriptions: isLast ? 1 : 0 };
    return { ...result, counts, next: isLast ? following : { ...at, after: page.next ?? null, page: at.page + 1 } };
  },

  async events(context, topic, at) {
    const section = logSection(topic.incarnation, at.shard);
    const { eventsSince } = context.job.options;
    const end = numberAfter(at) ?? endOf(lastEvents(context, section));
    const from =
      end !== undefined ? { afterSeq: end } : eventsSince === null ? { afterSeq: 0 } : { fromMs: eventsSince };
    const page = await context.objects.exportEvents(topic, at.shard, from);
    if (isGone(page)) return { next: nextTopic(at) };
    const anew = afterReset(context, at, section, page);
    if (anew !== undefined) return anew;
    const isNews = page.endSeq > (end ?? 0);
    const isLast = at.shard + 1 >= topic.shards;
    const following = isLast ? nextTopic(at) : { ...at, shard: at.shard + 1, after: null };
    const next = page.atEnd ? following : { ...at, after: page.endSeq };
    const topics = page.atEnd && isLast ? 1 : 0;
    if (!isNews) return { next, counts: { topics } };
    const events = page.endSeq - Math.max(page.beforeSeq, end ?? 0);
    const newestMs = page.segments.at(-1)?.createdAtMs ?? 0;
    const info = infoOf({ kind: "events", end: page.endSeq, events, newestMs, reset: lastReset(page) });
    const written = await context.parts.put(section, [JSON.stringify(page)], info);
    return { next, parts: [written.part], counts: { ...countsOf([written]), topics, events } };
  },
};

interface LogInfo {
  readonly kind: "register" | "events";
  /** The sequence number of the last event. */
  readonly end: number;
  readonly events?: number;
  /** When the newest event was published. */
  readonly newestMs?: number;
  /** The last reset of the log; undefined: there was none. */
  readonly reset?: string | undefined;
}

const lastReset = ({ resets }: RegisterPage | EventsPage): string | undefined => resets?.at(-1)?.id;

/**
 * Begins the topic anew, without what was read of it, if this log was reset since its register was read. Undefined if
 * it was not. The register is the first part of its log.
 */
function afterReset(
  { lists, job }: StepContext,
  { place, begun }: At,
  section: string,
  page: RegisterPage | EventsPage,
): PhaseResult | undefined {
  const [register] = lists.partsOf(section, 0, 1);
  if (begun === undefined || register === undefined || logInfo(register).reset === lastReset(page)) return undefined;
  const counts = Object.fromEntries(COUNTS.map((name) => [name, begun.counts[name] - job.counts[name]]));
  return { next: topicFrom(place), keepParts: begun.part, counts };
}

const infoOf = (info: LogInfo): string => JSON.stringify(info);
export const logInfo = (part: Part): LogInfo => JSON.parse(part.info) as LogInfo;
const endOf = (part: Part | undefined): number | undefined => part && logInfo(part).end;

function withKnown(counts: ReturnType<typeof countsOf>, known: readonly Part[]) {
  return {
    ...counts,
    parts: counts.parts + known.length,
    partBytes: known.reduce((sum, { bytes }) => sum + bytes, counts.partBytes),
    events: known.reduce((sum, part) => sum + (logInfo(part).events ?? 0), 0),
  };
}

/**
 * Parts of the earlier backup with events that are wanted and still kept. None if the log was reset meanwhile: other
 * events may have these positions now.
 */
function usable({ lists, job, nowMs }: StepContext, section: string, page: RegisterPage): readonly Part[] {
  const known = lists.known(section);
  if (known.some((part) => logInfo(part).reset !== lastReset(page))) return [];
  if (page.lastSeq < (endOf(known.at(-1)) ?? 0)) return [];
  const fromMs = Math.max(nowMs - page.retention.ageMs, job.options.eventsSince ?? 0);
  return known.filter((part) => (logInfo(part).newestMs ?? 0) >= fromMs);
}

/** The last part with events of this log, whether this backup or an earlier one read it. */
const lastEvents = ({ lists }: StepContext, section: string): Part | undefined =>
  lists.partsOf(section, 0, Infinity).findLast((part) => logInfo(part).kind === "events");

/** Names in the registers that this backup wrote, of all shards of the topic. */
async function registered(
  { lists, parts }: { readonly lists: JobLists; readonly parts: PartStore },
  topic: TopicAddress,
  namesOf: (page: RegisterPage) => readonly string[],
): Promise<readonly string[]> {
  const names = new Set<string>();
  for (let shard = 0; shard < topic.shards; shard++)
    for (const part of lists.partsOf(logSection(topic.incarnation, shard), 0, Infinity)) {
      if (logInfo(part).kind !== "register") continue;
      for (const line of await readPart(parts, part.digest))
        for (const name of namesOf(JSON.parse(line) as RegisterPage)) names.add(name);
    }
  return [...names].toSorted();
}

async function putLines(store: PartStore, section: string, lines: readonly string[]) {
  if (lines.length === 0) return { parts: [], counts: {} };
  const written = await store.put(section, lines);
  return { parts: [written.part], counts: countsOf([written]) };
}
