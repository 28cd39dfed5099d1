import { env } from "cloudflare:workers";

/** Reasons in the audit log for this actor, the newest first. */
export async function auditOf(
  actor: string,
): Promise<{ action: string; subject: string; outcome: string; reason: string }[]> {
  const rows = await env.DB.prepare(
    "SELECT action, subject, outcome, reason FROM audit_entry WHERE actor = ?1 ORDER BY seq DESC",
  )
    .bind(actor)
    .all<{ action: string; subject: string; outcome: string; reason: string }>();
  return rows.results;
}
