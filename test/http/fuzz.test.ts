import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../src/http/route.ts";
import { call } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { everyRoute, fill, named, pageRoutes } from "../support/route-table.ts";
import { makeFile, makeTopic, upload } from "../fuzz/belongings.ts";
import { operations } from "../fuzz/operations.ts";
import { noteNoSecrets } from "../support/secrets.ts";
import { runs, strideOf } from "../support/model-runs.ts";
import { writtenText } from "../support/any-text.ts";

/** No input leads to a 500, and a refusal has one of the two shapes. fast-check prints the seed of a failure. */
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
const oddText = fc.oneof(
  fc.constantFrom(...ODD),
  // The same text may be a field for a secret once and a part of an address another time.
  writtenText({ maxLength: 40 }).map((value) => (noteNoSecrets(value), value)),
);
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

/** Replaces segments of dots, which would lead to another address. */
const pathOf = (route: Route, params: readonly string[]): string => {
  let next = 0;
  const segment = () => encodeURIComponent(params[next++ % params.length]!.replace(/^\.{1,2}$/, "dots")) || "%20";
  return route.path.replaceAll(/\{\w+\}/g, segment);
};

describe("any input of any route", () => {
  // shows: events/error-object/status
  // shows: events/error-object/type
  // shows: platform/errors-of-every-service/plat-request-id
  // shows: oauth/errors-of-token-revoke-introspect/shape
  it.each(named(everyRoute))("%s: never answers 500", async (_, base, route) => {
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
      { numRuns: runs(1) },
    );
  });
});

/** Texts that take long to normalize, match or split, each as long as a body may be. */
const LONG: readonly (readonly [string, string])[] = [
  ["accents out of order", `a${"\u0301".repeat(15_000)}${"\u0323".repeat(15_000)}`],
  ["halves of surrogate pairs", "\ud800".repeat(20_000)],
  ["letters, spaces and one letter", `${"a ".repeat(31_000)}!`],
  ["digits", "9".repeat(62_000)],
  ["quotes and backslashes", String.raw`\"`.repeat(31_000)],
  ["percent signs", "%C3%".repeat(15_000)],
  ["equals signs and commas", "=,;".repeat(20_000)],
  ["dots and dashes", ".-".repeat(31_000)],
  ["at signs", "a@b.".repeat(15_000)],
  ["line breaks", "\r\n".repeat(31_000)],
  ["Chinese, emoji and Hebrew", "漢🙂\u05d0".repeat(6_000)],
];
/** Far more than a request takes on a busy machine, and less than half of the time of such a text without limits. */
const BUDGET_MS = 500;
async function expectQuick(what: string, path: string, init: Parameters<typeof call>[1]): Promise<void> {
  let tookMs = Infinity;
  for (let again = 0; again < 3 && tookMs > BUDGET_MS; again++) {
    const startMs = performance.now();
    const response = await call(path, init);
    await response.text();
    tookMs = performance.now() - startMs;
    expect(response.status).toBeLessThan(500);
  }
  expect(tookMs, what).toBeLessThan(BUDGET_MS);
}

type Leaf = readonly string[];
const isNode = (value: unknown): value is object => typeof value === "object" && value !== null;
/** Places of texts in an example, except those at its top. */
const nestedTexts = (value: unknown, above: Leaf = []): Leaf[] =>
  isNode(value)
    ? Object.entries(value).flatMap(([name, below]) => nestedTexts(below, [...above, name]))
    : typeof value === "string" && above.length > 1
      ? [above]
      : [];

function withText(example: unknown, leaf: Leaf, value: string): unknown {
  const copy = structuredClone(example);
  let node = copy as Record<string, unknown>;
  for (const name of leaf.slice(0, -1)) node = node[name] as Record<string, unknown>;
  node[leaf.at(-1)!] = value;
  return copy;
}

/** The longest address, and the longest header. */
const SHORTER = 7_000;

