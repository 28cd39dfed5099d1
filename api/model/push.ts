import { int, obj, oneOf, orNull, time } from "./schema.ts";

/** Fields of a push subscription that the client, the topic's owner and the operator all see. */
export const HALT = orNull(
  oneOf(
    ["client_disabled", "tenant_disabled", "owner_changed", "scope_lost"],
    "The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: nothing stops it.",
  ),
);
export const STATE = oneOf(
  ["active", "unverified", "failed", "disabled"],
  "`unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again.",
);
export const RIGHT = oneOf(["owner", "scope"], "By which right it was made.");
/** What came of one attempt. */
export const ATTEMPT_RESULT = {
  durationMs: int("Duration of the request."),
  status: orNull(int("The status of its answer; null: no answer.")),
  error: orNull(
    oneOf(
      ["status", "timeout", "unreachable", "redirect", "refused"],
      "Reason of the failure: not 2xx, no answer in 15 s, no connection, 3xx, or an address that is not " +
        "called; null: no failure.",
    ),
  ),
};
/** How the deliveries of a push subscription stand. */
export const DELIVERY_STATUS = {
  lag: orNull(int("Events that wait for delivery; null: unknown now.")),
  deadLetters: orNull(int("Dead letters; null: unknown now.")),
  eventsLost: orNull(int("Events that retention removed before their delivery; null: unknown now.")),
  pausedUntil: orNull(time("End of the endpoint's pause; null: none.")),
  "verification?": orNull(
    obj(
      {
        attempts: int("Number of verification attempts."),
        lastError: orNull(
          oneOf(
            ["status", "timeout", "unreachable", "redirect", "refused", "no_challenge"],
            "Reason of the last failed verification: as for deliveries, or 2xx without the challenge; null: none " +
              "yet.",
          ),
        ),
        nextAttemptAt: orNull(time("When the next verification comes; null: never.")),
      },
      "Progress of the verification; null: unknown now. While `unverified` and `failed`.",
    ),
  ),
};
