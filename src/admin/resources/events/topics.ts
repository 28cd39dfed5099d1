import * as z from "zod/mini";
import type { Principal } from "../../../http/callers/auth.ts";
import { noSuch } from "../../../http/errors/errors.ts";
import { pageLinks, type Page, type Paging } from "../../../http/input/paging.ts";
import { defineRoute, json, type Answer, type Call, type Route } from "../../../http/route.ts";
import { matching } from "../../../http/input/validate.ts";
import type { Names } from "../../../platform/model/names.ts";
import { PATTERNS } from "../../../platform/model/names.ts";
import type { AuditLog } from "../../audit/audit-log.ts";
import { noteRead } from "../../audit/record.ts";
import { identifier, tenantId } from "../../model/fields.ts";
import {
  holds,
  ownsTenant,
  ownsTopicsOf,
  tenantOperator,
  type TenantOperator,
  type Use,
} from "../shared/within-organization.ts";

/** The port to the events service: topics of all clients. */
export interface OperatedTopics {
  /**
   * Lists the topics whose names, `<owner>.<eventType>`, lie in one of the ranges, by name. With an organization, it
   * leaves out those of clients elsewhere, whose names may begin as those of a tenant.
   */
  list(ranges: readonly Range[], paging: Paging, organization?: string): Promise<Page<object>>;
  show(topic: TopicId, nowMs: number): Promise<Answer>;
  look(topic: TopicId, query: z.output<typeof lookQuery>, nowMs: number): Promise<Answer>;
  publish(topic: TopicId, byHand: ByHand, nowMs: number): Promise<Answer>;
  clientOf(topic: TopicId, consumer: string, nowMs: number): Promise<string | undefined>;
  previewMove(topic: TopicId, consumer: string, to: Place, nowMs: number): Promise<Answer>;
  move(topic: TopicId, consumer: string, to: Place, nowMs: number): Promise<Answer>;
}

/** An event that an operator publishes on behalf of the topic's owner. */
interface ByHand {
  readonly owner: { readonly clientId: string; readonly tenant: string };
  readonly body: unknown;
  readonly key: string | null;
}

/** A place in a topic; a number is a time in milliseconds. */
export type Place = "oldest" | "newest" | number;

export interface TopicId {
  readonly owner: string;
  readonly eventType: string;
}

/** A range of names, without `to` itself. */
type Range = readonly [from: string, to: string];

interface Deps {
  readonly db: D1Database;
  readonly names: Names;
  readonly audit: Pick<AuditLog, "listed">;
}

/** Maximum tenants of an organization whose topics a page may show. */
const MAX_TENANTS = 1_000;
const TENANTS = `
  SELECT id FROM tenant WHERE organization = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT ${MAX_TENANTS + 1}`;

export const ONE = "/topics/{topicOwnerClient}/{eventType}";
export const params = z.object({
  topicOwnerClient: matching(PATTERNS.clientName),
  eventType: matching(PATTERNS.eventType),
});
const listQuery = z.object({ tenant: z.optional(tenantId), q: z.optional(identifier) });
const lookQuery = z.object({
  after: z.optional(z.string()),
  limit: z.optional(z.string()),
  contains: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
});

/**
 * Operators see the topics of all clients. People who run an organization's tenants see the topics of its clients.
 * Reading events leaves a row in the audit log.
 */
