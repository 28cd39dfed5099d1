import { pushObjectName, type Incarnation } from "../model/topic.ts";
import type { PushSubscriptionObject } from "./push-subscription.do.ts";

export const pushOf = (
  subscriptions: DurableObjectNamespace<PushSubscriptionObject>,
  topic: Incarnation,
  id: string,
): DurableObjectStub<PushSubscriptionObject> => subscriptions.getByName(pushObjectName(topic, id));
