import { DurableObject } from "cloudflare:workers";

/**
 * The baseline: a Worker and Durable Objects that store and read the same rows with the same durability (the runtime
 * holds an answer back until the write is on disk) and by the same calls between objects.
 *
 * - Publish: parses the body, gives every event a random id and a time, writes the events as one row, answers the ids.
 * - Read: a reader is an object with one row, which holds its position and its lock with a token, written before the
 *   answer leaves. It takes as many events from the log at once as the platform does, and keeps them in memory.
 * - Commit: writes the same row if the token is that of the lock.
 *
 * `/one/…` does the same with a single object for the log and all readers, which saves the calls between objects.
 *
 * It leaves out everything else: tokens and rights, a router, names and limits, validation, tenants, shards,
 * idempotency keys, retention, push, recovery of lost answers (ended locks, delivery counts), size limits of an
 * answer, request ids and headers, failures.
 */
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const [one, operation] = pathname.startsWith("/one/") ? [true, pathname.slice(5)] : [false, pathname.slice(1)];
    const topic = searchParams.get("topic") ?? "";
    const client = searchParams.get("client") ?? "";
    const log = env.LOG.getByName(topic);
    const body: any = await request.json();
    switch (operation) {
      case "publish":
        return Response.json({ ids: await log.publish(Array.isArray(body) ? body : [body]) }, { status: 201 });
      case "read": {
        const { numEvents } = body as { numEvents: number };
        const batch = one
          ? await log.read(client, numEvents)
          : await env.READER.getByName(`${topic}/${client}`).read(topic, numEvents);
        if (batch === undefined) return new Response(null, { status: 204 });
        return new Response(`{"events":[${batch.events}],"token":"${batch.token}"}`, { headers: JSON_TYPE });
      }
      case "commit": {
        const { token } = body as { token: string };
        const done = one
          ? await log.commit(client, token)
          : await env.READER.getByName(`${topic}/${client}`).commit(token);
        return new Response(null, { status: done ? 200 : 409 });
      }
      default:
        await (one ? log.rewind(client) : env.READER.getByName(`${topic}/${client}`).rewind());
        return new Response(null, { status: 200 });
    }
  },
} satisfies ExportedHandler<BareEnv>;

const JSON_TYPE = { "content-type": "application/json" };

interface BareEnv {
  readonly LOG: DurableObjectNamespace<BareLog>;
  readonly READER: DurableObjectNamespace<BareReader>;
}

/** Characters taken from the log at once, as in the platform. */
const AHEAD_CHARS = 1024 * 1024;
const LOCK_MS = 60_000;

interface Given {
  readonly payload: string;
  readonly metadata?: unknown;
  readonly tenant?: string;
}

interface Row extends Record<string, SqlStorageValue> {
  first_seq: number;
  last_seq: number;
  /** The events, one on each line. */
  events: string;
}

export class BareLog extends DurableObject<BareEnv> {
  readonly #sql = this.ctx.storage.sql;
  #lastSeq = this.#open();
  readonly #readers = new Map<string, Position>();

  publish(given: readonly Given[]): string[] {
    const nowMs = Date.now();
    const ids = given.map(() => crypto.randomUUID());
    const lines = given.map((event, index) => JSON.stringify({ id: ids[index], createdAt: nowMs, ...event }));
    const first = this.#lastSeq + 1;
    this.#lastSeq += given.length;
    this.#sql.exec(
      `INSERT INTO segment (first_seq, last_seq, created_at, events) VALUES (?, ?, ?, ?)`,
      first,
      this.#lastSeq,
      nowMs,
      lines.join("\n"),
    );
    return ids;
  }

  after(seq: number): Row[] {
    const rows: Row[] = [];
    let chars = 0;
    for (const row of this.#sql.exec<Row>(SEGMENTS_AFTER, seq)) {
      rows.push(row);
      chars += row.events.length;
      if (chars >= AHEAD_CHARS) break;
    }
    return rows;
  }

  async read(client: string, numEvents: number): Promise<Batch | undefined> {
    return this.#reader(client).read(numEvents, async (seq) => this.after(seq));
  }

  commit(client: string, token: string): boolean {
    return this.#reader(client).commit(token);
  }

  rewind(client: string): void {
    this.#reader(client).rewind();
  }

  #reader(client: string): Position {
    const known = this.#readers.get(client) ?? new Position(this.#sql, client);
    this.#readers.set(client, known);
    return known;
  }

  #open(): number {
    this.#sql.exec(
      `CREATE TABLE IF NOT EXISTS segment
         (first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, created_at INTEGER NOT NULL, events TEXT NOT NULL)`,
    );
    return this.#sql.exec<{ last: number | null }>(`SELECT max(last_seq) AS last FROM segment`).one().last ?? 0;
  }
}