export function topicRoutes(topics: OperatedTopics, deps: Deps): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/topics",
      summary: "List topics of all clients; of a tenant, and by the beginning of their name",
      operation: "listOperatedTopics",
      query: listQuery,
      paged: true,
      async handle(call) {
        const by = tenantOperator(call.principal, deps.names, "see");
        const part = await partFor(call, by, deps);
        const { q = "" } = call.query;
        const ranges = part.ranges.map((range) => overlap(range, [q, `${q}~`])).filter(([from, to]) => from < to);
        const listed = () => topics.list(ranges, call.paging, by?.organization);
        const page = ranges.length === 0 ? { items: [], next: undefined } : await listed();
        return json(200, page.items, { link: pageLinks(call.url, call.paging, onwards(page, part, call.paging)) });
      },
    }),
    defineRoute({
      method: "GET",
      path: ONE,
      summary: "Show a topic, what it stores, and how far behind its consumers are",
      operation: "readOperatedTopic",
      params,
      handle: (call) => onTopic(call, deps, "see", (topic) => topics.show(topic, call.nowMs)),
    }),
    defineRoute({
      method: "GET",
      path: `${ONE}/events`,
      summary: "Look at the events of a topic, or search them, without lock or cursor",
      operation: "lookAtOperatedTopic",
      params,
      query: lookQuery,
      handle: (call) =>
        onTopic(call, deps, "see", (topic) => {
          const subject = `topics/${topic.owner}/${topic.eventType}/events`;
          return noteRead(topics.look(topic, call.query, call.nowMs), subject, call, deps.audit);
        }),
    }),
  ];
}

type ListCall = Pick<Call<unknown, z.output<typeof listQuery>, unknown, Principal>, "query" | "paging">;

/**
 * A part of a list: the topics of at most `MAX_TENANTS` tenants, so that a page reads a limited number of ranges. The
 * parts follow one another by name, since tenants sort as the names of their topics do.
 */
interface Part {
  readonly ranges: readonly Range[];
  /** The first tenant of this part; undefined for the first part. The cursor names it, so the part stays the same. */
  readonly first?: string | undefined;
  /** The first tenant of the next part. */
  readonly next?: string | undefined;
}

/** Returns the names among which the caller sees topics, of one tenant if the query names one. */
async function partFor(
  { query, paging }: ListCall,
  by: TenantOperator | undefined,
  { db }: Pick<Deps, "db">,
): Promise<Part> {
  const { tenant, q = "" } = query;
  if (by === undefined) return { ranges: [tenant === undefined ? ["", "~"] : ofTenant(tenant)] };
  if (tenant !== undefined)
    return { ranges: (await holds(db, ownsTenant(tenant, by.organization))) ? [ofTenant(tenant)] : [] };
  const first = paging.cursor?.[1]?.toString();
  const [tenantOfText = ""] = q.split(".");
  const read = db.prepare(TENANTS).bind(by.organization, first ?? tenantOfText, `${q}~`);
  const ids = (await read.all<{ id: string }>()).results.map(({ id }) => id);
  return { ranges: ids.slice(0, MAX_TENANTS).map(ofTenant), first, next: ids[MAX_TENANTS] };
}

/** Links the pages of a part, and the last one to the next part. Page numbers reach the first part only. */
function onwards(page: Page<object>, { first, next }: Part, { cursor }: Paging): Page<object> {
  const reached = first === undefined ? page : { ...page, maxSkip: -1 };
  if (page.next !== undefined) return first === undefined ? page : { ...reached, next: [...page.next, first] };
  if (next === undefined) return reached;
  // Tenants that were added meanwhile may move the end of the part to before this page.
  const shown = String(cursor?.[0] ?? "");
  return { ...reached, next: [next > shown ? next : shown, next] };
}

/** Returns the range of a tenant's clients, whose names begin with the tenant and a dot. In ASCII, "/" follows ".". */
const ofTenant = (tenant: string): Range => [`${tenant}.`, `${tenant}/`];

const overlap = (a: Range, b: Range): Range => [a[0] > b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]];

export async function onTopic(
  call: Pick<Call<z.output<typeof params>, unknown, unknown, Principal>, "principal" | "params">,
  { db, names }: Pick<Deps, "db" | "names">,
  use: Use,
  run: (topic: TopicId) => Promise<Answer>,
): Promise<Answer> {
  const { topicOwnerClient: owner, eventType } = call.params;
  const by = tenantOperator(call.principal, names, use);
  if (by !== undefined && !(await holds(db, ownsTopicsOf(owner, by.organization)))) return noSuch("topic");
  return run({ owner, eventType });
}
