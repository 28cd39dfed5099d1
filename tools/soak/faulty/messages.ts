import type { Chance } from "./chance.ts";

/**
 * Ways in which handled messages are delivered again, as a queue may do (at least once):
 * - `at once`: the batch is handled twice at the same time.
 * - `retried`: an acknowledged message is delivered once more.
 * - `batch failed`: the batch fails after all of its work, so all of it comes again.
 */
const WAYS = ["at once", "retried", "batch failed"] as const;
type Way = (typeof WAYS)[number];

/** Later attempts are left to the platform's own retries, which share the count. */
const LAST_ATTEMPT = 2;

type Handle<Env> = (batch: MessageBatch, env: Env) => Promise<void>;

/** A queue handler whose messages are sometimes delivered again. */
export function repeating<Env>(handle: Handle<Env>, chance: Chance): Handle<Env> {
  /** Messages to be delivered again, and why. */
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

/** The platform's decision about a message. */
type Wish = "ack" | QueueRetryOptions | undefined;

/** Records the platform's decisions about a batch without passing them to the queue. */
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
