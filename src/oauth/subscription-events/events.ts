import type { Names } from "../../platform/model/names.ts";

/**
 * The events about subscriptions: two topics, and the schemas of their events, the newest first. Each change is
 * published once in each schema, so consumers of old schemas keep working.
 */
export type SubscriptionEventType = "subscriptionCreated" | "subscriptionCancelled";

/** A subscription at the moment of the event. Times in milliseconds. */
export interface SubscriptionSnapshot {
  readonly id: string;
  readonly tenant: string;
  /** The tenant's organization. */
  readonly org: string;
  readonly package: {
    readonly id: string;
    readonly version: string;
    /** The organization that offers the package. */
    readonly org: string;
    /** Sorted by name. Empty for a cancellation. */
    readonly services: readonly { readonly name: string; readonly scopes: readonly string[] }[];
  };
  readonly createdAt: number;
  readonly cancelledAt?: number;
}

/** An event as published to the topic of its type. */
export interface SubscriptionEvent {
  readonly tenant: string;
  readonly payload: string;
  readonly metadata: { readonly schema: string };
}

export const topicOwner = (names: Names): string => names.client("authorization");

const DESCRIPTIONS: Readonly<Record<SubscriptionEventType, string>> = {
  subscriptionCreated: "A tenant subscribed to a package.",
  subscriptionCancelled: "A tenant's subscription to a package was cancelled.",
};

/** The topics. The events service creates each when it is first used or listed, even before its first event. */
export const subscriptionTopics = (names: Names) =>
  Object.entries(DESCRIPTIONS).map(([eventType, description]) => ({
    owner: topicOwner(names),
    eventType,
    description,
  }));

/** The events for a snapshot, in the order of publication. */
export function subscriptionEvents(
  type: SubscriptionEventType,
  snapshot: SubscriptionSnapshot,
  options: { readonly deprecated: boolean },
): SubscriptionEvent[] {
  return SCHEMAS[type]
    .filter((schema) => options.deprecated || !schema.deprecated)
    .map(({ name, payload }) => ({
      tenant: snapshot.tenant,
      payload: JSON.stringify(payload(snapshot)),
      metadata: { schema: name },
    }));
}

interface Schema {
  readonly name: string;
  readonly deprecated: boolean;
  payload(snapshot: SubscriptionSnapshot): object;
}

const SCHEMAS: Readonly<Record<SubscriptionEventType, readonly Schema[]>> = {
  subscriptionCreated: [
    { name: "subscriptionCreated_v3", deprecated: false, payload: createdV3 },
    { name: "subscriptionCreated_v2", deprecated: true, payload: createdV2 },
    { name: "subscriptionCreated_v1", deprecated: true, payload: createdV1 },
  ],
  subscriptionCancelled: [{ name: "subscriptionCancelled_v1", deprecated: false, payload: cancelledV1 }],
};

/** A package belongs to an organization, not to a tenant, so both fields of `provider` are that organization. */
function createdV1({ id, tenant, org, package: offered, createdAt }: SubscriptionSnapshot) {
  return {
    id,
    subscriber: { id: tenant, org },
    package: {
      id: offered.id,
      version: offered.version,
      provider: { id: offered.org, org: offered.org },
      includedServices: offered.services.map(({ name }) => ({ id: name, name })),
    },
    validFrom: createdAt,
  };
}

function createdV2(snapshot: SubscriptionSnapshot) {
  const first = createdV1(snapshot);
  return { ...first, subscriber: { ...first.subscriber, tenant: snapshot.tenant } };
}

function createdV3(snapshot: SubscriptionSnapshot) {
  const second = createdV2(snapshot);
  const includedServices = snapshot.package.services.map(({ name, scopes }) => ({ id: name, name, scopes }));
  return { ...second, package: { ...second.package, includedServices }, createdAt: snapshot.createdAt };
}

function cancelledV1({ id, tenant, org, package: offered, createdAt, cancelledAt }: SubscriptionSnapshot) {
  return {
    id,
    subscriber: { id: tenant, org, tenant },
    package: { id: offered.id, version: offered.version },
    validFrom: createdAt,
    cancelledAt,
  };
}
