import type { Chance } from "./chance.ts";

/**
 * How messages come again though they were handled, as a queue may deliver them (at least once):
 * - `at once`: the batch is handled twice at the same time.
 * - `retried`: what was acknowledged is delivered once more.
 * - `batch failed`: all of the work was done, then the batch failed, so all of it comes again.
 */
const WAYS = ["at once", "retried", "batch failed"] as const;
type Way = (typeof WAYS)[number];

/** Later attempts are left to the platform's own retries, which are numbered with ours. */
const LAST_ATTEMPT = 2;

type Handle<Env> = (batch: MessageBatch, env: Env) => Promise<void>;

/** The handler of the queues, to which messages come again at times. */
export function repeating<Env>(handle: Handle<Env>, chance: Chance): Handle<Env> {
  /** How those that are to come again were acknowledged. */
  const again = new Map<string, Way>();
  return async (batch, env) => {
    for (const { id } of batch.messages) {
      const way = again.get(id);
      if (way !== undefined) chance.happened("queue message repeated", way);
      again.delete(id);
    }
    const isEarly = batch.messages.every(({ attempts }) => attempts <= LAST_ATTEMPT);
    const way = isEarly ? chance.draw("queue message repeated", "batches", WAYS) : undefined;
    const { noted, wishes } = noting(batch);
    await Promise.all([handle(noted, env), way === "at once" && handle(noting(batch).noted, env)]);
    const handled = batch.messages.filter(({ id }) => wishes.get(id) === "ack");
    for (const { id } of handled) {
      if (way === "at once") chance.happened("queue message repeated", way);
      else if (way !== undefined) again.set(id, way);
    }
    if (way === "batch failed") {
      batch.retryAll({ delaySeconds: 0 });
      throw new Error("a fault of the soak: a batch failed after its work");
    }
    for (const message of batch.messages) {
      const wish = wishes.get(message.id);
      if (wish !== "ack") message.retry(wish);
      else if (way === "retried") message.retry({ delaySeconds: 0 });
      else message.ack();
    }
  };
}

/** What the platform wants to become of a message. */
type Wish = "ack" | QueueRetryOptions | undefined;

/** A batch that notes what the platform wants; nothing of it reaches the queue. */
function noting({ queue, metadata, messages }: MessageBatch): {
  noted: MessageBatch;
  wishes: ReadonlyMap<string, Wish>;
} {
  const wishes = new Map<string, Wish>();
  const each = messages.map(({ id, timestamp, body, attempts }) => ({
    id,
    timestamp,
    body,
    attempts,
    ack: () => void wishes.set(id, "ack"),
    retry: (options?: QueueRetryOptions) => void wishes.set(id, options),
  }));
  const noted = {
    queue,
    metadata,
    messages: each,
    ackAll: () => each.forEach((message) => message.ack()),
    retryAll: (options?: QueueRetryOptions) => each.forEach((message) => message.retry(options)),
  };
  return { noted, wishes };
}
