/** An event to publish. A payload that is not a string is sent as JSON. */
export interface NewEvent {
  readonly payload: unknown;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The tenant that the event is about; the token's own by default. */
  readonly tenant?: string;
}

/** An event as it is stored. */
export interface StoredEvent {
  readonly id: string;
  /** When it was published, in milliseconds since 1970. */
  readonly createdAt: number;
  readonly tenant: string;
  readonly sourceClient: string;
  readonly eventType: string;
  readonly payload: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface Batch {
  readonly events: readonly StoredEvent[];
  /** Commits, extends or releases the batch. */
  readonly token: string;
  /** How often the first event was delivered, this time included. */
  readonly attempt: number;
  /** Events that retention removed before this consumer read them. */
  readonly lost: number;
}

/** An event from `consume` or `process`. */
export interface ConsumedEvent extends StoredEvent {
  /** How often the batch of this event was delivered; more than 1 after a failure. */
  readonly attempt: number;
  /** The payload as JSON. */
  json<T = unknown>(): T;
  /** Acknowledges the event now. Without this call, asking for the next event does. */
  ack(): void;
}
