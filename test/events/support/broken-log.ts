import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { TopicConsumer } from "../../../src/events/consume/topic-consumer.do.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { READ } from "../../../src/events/model/limits.ts";

export type Log = DurableObjectStub<TopicLog>;

export type LogCall = "read" | "addConsumer" | "positionBefore" | "timeOf" | "peek";

/** Fault of a log's call, in place of `real`. */
export type Fault = (real: () => Promise<unknown>) => Promise<unknown>;

/**
 * Lets a consumer meet logs that are not as they should be: `fault` is asked at each call that it makes, and gives what
 * happens to it; undefined: nothing. Gives what mends it. An object that starts anew meets the real ones.
 */
export async function breakLogs(
  consumer: DurableObjectStub<TopicConsumer>,
  fault: (call: LogCall, shard: number) => Fault | undefined,
): Promise<() => Promise<void>> {
  const use = (logs: DurableObjectNamespace<TopicLog>) =>
    runInDurableObject(consumer, (instance) => {
      const own = instance as unknown as { env: object };
      own.env = { ...own.env, TOPIC_LOG: logs };
    });
  await use(logsWith(fault));
  return () => use(env.TOPIC_LOG);
}

/** The real logs, but for what `fault` does. */
export function logsWith(fault: (call: LogCall, shard: number) => Fault | undefined): DurableObjectNamespace<TopicLog> {
  const getByName = (name: string) => {
    const log = env.TOPIC_LOG.getByName(name);
    const shard = Number(name.split("/").at(-1));
    return new Proxy(log, {
      get:
        (target, method) =>
        (...args: unknown[]) => {
          const real = (): Promise<unknown> =>
            (target as unknown as Record<PropertyKey, (...given: unknown[]) => Promise<unknown>>)[method]!(...args);
          const happens = fault(method as LogCall, shard);
          return happens === undefined ? real() : happens(real);
        },
    });
  };
  return { getByName } as unknown as DurableObjectNamespace<TopicLog>;
}

/**
 * Waits for something to become true, by looking again and again: a promise of one object's must not be resolved by
 * another's.
 */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await scheduler.wait(1);
}

const waits: (() => void)[] = [];

/** Nobody waits for five seconds: the time that a log is given passes when a fault says so, and for that call alone. */
export function noWaiting(): void {
  const real = setTimeout;
  waits.length = 0;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) =>
    ms === READ.logWaitMs ? waits.push(run) : real(run, ms)) as unknown as typeof setTimeout);
}

/** The time that is given to the call that is being made: it begins to run as soon as the call is made. */
function ownTime(): { isUp(): Promise<void> } {
  const own = waits.length;
  return {
    async isUp() {
      await until(() => waits.length > own);
      waits[own]!();
    },
  };
}

export const failing: Fault = () => Promise.reject(new Error("the log is out of reach"));

/** Does not answer within the time that a log is given. */
export const hanging: Fault = async () => {
  await ownTime().isUp();
  return new Promise(() => {});
};

/** Answers when its time is up. */
export const late: Fault = async (real) => {
  await ownTime().isUp();
  await scheduler.wait(1);
  return real();
};

/** Does its work, and the answer is lost. */
export const answerLost: Fault = async (real) => {
  await real();
  throw new Error("the answer was lost");
};
