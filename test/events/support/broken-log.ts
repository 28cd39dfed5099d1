import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { TopicConsumer } from "../../../src/events/consume/topic-consumer.do.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import { READ } from "../../../src/events/model/limits.ts";
import { until } from "./until.ts";

export type LogCall = "read" | "addConsumer" | "positionBefore" | "timeOf" | "peek";

/** Fault of a log's call, in place of `real`. */
export type Fault = (real: () => Promise<unknown>) => Promise<unknown>;

/**
 * Gives a consumer faulty logs: `fault` is called before each call of a log, and returns its fault or undefined.
 * Returns a function that restores the logs. A new instance of the object has the real ones.
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

/** The real logs, with the faults of `fault`. */
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

const waits: (() => void)[] = [];

/** Controls the timeouts of calls of logs: one fires when a fault says so, so that no test waits for five seconds. */
export function noWaiting(): void {
  const real = setTimeout;
  waits.length = 0;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) =>
    ms === READ.logWaitMs ? waits.push(run) : real(run, ms)) as unknown as typeof setTimeout);
}

/** The timeout of the current call, which starts with the call. */
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

/** Does not answer before the timeout. */
export const hanging: Fault = async () => {
  await ownTime().isUp();
  return new Promise(() => {});
};

/** Answers after the timeout. */
export const late: Fault = async (real) => {
  await ownTime().isUp();
  await scheduler.wait(1);
  return real();
};

/** Does its work, but the answer is lost. */
export const answerLost: Fault = async (real) => {
  await real();
  throw new Error("the answer was lost");
};
