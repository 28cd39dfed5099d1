import { parse, contentDisposition } from "@tinyhttp/content-disposition";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { stored } from "../support/stored-file.ts";
import { runs } from "../../support/model-runs.ts";
import { anyText } from "../../support/any-text.ts";

/** A browser shows or saves content from strangers under its name, and never runs it. */
const app = mediaApp();
const as = principal();
const BYTES = new TextEncoder().encode("x") as Uint8Array<ArrayBuffer>;

async function headersOf(type: string, disposition?: string): Promise<Headers> {
  const named = disposition === undefined ? {} : { disposition };
  const file = await stored(app, BYTES, { as, type, visibility: "public", ...named });
  return (await app.call(`/media/v2/content/${file.id}`, { method: "HEAD" })).headers;
}

/** Names an upload as another client library does: in plain ASCII if possible, else by `filename*`. */
const dispositionFor = (name: string): string =>
  contentDisposition(name, /^[\x20-\x7e]*$/.test(name) ? {} : { fallback: "f" });

async function expectSandboxed(type: string, disposition: "attachment" | "inline"): Promise<void> {
  const headers = await headersOf(type);
  expect([headers.get("content-type"), headers.get("content-disposition")]).toEqual([type, disposition]);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")).toBe("sandbox");
}

describe("Content-Disposition", () => {
  // shows: media/fetch/content-headers
  it.each([
    "text/html",
    "text/html; charset=utf-8",
    "Text/HTML",
    "application/xhtml+xml",
    "image/svg+xml",
    "IMAGE/SVG+XML;charset=utf-8",
    "text/xml",
    "application/xml",
    "application/rss+xml",
    "application/mathml+xml",
    "text/xsl",
    "text/javascript",
    "application/javascript",
    "application/ecmascript",
    "application/wasm",
    "application/pdf",
    "application/x-shockwave-flash",
    "application/java-archive",
    "application/manifest+json",
    "multipart/related",
    "message/rfc822",
    "text/cache-manifest",
    "text/css",
    "text/calendar",
    "application/octet-stream",
    "image/x-unheard-of",
    "a/b",
  ])("saves %s", async (type) => {
    await expectSandboxed(type, "attachment");
  });

  it.each([
    "image/png",
    "IMAGE/JPEG",
    "image/gif",
    "image/webp",
    "image/avif",
    "audio/mpeg",
    "video/mp4",
    "text/plain",
    "text/plain; charset=utf-8",
    "application/json",
  ])("shows %s in a sandbox", async (type) => {
    await expectSandboxed(type, "inline");
  });
});

describe("the file name", () => {
  const special = fc.constantFrom(
    ...Array.from(`"\\'%;=*?/<>|: \t\r\n`),
    "\0",
    "\x7f",
    "\x85",
    "\xa0",
    "\u202e",
    "\u2028",
  );
  const unit = fc.oneof(special, anyText({ minLength: 1, maxLength: 1 }), fc.constantFrom("a", "é", "€", "漢", "😀"));
  const name = fc.string({ unit, minLength: 1, maxLength: 24 });

  // shows: media/fetch/content-headers
  it("survives upload and download, read by another client library", async () => {
    await fc.assert(
      fc.asyncProperty(name, async (given) => {
        const headers = await headersOf("a/b", dispositionFor(given));
        const read = parse(headers.get("content-disposition")!);
        expect(read.type).toBe("attachment");
        expect(read.parameters["filename"]).toBe(expectedName(given));
      }),
      { numRuns: runs(10) },
    );
  });

  it.each([
    ["report.pdf", "report.pdf"],
    ['say "hi".txt', 'say "hi".txt'],
    ["Übersicht € 漢字 😀.txt", "Übersicht € 漢字 😀.txt"],
    ["100%25.txt", "100%25.txt"],
    ["../../etc/passwd", "passwd"],
    ["C:\\temp\\x.doc", "x.doc"],
    ["a\u202etxt.exe", "atxt.exe"],
    ["it's;filename=b", "it's;filename=b"],
    ["..", undefined],
    [" ", undefined],
  ])("keeps %s", async (given, expected) => {
    const headers = await headersOf("a/b", dispositionFor(given));
    expect(parse(headers.get("content-disposition")!).parameters["filename"]).toBe(expected);
  });

  it("is cut at whole characters if it is long; nothing else of the header is kept", async () => {
    const headers = await headersOf("a/b", dispositionFor("漢".repeat(200)));
    expect(parse(headers.get("content-disposition")!).parameters["filename"]).toBe("漢".repeat(85));
    const smuggled = await headersOf("a/b", dispositionFor('x"\r\nSet-Cookie: a=b\r\n\r\n<script>'));
    expect(smuggled.get("set-cookie")).toBeNull();
    expect(parse(smuggled.get("content-disposition")!).parameters["filename"]).toBe('x"Set-Cookie: a=b<script>');
  });
});

/** Returns the last part of a path without invisible characters; nothing if only dots are left. */
function expectedName(given: string): string | undefined {
  const visible = given
    .split(/[/\\]/)
    .at(-1)!
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    .trim();
  return /^\.*$/.test(visible) ? undefined : visible;
}
