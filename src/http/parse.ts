import { err, ok, type Result } from "../platform/model/result.ts";
import type { BodyMemory } from "./input/body-memory.ts";
import { isJson, mediaType, readForm, readJson, readMultipart } from "./input/body.ts";
import { invalid, problem, type Problem } from "./errors/errors.ts";
import { readPaging } from "./input/paging.ts";
import type { AnyCall, JsonOrBytes, Route } from "./route.ts";
import { validate } from "./input/validate.ts";
import { isObject } from "../platform/text/json.ts";

/** A call before its input is read. */
export type Given = Omit<AnyCall, "params" | "query" | "paging" | "body">;

/** The paging of a route without pages. */
const NO_PAGING = readPaging(new URLSearchParams());

/** Reads and checks the input of a call by its route: path parameters → query → paging → body. */
export async function parse(
  given: Given,
  pathParams: () => Record<string, string>,
  route: Route,
  memory: BodyMemory,
): Promise<Result<AnyCall, Problem>> {
  const { request, url } = given;
  if (route.produces === "json" && !acceptsJson(request.headers.get("accept")))
    return err(problem("unsupported_response_content_type", "This address answers application/json."));
  const params = route.params === undefined ? ok({}) : validate("path", route.params, pathParams());
  if (!params.ok) return params;
  const query = route.query === undefined ? ok({}) : readQuery(route.query, url.searchParams);
  if (!query.ok) return query;
  const paging = route.paged ? readPaging(url.searchParams, namesOf(route.query)) : NO_PAGING;
  if (!paging.ok) return paging;
  const body = await readBody(route, request, memory);
  if (!body.ok) return body;
  return ok({ ...given, params: params.value, query: query.value, paging: paging.value, body: body.value });
}

function readQuery(schema: NonNullable<Route["query"]>, given: URLSearchParams): Result<unknown, Problem> {
  const names = namesOf(schema);
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of given) {
    // Refuse a second value rather than pick one of them.
    if (name in values && names.includes(name))
      return err(invalid("invalid_query_parameter", name, `${name} is given more than once.`));
    values[name] = value;
  }
  return validate("query", schema, { ...values });
}

/** The parameters that a route knows; others are ignored. */
const namesOf = (schema: Route["query"]): readonly string[] =>
  Object.keys((schema as { shape?: object } | undefined)?.shape ?? {});

async function readBody(route: Route, request: Request, memory: BodyMemory): Promise<Result<unknown, Problem>> {
  switch (route.body.kind) {
    case "none":
    case "stream":
      return ok(undefined);
    case "json-or-bytes":
      return readJsonOrBytes(route.body, request, memory);
    case "form":
      return readForm(request, route.body.maxBytes, memory);
    case "json":
    case "json-object": {
      const read = await readJson(request, route.body.maxBytes, memory);
      if (!read.ok) return read;
      if (read.value === undefined)
        return route.body.optional
          ? ok(undefined)
          : err(problem("bad_payload_syntax", "The request needs a JSON body."));
      if (route.body.kind === "json") return validate("body", route.body.schema, read.value.value);
      return isObject(read.value.value)
        ? ok(read.value.text)
        : err(invalid("invalid_field", "", "The body must be a JSON object."));
    }
  }
}

async function readJsonOrBytes(
  { schema, maxBytes, formMaxBytes }: Extract<Route["body"], { kind: "json-or-bytes" }>,
  request: Request,
  memory: BodyMemory,
): Promise<Result<JsonOrBytes<unknown>, Problem>> {
  const type = mediaType(request.headers.get("content-type"));
  if (type === "multipart/form-data") {
    const form = await readMultipart(request, formMaxBytes, memory);
    return form.ok ? ok({ kind: "form", form: form.value }) : form;
  }
  // `curl -d` sets the type of a form by default. Nobody stores a form, so this asks for JSON.
  if (type !== "" && !isJson(type) && type !== "application/x-www-form-urlencoded") return ok({ kind: "bytes" });
  const read = await readJson(request, maxBytes, memory);
  if (!read.ok) return read;
  if (read.value === undefined) return ok({ kind: "json", value: undefined });
  const value = validate("body", schema, read.value.value);
  return value.ok ? ok({ kind: "json", value: value.value }) : value;
}

/** True if a range of `Accept` covers JSON; a range with `q=0` does not. */
function acceptsJson(accept: string | null): boolean {
  if (accept === null || accept.trim() === "") return true;
  return accept.split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    return !refused && ["*/*", "application/*", "application/json"].includes(type);
  });
}
