import * as z from "zod/mini";
import { invalidCursor, checkPreviousPage, pageLinks, toPage, type RowRange } from "../../http/paging.ts";
import { defineRoute, json, type Route } from "../../http/route.ts";
import { sanitizeForLog } from "../../platform/text.ts";
import { TEXT_CHARS } from "../audit.ts";
import { toJson, type AuditRow } from "../store/audit-row.ts";

/** A time in milliseconds since 1970. */
const timeMs = z.pipe(z.string().check(z.regex(/^\d{1,15}$/)), z.transform(Number));
/** Rows hold texts made harmless, so they are looked for by the same. */
const part = (maxChars: number) =>
  z.pipe(
    z.string(),
    z.transform((text) => sanitizeForLog(text, maxChars)),
  );

const query = z.object({
  requestId: z.optional(part(TEXT_CHARS.subject)),
  subject: z.optional(part(TEXT_CHARS.subject)),
  actor: z.optional(part(TEXT_CHARS.actor)),
  action: z.optional(part(TEXT_CHARS.action)),
  outcome: z.optional(z.enum(["done", "refused"])),
  since: z.optional(timeMs),
  until: z.optional(timeMs),
});

/**
 * The filters by text, the one that leaves the fewest rows first: the first that is given leads by its index, the others
 * are compared row by row. All indexes but that of the subject end with the time, so their rows come in order.
 */
const FILTERS = [
  { name: "requestId", index: "audit_by_request", matches: (value) => `request_id = ${value}` },
  {
    name: "subject",
    index: "audit_by_subject",
    matches: (value) => `subject >= ${value} AND subject < ${value} || char(0x10FFFF)`,
  },
  { name: "actor", index: "audit_by_actor", matches: (value) => `actor = ${value}` },
  { name: "action", index: "audit_by_action", matches: (value) => `action = ${value}` },
  { name: "outcome", index: "audit_by_outcome", matches: (value) => `outcome = ${value}` },
] as const satisfies { name: keyof z.output<typeof query>; index: string; matches(value: string): string }[];

/** ?1 to ?2: times; at ?2 itself only what comes before ?3. */
const page = (index: string, conditions: readonly string[]): string => `
  SELECT seq, at, request_id, actor, action, subject, outcome, reason, changes FROM audit INDEXED BY ${index}
  WHERE ${[...conditions, "at >= ?1 AND at <= ?2 AND (at < ?2 OR seq < ?3)"].join(" AND ")}
  ORDER BY at DESC, seq DESC LIMIT ?4 OFFSET ?5`;

interface SequencedRow extends AuditRow {
  readonly seq: number;
}

export const auditRoute = (db: D1Database): Route =>
  defineRoute({
    method: "GET",
    path: "/audit",
    summary:
      "Who did what, newest first; by request id, action, actor, outcome, time, and the beginning of the subject",
    operation: "readAudit",
    query,
    paged: true,
    handle: async (call) => {
      const { since = 0, until = Number.MAX_SAFE_INTEGER } = call.query;
      const [atMs, seq] = call.paging.cursor ?? [until, Number.MAX_SAFE_INTEGER];
      if (typeof atMs !== "number" || typeof seq !== "number") return invalidCursor();
      const given = FILTERS.filter(({ name }) => call.query[name] !== undefined);
      const sql = page(
        given[0]?.index ?? "audit_by_time",
        given.map(({ matches }, index) => matches(`?${index + 6}`)),
      );
      const { pageSize, skip } = call.paging;
      const values = given.map(({ name }) => call.query[name]);
      const read = async (before: readonly [number, number], { limit, skip: skipped }: RowRange) =>
        (
          await db
            .prepare(sql)
            .bind(since, ...before, limit, skipped, ...values)
            .all<SequencedRow>()
        ).results;
      const rows = await read([atMs, seq], { limit: pageSize + 1, skip });
      const asked = toPage(rows, call.paging, (row) => [row.at, row.seq]);
      const found = await checkPreviousPage(asked, call.paging, (range) =>
        read([until, Number.MAX_SAFE_INTEGER], range),
      );
      return json(200, found.items.map(toJson), { link: pageLinks(call.url, call.paging, found) });
    },
  });