describe("a long text in any field", () => {
  const namesOf = (schema: unknown): string[] => Object.keys((schema as { shape?: object } | undefined)?.shape ?? {});
  const FORM = [
    "username password client_id client_secret scope code redirect_uri code_verifier refresh_token token email request csrf",
    "id_token_hint state ui_locales new_password repeated_password plat_id_provider plat-session-id nonce login_hint",
  ].flatMap((line) => line.split(" "));
  const HEADERS = ["accept", "accept-language", "cookie", "content-disposition", "if-none-match", "range", "origin"];
  const ascii = (long: string): string => long.replaceAll(/[^\x20-\x7e]/g, "~").slice(0, SHORTER);

  /** A request with the text in every field; in a form only in one field, with the others that the request needs. */
  function requestOf(route: Route, long: string, at: number): { query: string; body?: BodyInit; type: string } {
    const fields = [...new Set([...QUERY, ...namesOf(route.query)])];
    const [first = ""] = [...new Intl.Segmenter().segment(long.slice(0, SHORTER / 10))].map(({ segment }) => segment);
    const short = (first.length > 100 ? long.slice(0, 100) : long.slice(0, 40)).toWellFormed();
    const query = new URLSearchParams(fields.map((name) => [name, short])).toString().slice(0, SHORTER);
    const inForm = long.replaceAll(/[&%+]/g, "_");
    const cookies = ascii(long).slice(0, 1_000);
    noteNoSecrets(short, inForm, inForm.toWellFormed(), long.slice(0, 60_000), cookies, "u", "p");
    for (const [, value] of new URLSearchParams(query)) noteNoSecrets(value);
    if (route.body.kind === "form") {
      const form = new URLSearchParams({
        grant_type: "password",
        plat_id_provider: "legacy_idp",
        username: "u",
        password: "p",
      });
      const name = FORM[at % FORM.length]!;
      form.delete(name);
      return {
        query: "",
        body: `${form.toString()}&${name}=${inForm}`,
        type: "application/x-www-form-urlencoded",
      };
    }
    if (route.body.kind === "none") return { query, type: "" };
    const schema = route.body.kind === "json" ? route.body.schema : undefined;
    const body = Object.fromEntries([...namesOf(schema), ...FIELDS].map((name) => [name, long.slice(0, 60_000)]));
    return { query: "", body: JSON.stringify(body), type: "application/json" };
  }

  it.each(named(everyRoute))("%s: answers within a time budget", async (_, base, route) => {
    const token = base === "/admin/v1" ? operator : everything;
    const at = everyRoute.findIndex((one) => one.route === route);
    const ofForm = route.path === "/token" ? FORM.length : 6;
    const count = route.body.kind === "form" ? ofForm : 2;
    // A search tries two texts for all fields at once; `npm test` tries one of the two, in turn from route to route.
    const stride = route.body.kind === "form" ? 1 : strideOf(4);
    for (let n = at % stride; n < count; n += stride) {
      const [what, long] = n % 2 === 0 ? LONG[0]! : LONG[1 + ((at + n) % (LONG.length - 1))]!;
      const { query, body, type } = requestOf(route, long, route.path === "/token" ? n : at + n);
      const headers = {
        ...Object.fromEntries(HEADERS.map((name) => [name, ascii(long).slice(0, 1_000)])),
        "content-type": type,
      };
      const path = `${base}${pathOf(route, [long.slice(0, 300).toWellFormed()])}?${query}`;
      await expectQuick(what, path, {
        method: route.method,
        token,
        headers: type === "" ? {} : headers,
        ...(body === undefined ? {} : { body }),
      });
    }
  });

  const withNested = operations
    .filter(({ body, deprecated }) => body?.mediaType === "application/json" && !deprecated)
    .map((operation) => ({ ...operation, leaves: nestedTexts(operation.body!.example) }))
    .filter(({ leaves }) => leaves.length > 0);

  /** The address of an existing resource, so that the body is read. */
  async function existing(template: string): Promise<string> {
    if (template.includes("{eventType}")) {
      const { path } = await makeTopic(everything);
      return template.replace(/.*\{eventType\}/, path).replace("{name}", "sample");
    }
    if (!template.includes("{fileId}")) return fill(template);
    const place = template.slice("/media/v2/".length, template.indexOf("/{fileId}"));
    const id = template.endsWith("/commit")
      ? (await upload(everything, place, "text")).id
      : await makeFile(everything, place, "text");
    return template.replace("{fileId}", id);
  }

  it.each(withNested)(
    "$id: answers within a time budget for a text inside the body",
    async ({ method, template, body, leaves }) => {
      const token = template.startsWith("/admin/v1") ? operator : everything;
      const path = await existing(template);
      for (const [at, leaf] of leaves.entries())
        for (const [what, long] of [LONG[0]!, LONG[1 + (at % (LONG.length - 1))]!]) {
          // JSON writes half of a surrogate pair in six bytes.
          const fitting = long.slice(0, long.isWellFormed() ? 60_000 : 10_000);
          noteNoSecrets(fitting);
          const json = JSON.stringify(withText(body!.example, leaf, fitting));
          const headers = { "content-type": "application/json" };
          await expectQuick(`${leaf.join(".")}: ${what}`, path, { method, token, headers, body: json });
        }
    },
  );
});
