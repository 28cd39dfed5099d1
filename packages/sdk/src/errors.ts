import type { Answer } from "./answer.ts";

/**
 * The errors of the SDK:
 *
 *   PlinthError                 every refusal; has the platform's `type`, `details` and request id
 *   ├─ InvalidRequestError      400, 413, 414, 415: the request is wrong; `details` names the fields
 *   ├─ UnauthorizedError        401: the token or the client's secret is not accepted
 *   ├─ ForbiddenError           403: the token lacks a scope
 *   ├─ NotFoundError            404: there is none, or it is somebody else's
 *   ├─ ConflictError            409, 412: the state of the resource does not allow it
 *   ├─ RateLimitError           429: too many requests; the SDK retried already
 *   └─ UnavailableError         5xx, no connection, no whole answer in time; the SDK retried what may be repeated
 */
export interface ErrorDetail {
  readonly type: string;
  readonly field?: string;
  readonly message?: string;
  readonly moreInfo?: string;
}

export interface ErrorFields {
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** The platform's `type`, such as `validation_violation`, or OAuth's `error`, such as `invalid_client`. */
  readonly type: string;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
  /** Identifies the request in the platform's log. Give it to the operator. */
  readonly requestId?: string | undefined;
  /** The address of a page about this type of error. */
  readonly moreInfo?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

export class PlinthError extends Error {
  override readonly name: string = "PlinthError";
  readonly status: number;
  readonly type: string;
  readonly details: readonly ErrorDetail[];
  readonly requestId: string | undefined;
  readonly moreInfo: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor({ status, type, message, details = [], requestId, moreInfo, retryAfterMs, cause }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.type = type;
    this.details = details;
    this.requestId = requestId;
    this.moreInfo = moreInfo;
    this.retryAfterMs = retryAfterMs;
  }

  /** True if one of the details has this type: `error.has("lock_expired")`. */
  has(detailType: string): boolean {
    return this.details.some(({ type }) => type === detailType);
  }
}

export class InvalidRequestError extends PlinthError {
  override readonly name = "InvalidRequestError";
}
export class UnauthorizedError extends PlinthError {
  override readonly name = "UnauthorizedError";
}
export class ForbiddenError extends PlinthError {
  override readonly name = "ForbiddenError";
}
export class NotFoundError extends PlinthError {
  override readonly name = "NotFoundError";
}
export class ConflictError extends PlinthError {
  override readonly name = "ConflictError";
}
export class RateLimitError extends PlinthError {
  override readonly name = "RateLimitError";
}
export class UnavailableError extends PlinthError {
  override readonly name = "UnavailableError";
}

/** Reads the body to its end and makes the error of an answer that is not a success. */
export async function errorOf(response: Response): Promise<PlinthError> {
  const { status, headers } = response;
  return errorFrom({ status, headers, text: await response.text().catch(() => "") });
}

/** Makes the error of an answer that is not a success. */
export function errorFrom({ status, headers, text }: Answer): PlinthError {
  const body = parseObject(text);
  const fields: ErrorFields = {
    status,
    type: textOf(body["type"]) ?? textOf(body["error"]) ?? "unknown",
    message:
      textOf(body["message"]) ?? textOf(body["error_description"]) ?? textOf(body["error"]) ?? `HTTP status ${status}`,
    details: Array.isArray(body["details"]) ? (body["details"] as ErrorDetail[]) : [],
    requestId: requestIdOf(headers),
    moreInfo: textOf(body["moreInfo"]) ?? textOf(body["error_uri"]),
    retryAfterMs: retryAfterOf(headers),
  };
  return new (classOf(status, fields.type))(fields);
}

/** Throws if no request can be sent to the address, for example because it lacks `https://`: repeating is no use. */
export function checkAddress(address: string): void {
  if (!isAddress(address)) throw new TypeError(`${address} is no address: url must begin with https:// or http://.`);
}

/** The platform's address without a slash at the end. Throws for the issuer's, which lies below it, and for none. */
export function baseOf(url: string): string {
  if (typeof url !== "string")
    throw new TypeError("url must be a text that begins with https:// or http://. Is its environment variable set?");
  const base = url.replace(/\/+$/, "");
  if (base.endsWith("/oauth2/v1")) throw new TypeError(`url is the platform's address: ${base.slice(0, -10)}`);
  return base;
}

export function isAddress(address: string): boolean {
  try {
    return /^https?:$/.test(new URL(address).protocol);
  } catch {
    return false;
  }
}

export const noAnswer = (cause: unknown, message: string): UnavailableError =>
  new UnavailableError({ status: 0, type: "no_answer", message, cause });

/** Reads `Retry-After` in seconds; the platform sends no dates. */
function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

function classOf(status: number, type: string): new (fields: ErrorFields) => PlinthError {
  if (status === 401 || type === "invalid_client") return UnauthorizedError;
  if (status === 403) return ForbiddenError;
  if (status === 404) return NotFoundError;
  if (status === 409 || status === 412) return ConflictError;
  if (status === 429) return RateLimitError;
  if (status >= 500) return UnavailableError;
  return status >= 400 ? InvalidRequestError : PlinthError;
}

/** The header's name begins with the platform's prefix, which the operator chooses. */
function requestIdOf(headers: Headers): string | undefined {
  for (const [name, value] of headers) if (name.endsWith("-request-id")) return value;
  return undefined;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
