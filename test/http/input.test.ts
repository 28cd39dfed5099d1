import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { readBytes, readForm, readJson } from "../../src/http/input/body.ts";
import { readPaging } from "../../src/http/input/paging.ts";
import { booleanText, validate } from "../../src/http/input/validate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { runs } from "../support/model-runs.ts";

const post = (body: BodyInit, contentType = "application/json"): Request =>
  new Request("https://x.example", { method: "POST", body, headers: { "content-type": contentType } });

/** A chunked body, without a content length. */
const chunked = (chunks: readonly string[]): Request => {
  const stream = new ReadableStream({
    type: "bytes",
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  return new Request("https://x.example", {
    method: "POST",
    body: stream,
    headers: { "content-type": "application/json" },
  });
};

const typeOf = (outcome: { ok: boolean; error?: { type: string } }): string =>
  outcome.ok ? "ok" : (outcome.error?.type ?? "");

describe("readJson", () => {
  // shows: platform/errors-of-every-service/chunked-bodies
  it("reads the output of JSON.stringify at any cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.integer({ min: 1, max: 7 }), async (value, size) => {
        const text = JSON.stringify(value);
        const chunks = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
        const read = await readJson(chunked(chunks), 1_000_000);
        expect(read).toEqual({ ok: true, value: { value: JSON.parse(text), text } });
      }),
      { numRuns: runs(70) },
    );
  });

  // shows: platform/errors-of-every-service/400-bad_payload_syntax
  it.each([
    ["{", "bad_payload_syntax"],
    ["nul", "bad_payload_syntax"],
    ['{"a":1}x', "bad_payload_syntax"],
    ["[".repeat(65) + "]".repeat(65), "bad_payload_syntax"],
    ["[".repeat(64) + "]".repeat(64), "ok"],
    [JSON.stringify("[".repeat(500) + '\\"{'), "ok"],
    ['{"a":1}', "ok"],
  ])("%.20s: %s", async (text, outcome) => {
    expect(typeOf(await readJson(post(text), 10_000))).toBe(outcome);
  });

  // shows: platform/errors-of-every-service/415-unsupported_request_content_type
  // shows: platform/errors-of-every-service/413-bad_payload_size
  it("refuses invalid UTF-8, another content type, and one byte too many", async () => {
    expect(typeOf(await readJson(post(new Uint8Array([0x22, 0xff, 0x22])), 100))).toBe("bad_payload_syntax");
    expect(typeOf(await readJson(post("{}", "text/plain"), 100))).toBe("unsupported_request_content_type");
    expect(typeOf(await readJson(post("{}", "application/merge-patch+json; charset=utf-8"), 100))).toBe("ok");
    expect(typeOf(await readJson(post('"12345678"'), 10))).toBe("ok");
    expect(typeOf(await readJson(post('"123456789"'), 10))).toBe("bad_payload_size");
    expect(typeOf(await readJson(chunked(['"12345', '6789"']), 10))).toBe("bad_payload_size");
  });

  it("refuses a content encoding and another charset", async () => {
    const zipped = new Request("https://x.example", {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    });
    expect(typeOf(await readJson(zipped, 100))).toBe("unsupported_request_content_type");
    expect(typeOf(await readJson(post("{}", "application/json; charset=utf-16"), 100))).toBe(
      "unsupported_request_content_type",
    );
    expect(typeOf(await readJson(post("{}", 'application/json;charset="UTF-8"'), 100))).toBe("ok");
  });

  // shows: platform/errors-of-every-service/empty-body-labelled-json
  it("treats an empty body of any type as no body", async () => {
    const read = await readJson(post(""), 10);
    expect(read).toEqual({ ok: true, value: undefined });
  });
});

describe("readForm and readBytes", () => {
  it("keeps repeats and refuses other formats", async () => {
    const read = await readForm(post("a=1&a=2&b=%C3%A9", "application/x-www-form-urlencoded;charset=UTF-8"), 100);
    expect(read.ok && [...read.value]).toEqual([
      ["a", "1"],
      ["a", "2"],
      ["b", "é"],
    ]);
    expect(typeOf(await readForm(post("{}"), 100))).toBe("unsupported_request_content_type");
  });

  it("returns the bytes unchanged", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 500 }), async (bytes) => {
        const read = await readBytes(post(new Uint8Array(bytes)), 500);
        expect(read.ok && [...read.value]).toEqual([...bytes]);
      }),
      { numRuns: runs(20) },
    );
  });
});

