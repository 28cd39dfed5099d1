import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { parseRanges } from "../../../src/media/content/byte-range.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { stored } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { runs } from "../../support/model-runs.ts";
import { writtenText } from "../../support/any-text.ts";
import { equal } from "../support/upload-bodies.ts";

/**
 * Checks conditions and ranges of RFC 9110 case by case, at every address: master and variant, public and by a
 * temporary link, read from R2 and from a copy at the edge.
 */
interface Way {
  readonly name: string;
  readonly link: string;
  readonly bytes: Uint8Array;
  readonly etag: string;
  /** The ETag of the other content: the master's for a variant, and the variant's for the master. */
  readonly otherEtag: string;
  readonly get: (headers: Record<string, string>, method?: "GET" | "HEAD") => Promise<Response>;
  readonly cacheControl: string;
}

const LAST_MODIFIED = "Fri, 20 Nov 2026 00:00:00 GMT";
const [BEFORE, AFTER] = ["Thu, 19 Nov 2026 23:59:59 GMT", "Fri, 20 Nov 2026 00:00:01 GMT"];
const ways: Way[] = [];

beforeAll(async () => {
  const [bare, edged] = [mediaApp({ edgeCache: undefined }), mediaApp()];
  const as = principal();
  const picture = await encodePng(gradient(40, 30));
  for (const visibility of ["public", "private"] as const) {
    const file = await stored(bare, picture, { as, visibility, query: "?clip=20x20" });
    await bare.consume();
    const linkOf = async (query: string): Promise<string> => {
      const answer = await bare.call(`${file.path}${query}`, { as });
      return answer.headers.get("location") ?? (await expectJson(answer, 200)).link;
    };
    const [master, variant] = await Promise.all([linkOf(""), linkOf("?clip=20x20")]);
    const made = await bare.call(variant);
    const madeBytes = await made.bytes();
    const masterEtag = file.etag;
    const variantEtag = made.headers.get("etag")!;
    expect(variantEtag).not.toBe(masterEtag);
    for (const [app, served] of visibility === "public"
      ? ([
          [bare, "from R2"],
          [edged, "from the edge"],
        ] as const)
      : ([[bare, "from R2"]] as const)) {
      const common = { cacheControl: visibility === "public" ? "public, max-age=300" : "private, no-store" };
      const get =
        (link: string): Way["get"] =>
        (headers, method = "GET") =>
          app.call(link, { headers, method });
      ways.push(
        {
          ...common,
          name: `${visibility} master ${served}`,
          link: master,
          bytes: picture,
          etag: masterEtag,
          otherEtag: variantEtag,
          get: get(master),
        },
        {
          ...common,
          name: `${visibility} variant ${served}`,
          link: variant,
          bytes: madeBytes,
          etag: variantEtag,
          otherEtag: masterEtag,
          get: get(variant),
        },
      );
    }
  }
  for (const way of ways) await (await way.get({})).bytes();
  await edged.settle();
  edged.clock.nowMs += 7000;
  bare.clock.nowMs += 7000;
});

/** Runs a check at all addresses, and checks that copies come from the edge. */
async function everyWay(check: (way: Way) => Promise<void>): Promise<void> {
  expect(ways).toHaveLength(6);
  for (const way of ways) await check(way);
}

type Case = [headers: Record<string, string>, status: number];

