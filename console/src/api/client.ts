import { createPlinth, PlinthError, type ErrorDetail } from "@plinth/sdk";
import { PLATFORM_URL } from "../session/config.ts";
import { token } from "../session/session.ts";

const plinth = createPlinth({ url: PLATFORM_URL, credentials: token, attempts: 3 });

/** For the generated operations of `api/plinth.ts`: with the person's token, repeated by the platform's rules. */
export const operations = plinth.operations;
export { plinth };

interface Answered {
  readonly status: number;
  readonly data?: unknown;
  readonly headers?: Headers;
}

type Data<T> = T extends { readonly status: infer S; readonly data?: infer D }
  ? S extends 200 | 201 | 202 | 204
    ? D
    : never
  : never;

/** The answer of an operation; throws a `PlinthError` if it was refused. */
export async function answer<T extends Answered>(asked: Promise<T>): Promise<Data<T>> {
  return (await whole(asked)).data as Data<T>;
}

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
