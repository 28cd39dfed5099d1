import { randomBytes, randomUUID } from "node:crypto";
import type { NewEvent, StoredEvent, Topic } from "../../packages/sdk/src/index.ts";
import { ConflictError, ForbiddenError, PlinthError } from "../../packages/sdk/src/index.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import type { Command, Invocation } from "../command-line/command.ts";
import { LIST_OPTIONS, printRows, readBounds } from "../command-line/listing.ts";
import { confirm, printRecord, sayDone, sayOutage, YES_OPTION } from "../command-line/print.ts";
import { AS_OPTION, findCaller } from "../session/caller.ts";
import { stopOnSignal } from "../terminal/stop.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean, formatTime, readNumber, readTime, toJson } from "../terminal/values.ts";
import { writeNewFile } from "./new-file.ts";
import { createProgress } from "./progress.ts";
import { nameOf, TOPIC_ARG, topicOf } from "./topic-name.ts";

export const topicCommands = (): Command[] => [
  create,
  list,
  show,
  publish,
  tail,
  seek,
  consumers,
  removeConsumer,
  exportEvents,
  remove,
];

const CONSUMER_OPTION = {
  flag: "consumer",
  value: "<name>",
  help: "the cursor of this name; default: the one of the application itself",
} as const;

const topicIn = (invocation: Invocation): Topic => {
  const consumer = invocation.options.value("consumer");
  return topicOf(findCaller(invocation), invocation.args["topic"] ?? "", consumer === undefined ? {} : { consumer });
};

const create: Command = {
  words: ["topic", "create"],
  summary: "Make a topic of your application; one that is there stays as it is.",
  args: [TOPIC_ARG],
  options: [
    { flag: "description", value: "<text>", help: "what its events mean" },
    { flag: "shards", value: "<count>", help: "how many parts take events at once; 1 keeps all in order" },
    AS_OPTION,
  ],
  examples: ["topic create orderPlaced", 'topic create orderPlaced --description "an order was paid"'],
  changes: true,
  async run(invocation) {
    const { io, options } = invocation;
    const topic = topicIn(invocation);
    const shards = options.value("shards");
    const description = options.value("description");
    const isNew = await topic.create({
      ...(description !== undefined && { description }),
      ...(shards !== undefined && { shards: readNumber(shards, "--shards", { min: 1, max: 1_000 }) }),
    });
    sayDone(io, isNew ? `The topic ${nameOf(topic)} was made.` : `The topic ${nameOf(topic)} is there already.`);
    if (options.has("json")) await printRecord(invocation, { ...(await topic.status()) });
  },
};

const list: Command = {
  words: ["topic", "list"],
  summary: "List the topics that you own or may read.",
  args: [],
  options: [...LIST_OPTIONS, AS_OPTION],
  examples: ["topic list", "topic list --json"],
  async run(invocation) {
    const { io, options } = invocation;
    await printRows(findCaller(invocation).plinth.topics(), {
      io,
      asJson: options.has("json"),
      columns: [{ field: "topicOwnerClient", title: "OWNER" }, "eventType", "description"],
      limit: readBounds(options).limit,
      nouns: "topics",
    });
  },
};

const show: Command = {
  words: ["topic", "show"],
  summary: "Show what a topic stores, and how far behind you are.",
  args: [TOPIC_ARG],
  options: [CONSUMER_OPTION, AS_OPTION],
  examples: ["topic show orderPlaced", "topic show demo.shop/orderPlaced --json"],
  async run(invocation) {
    await printRecord(invocation, { ...(await topicIn(invocation).status()) });
  },
};

