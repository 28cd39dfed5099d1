import { scopeRefusal } from "../../http/callers/auth.ts";
import { conflict, invalid, notFound, problem, type Problem } from "../../http/errors/errors.ts";
import type { Names } from "../../platform/model/names.ts";

/** All failures of operations on topics. */
export type Failure =
  | { readonly kind: "no_topic" }
  | { readonly kind: "scope_missing"; readonly scope: string }
  /** The client was removed, but its token is still accepted. */
  | { readonly kind: "no_client" }
  | { readonly kind: "topic_exists" }
  | { readonly kind: "topic_deleting" }
  | { readonly kind: "too_many_topics"; readonly ofClient: number }
  | { readonly kind: "topic_locked"; readonly retryAfterMs: number; readonly untilMs: number; readonly holder: string }
  | { readonly kind: "topic_not_locked"; readonly why: NotLocked }
  | { readonly kind: "not_in_batch" }
  | { readonly kind: "no_subscription" }
  | { readonly kind: "subscription_exists" }
  | { readonly kind: "too_many_subscriptions"; readonly ofClient: number; readonly ofTopic: number }
  | { readonly kind: "subscription_disabled" }
  /** The endpoint has not confirmed yet that it wants the events. */
  | { readonly kind: "subscription_unverified" }
  /** The update changes the endpoint's origin without a new password; the stored one is never sent elsewhere. */
  | { readonly kind: "password_missing" }
  /** The credentials are sealed under a key that this deployment lacks, or the row was modified by hand. */
  | { readonly kind: "credentials_unreadable" }
  | { readonly kind: "no_delivery" }
  /** Neither the delivery nor the topic still has the event. */
  | { readonly kind: "event_expired" }
  /** Only one test of a subscription runs at a time. */
  | { readonly kind: "test_busy"; readonly retryAfterMs: number }
  /** A log did not answer in time or is full for now, or an update lost to other updates too often. */
  | { readonly kind: "unavailable" }
  | { readonly kind: "tenant_refused"; readonly field: string; readonly tenant: string }
  | { readonly kind: "too_large"; readonly field: string; readonly what: string; readonly maxBytes: number }
  | { readonly kind: "too_many_events"; readonly maxEvents: number }
  | { readonly kind: "consumer_malformed" }
  | { readonly kind: "too_many_consumers"; readonly most: number }
  | { readonly kind: "key_malformed"; readonly maxChars: number }
  | { readonly kind: "key_used" };

/** Why a token does not hold the lock. */
export type NotLocked = "already_committed" | "lock_expired" | "unknown_token";

export function toProblem(failure: Failure, names: Names): Problem {
  switch (failure.kind) {
    case "no_topic":
      return problem(
        "element_resource_non_existing",
        "There is no such topic, or it is not yours. Its owner creates it by POST to the service's /topics.",
      );
    case "scope_missing":
      return scopeRefusal(failure.scope, names);
    case "no_client":
      return problem("insufficient_permissions", "The client of the access token is no longer registered.");
    case "topic_exists":
      return conflict("topic_exists", "eventType", "You already have a topic with this event type.");
    case "topic_deleting":
      return conflict("topic_deletion_in_progress", "eventType", "The topic is being deleted.");
    case "topic_locked": {
      const headers = retryAfter(failure.retryAfterMs);
      const until = new Date(failure.untilMs).toISOString();
      const message = `${failure.holder} holds an uncommitted batch of this topic until ${until}.`;
      return problem("topic_locked", message, { headers });
    }
    case "topic_not_locked": {
      const message = NOT_LOCKED[failure.why];
      return problem("topic_not_locked", message, { details: [{ type: failure.why, field: "token", message }] });
    }
    case "not_in_batch":
      return invalid("invalid_field", "commitThrough", "commitThrough must be the id of an event in the batch.");
    case "too_many_topics":
      return conflict("too_many_topics", "", `A client has at most ${failure.ofClient} topics.`);
    case "no_subscription":
      return notFound("subscription");
    case "subscription_exists":
      return conflict(
        "subscription_exists",
        "name",
        "Your client already has a subscription with this name on the topic.",
      );
    case "too_many_subscriptions": {
      const { ofClient, ofTopic } = failure;
      const message = `A topic has at most ${ofClient} subscriptions of a client and ${ofTopic} in all.`;
      return conflict("too_many_subscriptions", "", message);
    }
    case "subscription_disabled":
      return conflict(
        "subscription_disabled",
        "",
        "The endpoint ended the subscription with status 410. Update the subscription to enable it again.",
      );
    case "subscription_unverified":
      return conflict(
        "subscription_unverified",
        "",
        "The endpoint has not answered with the challenge, so nothing is sent to it. An update asks it again " +
          "at once.",
      );
    case "password_missing":
      return invalid(
        "missing_field",
        "pushConfig.basicAuth.password",
        "The new endpoint has another origin (scheme, host or port). Send its password: the stored password " +
          "is not sent to another origin.",
      );
    case "credentials_unreadable":
      return conflict(
        "credentials_unreadable",
        "",
        "The stored password and signing secret cannot be opened. The operator must restore the key that " +
          "sealed them, or you must delete and create the subscription again.",
      );
    case "no_delivery":
      return notFound("delivery");
    case "event_expired":
      return conflict("event_expired", "eventId", "The event was removed and cannot be delivered again.");
    case "test_busy":
      return problem("insufficient_resources", "A subscription runs one test at a time and at most one per second.", {
        headers: retryAfter(failure.retryAfterMs),
      });
    case "unavailable":
      return unreachable();
    case "tenant_refused": {
      const message = `Your client may not act for the tenant ${failure.tenant}.`;
      return problem("insufficient_permissions", message, {
        details: [{ type: "tenant_refused", field: failure.field, message }],
      });
    }
    case "too_large": {
      const message = `${failure.what} is larger than ${failure.maxBytes} bytes.`;
      return problem("bad_payload_size", message, {
        details: [{ type: "invalid_field", field: failure.field, message }],
      });
    }
    case "too_many_events":
      return invalid("invalid_field", "", `Send 1 to ${failure.maxEvents} events a request.`);
    case "consumer_malformed":
      return invalid(
        "invalid_header",
        "Consumer",
        "Consumer must be 1 to 64 letters, digits, dots, hyphens or underscores, a letter or digit first.",
      );
    case "too_many_consumers":
      return conflict(
        "too_many_consumers",
        "Consumer",
        `You have ${failure.most} named consumers on this topic. Remove one that you do not need any more.`,
      );
    case "key_malformed":
      return invalid(
        "invalid_header",
        "Idempotency-Key",
        `Idempotency-Key must be 1 to ${failure.maxChars} visible ASCII characters.`,
      );
    case "key_used":
      return conflict(
        "idempotency_key_used",
        "Idempotency-Key",
        "This Idempotency-Key was already used with another request.",
      );
  }
}

/** 503: an object of the topic is restarting, overloaded or slow. */
export const unreachable = (): Problem =>
  problem("service_temporarily_unavailable", "The topic is temporarily unavailable.", {
    headers: { "retry-after": "1" },
  });

const NOT_LOCKED = {
  already_committed: "The batch of this token is already committed.",
  lock_expired: "The lock of this token expired or was released. Uncommitted events of its batch will be read again.",
  unknown_token: "No recent batch of this topic was delivered to you under this token.",
} as const satisfies Record<NotLocked, string>;

const retryAfter = (waitMs: number) => ({ "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))) });
