/** Texts of events that are about to be sent, bounded: the ones that came first give way, and are read again. */
export class EventTexts {
  readonly #texts = new Map<string, string>();
  readonly #maxChars: number;
  #chars = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  get(eventId: string): string | undefined {
    return this.#texts.get(eventId);
  }

  /** The event that came last is kept, however long it is. */
  put(eventId: string, text: string): void {
    this.delete(eventId);
    this.#texts.set(eventId, text);
    this.#chars += text.length;
    for (const first of this.#texts.keys()) {
      if (this.#chars <= this.#maxChars || this.#texts.size === 1) return;
      this.delete(first);
    }
  }

  delete(eventId: string): void {
    this.#chars -= this.#texts.get(eventId)?.length ?? 0;
    this.#texts.delete(eventId);
  }
}