const publish: Command = {
  words: ["topic", "publish"],
  summary: "Publish an event, or one for each line of the input.",
  args: [TOPIC_ARG, { name: "payload", help: "its text, often JSON; without it the input is read", optional: true }],
  options: [
    { flag: "file", value: "<file|->", help: "read the payload from there; - is the input" },
    { flag: "lines", help: "each line is an event of its own, and empty ones are left out" },
    { flag: "metadata", value: "<key=value>", repeated: true, help: "a text that goes with each event" },
    { flag: "event-tenant", value: "<tenant>", help: "the tenant that the event is about; default: your own" },
    { flag: "idempotency-key", value: "<key>", help: "store these events once, however often you run this in 24 h" },
    AS_OPTION,
  ],
  notes: ["The ids of the events are the output, a line each."],
  examples: [
    `topic publish orderPlaced '{"order":1}'`,
    "topic publish orderPlaced --file order.json --metadata schema=order_v1",
    "topic publish orderPlaced --lines --file orders.ndjson",
  ],
  changes: true,
  async run(invocation) {
    const { args, options, io, input } = invocation;
    const { payload } = args;
    const file = options.value("file");
    if (payload !== undefined && file !== undefined) throw new UsageError("Give a payload or --file, not both.");
    if (payload === undefined && file === undefined && io.ask !== undefined)
      throw new UsageError("The payload is missing: as an argument, by --file, or through a pipe.");
    const topic = topicIn(invocation);
    const text = payload ?? (await input.read(file ?? "-", "--file"));
    const payloads = options.has("lines") ? text.split("\n").filter((one) => one.trim() !== "") : [text];
    if (payloads.length === 0) throw new UsageError("There is no line to publish.");
    const more = readMore(invocation);
    const given = options.value("idempotency-key");
    const idempotencyKey = given ?? randomUUID();
    const events: NewEvent[] = payloads.map((one) => ({ payload: one, ...more }));
    const ids = await topic.publish(events, { idempotencyKey }).catch((error: unknown) => {
      if (given === undefined && mayBeStored(error, payloads))
        io.err(
          `Events may be stored. Run it again with --idempotency-key ${idempotencyKey}: no event is stored twice in 24 h.\n`,
        );
      throw error;
    });
    await sayPublished(invocation, topic, ids);
  },
};

/** More than this may be sent in several requests, of which the first ones may have worked. */
const ONE_REQUEST = { events: 1_000, chars: 1_000_000 };

function mayBeStored(error: unknown, payloads: readonly string[]): boolean {
  const chars = payloads.reduce((sum, { length }) => sum + length, 0);
  const isOne = payloads.length <= ONE_REQUEST.events && chars <= ONE_REQUEST.chars;
  return error instanceof PlinthError && (!isOne || error.status === 0 || error.status >= 500);
}

/** Tells the person what was published, and a script the ids. */
export async function sayPublished({ io, options }: Invocation, topic: Topic, ids: readonly string[]): Promise<void> {
  sayDone(io, `${ids.length === 1 ? "1 event was" : `${ids.length} events were`} published to ${nameOf(topic)}.`);
  await io.out(options.has("json") ? `${toJson({ ids }, 2)}\n` : `${ids.join("\n")}\n`);
}

function readMore({ options }: Pick<Invocation, "options">): Pick<NewEvent, "metadata" | "tenant"> {
  const pairs = options.values("metadata").map((pair) => {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined) throw new UsageError(`--metadata takes key=value, not ${pair}.`);
    return [key, value ?? ""] as const;
  });
  const tenant = options.value("event-tenant");
  return {
    ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
    ...(tenant !== undefined && { tenant }),
  };
}

