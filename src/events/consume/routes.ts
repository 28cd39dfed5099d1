import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { createAnswerMemory, SMALL_BODY_BYTES } from "../../http/input/body-memory.ts";
import type { Problem } from "../../http/errors/errors.ts";
import {
  defineRoute,
  empty,
  json,
  jsonBody,
  jsonText,
  optionalJsonBody,
  type Answer,
  type Call,
  type Route,
} from "../../http/route.ts";
import { matching, type Schema } from "../../http/input/validate.ts";
import type { Names } from "../../platform/model/names.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import { CONSUMER_NAME, CONSUMER_NAME_RULE, type Reader } from "../access/reader.ts";
import { asConsumer, asReader, topicParams, type RequestPorts } from "../access/request.ts";
import type { Failure } from "../model/failure.ts";
import { READ, WAIT } from "../model/limits.ts";
import type { TopicId } from "../model/topic.ts";
import { commit, commitBody, extend, extendBody, release, releaseBody } from "./commit.ts";
import { giveBack, handOver } from "./hand-over.ts";
import { listConsumers, removeConsumer } from "./named-consumers.ts";
import { peek, peekQuery } from "./peek.ts";
import { preferredWaitSec } from "../../http/input/prefer.ts";
import { bytesFor, read, readBody, type ReadAnswer, type ReadBody } from "./read.ts";
import { seek, seekBody } from "./seek.ts";
import type { ConsumePorts } from "./stub.ts";
import { readWaiting, type WaitPorts } from "./wait.ts";

/** Routes for consuming a topic: reading with a lock, and ending or moving it. */
export const consumeRoutes = (ports: RequestPorts & WaitPorts): Route[] => [
  defineRoute({
    method: "POST",
    path: "/topics/{topicOwnerClient}/{eventType}/read",
    summary: "Read the next events and lock the topic for the caller",
    operation: "readEvents",
    params: topicParams,
    body: optionalJsonBody(readBody),
    handle: (call) =>
      asReader(ports, call, (topic, reader) => {
        const reading = readEvents(ports, call, topic, reader);
        // The runtime cancels the work of a request whose client leaves, unless `waitUntil` has it.
        call.request.signal.addEventListener("abort", () => call.waitUntil(reading), { once: true });
        return reading;
      }),
  }),
  change(ports, {
    name: "commit",
    operation: "commitEvents",
    summary: "Commit the events that were read under a token",
    body: commitBody,
    run: commit,
  }),
  change(ports, {
    name: "extend",
    operation: "extendLock",
    summary: "Let the lock of a batch last ttlMs from now",
    body: extendBody,
    run: extend,
  }),
  change(ports, {
    name: "release",
    operation: "releaseLock",
    summary: "Give a batch back, after committing the events up to one of them",
    body: releaseBody,
    run: release,
  }),
  change(ports, {
    name: "seek",
    operation: "seekEvents",
    summary: "Move the calling client's cursor, while the topic is not locked",
    as: asConsumer,
    body: seekBody,
    run: seek,
  }),
  defineRoute({
    method: "GET",
    path: "/topics/{topicOwnerClient}/{eventType}/events",
    summary: "Look at stored events without lock or cursor",
    operation: "lookAtEvents",
    params: topicParams,
    query: peekQuery,
    handle: (call) =>
      asReader(ports, call, async (topic, reader) => {
        const memory = createAnswerMemory(call.requestId, ports.clock);
        try {
          const maxChars = memory.reserve(READ.maxPayloadBytes);
          const view = await peek(ports, topic, reader, { query: call.query, maxChars }, call.nowMs);
          if (!view.ok) return view;
          const { events, next } = view.value;
          return ok(jsonText(200, `{"events":[${events}],"next":${JSON.stringify(next)}}`, NOT_STORED));
        } finally {
          memory.release();
        }
      }),
  }),

  defineRoute({
    method: "GET",
    path: "/topics/{topicOwnerClient}/{eventType}/consumers",
    summary: "List the caller's named consumers",
    operation: "listConsumers",
    params: topicParams,
    handle: (call) =>
      asReader(ports, call, async (topic, reader) => {
        const names = await listConsumers(ports, topic, reader, call.nowMs);
        if (!names.ok) return names;
        const consumers = names.value.map((name) => ({ name }));
        return ok(json(200, consumers));
      }),
  }),
  defineRoute({
    method: "DELETE",
    path: "/topics/{topicOwnerClient}/{eventType}/consumers/{consumer}",
    summary: "Remove one of the caller's named consumers, with its cursor and lock",
    operation: "removeConsumer",
    params: z.extend(topicParams, { consumer: matching(CONSUMER_NAME, CONSUMER_NAME_RULE) }),
    produces: "any",
    handle: (call) =>
      asReader(ports, call, async (topic, reader) => {
        const removed = await removeConsumer(ports, topic, reader, call.params.consumer, call.nowMs);
        return removed.ok ? ok(empty(204)) : removed;
      }),
  }),
];

