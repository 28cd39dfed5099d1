import { PlinthError, type ErrorDetail } from "../../../packages/sdk/src/errors.ts";
import { createTransport } from "../../../packages/sdk/src/transport.ts";
import { PLATFORM_URL } from "../session/config.ts";
import { token } from "../session/session.ts";
import { pause } from "./waits.ts";

let refused: string | undefined;

/** The SDK's transport, without the rest of the SDK. */
const transport = createTransport({
  url: PLATFORM_URL,
  fetch: globalThis.fetch.bind(globalThis),
  attempts: 3,
  timeoutMs: 30_000,
  pause,
  tokens: {
    async get() {
      const next = await token(refused);
      refused = undefined;
      return next;
    },
    refuse: (old) => void (refused = old),
  },
});

/** Options for the generated operations of `api/plinth.ts`: requests have the person's token, and are retried. */
export const operations: Operations = { baseUrl: PLATFORM_URL, fetch: transport.fetch };

export interface Operations {
  readonly baseUrl: string;
  readonly fetch: typeof transport.fetch;
  readonly headers?: Readonly<Record<string, string>>;
  /** Breaks the request off. */
  readonly signal?: AbortSignal;
}

export interface Answered {
  readonly status: number;
  readonly data?: unknown;
  readonly headers?: Headers;
}

export type Data<T> = T extends { readonly status: infer S; readonly data?: infer D }
  ? S extends 200 | 201 | 202 | 204
    ? D
    : never
  : never;

/** The answer of an operation; throws a `PlinthError` if it was refused. */
export async function answer<T extends Answered>(asked: Promise<T>): Promise<Data<T>> {
  return (await whole(asked)).data as Data<T>;
}

/** Deletes. What is gone already is deleted: the answer to the first try may have been lost on its way. */
export async function gone(asked: Promise<Answered>): Promise<void> {
  const got = await asked;
  if (got.status >= 400 && got.status !== 404) throw refusalOf(got);
}

/** A record as it is now. Undefined if there is none. If that cannot be known now, the failure is thrown. */
export async function known<T extends Answered>(asked: Promise<T>): Promise<T | undefined> {
  const got = await asked;
  if (got.status >= 500 || got.status === 429) throw refusalOf(got);
  return got.status < 300 ? got : undefined;
}

/** Options for a change of a record only as it was got; of none, only if there still is none. Else the answer is 412. */
export const ifStill = (got: Answered | undefined): Operations => ({
  ...operations,
  headers: got === undefined ? { "if-none-match": "*" } : { "if-match": got.headers?.get("etag") ?? "*" },
});

/** The answer with its headers. */
export async function whole<T extends Answered>(asked: Promise<T>): Promise<T> {
  const got = await asked;
  if (got.status >= 400) throw refusalOf(got);
  return got;
}

function refusalOf({ status, data, headers }: Answered): PlinthError {
  const { type, message, details, moreInfo } = (typeof data === "object" && data !== null ? data : {}) as {
    readonly type?: string;
    readonly message?: string;
    readonly details?: readonly ErrorDetail[];
    readonly moreInfo?: string;
  };
  let requestId: string | undefined;
  headers?.forEach((value, name) => {
    if (name.endsWith("-request-id")) requestId = value;
  });
  return new PlinthError({
    status,
    type: type ?? "internal_service_error",
    message: message ?? `HTTP ${status}`,
    details: details ?? [],
    moreInfo,
    requestId,
  });
}
