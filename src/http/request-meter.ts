import type { MeteredService } from "../platform/ports/metrics.ts";
import type { Operation } from "./callers/rights.ts";
import type { ProblemType } from "./errors/errors.ts";

/** A request that has its response. */
export interface AnsweredRequest {
  readonly service: MeteredService;
  /** Undefined where no route is. */
  readonly operation: Operation | undefined;
  readonly status: number;
  /** Without the time that the caller asked to wait. */
  readonly durationMs: number;
  readonly waitedMs: number;
  /** Both empty if nobody is known. */
  readonly tenant: string;
  readonly clientId: string;
  /** Undefined: not refused, or in the words of another protocol. */
  readonly refusal: ProblemType | undefined;
  /** Bytes of the two bodies, as far as their headers or their makers tell. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** A port: counts requests. */
export interface RequestMeter {
  answered(request: AnsweredRequest): void;
  /** Sends the counts on, beside the answer, if it is time to. */
  flushBeside(waitUntil: (work: Promise<unknown>) => void): void;
}

/** Counts nothing. */
export const noRequestMeter: RequestMeter = { answered() {}, flushBeside() {} };

const sizes = new WeakMap<Response, number>();

/** Notes the size of a body that was made as a whole. */
export function withSize(response: Response, bytes: number): Response {
  sizes.set(response, bytes);
  return response;
}

/** The size of a response's body; 0 if neither its header nor its maker tells. */
export const sizeOf = (response: Response): number =>
  response.body === null ? 0 : (sizes.get(response) ?? lengthIn(response.headers));

/** `Content-Length`, which the runtime holds the body to; 0 without one. */
export const lengthIn = (headers: Headers): number => {
  const length = Number(headers.get("content-length") ?? 0);
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
};