async function readEvents(
  ports: RequestPorts & WaitPorts,
  call: Call<unknown, unknown, ReadBody | undefined, Principal>,
  topic: TopicId,
  reader: Reader,
): Promise<Result<Answer, Failure | Problem>> {
  const { headers, signal: left } = call.request;
  const key = headers.get("idempotency-key");
  const waitSec = preferredWaitSec(headers, WAIT.maxSec);
  let hasWaited = false;
  const waited = (ms: number): void => {
    hasWaited = true;
    call.waited(ms);
  };
  const body = call.body ?? {};
  const { checkToken } = call;
  const memory = createAnswerMemory(call.requestId, ports.clock);
  let isSending = false;
  try {
    const answer = await (waitSec === undefined
      ? read(ports, topic, reader, { body, key, maxChars: memory.reserve(bytesFor(body)) }, call.nowMs)
      : readWaiting(ports, topic, reader, body, { ms: waitSec * 1_000, key, checkToken, waited, memory, left }));
    if (!answer.ok) return answer;
    const by = { service: "events", tenant: call.principal.tenant } as const;
    if (answer.value.lag !== undefined) ports.meter.peak("consumer_lag", by, answer.value.lag);
    const response = readResponse(answer.value, call.url, ports.names, waitSec);
    if (answer.value.kind === "empty") return ok(response);
    // A repeated batch has no count, so its events are counted once.
    const { token, events, count = 0 } = answer.value;
    let isGivenBack = false;
    const onLeft = async () => void (isGivenBack ||= await giveBack(ports, topic, reader, token));
    const meterEvents = (): void => {
      if (!isGivenBack) ports.meter.add("events_read", by, count);
    };
    if (left.aborted) await onLeft();
    isSending = events.length > SMALL_BODY_BYTES;
    if (!hasWaited && !isSending) {
      meterEvents();
      return ok(response);
    }
    const onEnd = (): void => {
      memory.release();
      meterEvents();
    };
    return ok(await handOver(response, call.waitUntil, { onLeft: hasWaited ? onLeft : undefined, onEnd }));
  } finally {
    if (!isSending) memory.release();
  }
}

interface Change<B> {
  readonly name: string;
  readonly operation: "commitEvents" | "extendLock" | "releaseLock" | "seekEvents";
  readonly summary: string;
  readonly as?: typeof asReader;
  readonly body: Schema<B>;
  run(ports: ConsumePorts, id: TopicId, reader: Reader, body: B, nowMs: number): Promise<Result<void, Failure>>;
}

/** `POST …/{name}`: changes the caller's lock or cursor and responds without a body. */
function change<B>(
  ports: RequestPorts & ConsumePorts,
  { name, operation, summary, as = asReader, body, run }: Change<B>,
): Route {
  return defineRoute({
    method: "POST",
    path: `/topics/{topicOwnerClient}/{eventType}/${name}`,
    summary,
    operation,
    params: topicParams,
    body: jsonBody(body),
    produces: "any",
    handle: (call) =>
      as(ports, call, async (topic, reader) => {
        const done = await run(ports, topic, reader, call.body, call.nowMs);
        return done.ok ? ok(empty(200)) : done;
      }),
  });
}

/** Joins the events, which are JSON texts already, without parsing them. */
function readResponse(answer: ReadAnswer, url: URL, names: Names, waitSec: number | undefined): Response {
  const headers: Record<string, string> = {};
  if (waitSec !== undefined) headers["preference-applied"] = `wait=${waitSec}`;
  if (answer.lost > 0) headers[names.header("events-lost")] = String(answer.lost);
  if (answer.kind === "empty") {
    if (answer.more) headers["link"] = `<${url.origin}${url.pathname}>; rel="more"`;
    return empty(204, headers);
  }
  headers[names.header("delivery-attempt")] = String(answer.attempt);
  const token = answer.token === undefined ? "" : `,"token":${JSON.stringify(answer.token)}`;
  return jsonText(200, `{"events":[${answer.events}]${token}}`, { ...NOT_STORED, ...headers });
}

const NOT_STORED = { "cache-control": "no-store" };
