import type { Principal } from "../http/auth.ts";
import type { Call } from "../http/route.ts";
import type { AuditRecord } from "../platform/audit.ts";

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
  actor: principal.clientId,
});

/** What an operator did to one of a resource: `tenants/acme/members/ada@acme.example`. */
export const recordOf = (call: OperatorCall, action: string, { collection, key }: Place): AuditRecord => ({
  ...by(call),
  action,
  outcome: "done",
  reason: "",
  subject: `${collection}/{${key}}`.slice(1).replaceAll(/\{(\w+)\}/g, (_, name: string) => call.params[name] ?? ""),
});

/** Who reads all people, or all clients, leaves a row too. */
const NOTED_LISTS: readonly string[] = ["/users", "/clients"];

/** What is kept of a list that an operator read; of most lists nothing. */
export const listRecordOf = (call: OperatorCall, { collection }: Place) =>
  NOTED_LISTS.includes(collection) ? { ...by(call), subject: collection.slice(1) } : undefined;
