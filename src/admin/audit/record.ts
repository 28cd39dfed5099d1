import type { Principal } from "../../http/callers/auth.ts";
import type { Call } from "../../http/route.ts";
import { madeBy, rowBy, type AuditRecord } from "../../platform/ports/audit.ts";

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

/** The row of a list that an operator read, if that list leaves one. */
export const listRecordOf = (call: OperatorCall, { collection }: Place) =>
  RECORDED_LISTS.includes(collection) ? { ...madeBy(call), subject: collection.slice(1) } : undefined;