describe("conditions (section 13)", () => {
  // E is the content's own ETag (with quotes), O the ETag of the other master or variant.
  const cases: Case[] = [
    [{}, 200],
    // 13.1.1
    [{ "if-match": "E" }, 200],
    [{ "if-match": "*" }, 200],
    [{ "if-match": '"x", E' }, 200],
    [{ "if-match": '"x",E,"y"' }, 200],
    [{ "if-match": "O" }, 412],
    [{ "if-match": '"x"' }, 412],
    [{ "if-match": "W/E" }, 412],
    [{ "if-match": 'W/E, "x"' }, 412],
    [{ "if-match": "W/E, E" }, 200],
    [{ "if-match": '"*"' }, 412],
    // 13.1.2
    [{ "if-none-match": "E" }, 304],
    [{ "if-none-match": "W/E" }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": ' "x" , W/E ' }, 304],
    [{ "if-none-match": "O" }, 200],
    [{ "if-none-match": '"x", W/"y"' }, 200],
    [{ "if-none-match": '"x,*"' }, 200],
    // 13.1.3
    [{ "if-modified-since": LAST_MODIFIED }, 304],
    [{ "if-modified-since": AFTER }, 304],
    [{ "if-modified-since": BEFORE }, 200],
    [{ "if-modified-since": "Friday, 20-Nov-26 00:00:00 GMT" }, 304],
    [{ "if-modified-since": "Fri Nov 20 00:00:00 2026" }, 304],
    [{ "if-modified-since": "Thursday, 19-Nov-26 23:59:59 GMT" }, 200],
    [{ "if-modified-since": "Thu Nov 19 23:59:59 2026" }, 200],
    [{ "if-modified-since": "yesterday" }, 200],
    [{ "if-modified-since": `${LAST_MODIFIED}, ${LAST_MODIFIED}` }, 200],
    [{ "if-modified-since": "2026-11-20T00:00:00Z" }, 200],
    // 13.1.4
    [{ "if-unmodified-since": LAST_MODIFIED }, 200],
    [{ "if-unmodified-since": AFTER }, 200],
    [{ "if-unmodified-since": BEFORE }, 412],
    [{ "if-unmodified-since": "Thursday, 19-Nov-26 23:59:59 GMT" }, 412],
    [{ "if-unmodified-since": "Thu Nov 19 23:59:59 2026" }, 412],
    [{ "if-unmodified-since": "never" }, 200],
    // 13.2.2, in its order
    [{ "if-match": "E", "if-unmodified-since": BEFORE }, 200],
    [{ "if-match": '"x"', "if-unmodified-since": AFTER }, 412],
    [{ "if-match": '"x"', "if-none-match": "E" }, 412],
    [{ "if-unmodified-since": BEFORE, "if-none-match": "E" }, 412],
    [{ "if-match": "E", "if-none-match": "E" }, 304],
    [{ "if-unmodified-since": AFTER, "if-modified-since": AFTER }, 304],
    [{ "if-none-match": '"x"', "if-modified-since": AFTER }, 200],
    [{ "if-none-match": "E", "if-modified-since": BEFORE }, 304],
    [{ "if-none-match": "E", range: "bytes=0-1" }, 304],
    [{ "if-none-match": "E", range: "bytes=99999-" }, 304],
    [{ "if-match": '"x"', range: "bytes=0-1" }, 412],
    [{ "if-none-match": '"x"', range: "bytes=0-1" }, 206],
    // 13.1.5
    [{ "if-range": "E", range: "bytes=0-1" }, 206],
    [{ "if-range": "W/E", range: "bytes=0-1" }, 200],
    [{ "if-range": "O", range: "bytes=0-1" }, 200],
    [{ "if-range": '"x", E', range: "bytes=0-1" }, 200],
    [{ "if-range": '"x"', range: "bytes=99999-" }, 200],
    [{ "if-range": "E", range: "bytes=99999-" }, 416],
    [{ "if-range": LAST_MODIFIED, range: "bytes=0-1" }, 206],
    [{ "if-range": "Friday, 20-Nov-26 00:00:00 GMT", range: "bytes=0-1" }, 206],
    [{ "if-range": BEFORE, range: "bytes=0-1" }, 200],
    [{ "if-range": AFTER, range: "bytes=0-1" }, 200],
    [{ "if-range": "E" }, 200],
    [{ "if-range": "E", range: "bytes=0-1,4-5" }, 206],
    [{ "if-range": '"x"', range: "bytes=0-1,4-5" }, 200],
  ];

  // shows: media/fetch/content
  it("follow the table for GET and HEAD, at every address", async () => {
    await everyWay(async (way) => {
      for (const [given, status] of cases) {
        const headers = Object.fromEntries(
          Object.entries(given).map(([name, value]) => [
            name,
            value.replaceAll(/\bE\b/g, way.etag).replaceAll(/\bO\b/g, way.otherEtag),
          ]),
        );
        for (const method of ["GET", "HEAD"] as const) {
          const answer = await way.get(headers, method);
          const bytes = await answer.bytes();
          // Ranges apply to GET only; HEAD ignores them.
          const expected = method === "HEAD" && (status === 206 || status === 416) ? 200 : status;
          expect([way.name, method, given, answer.status]).toEqual([way.name, method, given, expected]);
          checkAnswer(way, answer, method === "HEAD" ? undefined : bytes);
          if (method === "HEAD") expect(bytes.length).toBe(0);
        }
      }
    });
  });
});

/** Checks the headers that every answer of a status must and must not have. */
function checkAnswer(way: Way, answer: Response, bytes: Uint8Array | undefined): void {
  const header = (name: string) => answer.headers.get(name);
  expect(header("x-content-type-options")).toBe("nosniff");
  if (answer.status === 412 || answer.status === 416) {
    expect(header("content-type")).toBe("application/json");
    expect(header("content-range")).toBe(answer.status === 416 ? `bytes */${way.bytes.length}` : null);
    expect(header("cache-control")).toBe("no-store");
    return;
  }
  // Sections 15.4.5 and 15.3.7: the headers that a 200 would have.
  expect([header("etag"), header("last-modified"), header("cache-control")]).toEqual([
    way.etag,
    LAST_MODIFIED,
    way.cacheControl,
  ]);
  expect(header("age")).toBe(way.name.endsWith("edge") && !isMultipart(answer) ? "7" : null);
  if (answer.status === 304) {
    expect([header("content-type"), header("content-length"), header("content-range")]).toEqual([null, null, null]);
    expect(bytes?.length ?? 0).toBe(0);
    return;
  }
  expect(header("content-security-policy")).toBe("sandbox");
  expect(header("accept-ranges")).toBe("bytes");
  expect(header("content-disposition")).toBe("inline");
  if (isMultipart(answer)) return;
  expect(header("content-type")).toBe("image/png");
  if (answer.status === 200) {
    expect(header("content-range")).toBeNull();
    expect(header("content-length")).toBe(String(way.bytes.length));
    if (bytes !== undefined) expect(equal(bytes, way.bytes)).toBe(true);
  } else {
    expect(header("content-length")).toBe(String(bytes?.length));
  }
}

const isMultipart = (answer: Response): boolean =>
  answer.headers.get("content-type")?.startsWith("multipart/byteranges") === true;

describe("ranges (section 14)", () => {
  /** `n` is the size; [from, to] as in slice. */
  const cases: [string, (n: number) => [number, number][] | "whole" | "none"][] = [
    ["bytes=0-0", () => [[0, 1]]],
    ["bytes=0-9", () => [[0, 10]]],
    ["bytes=10-", (n) => [[10, n]]],
    ["bytes=-1", (n) => [[n - 1, n]]],
    ["bytes=-99999", (n) => [[0, n]]],
    ["bytes=5-99999999999999999999", (n) => [[5, n]]],
    ["BYTES=0-1", () => [[0, 2]]],
    ["bytes= 0-1 ", () => [[0, 2]]],
    ["bytes=,0-1,", () => [[0, 2]]],
    ["bytes=0-1,99999-", () => [[0, 2]]],
    [
      "bytes=0-1,4-5",
      () => [
        [0, 2],
        [4, 6],
      ],
    ],
    [
      "bytes=-3 , 0-0",
      (n) => [
        [n - 3, n],
        [0, 1],
      ],
    ],
    [
      "bytes=0-1,2-3,99999-,-1",
      (n) => [
        [0, 2],
        [2, 4],
        [n - 1, n],
      ],
    ],
    ["bytes=99999-", () => "none"],
    ["bytes=-0", () => "none"],
    ["bytes=99999-,-0", () => "none"],
    // These ranges are ignored: overlapping, too many, malformed, another unit.
    ["bytes=0-5,5-6", () => "whole"],
    ["bytes=0-,-1", () => "whole"],
    [`bytes=${Array.from({ length: 11 }, (_, index) => `${index * 2}-${index * 2}`).join(",")}`, () => "whole"],
    ["bytes=5-4", () => "whole"],
    ["bytes=0-1,5-4", () => "whole"],
    ["bytes=", () => "whole"],
    ["bytes=-", () => "whole"],
    ["bytes=a-b", () => "whole"],
    ["bytes=0x1-2", () => "whole"],
    ["bytes=-1-2", () => "whole"],
    ["bytes 0-1", () => "whole"],
    ["lines=0-1", () => "whole"],
    [",", () => "whole"],
  ];

  // shows: media/fetch/content
  it("follow the table, at every address", async () => {
    await everyWay(async (way) => {
      for (const [range, slices] of cases) {
        const answer = await way.get({ range });
        const expected = slices(way.bytes.length);
        const status = expected === "whole" ? 200 : expected === "none" ? 416 : 206;
        expect([way.name, range, answer.status]).toEqual([way.name, range, status]);
        await checkRanges(way, answer, expected);
      }
    });
  });

  it("return exactly the slices that were requested", async () => {
    const bound = fc.oneof({ arbitrary: fc.nat(120), weight: 3 }, fc.constant(""));
    const spec = fc.tuple(bound, bound).map(([first, last]) => `${first}-${last}`);
    await fc.assert(
      fc.asyncProperty(fc.array(spec, { minLength: 1, maxLength: 6 }), fc.nat(5), async (specs, index) => {
        const way = ways[index]!;
        const answer = await way.get({ range: `bytes=${specs.join(",")}` });
        await checkRanges(way, answer, slicesOf(specs, way.bytes.length));
      }),
      { numRuns: runs(15) },
    );
  });

  it("return exactly the slices for any size, in the pure function", () => {
    const bound = fc.oneof(fc.nat(40).map(String), fc.constantFrom("", "99999999999999999999", "007"));
    const spec = fc.tuple(bound, bound).map(([first, last]) => `${first}-${last}`);
    fc.assert(
      fc.property(fc.array(spec, { minLength: 1, maxLength: 12 }), fc.nat(30), (specs, size) => {
        const expected = slicesOf(specs, size);
        const parsed = parseRanges(`bytes=${specs.join(", ")}`, size);
        if (typeof expected === "string") expect(parsed).toBe(expected === "none" ? "unsatisfiable" : "whole");
        else expect(parsed).toEqual(expected.map(([from, to]) => ({ offset: from, length: to - from })));
      }),
      { numRuns: runs(70) },
    );
  });

  it("ignore any other text", () => {
    fc.assert(
      fc.property(writtenText({ maxLength: 20 }), fc.nat(), (text, size) => {
        fc.pre(!/^\s*bytes=[\s\d,-]*$/i.test(text));
        expect(parseRanges(text, size)).toBe("whole");
      }),
    );
  });
});

/** Computes the bytes of each member from a list of all bytes, as RFC 9110 defines a range set. */
function slicesOf(specs: readonly string[], size: number): [number, number][] | "whole" | "none" {
  const named = specs.map((spec) => {
    const [first = "", last = ""] = spec.split("-");
    const all = Array.from({ length: size }, (_, index) => index);
    if (first === "" && last === "") return "malformed";
    if (first === "") return Number(last) === 0 ? [] : all.slice(-Math.min(Number(last), size));
    if (last !== "" && Number(last) < Number(first)) return "malformed";
    return all.filter((index) => index >= Number(first) && (last === "" || index <= Number(last)));
  });
  if (named.includes("malformed") || specs.length > 10) return "whole";
  const found = (named as number[][]).filter((slice) => slice.length > 0);
  if (found.length === 0) return "none";
  const bytes = found.flat();
  if (new Set(bytes).size < bytes.length) return "whole";
  return found.map((slice) => [slice[0]!, slice.at(-1)! + 1]);
}

async function checkRanges(way: Way, answer: Response, expected: [number, number][] | "whole" | "none"): Promise<void> {
  const bytes = await answer.bytes();
  checkAnswer(way, answer, bytes);
  if (expected === "none") return expect(answer.status).toBe(416);
  if (expected === "whole") return expect(answer.status).toBe(200);
  expect(answer.status).toBe(206);
  const [first, second] = expected;
  const rangeOf = ([from, to]: [number, number]) => `bytes ${from}-${to - 1}/${way.bytes.length}`;
  if (second === undefined) {
    expect(answer.headers.get("content-range")).toBe(rangeOf(first!));
    return expect(bytes).toEqual(way.bytes.slice(...first!));
  }
  expect(answer.headers.get("content-range")).toBeNull();
  expect(answer.headers.get("content-length")).toBe(String(bytes.length));
  const boundary = /^multipart\/byteranges; boundary=([0-9a-f]{32})$/.exec(answer.headers.get("content-type")!)![1]!;
  expect(partsOf(bytes, boundary)).toEqual(
    expected.map((slice) => ({
      headers: { "content-type": "image/png", "content-range": rangeOf(slice) },
      bytes: latin1(way.bytes.slice(...slice)),
    })),
  );
}

const latin1 = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

/** Parses a multipart body as a client does (RFC 2046 section 5.1.1). */
function partsOf(body: Uint8Array, boundary: string): { headers: object; bytes: string }[] {
  const [preamble, ...parts] = latin1(body).split(`\r\n--${boundary}`);
  expect(preamble).toBe("");
  expect(parts.pop()).toBe("--\r\n");
  return parts.map((part) => {
    const end = part.indexOf("\r\n\r\n");
    const lines = part.slice(2, end).split("\r\n");
    return { headers: Object.fromEntries(lines.map((line) => line.split(": "))), bytes: part.slice(end + 4) };
  });
}
