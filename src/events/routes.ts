import type { ClientAccess } from "../http/auth.ts";
import type { Route } from "../http/route.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { TopicConsumer } from "./topic-consumer.do.ts";
import type { TopicLog } from "./topic-log.do.ts";

export interface EventsDeps {
  readonly names: Names;
  readonly log: Log;
  readonly random: Random;
  readonly db: D1Database;
  readonly topicLogs: DurableObjectNamespace<TopicLog>;
  readonly topicConsumers: DurableObjectNamespace<TopicConsumer>;
  readonly access: ClientAccess;
  readonly retentionMs: number;
}

export function createEventRoutes(_deps: EventsDeps): Route[] {
  return [];
}
