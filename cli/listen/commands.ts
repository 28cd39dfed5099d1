import { readEnvFile } from "../client/env-file.ts";
import { ForbiddenError, type ConsumedEvent, type Topic } from "../../packages/sdk/src/index.ts";
import type { Command, Invocation } from "../command-line/command.ts";
import { sayDone, sayOutage } from "../command-line/print.ts";
import { nameOf, TOPIC_ARG, topicOf } from "../data/topic-name.ts";
import { readFrom, sayPublished } from "../data/topic-commands.ts";
import { AS_OPTION, findCaller } from "../session/caller.ts";
import { stopOnSignal } from "../terminal/stop.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean, formatTime, readNumber, toJson } from "../terminal/values.ts";
import { checkSecret, forward, newSecret, type Endpoint, type Outcome } from "./forward.ts";

export const listenCommands = (): Command[] => [listen, trigger];

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const CONSUMER = "listen";

/**
 * `listen`: sends the events of a topic to a server on this machine, as a push would.
 *
 *   waiting read ──event──▶ POST ──2xx──▶ commit, then the next event
 *                             │
 *                             └─ else ──▶ a pause that doubles, then the same event again (or the next, by option)
 *
 * A stop, a crash or a lost lock leaves the event uncommitted, so it is sent again, as a push may be.
 */
const listen: Command = {
  words: ["listen"],
  summary: "Receive events here: post each to a server of yours, signed as the platform's push.",
  args: [TOPIC_ARG],
  options: [
    { flag: "forward-to", value: "<url>", help: "the address to post to, http://localhost:3000/hook" },
    { flag: "from", value: "<oldest|newest|time>", help: "where to begin; default: where it stopped, at first newest" },
    { flag: "consumer", value: "<name>", help: `the cursor's name; default: ${CONSUMER}` },
    { flag: "skip-failed", help: "go on after an answer that is not 2xx, instead of posting it again" },
    {
      flag: "secret-file",
      value: "<file|->",
      help: "the signing secret; default: PLINTH_WEBHOOK_SECRET, else a new one",
    },
    AS_OPTION,
  ],
  notes: [
    "The headers are those of a push: webhook-id, webhook-timestamp, webhook-signature, and the number of the attempt. " +
      "verifyWebhook of the SDK accepts them with the secret that is shown. PLINTH_WEBHOOK_BASIC=user:password adds " +
      "Basic authentication.",
    "An event counts as done after 2xx. Until then it is posted again, after 1 s up to 30 s, and later events wait. " +
      "Your application's own cursor does not move.",
  ],
  examples: [
    "listen orderPlaced --forward-to http://localhost:3000/hook",
    "listen demo.shop/orderPlaced --forward-to http://localhost:3000/hook --from oldest --skip-failed",
  ],
  async run(invocation) {
    const { args, options, io, target } = invocation;
    const url = options.value("forward-to") ?? "";
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
      throw new UsageError("Say where the events go: --forward-to http://localhost:3000/hook");
    const consumer = options.value("consumer") ?? CONSUMER;
    const topic = topicOf(findCaller(invocation), args["topic"] ?? "", { consumer });
    await placeCursor(topic, consumer, invocation);
    const { secret, isNew } = await findSigningSecret(invocation);
    const endpoint: Endpoint = { url, secret, basic: io.env["PLINTH_WEBHOOK_BASIC"], platform: target.platform };
    sayDone(io, `Events of ${nameOf(topic)} go to ${clean(url)}. Ctrl-C ends it.`);
    if (isNew) io.err(`  signing secret: ${secret}\n`);
    const stop = stopOnSignal();
    try {
      for await (const event of topic.consume({ signal: stop.signal, onUnavailable: sayOutage(io) })) {
        const isDone = await deliver(endpoint, event, stop.signal, invocation);
        if (!isDone) break;
      }
    } finally {
      stop.end();
    }
  },
};