const SEGMENTS_AFTER = `SELECT first_seq, last_seq, events FROM segment
  WHERE first_seq >= coalesce((SELECT max(first_seq) FROM segment WHERE first_seq <= ?1 + 1), 0) ORDER BY first_seq`;

export class BareReader extends DurableObject<BareEnv> {
  readonly #position = new Position(this.ctx.storage.sql, "");

  read(topic: string, numEvents: number): Promise<Batch | undefined> {
    const log = this.env.LOG.getByName(topic);
    return this.#position.read(numEvents, async (seq) => log.after(seq));
  }

  commit(token: string): boolean {
    return this.#position.commit(token);
  }

  rewind(): void {
    this.#position.rewind();
  }
}

interface Batch {
  readonly events: string;
  readonly token: string;
}

interface Lock {
  readonly token: string;
  readonly expiresAtMs: number;
  readonly lastSeq: number;
}

/** A reader's position: one row, and the events after it in memory. */
class Position {
  readonly #sql: SqlStorage;
  readonly #client: string;
  #cursor = 0;
  #lock: Lock | undefined;
  #ahead: string[] = [];

  constructor(sql: SqlStorage, client: string) {
    this.#sql = sql;
    this.#client = client;
    sql.exec(`CREATE TABLE IF NOT EXISTS reader (client TEXT PRIMARY KEY, record TEXT NOT NULL)`);
    const row = sql.exec<{ record: string }>(`SELECT record FROM reader WHERE client = ?`, client).toArray()[0];
    if (row !== undefined) ({ cursor: this.#cursor, lock: this.#lock } = JSON.parse(row.record));
  }

  async read(numEvents: number, after: (seq: number) => Promise<Row[]>): Promise<Batch | undefined> {
    if (this.#lock !== undefined && this.#lock.expiresAtMs > Date.now()) throw new Error("locked");
    if (this.#ahead.length < numEvents) {
      const end = this.#cursor + this.#ahead.length;
      for (const row of await after(end)) {
        const lines = row.events.split("\n");
        this.#ahead.push(...(row.first_seq > end ? lines : lines.slice(end + 1 - row.first_seq)));
      }
    }
    const events = this.#ahead.splice(0, numEvents);
    if (events.length === 0) return undefined;
    const token = crypto.randomUUID();
    this.#lock = { token, expiresAtMs: Date.now() + LOCK_MS, lastSeq: this.#cursor + events.length };
    this.#save();
    return { events: events.join(","), token };
  }

  commit(token: string): boolean {
    if (this.#lock?.token !== token) return false;
    this.#cursor = this.#lock.lastSeq;
    this.#lock = undefined;
    this.#save();
    return true;
  }

  rewind(): void {
    this.#cursor = 0;
    this.#lock = undefined;
    this.#ahead = [];
    this.#save();
  }

  #save(): void {
    const record = JSON.stringify({ cursor: this.#cursor, lock: this.#lock });
    this.#sql.exec(`INSERT OR REPLACE INTO reader (client, record) VALUES (?, ?)`, this.#client, record);
  }
}
