import { ENDPOINT } from "./limits.ts";
import type { EndpointResponse } from "./response.ts";

export interface Called {
  readonly answer: EndpointResponse;
  readonly said: string;
}

/**
 * Posts once and never throws. Reads status and `Retry-After` of the response, and the start of the body if `maxBytes`
 * is above 0 or the endpoint refused.
 */
export async function callEndpoint(
  address: URL,
  headers: Record<string, string>,
  body: Uint8Array<ArrayBuffer> | URLSearchParams,
  maxBytes = 0,
): Promise<Called> {
  const controller = new AbortController();
  // Not `AbortSignal.timeout`, which would keep the object awake long after the response.
  const timer = setTimeout(() => controller.abort(), ENDPOINT.attemptMs);
  try {
    const { signal } = controller;
    const response = await fetch(address, { method: "POST", headers, body, redirect: "manual", signal });
    const said =
      maxBytes === 0 && !response.ok ? await refusalOf(response.body) : await beginningOf(response.body, maxBytes);
    const retryAfter = response.headers.get("retry-after");
    return { answer: { kind: "answered", status: response.status, retryAfter }, said };
  } catch {
    return { answer: { kind: controller.signal.aborted ? "timeout" : "unreachable" }, said: "" };
  } finally {
    clearTimeout(timer);
  }
}

/** The beginning of a refusal's body; empty if it cannot be read, since the status alone decides. */
async function refusalOf(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const reading = new AbortController();
  const timer = setTimeout(() => reading.abort(), ENDPOINT.saidMs);
  try {
    return await beginningOf(body, ENDPOINT.saidBytes, reading.signal);
  } catch {
    return "";
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the beginning of a body and cancels the rest, which would hold one of six connections. */
async function beginningOf(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<string> {
  if (body === null || maxBytes === 0) {
    body?.cancel().catch(() => {});
    return "";
  }
  const reader = body.getReader();
  signal?.addEventListener("abort", () => void reader.cancel().catch(() => {}));
  const decoder = new TextDecoder();
  let [text, left] = ["", maxBytes];
  try {
    while (left > 0) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value.subarray(0, left), { stream: true });
      left -= value.byteLength;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  return text;
}