const tail: Command = {
  words: ["topic", "tail"],
  summary: "Show events as they come, until Ctrl-C.",
  args: [TOPIC_ARG],
  options: [
    { flag: "from", value: "<oldest|newest|time>", help: "where to begin: oldest, newest (usual), 2h, or a time" },
    { flag: "count", value: "<count>", help: "end after so many events" },
    AS_OPTION,
  ],
  notes: [
    "The events stay for your application: this reads with a cursor of its own, tail-<random>, and removes it in the " +
      "end. A person begins at the oldest event at the platform, so the first one may take a while on a long topic.",
  ],
  examples: ["topic tail orderPlaced", "topic tail demo.shop/orderPlaced --from 2h --json"],
  async run(invocation) {
    const { options, io } = invocation;
    const from = readFrom(options.value("from") ?? "newest", io.nowMs());
    const count = options.value("count");
    const most = count === undefined ? Infinity : readNumber(count, "--count", { min: 1, max: 1e9 });
    const caller = findCaller(invocation);
    const consumer = `tail-${randomBytes(4).toString("hex")}`;
    const topic = topicOf(caller, invocation.args["topic"] ?? "", { consumer });
    // Refuses a topic that does not exist before the reading begins.
    await topic.status();
    // A person may not move a cursor. Then the command reads from the oldest event and skips those before `--from`.
    const sinceMs = typeof from === "number" ? from : from === "newest" ? io.nowMs() : 0;
    const isMoved = await topic.seek(from).then(() => true, notAllowed);
    const stop = stopOnSignal();
    let shown = 0;
    try {
      for await (const event of topic.consume({ signal: stop.signal, lockMs: 30_000, onUnavailable: sayOutage(io) })) {
        if (!isMoved && event.createdAt < sinceMs) continue;
        await io.out(eventLine(event, invocation));
        if (++shown >= most) {
          event.ack();
          break;
        }
      }
    } finally {
      stop.end();
      await topic.removeConsumer(consumer).catch(() => undefined);
    }
  },
};

const notAllowed = (error: unknown): false => {
  if (error instanceof ForbiddenError) return false;
  throw error;
};

function eventLine(event: StoredEvent, { options, io }: Pick<Invocation, "options" | "io">): string {
  const { id, createdAt, tenant, sourceClient, eventType, payload, metadata } = event;
  if (options.has("json"))
    return `${toJson({ id, createdAt, tenant, sourceClient, eventType, payload, ...(metadata && { metadata }) })}\n`;
  const pairs = Object.entries(metadata ?? {}).map(([key, value]) => `${key}=${value}`);
  const head = [formatTime(createdAt), clean(tenant), ...pairs.map(clean)].join(" ");
  return `${io.paint.dim(head)} ${clean(payload)}\n`;
}

/** `oldest`, `newest`, `2h` ago or a time, in ms. */
export function readFrom(text: string, nowMs: number): "oldest" | "newest" | number {
  return text === "oldest" || text === "newest" ? text : readTime(text, "--from", nowMs);
}

const seek: Command = {
  words: ["topic", "seek"],
  summary: "Move a cursor of your application: to the oldest event, behind the newest, or to a time.",
  args: [TOPIC_ARG, { name: "to", help: "oldest, newest, 2h (ago), or a time as 2026-11-22T04:44:20Z" }],
  options: [CONSUMER_OPTION, YES_OPTION, AS_OPTION],
  notes: ["Going back makes your workers handle events again. Going on leaves events out."],
  examples: ["topic seek orderPlaced 2h", "topic seek orderPlaced newest --consumer audit --yes"],
  changes: true,
  async run(invocation) {
    const { args, io, options } = invocation;
    const to = readFrom(args["to"] ?? "", io.nowMs());
    const topic = topicIn(invocation);
    const shown = typeof to === "number" ? formatTime(to) : to === "newest" ? "behind the newest event" : "the oldest";
    const name = options.value("consumer");
    // A name that was mistyped makes a cursor, and moves none.
    const isNew = name !== undefined && !(await topic.consumers()).includes(name);
    const cursor = `cursor ${name === undefined ? "" : `${clean(name)} `}of ${nameOf(topic)}`;
    await confirm(invocation, isNew ? `Make the ${cursor}, at ${shown}?` : `Move the ${cursor} to ${shown}?`);
    await topic.seek(to).catch((error: unknown) => {
      if (error instanceof ConflictError && error.type === "topic_locked")
        throw new UserError("A worker of yours has a batch of this topic. Stop it, and try again.");
      throw error;
    });
    sayDone(io, `The ${isNew ? "new " : ""}${cursor} is at ${shown}.`);
  },
};

