import { mediaType } from "../../http/input/body.ts";
import { fromUtf8, joinBytes } from "../../platform/text/encoding.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import { faulty, unreachable, type FederationFailure } from "../model/provider-failure.ts";
import { isObject } from "../../platform/text/json.ts";

/** Our choice. A provider that exceeds these counts as one that does not respond. */
export const FETCH_LIMITS: FetchLimits = { timeoutMs: 5_000, maxBytes: 256 * 1024 };

export interface FetchLimits {
  /** From the request to the last byte of the body. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** An unchecked JSON object from another server. */
export type JsonObject = Readonly<Record<string, unknown>>;

export interface JsonAnswer {
  /** 200 to 299, or 400 to 499. */
  readonly status: number;
  readonly body: JsonObject;
  /** The header `Cache-Control`; empty without one. */
  readonly cacheControl: string;
}

export interface Init {
  readonly method?: "POST";
  readonly headers?: Record<string, string>;
  readonly body?: URLSearchParams;
}

export type FetchJson = (
  address: string,
  init?: Init,
  limits?: FetchLimits,
) => Promise<Result<JsonAnswer, FederationFailure>>;

/** With a span around the call. The provider is not told the trace. */
export const tracedFetchJson =
  (tracing: Tracing): FetchJson =>
  (address, init, limits) =>
    tracing.child(
      `${init?.method ?? "GET"} provider`,
      { "server.address": new URL(address).hostname },
      async (span) => {
        const answer = await fetchJson(address, init, limits);
        if (answer.ok) span.set({ "http.response.status_code": answer.value.status });
        else span.fail(answer.error.error);
        return answer;
      },
    );

/** Calls a provider. Does not follow redirects, which could take a code or a secret to an unchecked address. */
export async function fetchJson(
  address: string,
  init: Init = {},
  limits: FetchLimits = FETCH_LIMITS,
): Promise<Result<JsonAnswer, FederationFailure>> {
  const { host } = new URL(address);
  // Ends a slow body too.
  const signal = AbortSignal.timeout(limits.timeoutMs);
  try {
    const headers = { accept: "application/json", ...init.headers };
    const response = await fetch(address, { ...init, headers, redirect: "manual", signal });
    const answer = await read(response, host, limits.maxBytes);
    // An unread body would hold the connection.
    if (!answer.ok && !response.bodyUsed) await response.body?.cancel();
    return answer;
  } catch (thrown) {
    const why = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
    return unreachable(`${host} does not answer: ${why}`);
  }
}

async function read(
  response: Response,
  host: string,
  maxBytes: number,
): Promise<Result<JsonAnswer, FederationFailure>> {
  const { status } = response;
  if (status === 429 || status >= 500) return unreachable(`${host} answers ${status}`);
  if (status < 200 || (status >= 300 && status < 400)) return faulty(`${host} redirects (${status})`);
  const type = mediaType(response.headers.get("content-type"));
  if (type !== "application/json" && !type.endsWith("+json"))
    return faulty(`${host} answers ${status} without JSON as its content type`);
  const bytes = await readAtMost(response, maxBytes);
  if (bytes === undefined) return faulty(`${host} answers more than ${maxBytes} bytes`);
  const body = parseObject(fromUtf8(bytes));
  return body === undefined
    ? faulty(`${host} answers ${status} without a JSON object`)
    : ok({ status, body, cacheControl: response.headers.get("cache-control") ?? "" });
}

/** Undefined if the body is longer. */
async function readAtMost(response: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return joinBytes(chunks);
}

function parseObject(text: string | undefined): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
