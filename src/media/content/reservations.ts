/**
 * How many bytes the work of an isolate may hold at once, and one piece of work for each key. What is never released,
 * because the runtime ended its request, ends by itself.
 */
export class Reservations {
  readonly #held = new Map<string, Reservation>();
  readonly #maxBytes: number;
  readonly #ttlMs: number;

  constructor(maxBytes: number, ttlMs: number) {
    this.#maxBytes = maxBytes;
    this.#ttlMs = ttlMs;
  }

  /** Undefined where there is no room, or the key is taken. */
  take(key: string, bytes: number, nowMs: number): Reservation | undefined {
    let heldBytes = bytes;
    for (const [held, { endsAtMs, bytes: also }] of this.#held)
      if (endsAtMs <= nowMs) this.#held.delete(held);
      else heldBytes += also;
    if (heldBytes > this.#maxBytes || this.#held.has(key)) return undefined;
    const reservation = { key, bytes, endsAtMs: nowMs + this.#ttlMs };
    this.#held.set(key, reservation);
    return reservation;
  }

  /** One that ended by itself may have a successor under its key, which stays. */
  release(reservation: Reservation): void {
    if (this.#held.get(reservation.key) === reservation) this.#held.delete(reservation.key);
  }
}

export interface Reservation {
  readonly key: string;
  readonly bytes: number;
  readonly endsAtMs: number;
}
