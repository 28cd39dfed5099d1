import { until } from "../until.ts";
import type { TestPush } from "./test-push.ts";

/** A run that is under way: the endpoint holds the first six attempts, as many as are made at once, of so many events. */
export async function heldRun(push: TestPush, events: number): Promise<{ readonly ended: Promise<boolean> }> {
  await push.answer({ held: true });
  await push.put(Array.from({ length: events }, (_, at) => `${at}`));
  const ended = push.run();
  await until(async () => (await push.held()) === 6);
  return { ended };
}
