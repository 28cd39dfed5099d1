import type { Principal } from "../../http/callers/auth.ts";
import type { Call } from "../../http/route.ts";
import { actorOf, type AuditRecord } from "../../platform/ports/audit.ts";

type OperatorCall = Pick<
  Call<Readonly<Record<string, string>>, unknown, unknown, Principal>,
  "nowMs" | "requestId" | "principal" | "params"
>;
interface Place {
  readonly collection: string;
  readonly key: string;
}

const by = ({ nowMs, requestId, principal }: OperatorCall) => ({
  atMs: nowMs,
  requestId,
  actor: actorOf(principal),
});

/** The row of an operator's change; its subject is the path: `tenants/acme/members/ada@acme.example`. */
export const recordOf = (call: OperatorCall, action: string, { collection, key }: Place): AuditRecord => ({
  ...by(call),
  action,
  outcome: "done",
  reason: "",
  subject: `${collection}/{${key}}`.slice(1).replaceAll(/\{(\w+)\}/g, (_, name: string) => call.params[name] ?? ""),
});

/** Reading all users or all clients leaves a row too. */
const RECORDED_LISTS: readonly string[] = ["/users", "/clients"];

/** The row of a list that an operator read, if that list leaves one. */
export const listRecordOf = (call: OperatorCall, { collection }: Place) =>
  RECORDED_LISTS.includes(collection) ? { ...by(call), subject: collection.slice(1) } : undefined;
