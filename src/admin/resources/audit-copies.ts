import * as z from "zod/mini";
import { noSuch, problem } from "../../http/errors.ts";
import { invalidCursor, checkPreviousPage, pageLinks, toPage } from "../../http/paging.ts";
import { defineRoute, json, type Route } from "../../http/route.ts";
import type { AuditCopies, AuditCopy } from "../store/audit-copies.ts";

/** For whoever checks them, elsewhere: `plat audit verify`. */
export const auditCopyRoutes = (copies: Pick<AuditCopies, "page" | "read">): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/audit/copies",
    summary: "List every copy of the audit log in the bucket, the oldest first",
    operation: "listAuditCopies",
    paged: true,
    handle: async ({ url, paging }) => {
      const [after = 0] = paging.cursor ?? [];
      if (typeof after !== "number") return invalidCursor();
      const found = await copies.page(after, paging.pageSize + 1, paging.skip);
      const page = await checkPreviousPage(
        toPage(found, paging, ({ number }) => [number]),
        paging,
        ({ limit, skip }) => copies.page(0, limit, skip),
      );
      return json(200, page.items.map(toJson), { link: pageLinks(url, paging, page) });
    },
  }),
  defineRoute({
    method: "GET",
    path: "/audit/copies/{number}",
    summary: "Show a copy of the audit log with its lines, as they are in the bucket",
    operation: "readAuditCopy",
    params: z.object({ number: z.string().check(z.regex(/^[1-9]\d{0,9}$/)) }),
    handle: async ({ params }) => {
      const copy = await copies.read(Number(params.number));
      if (copy === undefined) return noSuch("copy of the audit log");
      if (copy === "missing")
        return problem("element_resource_non_existing", "The copy is not in the bucket any more, or is none.");
      return json(200, { ...toJson(copy), lines: copy.lines });
    },
  }),
];

const toJson = ({ number, name, rows, firstSeq, lastSeq, previous, head, writtenAtMs }: AuditCopy): object => ({
  number,
  name,
  rows,
  firstSeq,
  lastSeq,
  previous,
  head,
  writtenAt: writtenAtMs,
});
