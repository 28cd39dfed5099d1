import type { AuditRecord } from "../../platform/audit.ts";
import { problem, type Problem } from "../../http/errors.ts";
import type { AdminDeps } from "../ports.ts";

export type EndKind = "client" | "user" | "tenant" | "session";

/** Undefined: all that it got until now ended; else the refusal that asks for a repetition. */
export async function endAll(
  kind: EndKind,
  id: string,
  nowMs: number,
  record: AuditRecord,
  deps: Pick<AdminDeps, "endAll">,
): Promise<Problem | undefined> {
  if ((await deps.endAll(kind, id, nowMs, record)) === "ended") return undefined;
  const message = "Its tokens are void; there are more grants than one request ends. Send it again.";
  return problem("service_temporarily_unavailable", message, { headers: { "retry-after": "1" } });
}

/** The same in front of a removal, where this would take all grants along in one transaction, and so for too long. */
export async function endManyFirst(
  kind: "client" | "user",
  id: string,
  nowMs: number,
  record: AuditRecord,
  deps: Pick<AdminDeps, "endAll" | "forget">,
): Promise<Problem | undefined> {
  const isMany = (await deps.forget(kind, id, nowMs).exceeds.first()) !== null;
  return isMany ? endAll(kind, id, nowMs, { ...record, action: "revoke" }, deps) : undefined;
}
