import { invalidCursor, pageLinks, toPage } from "../http/paging.ts";
import { defineRoute, json, scoped, type Route } from "../http/route.ts";
import type { AuditTrail } from "../platform/audit.ts";
import { describeError, type Log } from "../platform/log.ts";

/**
 * The audit log: who did what, newest first: changes by operators, revocations, refusals and blocks with their exact
 * reason. It never holds a secret: bodies are not kept, only addresses.
 */
const INSERT = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7`;

export function createAuditTrail(db: D1Database, log: Log): AuditTrail {
  const statement: AuditTrail["statement"] = (when, entry) =>
    db
      .prepare(when === "always" ? INSERT : `${INSERT} WHERE changes() > 0`)
      .bind(entry.atMs, entry.requestId, entry.actor, entry.action, entry.subject, entry.outcome, entry.reason);
  return {
    statement,
    async note(entry) {
      try {
        await statement("always", entry).run();
      } catch (thrown) {
        log.error("audit row lost", { requestId: entry.requestId, error: describeError(thrown) });
      }
    },
  };
}

const PAGE = `
  SELECT seq, at, request_id, actor, action, subject, outcome, reason FROM audit
  WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2 OFFSET ?3`;

interface AuditRow {
  seq: number;
  at: number;
  request_id: string;
  actor: string;
  action: string;
  subject: string;
  outcome: string;
  reason: string;
}

export const auditRoute = (db: D1Database): Route =>
  defineRoute({
    method: "GET",
    path: "/audit",
    summary: "What was changed, by whom, newest first",
    access: scoped("admin"),
    paged: true,
    handle: async (call) => {
      const before = call.paging.cursor?.[0] ?? Number.MAX_SAFE_INTEGER;
      if (typeof before !== "number") return invalidCursor();
      const { pageSize, skip } = call.paging;
      const { results } = await db
        .prepare(PAGE)
        .bind(before, pageSize + 1, skip)
        .all<AuditRow>();
      const found = toPage(results, call.paging, (row) => [row.seq]);
      return json(200, found.items.map(toJson), { link: pageLinks(call.url, call.paging, found) });
    },
  });

const toJson = (row: AuditRow): object => ({
  at: row.at,
  requestId: row.request_id,
  actor: row.actor,
  action: row.action,
  subject: row.subject,
  outcome: row.outcome,
  ...(row.reason === "" ? {} : { reason: row.reason }),
});
