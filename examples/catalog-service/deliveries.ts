import { PlatformError, type PlatformApi } from "./platform-api.ts";
import { EVENT_TYPES, type ProductStore, type Waiting } from "./product-store.ts";

const PAUSE_MS = { first: 500, longest: 60_000 };
/** Looks for pictures whose time has come, and for tenants whose pause is over. */
const ROUND_MS = 500;

/**
 * Brings to the platform what the store has noted for it: events of the outbox, and pictures that nobody needs.
 *
 *   changed (in the outbox) ── published, acknowledged ──→ gone
 *        ↑────── refused, or no answer: again, after a pause that grows ──┘
 *
 * Each event is published at least once, since it leaves the outbox only after the platform's answer; and, by its
 * Idempotency-Key, once, as long as it is repeated within 24 h. A tenant's events leave one after another, in order. A
 * tenant that the platform refuses (its subscription ended) waits alone, and holds up nobody else. One process at a
 * time has the store, so nobody else publishes the same.
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

  /** Something was written that has to be delivered. */
  wake(): void {
    this.#again = true;
    this.#round ??= this.#deliver().finally(() => (this.#round = undefined));
  }

  /** What is under way is finished; the rest waits in the store for the next start. */
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
    // The same bytes at every attempt: another payload under the same key would be refused.
    const payload = JSON.stringify({ change, product: JSON.parse(product) as unknown });
    await this.#platform.publish(tenant, eventType, payload, key);
    this.#store.forgetWaiting(change);
  }

  /** Whether it was done. Not tried while the tenant (`""`: we ourselves) has to wait. */
  async #attempt(tenant: string, work: () => Promise<void>): Promise<boolean> {
    const { untilMs = 0, pauseMs = PAUSE_MS.first } = this.#pauses.get(tenant) ?? {};
    if (Date.now() < untilMs) return false;
    try {
      await work();
      this.#pauses.delete(tenant);
      return true;
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      // Whoever empties a platform under a running service: the topics are made again.
      if (error.status === 404) this.#hasTopics = false;
      const doubled = Math.min(pauseMs * 2, PAUSE_MS.longest);
      this.#pauses.set(tenant, { untilMs: Date.now() + pauseMs, pauseMs: doubled });
      this.#log(`${tenant || "the catalog itself"} has to wait for ${pauseMs} ms: ${error.message}`);
      return false;
    }
  }
}
