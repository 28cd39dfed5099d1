import * as z from "zod/mini";
import { invalid, noSuch, problem, type Problem } from "../../http/errors/errors.ts";
import { pageOf, checkPreviousPage, invalidCursor, toPage, type RowRange } from "../../http/input/paging.ts";
import { defineRoute, json, jsonPage, type Route } from "../../http/route.ts";
import { sanitizeForLog } from "../../platform/text/text.ts";
import { createAuditStore, TEXT_CHARS, toJson, WALK_ROWS } from "./audit-store.ts";
import type { AuditCopies, AuditCopy } from "./copies.ts";
import { timeMs } from "../../http/input/validate.ts";

/** Sanitized as the texts of rows are, so that they match. */
const textFilter = (maxChars: number) =>
  z.pipe(
    z.string(),
    z.transform((text) => sanitizeForLog(text, maxChars)),
  );

const query = z.object({
  requestId: z.optional(textFilter(TEXT_CHARS.subject)),
  subject: z.optional(textFilter(TEXT_CHARS.subject)),
  actor: z.optional(textFilter(TEXT_CHARS.actor)),
  action: z.optional(textFilter(TEXT_CHARS.action)),
  outcome: z.optional(z.enum(["done", "refused"])),
  since: z.optional(timeMs),
  until: z.optional(timeMs),
});

export function auditRoute(db: D1Database): Route {
  const store = createAuditStore(db);
  return defineRoute({
    method: "GET",
    path: "/audit",
    summary:
      "Who did what, newest first; by request id, action, actor, outcome, time, and the beginning of the subject",
    operation: "readAudit",
    query,
    paged: true,
    handle: async ({ url, paging, query: filter }) => {
      const [before = Number.MAX_SAFE_INTEGER, ...rest] = paging.cursor ?? [];
      if (typeof before !== "number" || rest.length > 0) return invalidCursor();
      const { rows, walkedTo } = await store.page(filter, before, { limit: paging.pageSize + 1, skip: paging.skip });
      if (rows.length === 0 && walkedTo !== undefined && paging.skip > 0) return tooFar();
      const page = toPage(rows, paging, ({ seq }) => [seq]);
      const next = page.next ?? (walkedTo === undefined ? undefined : [walkedTo]);
      const newest = (range: RowRange) => store.page(filter, Number.MAX_SAFE_INTEGER, range).then((one) => one.rows);
      const found = await checkPreviousPage({ ...page, next }, paging, newest);
      return jsonPage({ url, paging }, found, toJson);
    },
  });
}

/** Refuses a page number beyond the rows that a walk may read. */
const tooFar = (): Problem =>
  invalid(
    "out_of_range_parameter",
    "pageNumber",
    `The page begins behind the ${WALK_ROWS} rows that a page with a filter reads. Follow the links "next", or narrow the time.`,
  );

/** Copies of the log, for a check elsewhere: `plat audit verify`. */
export const auditCopyRoutes = (copies: Pick<AuditCopies, "page" | "read" | "run">): readonly Route[] => [
  defineRoute({
    method: "POST",
    path: "/audit/copies",
    summary: "Copy the rows of the audit log that no copy has, as before a restore of the database",
    operation: "copyAudit",
    handle: async ({ nowMs }) => json(200, { done: await copies.run(nowMs, "all") }),
  }),
  defineRoute({
    method: "GET",
    path: "/audit/copies",
    summary: "List every copy of the audit log in the bucket, the oldest first",
    operation: "listAuditCopies",
    paged: true,
    handle: async ({ url, paging }) => {
      const [after = 0] = paging.cursor ?? [];
      if (typeof after !== "number") return invalidCursor();
      const page = await pageOf(paging, {
        after,
        beginning: 0,
        read: (from, { limit, skip }) => copies.page(from, limit, skip),
        keyOf: ({ number }) => [number],
      });
      return jsonPage({ url, paging }, page, copyToJson);
    },
  }),
  defineRoute({
    method: "GET",
    path: "/audit/copies/{number}",
    summary: "Show a copy of the audit log with its lines, as they are in the bucket",
    operation: "readAuditCopy",
    params: z.object({
      number: z.string().check(z.regex(/^[1-9]\d{0,9}$/, "must be the number of a copy, from 1 on")),
    }),
    handle: async ({ params }) => {
      const copy = await copies.read(Number(params.number));
      if (copy === undefined) return noSuch("copy of the audit log");
      if (copy === "missing")
        return problem("element_resource_non_existing", "The copy is not in the bucket any more, or is too large.");
      return json(200, { ...copyToJson(copy), lines: copy.lines });
    },
  }),
];

const copyToJson = ({ number, name, rows, firstSeq, lastSeq, previous, head, writtenAt }: AuditCopy): object => ({
  number,
  name,
  rows,
  firstSeq,
  lastSeq,
  previous,
  head,
  writtenAt,
});
