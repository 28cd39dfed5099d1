import { oneOf, orNull } from "./schema.ts";

/** Fields of a push subscription that the client, the topic's owner and the operator all see. */
export const HALT = orNull(
  oneOf(
    ["client_disabled", "tenant_disabled", "owner_changed", "scope_lost"],
    "The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: it is there.",
  ),
);
export const STATE = oneOf(
  ["active", "unverified", "failed", "disabled"],
  "`unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again.",
);
export const RIGHT = oneOf(["owner", "scope"], "By which right it was made.");
