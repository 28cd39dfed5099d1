/**
 * The port by which code makes spans, and passes a caller's trace on (W3C Trace Context). Without an endpoint for spans
 * it only passes on.
 */
export interface Tracing {
  /** Runs the work as the first span of its kind here: a request, an attempt to push, a run of the cron. */
  root<T>(options: RootOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Runs the work as a span below the one that is running; without such a one it only runs. */
  child<T>(name: string, attributes: Attributes, work: (span: Span) => Promise<T>): Promise<T>;
  /**
   * `traceparent` and `tracestate` for a call: of the running span, else the caller's own ones if they are valid. An
   * invalid pair is dropped, since a receiver must not go on with it.
   */
  outgoing(received?: TraceHeaders): TraceContext;
}

export interface TraceHeaders {
  get(name: string): string | null | undefined;
}

export interface RootOptions {
  readonly name: string;
  readonly kind: SpanKind;
  /** The caller's headers, whose trace the span belongs to. */
  readonly parent?: TraceHeaders;
  /** The `traceparent` of what caused the work, in a trace of its own. The span gets a link to it. */
  readonly cause?: string | undefined;
  /** True: whoever called or caused it was drawn, and so is this. */
  readonly isDrawn?: boolean;
  /** Lets the spans be sent beside the answer. */
  waitUntil(work: Promise<unknown>): void;
}

/** `server`: called by somebody. `client`: calls somebody. `consumer`: a message. `internal`: by time. */
export type SpanKind = "server" | "client" | "consumer" | "internal";

/** Our own words and numbers, ids, templates of routes: never a secret, an address with a query or a user's text. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  set(attributes: Attributes): void;
  rename(name: string): void;
  /** Marks it as failed. */
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

/** The two headers as they came, if they are valid. */
export function passedOn(received: TraceHeaders): TraceContext {
  const traceparent = received.get("traceparent") ?? "";
  const isValid = TRACEPARENT.test(traceparent) && traceparent.length <= MAX_CHARS;
  if (!isValid || (traceparent.startsWith("00-") && !VERSION_00.test(traceparent))) return {};
  const tracestate = received.get("tracestate") ?? "";
  if (tracestate === "" || tracestate.length > MAX_CHARS || !TRACESTATE.test(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}
