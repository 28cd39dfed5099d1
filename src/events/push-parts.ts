import type { Deliveries } from "./push-deliveries.ts";
import type { PushHandshake } from "./push-handshake.ts";
import type { PushIntake } from "./push-intake.ts";
import type { PushStanding } from "./push-standing.ts";
import type { PushState } from "./push-state.ts";

/** What the object of a push subscription consists of while it is open. */
export interface PushParts {
  readonly state: PushState;
  readonly deliveries: Deliveries;
  readonly intake: PushIntake;
  readonly standing: PushStanding;
  readonly handshake: PushHandshake;
}
