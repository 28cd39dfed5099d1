/**
 * Spans of requests, jobs, crons, D1, objects and calls to others, sent to an OpenTelemetry endpoint (OTLP/HTTP, JSON).
 *
 *   root ── sampled by TRACE_SAMPLE? ── no ──→ only the work; a caller's trace is passed on as received
 *                                  └─ yes ──→ span ── children, at most `spans` ──→ ended
 *     ──→ a message, sent in the background, at most `exports` at a time; other spans wait ──→ gone, sent or not
 *
 * - The platform decides about sampling: a caller can neither force nor prevent it. The spans join the caller's trace.
 * - The work that a sampled request calls or causes is sampled too: the object that it calls, the push of an event, a
 *   queued job.
 * - The running span is in async context, so stores and objects do not know of spans.
 * - A message that cannot be sent is lost. Callers do not notice it; the log reports it at most once a minute.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context, type Span as OtelSpan } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, TracerProvider, type ReadableSpan } from "@opentelemetry/sdk-trace";
import type { Clock } from "../platform/runtime/clock.ts";
import { toHex } from "../platform/text/encoding.ts";
import { describeError, type Log } from "../platform/runtime/log.ts";
import { chance, type Random } from "../platform/runtime/random.ts";
import {
  noSpan,
  noTracing,
  passedOn,
  type Attributes,
  type Span,
  type TraceContext,
  type Tracing,
} from "../platform/ports/tracing.ts";

export interface TracingDeps {
  /** Undefined: no spans. */
  readonly endpoint: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined;
  /** The share of requests, 0 to 1. */
  readonly sample: number;
  readonly serviceName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Maximum spans of a root, messages under way in an isolate, waiting spans, time for a message; pause between two
 * warnings.
 */
export const LIMITS = { spans: 200, exports: 4, waiting: 1_000, exportMs: 5_000, warningMs: 60_000 } as const;

/** The spans of one root. */
interface Running {
  readonly context: Context;
  readonly root: Root;
}
interface Root {
  begun: number;
  readonly ended: ReadableSpan[];
}

export function createTracing(deps: TracingDeps): Tracing {
  const { endpoint, sample, clock, random } = deps;
  if (endpoint === undefined || sample <= 0) return noTracing;
  const running = new AsyncLocalStorage<Running>();
  const propagator = new W3CTraceContextPropagator();
  const send = createSender(deps, endpoint);
  const contextOf = (known: TraceContext): Context => {
    const getter = { keys: () => Object.keys(known), get: (_: unknown, key: string) => known[key as "traceparent"] };
    return propagator.extract(ROOT_CONTEXT, known, getter);
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": deps.serviceName }),
    sampler: new AlwaysOnSampler(),
    idGenerator: {
      generateTraceId: () => toHex(random.bytes(16)),
      generateSpanId: () => toHex(random.bytes(8)),
    },
    spanProcessors: [
      {
        onStart() {},
        onEnd: (span) => void running.getStore()?.root.ended.push(span),
        forceFlush: async () => {},
        shutdown: async () => {},
      },
    ],
  });
  const tracer = provider.getTracer("plinth");
  /** The time in seconds and nanoseconds: the library would read a small number of ms as a time since its start. */
  const now = (): [number, number] => {
    const ms = clock.nowMs();
    return [Math.floor(ms / 1000), (ms % 1000) * 1e6];
  };

  async function inSpan<T>(span: OtelSpan, { context, root }: Running, work: (span: Span) => Promise<T>): Promise<T> {
    const own: Running = { context: trace.setSpan(context, span), root };
    return running.run(own, async () => {
      try {
        return await work(spanOf(span));
      } catch (thrown) {
        // The name only: the message of an error may have a caller's text.
        span.setStatus({ code: SpanStatusCode.ERROR, message: thrown instanceof Error ? thrown.name : "thrown" });
        throw thrown;
      } finally {
        span.end(now());
      }
    });
  }

  return {
    async root({ name, kind, parent, cause, isSampled = false, waitUntil }, work) {
      if (!isSampled && chance(random) >= sample) return work(noSpan);
      const context = contextOf(parent === undefined ? {} : passedOn(parent));
      const linked = trace.getSpanContext(contextOf(cause === undefined ? {} : { traceparent: cause }));
      const links = linked === undefined ? [] : [{ context: linked }];
      const root: Root = { begun: 1, ended: [] };
      const span = tracer.startSpan(name, { kind: KINDS[kind], startTime: now(), links }, context);
      try {
        return await inSpan(span, { context, root }, work);
      } finally {
        waitUntil(send(root.ended));
      }
    },
    async child(name, attributes, work) {
      const above = running.getStore();
      if (above === undefined || above.root.begun >= LIMITS.spans) return work(noSpan);
      above.root.begun += 1;
      const options = { kind: SpanKind.CLIENT, startTime: now(), attributes: given(attributes) };
      return inSpan(tracer.startSpan(name, options, above.context), above, work);
    },
    outgoing(received) {
      const above = running.getStore();
      if (above === undefined) return noTracing.outgoing(received);
      const headers: Record<string, string> = {};
      propagator.inject(above.context, headers, { set: (_, key, value) => void (headers[key] = value) });
      return headers;
    },
  };
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

const spanOf = (span: OtelSpan): Span => ({
  set: (attributes) => void span.setAttributes(given(attributes)),
  rename: (name) => void span.updateName(name),
  fail: (message) => void span.setStatus({ code: SpanStatusCode.ERROR, message }),
});

const given = (attributes: Attributes): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string | number | boolean] => entry[1] !== undefined),
  );

/**
 * Sends spans; never throws. A request that is sending also sends spans that wait, so no other request waits for them.
 */
function createSender({ clock, log }: TracingDeps, { url, headers }: NonNullable<TracingDeps["endpoint"]>) {
  /** Messages under way. The runtime may end a request with its message, so each counts only for a limited time. */
  const underWay = new Set<{ sinceMs: number }>();
  let waiting: ReadableSpan[] = [];
  let warnedMs = Number.NEGATIVE_INFINITY;
  const warn = (why: string): void => {
    if (clock.nowMs() - warnedMs < LIMITS.warningMs) return;
    warnedMs = clock.nowMs();
    log.warn("spans not sent", { why });
  };
  const sendOne = async (spans: ReadableSpan[]): Promise<void> => {
    const body = JsonTraceSerializer.serializeRequest(spans);
    if (body === undefined) return;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: new Uint8Array(body),
        redirect: "manual",
        signal: AbortSignal.timeout(LIMITS.exportMs),
      });
      await response.body?.cancel();
      if (!response.ok) warn(`the endpoint answered ${response.status}`);
    } catch (thrown) {
      warn(describeError(thrown));
    }
  };
  return async (spans: readonly ReadableSpan[]): Promise<void> => {
    if (waiting.length + spans.length > LIMITS.waiting) return warn(`${waiting.length} spans wait`);
    waiting.push(...spans);
    const nowMs = clock.nowMs();
    for (const one of underWay) if (nowMs - one.sinceMs > LIMITS.exportMs) underWay.delete(one);
    if (underWay.size >= LIMITS.exports) return;
    const own = { sinceMs: nowMs };
    while (waiting.length > 0) {
      own.sinceMs = clock.nowMs();
      underWay.add(own);
      const taken = waiting;
      waiting = [];
      await sendOne(taken);
    }
    underWay.delete(own);
  };
}
