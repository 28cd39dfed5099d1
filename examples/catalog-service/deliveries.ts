import { PlatformError, type PlatformApi } from "./platform-api.ts";
import { EVENT_TYPES, type ProductStore, type Waiting } from "./product-store.ts";

const PAUSE_MS = { first: 500, longest: 60_000 };
/** Interval of the check for due pictures and ended pauses. */
const ROUND_MS = 500;

/**
 * Delivers the store's notes to the platform: events of the outbox, and unused pictures.
 *
 *   changed (in the outbox) ── published, acknowledged ──→ gone
 *        ↑────── refused, or no answer: again, after a growing pause ──┘
 *
 * An event leaves the outbox only after the platform's answer, so it is published at least once. Its Idempotency-Key
 * makes that exactly once for retries within 24 h. A tenant's events are published one after another, in order. A
 * tenant that the platform refuses (its subscription ended) waits alone and blocks nobody else. Only one process at a
 * time has the store.
 */
export class Deliveries {
  readonly #store: ProductStore;
  readonly #platform: PlatformApi;
  readonly #log: (message: string) => void;
  readonly #pauses = new Map<string, { untilMs: number; pauseMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #again = false;
  #hasTopics = false;

  constructor(store: ProductStore, platform: PlatformApi, log: (message: string) => void) {
    this.#store = store;
    this.#platform = platform;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), ROUND_MS);
    this.wake();
  }

  /** Wakes the delivery after a write. */
  wake(): void {
    this.#again = true;
    this.#round ??= this.#deliver().finally(() => (this.#round = undefined));
  }

  /** Finishes pending requests; the rest waits in the store for the next start. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#again = false;
    await this.#round;
  }

  async #deliver(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      if (!this.#hasTopics) this.#hasTopics = await this.#attempt("", () => this.#makeTopics());
      for (const waiting of this.#hasTopics ? this.#store.firstWaiting() : [])
        if (await this.#attempt(waiting.tenant, () => this.#publish(waiting))) this.#again = true;
      for (const { tenant, file } of this.#store.unusedPictures())
        await this.#attempt(tenant, async () => {
          await this.#platform.removePicture(tenant, file);
          this.#store.forgetPicture(file);
        });
    }
  }

  async #makeTopics(): Promise<void> {
    for (const eventType of EVENT_TYPES) await this.#platform.ensureTopic(eventType);
  }

  async #publish({ change, key, tenant, eventType, product }: Waiting): Promise<void> {
    // The same bytes at every attempt: the platform refuses another payload under the same key.
    const payload = JSON.stringify({ change, product: JSON.parse(product) as unknown });
    await this.#platform.publish(tenant, eventType, payload, key);
    this.#store.forgetWaiting(change);
  }

  /** Returns whether it was done. Not tried while the tenant (`""`: this service) is paused. */
  async #attempt(tenant: string, work: () => Promise<void>): Promise<boolean> {
    const { untilMs = 0, pauseMs = PAUSE_MS.first } = this.#pauses.get(tenant) ?? {};
    if (Date.now() < untilMs) return false;
    try {
      await work();
      this.#pauses.delete(tenant);
      return true;
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      // The platform was reset under a running service, so the topics are made again.
      if (error.status === 404) this.#hasTopics = false;
      const doubled = Math.min(pauseMs * 2, PAUSE_MS.longest);
      this.#pauses.set(tenant, { untilMs: Date.now() + pauseMs, pauseMs: doubled });
      this.#log(`${tenant || "the catalog itself"} has to wait for ${pauseMs} ms: ${error.message}`);
      return false;
    }
  }
}
