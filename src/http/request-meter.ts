import type { MeteredService } from "../platform/ports/metrics.ts";
import type { Operation } from "./callers/rights.ts";
import type { ProblemType } from "./errors/errors.ts";
import type { WaitUntil } from "../platform/runtime/wait-until.ts";

/** A request after its response. */
interface AnsweredRequest {
  readonly service: MeteredService;
  /** Undefined if no route matched. */
  readonly operation: Operation | undefined;
  readonly status: number;
  /** Without the time that the caller asked to wait. */
  readonly durationMs: number;
  readonly waitedMs: number;
  /** Tenant and client; empty if they are not known. */
  readonly tenant: string;
  readonly clientId: string;
  /** Undefined if the request was not refused, or with an error of another protocol. */
  readonly refusal: ProblemType | undefined;
  /** Bytes of the two bodies, if they are known from a header or from the code that made the body; else 0. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** A port: counts requests. */
export interface RequestMeter {
  answered(request: AnsweredRequest): void;
  /** Sends the counts in the background, now or when they are due. */
  flushBeside(waitUntil: WaitUntil): void;
}

const sizes = new WeakMap<Response, number>();

/** Notes the size of a body that was made as a whole. */
export function withSize(response: Response, bytes: number): Response {
  sizes.set(response, bytes);
  return response;
}

/**
 * The size of a response's body; 0 if neither its header nor the code that made it tells. A noted size comes first:
 * the runtime makes a stream for whoever asks for `body`, which is 6 % of a small request.
 */
export const sizeOf = (response: Response): number =>
  sizes.get(response) ?? (response.body === null ? 0 : lengthIn(response.headers));

/** `Content-Length`, which the runtime enforces; 0 without one. */
export const lengthIn = (headers: Headers): number => {
  const length = Number(headers.get("content-length") ?? 0);
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
};
