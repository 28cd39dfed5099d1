import { until } from "../until.ts";
import type { TestPush } from "./test-push.ts";

/** Starts a run with so many events. The endpoint holds the first six attempts, which are the maximum at once. */
export async function heldRun(push: TestPush, events: number): Promise<{ readonly ended: Promise<boolean> }> {
  await push.answer({ held: true });
  await push.put(Array.from({ length: events }, (_, at) => `${at}`));
  const ended = push.run();
  await until(async () => (await push.held()) === 6);
  return { ended };
}
