import { BrokenAnswer, Connection } from "../lib/connection.ts";
import { askFor, broken, requestBytes } from "../lib/exchange.ts";
import type { Client, Work } from "../lib/load.ts";

/** Reads under a lock and commits, over HTTP. */
export interface Reader {
  readonly host: string;
  readonly port: number;
  /** Paths of the operations. */
  readonly paths: Readonly<Record<"read" | "commit" | "seek" | "events", string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads batches and commits each; starts again at the end of the log. Each client is a reader of its own. */
export const consuming = (readers: readonly Reader[], numEvents: number): Work => ({
  connect: (client) => HttpConsumer.open(readers[client]!, numEvents),
});

/** A number is a time in milliseconds. */
export type Place = "oldest" | "newest" | number;

/** One batch of so many is parsed; of the others only status and token are read. */
const PARSE_EVERY = 64;

export class HttpConsumer implements Client {
  readonly #connection: Connection;
  readonly #numEvents: number;
  readonly #read: Buffer;
  readonly #seek: (to: Place) => Buffer;
  readonly #commitHead: string;
  #batches = 0;

  private constructor(connection: Connection, { host, port, paths, headers }: Reader, numEvents: number) {
    this.#connection = connection;
    this.#numEvents = numEvents;
    const post = (path: string, json: unknown): Buffer =>
      requestBytes({ method: "POST", path, host: `${host}:${port}`, headers, json });
    this.#read = post(paths.read, { numEvents });
    this.#seek = (to) => post(paths.seek, { to });
    const [head = ""] = post(paths.commit, {}).toString().split("content-length: ");
    this.#commitHead = `${head}content-length: `;
  }

  static async open(reader: Reader, numEvents: number): Promise<HttpConsumer> {
    return new HttpConsumer(await Connection.open(reader), reader, numEvents);
  }

  async step(): Promise<void> {
    let token = await this.read();
    if (token === undefined) {
      await this.seek("oldest");
      token = await this.read();
    }
    if (token === undefined) throw new BrokenAnswer("there is nothing to read");
    await this.commit(token);
  }

  async seek(to: Place): Promise<void> {
    await askFor(200, this.#connection, this.#seek(to));
  }

  /** Returns the token of the next batch; undefined at the end of the log. */
  async read(): Promise<string | undefined> {
    const answer = await this.#connection.ask(this.#read);
    if (answer.status === 204) return undefined;
    if (answer.status !== 200) throw broken(`status ${answer.status}`, answer);
    const body = answer.body();
    if (this.#batches++ % PARSE_EVERY === 0) {
      const { events } = JSON.parse(body) as { events: unknown[] };
      if (events.length > this.#numEvents || events.length === 0) throw broken(`${events.length} events`, answer);
    }
    return body.slice(body.lastIndexOf(TOKEN) + TOKEN.length, -2);
  }

  async commit(token: string): Promise<void> {
    const body = `{"token":"${token}"}`;
    const request = `${this.#commitHead}${body.length}\r\n\r\n${body}`;
    await askFor(200, this.#connection, Buffer.from(request));
  }

  close(): void {
    this.#connection.close();
  }
}

const TOKEN = '"token":"';
