import * as z from "zod/mini";
import type { Principal } from "../../../http/callers/auth.ts";
import { invalid, isProblem, noSuch, type Problem } from "../../../http/errors/errors.ts";
import { defineRoute, jsonBody, type Answer, type Route } from "../../../http/route.ts";
import { matching, stringMap } from "../../../http/input/validate.ts";
import type { Names } from "../../../platform/model/names.ts";
import { rowBy, type AuditRecord, type AuditTrail } from "../../../platform/ports/audit.ts";
import { tenantId } from "../../model/fields.ts";
import { builtInRefusal } from "../../model/rules.ts";
import { onTopic, ONE, params, type OperatedTopics, type Place, type TopicId } from "./topics.ts";
import { beyondOrganization, holds, ownsClient, tenantOperator } from "../shared/within-organization.ts";

/**
 * An operator publishes an event to a topic, or moves the cursor of a consumer.
 *
 * The owner's client is the source of the event, which may name the tenants that this client may act for. People who
 * run an organization's tenants publish only for its clients and move only their cursors. Both changes leave a row in
 * the audit log, written after the change.
 */
interface Deps {
  readonly db: D1Database;
  readonly names: Names;
  readonly audit: Pick<AuditTrail, "statement">;
}

/** Enough for a payload of 256 KiB in which JSON escapes every character, and for metadata. */
const MAX_EVENT_BYTES = 2 * 1024 * 1024;
const MAX_TIME_MS = 999_999_999_999_999;
const OWNER = `SELECT id AS clientId, tenant FROM client WHERE name = ?1`;

const CONSUMER = `${ONE}/consumers/{consumerId}`;
const consumerParams = z.extend(params, {
  consumerId: matching(/^[0-9a-f]{32}$/, "must be the id of a consumer, as the topic shows it"),
});
const eventBody = z.object({
  payload: z.string(),
  metadata: z.optional(stringMap),
  tenant: z.optional(tenantId),
});
const place = z.union(
  [z.enum(["oldest", "newest"]), z.int().check(z.gte(0), z.lte(MAX_TIME_MS))],
  "must be oldest, newest or a time in milliseconds",
);

export function topicChangeRoutes(topics: OperatedTopics, deps: Deps): readonly Route[] {
  const { db, audit } = deps;
  return [
    defineRoute({
      method: "POST",
      path: `${ONE}/events`,
      summary: "Publish one event on behalf of the client that owns the topic",
      operation: "publishOperatedEvent",
      params,
      body: jsonBody(eventBody, MAX_EVENT_BYTES),
      handle: (call) =>
        onTopic(call, deps, "run", async (topic) => {
          const owner = await db.prepare(OWNER).bind(topic.owner).first<{ clientId: string; tenant: string }>();
          if (owner === null) return builtInRefusal("topic", `${topic.owner}.${topic.eventType}`);
          const refused = await refuseForeign(call.principal, owner.clientId, "The client that owns it", deps);
          if (refused !== undefined) return refused;
          const key = call.request.headers.get("idempotency-key");
          const answer = await topics.publish(topic, { owner, body: call.body, key }, call.nowMs);
          return recorded(answer, rowBy(call, "publish", `${subjectOf(topic)}/events`), audit);
        }),
    }),
    defineRoute({
      method: "GET",
      path: `${CONSUMER}/seek`,
      summary: "What a consumer would read again, or skip, if its cursor were moved",
      operation: "previewMove",
      params: consumerParams,
      query: z.object({ to: z.string() }),
      handle: (call) =>
        onTopic(call, deps, "see", async (topic) => {
          const to = place.safeParse(/^\d{1,15}$/.test(call.query.to) ? Number(call.query.to) : call.query.to);
          if (!to.success)
            return invalid("invalid_query_parameter", "to", "to must be oldest, newest or a time in milliseconds.");
          return topics.previewMove(topic, call.params.consumerId, to.data, call.nowMs);
        }),
    }),
    defineRoute({
      method: "POST",
      path: `${CONSUMER}/seek`,
      summary: "Move the cursor of a consumer, while it holds no batch",
      operation: "moveCursor",
      params: consumerParams,
      body: jsonBody(z.object({ to: place })),
      produces: "any",
      handle: (call) =>
        onTopic(call, deps, "run", async (topic) => {
          const { consumerId } = call.params;
          const client = await topics.clientOf(topic, consumerId, call.nowMs);
          if (client === undefined) return noSuch("consumer");
          const refused = await refuseForeign(call.principal, client, "The consumer", deps);
          if (refused !== undefined) return refused;
          const answer = await topics.move(topic, consumerId, call.body.to, call.nowMs);
          const subject = `${subjectOf(topic)}/consumers/${client}`;
          return recorded(answer, rowBy(call, "move cursor", subject, reasonOf(call.body.to)), audit);
        }),
    }),
  ];
}

const subjectOf = ({ owner, eventType }: TopicId): string => `topics/${owner}/${eventType}`;
const reasonOf = (to: Place): string => `to ${typeof to === "number" ? new Date(to).toISOString() : to}`;

/** Refuses a change that concerns a client of another organization, for people who run an organization's tenants. */
async function refuseForeign(
  principal: Principal,
  clientId: string,
  what: string,
  { db, names }: Deps,
): Promise<Problem | undefined> {
  const by = tenantOperator(principal, names, "run");
  if (by === undefined || (await holds(db, ownsClient(clientId, by.organization)))) return undefined;
  return beyondOrganization(by, what);
}

/** Writes the audit row of a change, unless the change failed. */
async function recorded(answer: Answer, record: AuditRecord, audit: Deps["audit"]): Promise<Answer> {
  if (!isProblem(answer)) await audit.statement("always", record).run();
  return answer;
}
