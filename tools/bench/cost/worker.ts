import platform, * as objects from "../../../src/worker.ts";
import type { Env } from "../../../src/env.ts";
import { moveClock } from "./clock.ts";
import {
  controlled,
  countAlarm,
  countBatch,
  countCopies,
  countedEnv,
  countInvocation,
  countLines,
  countStorage,
} from "./counter.ts";
import { CONTROL_PATH } from "./counts.ts";

/**
 * The platform with counters around its bindings, its objects' storage and its console. Its behaviour does not change,
 * and the shipped Worker contains none of this. Requests to `CONTROL_PATH` return the counts; `?ms=` moves the clock
 * on, because some work waits for a day.
 */
countLines();
countCopies();

/** TypeScript requires these parameters of a mixin's class. */
type ObjectClass = new (...args: any[]) => { alarm?(): Promise<void> | void };

function countedObject<T extends ObjectClass>(real: T): T {
  return class extends real {
    constructor(...args: any[]) {
      const [context, env] = args as [DurableObjectState, Env];
      countStorage(context);
      super(context, countedEnv(env));
    }

    override alarm(): Promise<void> {
      return countAlarm(async () => super.alarm?.());
    }
  };
}

export const TopicLog = countedObject(objects.TopicLog);
export const TopicConsumer = countedObject(objects.TopicConsumer);
export const PushSubscription = countedObject(objects.PushSubscription);
export const LoginAttempts = countedObject(objects.LoginAttempts);
export const GuessCounter = countedObject(objects.GuessCounter);
/** Not counted: their work depends on the time and the isolates, not on an operation. */
export const { MetricsCollector, MetricsStore, BackupJob, ShardDatabase } = objects;

export default {
  fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === CONTROL_PATH) {
      moveClock(Number(searchParams.get("ms") ?? 0));
      return Response.json(controlled());
    }
    countInvocation();
    return platform.fetch(request, countedEnv(env), context);
  },
  queue(batch, env) {
    countBatch(batch);
    return platform.queue(batch, countedEnv(env));
  },
  scheduled(controller, env) {
    countInvocation();
    return platform.scheduled(controller, countedEnv(env));
  },
} satisfies ExportedHandler<Env>;
