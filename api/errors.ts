import { DETAIL_TYPES } from "../src/http/errors/detail-types.ts";
import { PROBLEM_TYPES } from "../src/http/errors/errors.ts";
import { PROTOCOL_ERRORS } from "../src/ui/pages/protocol-errors.ts";
import { list, obj, str, int, uri, type Schema } from "./model/schema.ts";
import type { MountedRoute } from "./tables.ts";

/** Error answers: the platform's error object, the OAuth protocol's, and pages; a component for each status. */
const TITLES: Readonly<Record<number, readonly [component: string, text: string]>> = {
  400: ["BadRequest", "The request is malformed, or this service cannot do it; `details` names what is wrong."],
  401: ["Unauthorized", "The access token is missing or invalid."],
  403: ["Forbidden", "The token, or the link, does not allow this; the message names the missing scope."],
  404: ["NotFound", "There is no such resource, or it belongs to somebody else."],
  406: ["NotAcceptable", "The answer would be `application/json`, which `Accept` excludes."],
  409: ["Conflict", "The state of the resource does not allow this; `details` gives the reason."],
  412: ["PreconditionFailed", "The resource does not match the request's condition."],
  413: ["PayloadTooLarge", "The body is larger than the limit that the message names."],
  414: ["UriTooLong", "The address is longer than 16384 characters."],
  415: ["UnsupportedMediaType", "The body has another `Content-Type`, or a `Content-Encoding`."],
  416: ["RangeNotSatisfiable", "The content has no such bytes; `Content-Range` gives its length."],
  429: ["TooManyRequests", "Too many requests; `Retry-After` gives the time to wait."],
  500: ["InternalError", "An error of the platform. The operator finds the cause in the log by the request id."],
  503: ["Unavailable", "This is not possible at the moment; `Retry-After` says when to try again."],
};
const HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  403: ["WWW-Authenticate"],
  404: ["Retry-After"],
  409: ["Retry-After"],
  416: ["Content-Range"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};
const HEADERS_OF_400: Readonly<Record<Style, readonly string[]>> = {
  // For a token that is sent twice (RFC 6750 section 3.1).
  platform: ["WWW-Authenticate"],
  // For a blocked account.
  protocol: ["Retry-After"],
  page: [],
};
const PREFIX = { platform: "", protocol: "OAuth", page: "Page" } as const;

type Style = MountedRoute["errors"];

export const errorComponent = (style: Style, status: number): string => {
  const [name] = TITLES[status] ?? [];
  if (name === undefined) throw new Error(`no words for the error status ${status}`);
  return `${PREFIX[style]}${name}`;
};

export const ERROR_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: obj(
    {
      status: int("The HTTP status."),
      type: {
        type: "string",
        enum: Object.keys(PROBLEM_TYPES),
        description: "The kind of error; `moreInfo` says what to do about it.",
      },
      message: str("The mistake in this request, and what to do next. For people; the text may change."),
      moreInfo: uri("The entry of the error reference."),
      details: list(
        obj({
          type: {
            type: "string",
            enum: Object.keys(DETAIL_TYPES),
            description: "The exact mistake; the error reference says what to do about it.",
          },
          field: str("The field in bean notation, or the parameter or header; empty if it is none of them."),
          message: str("The same, for people."),
          moreInfo: uri("The entry of the error reference."),
        }),
        "All mistakes; at most 20.",
      ),
      "error?": str("Only at `/userinfo`: RFC 6750's error code."),
      "error_description?": str("Only at `/userinfo`: the message."),
    },
    "The one error object of the platform.",
  ),
  OAuthError: obj(
    {
      error: {
        type: "string",
        enum: Object.keys(PROTOCOL_ERRORS),
        description: "RFC 6749 5.2; the error reference says what to do about each.",
      },
      error_description: str("The same, for people; generic if more would tell a stranger too much."),
      error_uri: uri(
        "The advice for this error. Ends with the request id, by which the operator finds the exact reason.",
      ),
    },
    "An error of the OAuth protocol (RFC 6749 5.2).",
  ),
};

const DOCS = "https://platform.example/docs/errors";
const REQUEST_ID = "3f2a9c0d51b84e7f9a6c2d8e1f405b67";

/** Used entries of `components.responses`. */
export function errorResponse(style: Style, status: number): Schema {
  const [, description] = TITLES[status]!;
  const own = (status === 400 ? HEADERS_OF_400[style] : HEADERS[status]) ?? [];
  const headers = Object.fromEntries(
    ["Request-Id", ...own].map((name) => [
      name === "Request-Id" ? "plat-request-id" : name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );
  return { description, headers, content: contentOf(style, status) };
}

function contentOf(style: Style, status: number): Schema {
  if (style === "page") return { "text/html": { schema: { type: "string" } } };
  if (style === "protocol")
    return {
      "application/json": {
        schema: { $ref: "#/components/schemas/OAuthError" },
        example: {
          error: PROTOCOL_EXAMPLES[status] ?? "invalid_request",
          error_description: "The mistake in the request.",
          error_uri: `${DOCS}?error=${PROTOCOL_EXAMPLES[status] ?? "invalid_request"}&request=${REQUEST_ID}`,
        },
      },
    };
  const [type = "internal_service_error"] = Object.entries(PROBLEM_TYPES).find(
    ([name, problem]) => problem.status === status && name !== "bad_payload_syntax",
  ) ?? [undefined];
  const moreInfo = `${DOCS}#${type}`;
  const details = DETAIL_EXAMPLES[status];
  const message = details?.message ?? TITLES[status]![1].replaceAll("`", "");
  return {
    "application/json": {
      schema: { $ref: "#/components/schemas/Error" },
      example: {
        status,
        type,
        message,
        moreInfo,
        details: details === undefined ? [] : [{ ...details, moreInfo: `${DOCS}#details-${details.type}` }],
      },
    },
  };
}

const PROTOCOL_EXAMPLES: Readonly<Record<number, string>> = {
  400: "invalid_request",
  401: "invalid_client",
  429: "temporarily_unavailable",
  500: "server_error",
  503: "temporarily_unavailable",
};
const DETAIL_EXAMPLES: Readonly<Record<number, { type: string; field: string; message: string }>> = {
  400: { type: "missing_field", field: "eventType", message: "eventType is missing." },
  409: { type: "topic_exists", field: "eventType", message: "You have a topic of this event type." },
};
