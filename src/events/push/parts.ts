import type { DeliveryTable } from "./delivery-table.ts";
import type { PushEligibility } from "./eligibility.ts";
import type { PushHandshake } from "./handshake.ts";
import type { PushIngest } from "./ingest.ts";
import type { PushState } from "./state.ts";

/** What the object of a push subscription consists of while it is open. */
export interface PushParts {
  readonly state: PushState;
  readonly deliveries: DeliveryTable;
  readonly ingest: PushIngest;
  readonly eligibility: PushEligibility;
  readonly handshake: PushHandshake;
}