describe("validate", () => {
  const schema = z.object({
    pushConfig: z.object({ endpoint: z.string(), tries: z.array(z.int().check(z.gte(1))) }),
    n: z.optional(z.int()),
    kind: z._default(z.enum(["a", "b"]), "a"),
  });
  const faults = (value: unknown) => {
    const checked = validate("body", schema, value);
    return checked.ok ? [] : checked.error.details.map(({ type, field }) => `${type} ${field}`);
  };

  // shows: events/error-object/details-.field
  // shows: platform/errors-of-every-service/400-validation_violation
  it("names each fault by its field in dot notation", () => {
    expect(faults({ pushConfig: { tries: [1, 0, "x"] } })).toEqual([
      "missing_field pushConfig.endpoint",
      "invalid_field pushConfig.tries[1]",
      "invalid_field pushConfig.tries[2]",
    ]);
    expect(faults({})).toEqual(["missing_field pushConfig"]);
    expect(faults([])).toEqual(["invalid_field "]);
    expect(faults(null)).toEqual(["invalid_field "]);
  });

  // shows: platform/errors-of-every-service/details-missing_field-invalid_field
  it("reports a missing field for any schema", () => {
    const each = {
      enum: z.enum(["a", "b"]),
      literal: z.literal("a"),
      union: z.union([z.int(), z.literal("newest")]),
      list: z.array(z.string()),
      text: z.string().check(z.minLength(1)),
      object: z.object({ inner: z.enum(["a"]) }),
      piped: booleanText,
    };
    const asked = validate("body", z.object({ ...each, outer: z.object(each) }), { outer: {} });
    const names = Object.keys(each);
    expect(asked).toMatchObject({
      error: {
        details: [...names, ...names.map((name) => `outer.${name}`)].map((field) => ({
          type: "missing_field",
          field,
          message: `${field} is missing.`,
        })),
      },
    });
    expect(faults({ pushConfig: { endpoint: "x", tries: [] }, kind: null })).toEqual(["invalid_field kind"]);
  });

  // shows: platform/errors-of-every-service/400-validation_violation
  it("never throws, and has a message for every fault", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const checked = validate("body", schema, value);
        if (!checked.ok) for (const detail of checked.error.details) expect(detail.message).toMatch(/\.$/);
      }),
      { numRuns: runs(200) },
    );
  });
});

describe("readPaging", () => {
  // shows: platform/paging/pagenumber-pagesize
  it("returns numbers within their bounds, or a fault, for any text", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (pageNumber, pageSize) => {
        const read = readPaging(new URLSearchParams({ pageNumber, pageSize }));
        if (!read.ok) return;
        expect(read.value.pageSize).toBeGreaterThanOrEqual(1);
        expect(read.value.pageSize).toBeLessThanOrEqual(1000);
        expect(read.value.skip).toBe((read.value.pageNumber - 1) * read.value.pageSize);
      }),
    );
    expect(readPaging(new URLSearchParams())).toMatchObject({ value: { pageNumber: 1, pageSize: 16, skip: 0 } });
  });
});

describe("Accept", () => {
  it.each([
    ["application/json;q=0", 406],
    ["*/*;q=0.0", 406],
    ["application/problem+json, text/plain", 406],
    ["text/csv, application/json;q=0.1", 200],
    ["APPLICATION/*", 200],
    ["", 200],
  ])("%s: %i", async (accept, status) => {
    const token = await tokenFor(OPERATOR);
    expect((await call("/admin/v1/roles", { token, headers: { accept } })).status).toBe(status);
  });
});

describe("answers", () => {
  it("names a query parameter that is sent twice", async () => {
    const token = await tokenFor(OPERATOR);
    const refused = await expectJson(await call("/admin/v1/roles?pageSize=1&pageSize=2", { token }), 400);
    expect(refused.details[0]).toMatchObject({ type: "out_of_range_parameter", field: "pageSize" });
    expect((await call("/admin/v1/roles?unknown=1&unknown=2", { token })).status).toBe(200);
  });

  it("answers HEAD like GET without a body", async () => {
    const token = await tokenFor(OPERATOR);
    const response = await call("/admin/v1/roles", { method: "HEAD", token });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe("");
  });
});
