import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../src/http/route.ts";
import { call, makeClient, OPERATOR, tokenFor } from "../support/platform.ts";
import { everyRoute, named, pageRoutes } from "../support/route-table.ts";
import { noteNoSecrets } from "../support/secrets.ts";

/**
 * Whatever a client sends: no 500, and a refusal is one of the two shapes. The seed of a failure is printed by fast-check.
 */
const ODD = [
  "",
  " ",
  "\u0000",
  "..",
  "%",
  "%00",
  "'; DROP TABLE x; --",
  "__proto__",
  "constructor",
  "1e999",
  "-1",
  "null",
  "\u202e",
  "🙂",
  "a".repeat(300),
];
const oddText = fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: "grapheme", maxLength: 40 }));
const PLAUSIBLE = [
  "sample",
  "acme",
  "acme.shop",
  "orders",
  "a@b.example",
  "0123456789abcdef01234567",
  "1x1",
  "10x10,20x20",
  "true",
  "7",
];
const plausible = fc.constantFrom(...PLAUSIBLE);
noteNoSecrets(...ODD, ...PLAUSIBLE);
const text = fc.oneof(oddText, plausible);

const FIELDS = [
  "name",
  "tenant",
  "organization",
  "eventType",
  "payload",
  "metadata",
  "numEvents",
  "ttlMs",
  "autoCommit",
  "token",
  "scopes",
  "roles",
  "Content-Type",
  "shards",
  "confidential",
  "redirectUris",
  "grantTypes",
  "clientSecret",
  "password",
  "services",
  "version",
  "sourceUrl",
  "proxyPath",
  "access",
  "description",
  "__proto__",
  "toString",
];
const oddValue = fc.oneof(
  text,
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e21, 2 ** 53, [], {}, "\ud800", ["\u0000"], { a: { b: [{}] } }),
  fc.array(text, { maxLength: 3 }),
  fc.dictionary(text, fc.oneof(text, fc.integer()), { maxKeys: 3 }),
);
const oddObject = fc.dictionary(fc.constantFrom(...FIELDS), oddValue, { maxKeys: 8 });
const oddBody = fc.oneof(
  { weight: 5, arbitrary: oddObject.map((value) => JSON.stringify(value)) },
  fc.array(oddObject, { maxLength: 3 }).map((value) => JSON.stringify(value)),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.constantFrom("", "{", "[]", "null", '"x"', "\u0000", "[".repeat(200), '{"a":'.repeat(100)),
  fc.uint8Array({ maxLength: 50 }).map((bytes) => new Uint8Array(bytes)),
);
const QUERY = [
  "pageNumber",
  "pageSize",
  "cursor",
  "tenant",
  "clip",
  "crop",
  "fallback",
  "q",
  "sort",
  "access_token",
  "details",
  "after",
  "limit",
  "expires",
  "signature",
  "type",
  "name",
  "visibility",
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "prompt",
  "id_token_hint",
  "request",
  "csrf",
];
const request = fc.record({
  params: fc.array(text, { minLength: 3, maxLength: 3 }),
  query: fc.array(fc.tuple(fc.constantFrom(...QUERY), text), { maxLength: 4 }),
  body: oddBody,
  contentType: fc.constantFrom(
    "application/json",
    "application/x-www-form-urlencoded",
    "image/png",
    "text/plain",
    "",
    "x/y; charset=\u00e9",
  ),
  headers: fc.dictionary(
    fc.constantFrom(
      "if-none-match",
      "if-match",
      "if-range",
      "range",
      "accept",
      "idempotency-key",
      "content-disposition",
      "plat-session-id",
      "if-modified-since",
    ),
    fc.constantFrom(
      "",
      "*",
      '"x"',
      'W/"x", "y"',
      "bytes=0-",
      "bytes=-0,1-2",
      "bytes=9-1",
      "garbage",
      "*/*",
      "application/json",
      "x".repeat(300),
      "attachment; filename*=UTF-8''%zz",
    ),
    { maxKeys: 3 },
  ),
});

let operator: string;
let everything: string;
beforeAll(async () => {
  operator = await tokenFor(OPERATOR);
  everything = await tokenFor(await makeClient());
});

/** A segment of dots would be another address: whoever makes one of it takes them out. */
const pathOf = (route: Route, params: readonly string[]): string => {
  let next = 0;
  const segment = () => encodeURIComponent(params[next++ % params.length]!.replace(/^\.{1,2}$/, "dots")) || "%20";
  return route.path.replaceAll(/\{\w+\}/g, segment);
};

describe("any input to any route", () => {
  it.each(named(everyRoute))("%s: is answered without a 500", async (_, base, route) => {
    const token = base === "/admin/v1" ? operator : everything;
    await fc.assert(
      fc.asyncProperty(request, async ({ params, query, body, contentType, headers }) => {
        const search = new URLSearchParams(query).toString();
        const carries = route.method === "POST" || route.method === "PUT";
        const response = await call(`${base}${pathOf(route, params)}?${search}`, {
          method: route.method,
          token,
          headers: { ...headers, ...(contentType === "" ? {} : { "content-type": encodeURI(contentType) }) },
          ...(carries ? { body } : {}),
        });
        const answer = await response.text();
        expect(response.status, answer).toBeLessThan(500);
        expect(response.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
        if (response.status < 400) return;
        if (pageRoutes.has(route)) {
          expect(answer).toMatch(/^<!doctype html>/);
          return;
        }
        const problem = JSON.parse(answer);
        if (base === "/oauth2/v1" && typeof problem.error === "string")
          expect(Object.keys(problem)).toEqual(["error", "error_description", "error_uri"]);
        else
          expect(problem).toMatchObject({
            status: response.status,
            type: expect.stringMatching(/^[a-z_]+$/),
            details: expect.any(Array),
          });
      }),
      { numRuns: 25 },
    );
  });
});
