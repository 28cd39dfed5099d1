import { Connection } from "../lib/connection.ts";
import { askFor } from "../lib/exchange.ts";
import type { Server } from "../lib/server.ts";
import { BATCH } from "./payload.ts";
import type { Plinth } from "./plinth.ts";

/** A topic that grows, one by one up to the first batch and then in batches, and the places of its events. */
export class GrowingLog {
  readonly topic: string;
  readonly #plinth: Plinth;
  readonly #server: Server;
  readonly #requests: ReadonlyMap<number, Buffer>;
  /** The first event of each request. */
  readonly #places: { readonly index: number; readonly id: string }[] = [];
  #size = 0;

  private constructor(plinth: Plinth, server: Server, topic: string, requests: ReadonlyMap<number, Buffer>) {
    this.#plinth = plinth;
    this.topic = topic;
    this.#server = server;
    this.#requests = requests;
  }

  static async open(plinth: Plinth, server: Server, topic: string): Promise<GrowingLog> {
    await plinth.makeTopic(topic);
    const requests = new Map<number, Buffer>();
    for (const events of [1, BATCH]) requests.set(events, await plinth.publishRequest(topic, events));
    return new GrowingLog(plinth, server, topic, requests);
  }

  async growTo(size: number, stopping: AbortSignal): Promise<void> {
    // The server closes an idle connection, so each growth opens its own.
    const connection = await Connection.open(this.#server);
    try {
      while (this.#size < size) {
        stopping.throwIfAborted();
        await this.#publish(connection, this.#size < BATCH ? 1 : BATCH);
      }
    } finally {
      connection.close();
    }
  }

  async #publish(connection: Connection, events: number): Promise<void> {
    const answer = await askFor(201, connection, this.#requests.get(events)!);
    const { ids } = JSON.parse(answer.body()) as { ids: string[] };
    this.#places.push({ index: this.#size, id: ids[0]! });
    this.#size += events;
  }

  /** The last event that begins a request, `before` or more events before the end. */
  idAt(before: number): string {
    const wanted = Math.max(0, this.#size - Math.max(before, 2));
    return this.#places.findLast(({ index }) => index <= wanted)!.id;
  }

  /** The time at which the event after this one was published. */
  async timeBehind(id: string): Promise<number> {
    const { events } = await this.#plinth.call("GET", this.topic, `/events?after=${id}&limit=1`);
    return events[0].createdAt;
  }
}
