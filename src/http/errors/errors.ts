import type { DetailType } from "./detail-types.ts";

/**
 * The error object of the platform. Operations return a `Problem` as a value, and pipeline.ts renders it. The caller
 * reads it, so it never carries an internal message; the log line with the same request id has the details.
 */
export interface Problem {
  readonly problem: true;
  readonly type: ProblemType;
  /** One sentence: the caller's mistake and what to do next. */
  readonly message: string;
  readonly details: readonly ProblemDetail[];
  readonly headers: Readonly<Record<string, string>>;
  /** Only for the log. */
  readonly reason?: string | undefined;
}

export interface ProblemDetail {
  readonly type: DetailType;
  /** A body's field in dot notation (`pushConfig.basicAuth.username`), else the name of the parameter or header. */
  readonly field?: string;
  readonly message?: string;
}

/** Every `type` with its status and advice for the reader; `/docs/errors` shows this table. */
export const PROBLEM_TYPES = {
  bad_payload_syntax: {
    status: 400,
    advice: "Send a body in the declared format: well-formed JSON in UTF-8, or a form.",
  },
  validation_violation: { status: 400, advice: "Correct the fields, parameters or headers that `details` names." },
  business_error: {
    status: 400,
    advice: "The request is well formed, but this service cannot do it; `details` says why.",
  },
  insufficient_credentials: {
    status: 401,
    advice: "Get an access token from the token endpoint and send it as `Authorization: Bearer`. A token lives 3600 s.",
  },
  insufficient_permissions: {
    status: 403,
    advice: "Ask for a token with the scope that the message names; the operator lists it at your client.",
  },
  element_resource_non_existing: {
    status: 404,
    advice: "Check the path and the identifiers. A resource of somebody else answers the same.",
  },
  unsupported_method: { status: 405, advice: "Use one of the methods of the `Allow` header." },
  unsupported_response_content_type: { status: 406, advice: "Accept `application/json`." },
  conflict_resource: {
    status: 409,
    advice: "The state of the resource does not allow this; `details` names the obstacle.",
  },
  topic_locked: {
    status: 409,
    advice: "Commit or release the batch that you hold, or wait for the lock to expire: `Retry-After` says how long.",
  },
  topic_not_locked: {
    status: 409,
    advice: "`details[0].type` says whether the batch is committed already, its lock expired, or the token is unknown.",
  },
  precondition_failed: {
    status: 412,
    advice: "The resource is not as `If-Match`, `If-None-Match` or `If-Unmodified-Since` asks: fetch it again.",
  },
  bad_payload_size: { status: 413, advice: "Send a smaller body; the message names the limit." },
  uri_too_long: { status: 414, advice: "Send a shorter address." },
  unsupported_request_content_type: {
    status: 415,
    advice: "Send the body with the `Content-Type` that the message names.",
  },
  range_not_satisfiable: { status: 416, advice: "`Content-Range` says how long the content is; ask within it." },
  insufficient_resources: { status: 429, advice: "Wait for `Retry-After` seconds." },
  internal_service_error: {
    status: 500,
    advice: "Report the value of the request id header: with it the operator finds the cause in the log.",
  },
  service_temporarily_unavailable: { status: 503, advice: "Try again after `Retry-After` seconds." },
} as const satisfies Record<string, { status: number; advice: string }>;

export type ProblemType = keyof typeof PROBLEM_TYPES;

export function problem(
  type: ProblemType,
  message: string,
  more: { details?: readonly ProblemDetail[]; headers?: Readonly<Record<string, string>>; reason?: string } = {},
): Problem {
  return {
    problem: true,
    type,
    message,
    details: more.details ?? [],
    headers: more.headers ?? {},
    reason: more.reason,
  };
}

export const isProblem = (value: object): value is Problem => "problem" in value && value.problem === true;

/** One invalid input: 400 `validation_violation`. */
export const invalid = (type: DetailType, field: string, message: string): Problem =>
  problem("validation_violation", message, { details: [{ type, field, message }] });

/** One state that is in the way: 409 `conflict_resource`. */
export const conflict = (type: DetailType, field: string, message: string): Problem =>
  problem("conflict_resource", message, { details: [{ type, field, message }] });

export const notFound = (what: string): Problem =>
  problem("element_resource_non_existing", `There is no such ${what}, or it is not yours.`);

/** For the operator, who may see everything. */
export const noSuch = (what: string): Problem => problem("element_resource_non_existing", `There is no such ${what}.`);

/**
 * The JSON body: `{status, type, message, moreInfo, details}`.
 * `docsUrl` is the address of the error reference, which has an entry for each type and each type of a detail.
 */
export function problemBody(given: Problem, docsUrl: string): object {
  return {
    status: PROBLEM_TYPES[given.type].status,
    type: given.type,
    message: given.message,
    moreInfo: `${docsUrl}#${given.type}`,
    details: given.details.map((detail) => ({
      field: "",
      message: given.message,
      ...detail,
      moreInfo: `${docsUrl}#details-${detail.type}`,
    })),
  };
}
