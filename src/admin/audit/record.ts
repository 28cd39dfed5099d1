import type { Principal } from "../../http/callers/auth.ts";
import { isProblem } from "../../http/errors/errors.ts";
import type { Answer, Call } from "../../http/route.ts";
import { madeBy, rowBy, type AuditRecord } from "../../platform/ports/audit.ts";
import type { AuditLog } from "./audit-log.ts";

type OperatorCall = Pick<
  Call<Readonly<Record<string, string>>, unknown, unknown, Principal>,
  "nowMs" | "requestId" | "principal" | "params"
>;
interface Place {
  readonly collection: string;
  readonly key: string;
}

/** The row of an operator's change; its subject is the path: `tenants/acme/members/ada@acme.example`. */
export function recordOf(call: OperatorCall, action: string, { collection, key }: Place): AuditRecord {
  const path = `${collection}/{${key}}`.slice(1);
  const subject = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => call.params[name] ?? "");
  return rowBy(call, action, subject);
}

/** Reading all users or all clients leaves a row too. */
const RECORDED_LISTS: readonly string[] = ["/users", "/clients"];

/** The subject of a list that leaves a row when an operator reads it. */
export const listSubjectOf = ({ collection }: Pick<Place, "collection">): string | undefined =>
  RECORDED_LISTS.includes(collection) ? collection.slice(1) : undefined;

/** Returns the answer to a read of the subject. Notes the read unless it was refused, since then nobody read. */
export async function noteRead(
  answered: Promise<Answer>,
  subject: string,
  call: Pick<Call<unknown, unknown, unknown, Principal>, "nowMs" | "requestId" | "principal" | "waitUntil">,
  audit: Pick<AuditLog, "listed">,
): Promise<Answer> {
  const answer = await answered;
  if (!isProblem(answer)) call.waitUntil(audit.listed({ ...madeBy(call), subject }));
  return answer;
}
