import { Buffer } from "node:buffer";
import type { Access } from "./callers/access.ts";
import type { Principal } from "./callers/auth.ts";
import type { Problem } from "./errors/errors.ts";
import { pageLinks, type Page, type Paging } from "./input/paging.ts";
import { withSize } from "./request-meter.ts";
import { RIGHTS, type Operation } from "./callers/rights.ts";
import type { Schema } from "./input/validate.ts";
import type { WaitUntil } from "../platform/runtime/wait-until.ts";

/**
 * A route is data: its input, its access, its handler. pipeline.ts does the same for every route, in this order: access
 * → path parameters → query → paging → body → `handle`. The interface document is made from the same data.
 */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the service's base, parameters in braces: `/topics/{topicOwnerClient}/{eventType}/read`. */
  readonly path: string;
  readonly summary: string;
  /** The route's row in the table of rights. */
  readonly operation: Operation;
  /** Copied from that row. */
  readonly access: Access;
  readonly params: Schema | undefined;
  readonly query: Schema | undefined;
  readonly body: Body;
  readonly paged: boolean;
  /** `json`: a caller that does not accept JSON gets 406. `any`: the route answers something else, or nothing. */
  readonly produces: "json" | "any";
  /** True for a GET that changes something, such as the end of a redirect: HEAD must not and gets 405. */
  readonly changes: boolean;
  /** Look-ups that `handle` needs, begun while revocations of the caller's token are still read. Changes nothing. */
  readonly ahead?: ((asked: Asked<unknown>) => Promise<unknown>) | undefined;
  readonly handle: (call: AnyCall) => Promise<Answer>;
}

/** A request whose token is signed, and may still turn out to be revoked. */
export interface Asked<P> {
  readonly principal: Principal;
  readonly params: P;
  readonly nowMs: number;
}

export type Body =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly schema: Schema; readonly maxBytes: number; readonly optional: boolean }
  /**
   * JSON or nothing; a multipart form, read whole; or bytes of any other type, which the handler reads as those of
   * `stream`.
   */
  | {
      readonly kind: "json-or-bytes";
      readonly schema: Schema;
      readonly maxBytes: number;
      readonly formMaxBytes: number;
    }
  /** Any JSON object; the handler gets and stores its text as it was sent. */
  | { readonly kind: "json-object"; readonly maxBytes: number; readonly optional: boolean }
  | { readonly kind: "form"; readonly maxBytes: number }
  /** The handler reads `call.request.body` itself and enforces its limit. */
  | { readonly kind: "stream" };

/** A parsed request. The clock is read once, so that the whole request sees the same time. */
export interface Call<P, Q, B, W> {
  readonly request: Request;
  /** The request's address with the public origin; links to it are made from this. */
  readonly url: URL;
  /** `{origin}{PATH_PREFIX}`, without a slash at the end. */
  readonly publicBase: string;
  readonly requestId: string;
  readonly nowMs: number;
  readonly principal: W;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The requested page; only for a route with `paged: true`. */
  readonly paging: Paging;
  /** Lets work continue after the response; its failure is logged. */
  readonly waitUntil: WaitUntil;
  /**
   * Checks the token again during a long request. Returns the refusal if it is not valid any more. Keys and revocations
   * are cached, so this usually needs no I/O.
   */
  checkToken(): Promise<Problem | undefined>;
  /** Counts the request for this tenant, if any, and names the client in its span, unless an accepted token does. */
  attributeTo(tenant: string, clientId?: string): void;
  /** Subtracts the time that the caller asked to wait from the request's duration. */
  waited(ms: number): void;
}

export type AnyCall = Call<unknown, unknown, unknown, Principal | undefined>;

export type Answer = Response | Problem;

/** Default limit of a JSON body. */
const JSON_MAX_BYTES = 64 * 1024;

export const jsonBody = <T>(schema: Schema<T>, maxBytes: number = JSON_MAX_BYTES) =>
  ({ kind: "json", schema, maxBytes, optional: false }) as const;
export const optionalJsonBody = <T>(schema: Schema<T>) =>
  ({ kind: "json", schema, maxBytes: JSON_MAX_BYTES, optional: true }) as const;
export const jsonOrBytes = <T>(schema: Schema<T>, formMaxBytes: number) =>
  ({ kind: "json-or-bytes", schema, maxBytes: JSON_MAX_BYTES, formMaxBytes }) as const;
export const jsonObjectBody = <const O extends boolean>(maxBytes: number, optional: O) =>
  ({ kind: "json-object", maxBytes, optional }) as const;
export const formBody = (maxBytes: number) => ({ kind: "form", maxBytes }) as const;
export const streamBody = { kind: "stream" } as const;

export type JsonOrBytes<T> =
  | { readonly kind: "json"; readonly value: T | undefined }
  | { readonly kind: "form"; readonly form: FormData }
  | { readonly kind: "bytes" };

type BodyValue<B> = B extends { kind: "json-or-bytes"; schema: Schema<infer T> }
  ? JsonOrBytes<T>
  : B extends { kind: "json"; schema: Schema<infer T>; optional: infer O }
    ? true extends O
      ? T | undefined
      : T
    : B extends { kind: "json-object"; optional: infer O }
      ? true extends O
        ? string | undefined
        : string
      : B extends { kind: "form" }
        ? URLSearchParams
        : undefined;

type Caller<O extends Operation> = (typeof RIGHTS)[O]["access"] extends { kind: "public" } ? undefined : Principal;

/** Types the handler by its route's schemas and by its row in the table of rights. */
export function defineRoute<
  const O extends Operation,
  P = Record<string, never>,
  Q = Record<string, never>,
  const B extends Body | undefined = undefined,
>(route: {
  method: Route["method"];
  path: string;
  summary: string;
  operation: O;
  params?: Schema<P>;
  query?: Schema<Q>;
  body?: B;
  paged?: boolean;
  produces?: Route["produces"];
  changes?: boolean;
  handle: (call: Call<P, Q, BodyValue<B>, Caller<O>>) => Promise<Answer>;
}): Route {
  return {
    method: route.method,
    path: route.path,
    summary: route.summary,
    operation: route.operation,
    access: RIGHTS[route.operation].access,
    params: route.params,
    query: route.query,
    body: route.body ?? { kind: "none" },
    paged: route.paged ?? false,
    produces: route.produces ?? "json",
    changes: route.changes ?? route.method !== "GET",
    handle: route.handle as Route["handle"],
  };
}

/** A JSON response. */
export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Response =>
  jsonText(status, JSON.stringify(value), headers);

/** A JSON response with a text that is JSON already. */
export const jsonText = (status: number, text: string, headers: Record<string, string>): Response =>
  withSize(
    new Response(text, { status, headers: { "content-type": "application/json", ...headers } }),
    Buffer.byteLength(text),
  );

/** A page of a list, with the links to the other pages. */
export const jsonPage = <T>(
  { url, paging }: Pick<AnyCall, "url" | "paging">,
  page: Page<T>,
  toJson: (item: T) => unknown,
  headers: Record<string, string> = {},
): Response => {
  const items = page.items.map((item) => toJson(item));
  return json(200, items, { ...headers, link: pageLinks(url, paging, page) });
};

/** A response without a body, and so without a content type. */
export const empty = (status: number, headers: Record<string, string> = {}): Response =>
  new Response(null, { status, headers });
