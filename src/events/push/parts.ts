import type { Deliveries } from "./delivery-table.ts";
import type { PushStanding } from "./eligibility.ts";
import type { PushHandshake } from "./handshake.ts";
import type { PushIntake } from "./ingest.ts";
import type { PushState } from "./state.ts";

/** What the object of a push subscription consists of while it is open. */
export interface PushParts {
  readonly state: PushState;
  readonly deliveries: Deliveries;
  readonly intake: PushIntake;
  readonly standing: PushStanding;
  readonly handshake: PushHandshake;
}
