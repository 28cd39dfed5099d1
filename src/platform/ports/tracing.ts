import type { WaitUntil } from "../runtime/wait-until.ts";

/**
 * The port by which code makes spans, and passes a caller's trace on (W3C Trace Context). Without an endpoint for spans
 * it only passes traces on.
 */
export interface Tracing {
  /** Runs the work in the first span of this side: a request, an attempt to push, a run of the cron. */
  root<T>(options: RootOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Runs the work in a child of the running span; without one, only runs the work. */
  child<T>(name: string, attributes: Attributes, work: (span: Span) => Promise<T>): Promise<T>;
  /**
   * `traceparent` and `tracestate` for a call: those of the running span, else the caller's own if they are valid. An
   * invalid pair is dropped, since a receiver must not continue it.
   */
  outgoing(received?: TraceHeaders): TraceContext;
}

export interface TraceHeaders {
  get(name: string): string | null | undefined;
}

interface RootOptions {
  readonly name: string;
  readonly kind: SpanKind;
  /** The caller's headers. The span joins their trace. */
  readonly parent?: TraceHeaders;
  /** The `traceparent` of the span that caused the work. The span has a trace of its own, with a link to it. */
  readonly cause?: string | undefined;
  /** True if the caller or the cause was sampled, so that this root is too. */
  readonly isSampled?: boolean;
  /** Lets the spans be sent in the background. */
  readonly waitUntil: WaitUntil;
}

/** `server`: answers a call. `client`: makes a call. `consumer`: handles a message. `internal`: started by a timer. */
type SpanKind = "server" | "client" | "consumer" | "internal";

/** Words and numbers of the code, ids, templates of routes. Never a secret, an address with a query, or user input. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  set(attributes: Attributes): void;
  rename(name: string): void;
  /** Marks the span as failed. */
  fail(why: string): void;
}

export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

export const noSpan: Span = { set() {}, rename() {}, fail() {} };

/** Makes no spans. */
export const noTracing: Tracing = {
  root: (_, work) => work(noSpan),
  child: (_name, _attributes, work) => work(noSpan),
  outgoing: (received) => (received === undefined ? {} : passedOn(received)),
};

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;
/** Version 00 has four fields; later ones may have more. */
const VERSION_00 = /^00-.{52}$/;
const MAX_CHARS = 512;
const TRACESTATE = /^[\x20-\x7e\t]*$/;

/** The two headers as received, if they are valid. */
export function passedOn(received: TraceHeaders): TraceContext {
  const traceparent = received.get("traceparent") ?? "";
  const isValid = TRACEPARENT.test(traceparent) && traceparent.length <= MAX_CHARS;
  if (!isValid || (traceparent.startsWith("00-") && !VERSION_00.test(traceparent))) return {};
  const tracestate = received.get("tracestate") ?? "";
  if (tracestate === "" || tracestate.length > MAX_CHARS || !TRACESTATE.test(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}
