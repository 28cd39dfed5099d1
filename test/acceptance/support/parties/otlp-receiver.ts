import { startReceiver, type Receiver } from "../../../../examples/tour/receiver.ts";

/** A span as it came over the wire. */
export interface WireSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Takes spans like an OpenTelemetry collector (OTLP/HTTP, JSON). */
export interface OtlpReceiver {
  readonly origin: string;
  spans(): WireSpan[];
  /** All that came, as text. */
  text(): string;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver: Receiver = await startReceiver(
    (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end("{}"),
  );
  const bodies = (): string[] => receiver.received.filter(({ path }) => path === "/v1/traces").map(({ body }) => body);
  return {
    origin: receiver.origin,
    spans: () =>
      bodies().flatMap((body) =>
        JSON.parse(body).resourceSpans.flatMap(({ scopeSpans }: any) =>
          scopeSpans.flatMap(({ spans }: any) =>
            spans.map((span: any) => ({ links: [], ...span, attributes: plain(span.attributes) }) as WireSpan),
          ),
        ),
      ),
    text: () => bodies().join("\n"),
    close: receiver.close,
  };
}

const plain = (attributes: { key: string; value: object }[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]));