const consumers: Command = {
  words: ["topic", "consumers"],
  summary: "List the named cursors that your application has on a topic.",
  args: [TOPIC_ARG],
  options: [AS_OPTION],
  notes: ["There can be 100. A `topic tail` that is killed leaves its own, tail-<random>."],
  examples: ["topic consumers orderPlaced"],
  async run(invocation) {
    const { io, options } = invocation;
    const names = await topicIn(invocation).consumers();
    const rows = names.map((name) => ({ name }));
    await printRows(rows, {
      io,
      asJson: options.has("json"),
      columns: ["name"],
      limit: Infinity,
      nouns: "named cursors",
    });
  },
};

const removeConsumer: Command = {
  words: ["topic", "remove-consumer"],
  summary: "Remove a named cursor of your application.",
  args: [TOPIC_ARG, { name: "consumer", help: "its name, as `topic consumers` lists it" }],
  options: [YES_OPTION, AS_OPTION],
  notes: ["A worker that still reads by this name begins at the oldest event."],
  examples: ["topic remove-consumer orderPlaced tail-4f0c21aa --yes"],
  changes: true,
  async run(invocation) {
    const topic = topicIn(invocation);
    const name = invocation.args["consumer"] ?? "";
    if (!(await topic.consumers()).includes(name))
      throw new UserError(`${nameOf(topic)} has no cursor ${clean(name)} of yours: topic consumers lists them.`);
    await confirm(invocation, `Remove the cursor ${clean(name)} of ${nameOf(topic)}?`);
    await topic.removeConsumer(name);
    sayDone(invocation.io, `The cursor ${clean(name)} of ${nameOf(topic)} was removed.`);
  },
};

const exportEvents: Command = {
  words: ["topic", "export"],
  summary: "Write every stored event, a line of JSON each. No cursor moves.",
  args: [TOPIC_ARG],
  options: [
    { flag: "out", value: "<file>", help: "write to this new file; default: the output" },
    { flag: "after", value: "<event>", help: "begin behind the event of this id" },
    AS_OPTION,
  ],
  notes: ["If it is stopped, go on behind the last event that was written: --after and its id."],
  examples: ["topic export orderPlaced --out orders.ndjson", "topic export demo.shop/orderPlaced | head -1"],
  async run(invocation) {
    const { options, io } = invocation;
    const topic = topicIn(invocation);
    const { storedEvents } = await topic.status();
    const [after, out] = [options.value("after"), options.value("out")];
    const total = after === undefined ? (storedEvents ?? undefined) : undefined;
    const progress = createProgress({ ...io, isTerminal: io.isTerminal && out !== undefined }, "export", "events");
    let count = 0;
    async function* lines(): AsyncGenerator<string> {
      for await (const event of topic.peek(after === undefined ? {} : { after })) {
        yield `${toJson(event)}\n`;
        progress.show(++count, total);
      }
    }
    try {
      if (out === undefined) for await (const line of lines()) await io.out(line);
      else await writeNewFile(io, out, lines(), 0o600);
    } finally {
      progress.end();
    }
    sayDone(io, `${count} ${count === 1 ? "event" : "events"} of ${nameOf(topic)}.`);
  },
};

const remove: Command = {
  words: ["topic", "delete"],
  summary: "Delete a topic with its events, cursors and subscriptions.",
  args: [TOPIC_ARG],
  options: [YES_OPTION, AS_OPTION],
  examples: ["topic delete orderPlaced --yes"],
  changes: true,
  async run(invocation) {
    const topic = topicIn(invocation);
    await confirm(invocation, `Delete ${nameOf(topic)} with its events, cursors and subscriptions?`);
    await topic.delete();
    sayDone(invocation.io, `The topic ${nameOf(topic)} is deleted.`);
  },
};
