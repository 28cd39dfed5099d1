import type { ServiceEntries } from "./model/entry.ts";
import { ERROR_SCHEMAS, errorComponent, errorResponse } from "./errors.ts";
import { PAGE_SIZE } from "../src/http/input/paging.ts";
import { SESSION_ID } from "../src/platform/model/session-id.ts";
import type { Schema } from "./model/schema.ts";
import type { Tables } from "./tables.ts";

/** Schemas, headers, parameters, errors and security schemes that several operations share. */
export function components(tables: Tables, services: readonly ServiceEntries[], paths: object): object {
  const { names } = tables;
  const text = JSON.stringify(paths);
  const isUsed = (kind: string, name: string): boolean => text.includes(`"#/components/${kind}/${name}"`);
  const pick = (kind: string, all: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => isUsed(kind, name)));
  const schemas = services.flatMap((service) =>
    Object.entries(service.schemas).map(([name, { schema }]) => [name, schema]),
  );
  const errors = (["platform", "protocol", "page"] as const).flatMap((style) =>
    STATUSES.map((status) => [errorComponent(style, status), errorResponse(style, status)] as const),
  );
  return {
    securitySchemes: securitySchemes(tables),
    parameters: pick("parameters", {
      pageNumber: query(
        "pageNumber",
        "The page number, from 1. Following the `next` links neither skips nor repeats items.",
        {
          type: "integer",
          minimum: 1,
          maximum: 1_000_000,
          default: 1,
        },
      ),
      pageSize: query("pageSize", "Items on a page.", {
        type: "integer",
        minimum: 1,
        maximum: PAGE_SIZE.max,
        default: PAGE_SIZE.default,
      }),
      cursor: query("cursor", "The start of the page, from a `next` link. Opaque.", { type: "string" }),
      "Idempotency-Key": header(
        "Idempotency-Key",
        "Makes a repeat of this request do nothing more: 1 to 255 visible ASCII characters.",
        { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" },
      ),
      Consumer: header(
        "Consumer",
        "Names one of the caller's consumers, each with a cursor and a lock of its own; at most 100 on a topic.",
        { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" },
      ),
      Prefer: header("Prefer", "`wait=20`: wait up to so many seconds, at most 30, for a first event (RFC 7240).", {
        type: "string",
      }),
      "If-None-Match": header("If-None-Match", "The caller's ETags: one, a list, or `*`.", {
        type: "string",
      }),
      "If-Match": header("If-Match", "Continue only if the content has one of these ETags.", { type: "string" }),
      "If-Modified-Since": header("If-Modified-Since", "Continue only if the content is newer.", { type: "string" }),
      "If-Unmodified-Since": header("If-Unmodified-Since", "Continue only if the content is not newer.", {
        type: "string",
      }),
      "If-Range": header("If-Range", "The range applies only while the content has this ETag.", { type: "string" }),
      Range: header("Range", "Parts of the content, at most 10, for example `bytes=0-1023`.", { type: "string" }),
      "Content-Disposition": header(
        "Content-Disposition",
        'Names the file (RFC 6266): `attachment; filename="a.jpg"`.',
        {
          type: "string",
        },
      ),
      "Content-MD5": header("Content-MD5", "The MD5 of the body in base64 (RFC 1864).", { type: "string" }),
      "Content-Digest": header(
        "Content-Digest",
        "Hashes of the body (RFC 9530), `sha-256` or `sha-512`. Of several digests the strongest counts.",
        { type: "string" },
      ),
      "Repr-Digest": header("Repr-Digest", "The same: the body is the whole file.", { type: "string" }),
      "Session-Id": header(
        names.header("session-id"),
        "The caller's name for its session, for the log. The tokens carry an id of the platform's own.",
        {
          type: "string",
          pattern: SESSION_ID.source,
        },
      ),
    }),
    headers: HEADERS,
    responses: pick("responses", Object.fromEntries(errors)),
    schemas: { ...Object.fromEntries(schemas), ...ERROR_SCHEMAS },
  };
}

const STATUSES = [400, 401, 403, 404, 406, 409, 412, 413, 414, 415, 416, 429, 500, 503] as const;

const query = (name: string, description: string, schema: Schema) => ({ name, in: "query", description, schema });
const header = (name: string, description: string, schema: Schema) => ({ name, in: "header", description, schema });
const answerHeader = (description: string, schema: Schema = { type: "string" }) => ({ description, schema });

const HEADERS = {
  "Request-Id": answerHeader("Identifies the request; give it to the operator.", {
    type: "string",
    pattern: "^[0-9a-f]{32}$",
  }),
  Link: answerHeader("Links (RFC 8288): `self`, `prev` and `next` page; `more` events; the `successor-version`."),
  Location: answerHeader("An absolute address.", { type: "string", format: "uri" }),
  ETag: answerHeader("Identifies this state of the content."),
  "Retry-After": answerHeader("Seconds to wait.", { type: "integer" }),
  "WWW-Authenticate": answerHeader("What was wrong with the credentials (RFC 6750, RFC 7617)."),
  "Content-Range": answerHeader("The sent range, and the total length."),
  "Accept-Ranges": answerHeader("`bytes`"),
  "Last-Modified": answerHeader("When the file was committed."),
  "Content-Disposition": answerHeader("How a browser handles the content, and the file's name."),
  "Cache-Control": answerHeader("Who may cache this answer, and how long."),
  "Delivery-Attempt": answerHeader("How often the first event of the batch was delivered to this client.", {
    type: "integer",
  }),
  "Events-Lost": answerHeader("How many events retention removed before this client read them.", { type: "integer" }),
  "Preference-Applied": answerHeader("The preference `wait`, as it was applied."),
  Deprecation: answerHeader("Deprecated since (RFC 9745)."),
} as const;

function securitySchemes({ names, builtIn }: Tables): object {
  const { scope } = names;
  const texts: Readonly<Record<string, string>> = {
    [scope("pubsub_publish")]: "Create and delete own topics, and publish to them. Service `pubsub`.",
    [scope("pubsub.topic=*")]:
      "Read, commit and subscribe to topics: `<owner>.<eventType>`, or a prefix and `*`. With it, a client " +
      "also creates, publishes to and deletes its own topics, if its tenant has `pubsub`.",
    [scope("pubsub.own_tenant_topic=*")]: "Read and commit events of the token's own tenant on topics that match.",
    [scope("media_view")]: "List files, read their metadata and variants, get links to private ones.",
    [scope("media_manage")]: "Create, commit, change and delete files and variants.",
    [scope("media_admin")]: "Delete all files of a tenant, or those that a query matches.",
    [scope("admin")]: "The whole operator service; only the operator client gets it.",
    [scope("admin_read")]:
      "See the whole platform in the operator service. People only, in a token for an organization.",
    [scope("admin_write")]: "Run the whole platform. People only, in a token for an organization.",
    [scope("admin_tenant")]: "Run the tenants of the token's organization. People only.",
  };
  const unknown = builtIn.services.flatMap(({ scopes }) => scopes).filter((name) => texts[name] === undefined);
  if (unknown.length > 0) throw new Error(`scopes without words: ${unknown.join(", ")}`);
  const byUsers: Readonly<Record<string, string>> = {
    ...Object.fromEntries(Object.entries(texts).filter(([name]) => name !== builtIn.adminScope)),
    openid: "An ID token that identifies the user.",
    [scope("tenant=*")]: "A token for a tenant: `*` stands for its id.",
    [scope("org=*")]: "A token for an organization, for its members.",
    [scope("no_tenant")]: "A token for no tenant.",
  };
  const tokenUrl = "/oauth2/v1/token";
  const authorizationUrl = "/oauth2/v1/authorize";
  const flows = {
    clientCredentials: { tokenUrl, scopes: { ...texts, [scope("tenant=*")]: byUsers[scope("tenant=*")] } },
    authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes: byUsers },
    implicit: { authorizationUrl, scopes: byUsers },
    password: { tokenUrl, scopes: byUsers },
  };
  return {
    token: {
      type: "oauth2",
      description:
        "An access token, only in the header `Authorization: Bearer`. It lives 3600 s; every service verifies " +
        "it by itself. A service that an operator registered has scopes of its own, which are requested in " +
        "the same way.",
      flows,
    },
    client: {
      type: "http",
      scheme: "basic",
      description:
        "A client's id and secret, form-urlencoded (RFC 6749 2.3.1), or `client_id` and `client_secret` in " +
        "the body. A client without a secret sends only `client_id`.",
    },
  };
}
