import type { AuditRecord } from "../../../platform/ports/audit.ts";
import type { PushRecord } from "./record.ts";

/** The author of a change; both fields are empty for the platform itself. */
export interface ChangedBy {
  /** A client's id, or an operator. */
  readonly actor: string;
  readonly requestId: string;
}

export const BY_PLATFORM: ChangedBy = { actor: "", requestId: "" };

export type PushAction =
  | "create"
  | "change"
  | "rotate"
  | "delete"
  | "disable"
  | "end"
  | "verify"
  | "redeliver"
  | "test";

/**
 * An audit row about a subscription. The subject starts with the topic, so a search by topic finds all rows. Names
 * only the endpoint's origin, since paths and queries of webhooks are often secret.
 */
export const pushAudit = (
  { topic, client, name }: Pick<PushRecord, "topic" | "client" | "name">,
  action: PushAction,
  { actor, requestId }: ChangedBy,
  nowMs: number,
  reason = "",
  changed?: readonly string[],
): AuditRecord => ({
  atMs: nowMs,
  requestId,
  actor,
  action: `${action} push subscription`,
  subject: `push-subscriptions/${topic}/${client}/${name}`,
  outcome: "done",
  reason,
  ...(changed === undefined ? {} : { changed }),
});

/** Describes the right by which a subscription was created, and its endpoint's origin. */
export const describeCreation = ({ endpoint, made, asOwner }: PushRecord): string =>
  [
    `endpoint at ${originOf(endpoint)}`,
    asOwner ? "by the owner's right" : `by the scope ${made?.scope ?? ""}`,
    `for the tenant ${made?.tenant ?? ""}`,
  ].join(", ");

/** The changed fields, named as in the API. */
export const changesOf = (before: PushRecord, after: PushRecord, passwordChanged: boolean): readonly string[] =>
  [
    before.endpoint === after.endpoint ? "" : "pushConfig.endpoint",
    before.username === after.username ? "" : "pushConfig.basicAuth.username",
    passwordChanged ? "pushConfig.basicAuth.password" : "",
    (before.verification === undefined) === (after.verification === undefined) ? "" : "pushConfig.handshake",
    before.state === after.state ? "" : "state",
    before.made === undefined ? "made" : "",
  ].filter((name) => name !== "");

/** Describes a change of the endpoint's origin; empty if it did not change. */
export function describeMove(before: PushRecord, after: PushRecord): string {
  const [from, to] = [originOf(before.endpoint), originOf(after.endpoint)];
  return from === to ? "" : `endpoint from ${from} to ${to}`;
}

export const originOf = (endpoint: string): string => new URL(endpoint).origin;
