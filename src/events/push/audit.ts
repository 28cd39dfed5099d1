import type { AuditRecord } from "../../platform/audit.ts";
import type { PushRecord } from "./record.ts";

/** Who changes a subscription; both empty where it is the platform itself. */
export interface ChangedBy {
  /** A client's id. */
  readonly actor: string;
  readonly requestId: string;
}

export const BY_PLATFORM: ChangedBy = { actor: "", requestId: "" };

export type PushAction = "create" | "change" | "delete" | "disable" | "end" | "verify";

/**
 * A row of the audit log about a subscription. Its subject begins with the topic, so that all of a topic is found by it.
 * Of an endpoint only the origin is named: paths and queries of webhooks often are secrets.
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

/** By which right it was made, and where its events go. */
export const describeCreation = ({ endpoint, made, asOwner }: PushRecord): string =>
  [
    `endpoint at ${originOf(endpoint)}`,
    asOwner ? "by the owner's right" : `by the scope ${made?.scope ?? ""}`,
    `for the tenant ${made?.tenant ?? ""}`,
  ].join(", ");

/** The names of what differs, as the interface calls them. */
export const changesOf = (before: PushRecord, after: PushRecord, passwordChanged: boolean): readonly string[] =>
  [
    before.endpoint === after.endpoint ? "" : "pushConfig.endpoint",
    before.username === after.username ? "" : "pushConfig.basicAuth.username",
    passwordChanged ? "pushConfig.basicAuth.password" : "",
    (before.verification === undefined) === (after.verification === undefined) ? "" : "pushConfig.handshake",
    before.state === after.state ? "" : "state",
    before.made === undefined ? "made" : "",
  ].filter((name) => name !== "");

/** Where events go now; empty where they went there before. */
export function describeMove(before: PushRecord, after: PushRecord): string {
  const [from, to] = [originOf(before.endpoint), originOf(after.endpoint)];
  return from === to ? "" : `endpoint from ${from} to ${to}`;
}

export const originOf = (endpoint: string): string => new URL(endpoint).origin;