/** Sends one event until it is accepted or skipped. Returns false if the person stopped before that. */
async function deliver(
  endpoint: Endpoint,
  event: ConsumedEvent,
  signal: AbortSignal,
  { io, options }: Invocation,
): Promise<boolean> {
  for (let tries = 0; !signal.aborted; tries++) {
    const attempt = event.attempt + tries;
    const outcome = await forward(endpoint, event, attempt, io.nowMs, signal);
    await io.out(
      options.has("json")
        ? `${toJson({ id: event.id, eventType: event.eventType, attempt, ...outcome })}\n`
        : line(event, attempt, outcome, io),
    );
    if (outcome.ok || (options.has("skip-failed") && !signal.aborted)) return true;
    await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries), signal);
  }
  return false;
}

function line(
  event: ConsumedEvent,
  attempt: number,
  { status, ok, ms, reason }: Outcome,
  io: Invocation["io"],
): string {
  const paint = ok ? io.paint.green : io.paint.red;
  const what = `${formatTime(event.createdAt)} ${clean(event.eventType)} ${clean(event.id)}`;
  const again = attempt > 1 ? ` attempt ${attempt}` : "";
  return `${paint(String(status ?? "---"))} ${io.paint.dim(`${ms} ms`)} ${what}${again}${reason === undefined ? "" : ` ${clean(reason)}`}\n`;
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    }
  });

/** Places the cursor: a new one after the newest event; an existing one stays, unless `--from` moves it. */
async function placeCursor(topic: Topic, consumer: string, { options, io }: Invocation): Promise<void> {
  const from = options.value("from");
  const isKnown = (await topic.consumers()).includes(consumer);
  if (from === undefined && isKnown) return;
  await topic.seek(readFrom(from ?? "newest", io.nowMs())).catch((error: unknown) => {
    if (!(error instanceof ForbiddenError)) throw error;
    io.err("A person moves no cursor, so this begins at the oldest event. An application begins where you say.\n");
  });
}

async function findSigningSecret({ options, input, io }: Invocation): Promise<{ secret: string; isNew: boolean }> {
  const file = options.value("secret-file");
  const known =
    file === undefined
      ? io.env["PLINTH_WEBHOOK_SECRET"] || readEnvFile(io.cwd)["PLINTH_WEBHOOK_SECRET"]
      : await input.readSecret(file, "--secret-file");
  return known ? { secret: checkSecret(known), isNew: false } : { secret: newSecret(), isNew: true };
}

const trigger: Command = {
  words: ["trigger"],
  summary: "Publish a sample event, to see what your consumers make of it.",
  args: [TOPIC_ARG],
  options: [
    { flag: "file", value: "<file|->", help: "the payload; default: a sample with a number and the time" },
    { flag: "count", value: "<count>", help: "how many, 1 to 1000; default: 1" },
    AS_OPTION,
  ],
  notes: ["A topic of your application that does not exist is made. The metadata say sample=true."],
  examples: ["trigger orderPlaced", "trigger orderPlaced --file order.json --count 10"],
  changes: true,
  async run(invocation) {
    const { args, options, io, input } = invocation;
    const count = readNumber(options.value("count") ?? "1", "--count", { min: 1, max: 1_000 });
    const file = options.value("file");
    const payload = file === undefined ? undefined : await input.read(file, "--file");
    const caller = findCaller(invocation);
    const topic = topicOf(caller, args["topic"] ?? "");
    if (caller.who.kind === "app" && topic.owner === caller.who.clientId && (await topic.create()))
      sayDone(io, `The topic ${nameOf(topic)} was made.`);
    const at = new Date(io.nowMs()).toISOString();
    const ids = await topic.publish(
      Array.from({ length: count }, (_, index) => ({
        payload: payload ?? { sample: true, number: index + 1, at },
        metadata: { sample: "true" },
      })),
    );
    await sayPublished(invocation, topic, ids);
  },
};
