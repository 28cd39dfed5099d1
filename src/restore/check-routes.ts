import * as z from "zod/mini";
import { invalid, noSuch } from "../http/errors/errors.ts";
import { defineRoute, json, jsonBody, type Route } from "../http/route.ts";
import { matching } from "../http/input/validate.ts";
import { rowBy, type AuditTrail } from "../platform/ports/audit.ts";
import type { PrepareOutcome, RestoreTo } from "../platform/storage/object-restore.ts";
import { answerAudited, maintenanceOff, noPast, restoreTo, undoneBy } from "./past.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../platform/text/encoding.ts";
import { PATTERNS } from "../platform/model/names.ts";

/** Port to the events service. */
export interface EventsCheck {
  page(from: Place | undefined): Promise<{
    readonly checked: object;
    readonly findings: readonly Finding[];
    readonly next: Place | undefined;
  }>;
  /** Opens logs that do not exist and marks the others; undefined: there is no such topic. */
  reopenLogs(
    topic: TopicId,
  ): Promise<{ readonly opened: readonly number[]; readonly marked: readonly number[] } | undefined>;
  restoreObject(
    topic: TopicId,
    object: z.output<typeof objectOfTopic>,
    to: RestoreTo,
  ): Promise<PrepareOutcome | undefined>;
  /** Opens the object of a push subscription; false: there is no such subscription. */
  reopenPush(id: string): Promise<boolean>;
}

interface TopicId {
  readonly owner: string;
  readonly eventType: string;
}

interface Finding {
  readonly kind: keyof typeof NEXT;
  readonly topic: string;
  readonly subject: string | null;
}

const place = z.object({
  topic: z.string(),
  at: z.enum(["topic", "consumers", "pushes", "end"]),
  after: z.array(z.string()),
});
type Place = z.output<typeof place>;

/** The commands that mend each finding. */
const NEXT = {
  topic_without_log: ({ topic }: Finding) => `platform reopen-topic ${topic}, or restore its events from a backup`,
  cursor_beyond_log: ({ topic }: Finding) => `platform reopen-topic ${topic}, before anybody publishes`,
  push_beyond_log: ({ topic }: Finding) => `platform reopen-topic ${topic}, before anybody publishes`,
  push_without_object: ({ subject }: Finding) => `platform reopen-push ${subject ?? ""}`,
} as const;

const objectOfTopic = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("log"), shard: z.int().check(z.gte(0), z.lte(15)) }),
  z.strictObject({ kind: z.literal("consumer"), name: z.string().check(z.minLength(1), z.maxLength(512)) }),
  z.strictObject({ kind: z.literal("push"), id: matching(PATTERNS.pushSubscription) }),
]);
const toRestore = z.strictObject({ object: objectOfTopic, to: restoreTo });

const TOPIC = /^([A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{1,64})\.([A-Za-z0-9._-]{1,200})$/;
const topicName = matching(TOPIC, "must be the name of a topic: <owner>.<eventType>");
const PATH = "/platform-check";

export const checkRoutes = (
  events: EventsCheck,
  audit: Pick<AuditTrail, "statement">,
  isMaintained: boolean,
): readonly Route[] => [
  defineRoute({
    method: "POST",
    path: `${PATH}/topics/{topic}/restore`,
    summary: "Restore a log, a consumer or a push subscription of a topic to an earlier time",
    operation: "restoreObject",
    params: z.object({ topic: topicName }),
    body: jsonBody(toRestore),
    async handle(call) {
      const { topic } = call.params;
      const { object, to } = call.body;
      if (!isMaintained) return maintenanceOff("what is published meanwhile would be lost");
      const restored = await events.restoreObject(topicOf(topic), object, to);
      if (restored === undefined) return noSuch("topic, shard or push subscription");
      if (restored.kind === "impossible") return noPast(restored.why);
      const { undo } = restored;
      const reason = `${JSON.stringify({ object, to })}${undoneBy(undo)}`;
      return answerAudited(audit, rowBy(call, "restore", `topics/${topic}/${object.kind}`, reason), { undo });
    },
  }),
  defineRoute({
    method: "GET",
    path: PATH,
    summary: "Check a part of the topics: whether records, logs, cursors and push subscriptions fit together",
    operation: "checkPlatform",
    query: z.object({ after: z.optional(z.string().check(z.maxLength(4_096))) }),
    async handle({ query: { after } }) {
      const from = after === undefined ? undefined : placeOf(after);
      if (after !== undefined && from === undefined)
        return invalid("invalid_query_parameter", "after", "after must be the next of another answer.");
      const { checked, findings, next } = await events.page(from);
      return json(200, {
        checked,
        findings: findings.map((finding) => ({ ...finding, next: NEXT[finding.kind](finding) })),
        next: next === undefined ? null : toBase64Url(utf8(JSON.stringify(next))),
      });
    },
  }),
  defineRoute({
    method: "POST",
    path: `${PATH}/topics/{topic}/reopen`,
    summary: "Open the logs of a topic that do not exist; readers who are further than a log go back to its end",
    operation: "reopenTopic",
    params: z.object({ topic: topicName }),
    async handle(call) {
      const { topic } = call.params;
      const reopened = await events.reopenLogs(topicOf(topic));
      if (reopened === undefined) return noSuch("topic");
      const reason = `logs opened: ${reopened.opened.length}, marked: ${reopened.marked.length}`;
      return answerAudited(audit, rowBy(call, "reopen", `topics/${topic}`, reason), reopened);
    },
  }),
  defineRoute({
    method: "POST",
    path: `${PATH}/push-subscriptions/{id}/reopen`,
    summary: "Open the object of a push subscription that does not exist; it begins at the newest event",
    operation: "reopenPushSubscription",
    params: z.object({ id: matching(PATTERNS.pushSubscription) }),
    async handle(call) {
      const { id } = call.params;
      if (!(await events.reopenPush(id))) return noSuch("push subscription");
      return answerAudited(audit, rowBy(call, "reopen", `push-subscriptions/${id}`), { opened: true });
    },
  }),
];

/** The topic of an address that has its pattern. */
function topicOf(text: string) {
  const [, owner = "", eventType = ""] = TOPIC.exec(text) ?? [];
  return { owner, eventType };
}

function placeOf(text: string): Place | undefined {
  try {
    return place.parse(JSON.parse(fromUtf8(fromBase64Url(text) ?? utf8("")) ?? ""));
  } catch {
    return undefined;
  }
}
