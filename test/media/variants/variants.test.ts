import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { createBlobStore } from "../../../src/media/blobs/blob-store.ts";
import { readImageHeader } from "../../../src/media/images/header.ts";
import type { ImageTransformer } from "../../../src/media/model/image-transformer.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { makeVariant, type MakeVariantDeps } from "../../../src/media/variants/make.ts";
import { createPatience } from "../../../src/media/variants/patience.ts";
import { createVariantStore } from "../../../src/media/variants/variant-store.ts";
import { utf8 } from "../../../src/platform/text/encoding.ts";
import { noMeter } from "../../../src/platform/ports/metrics.ts";
import { ok } from "../../../src/platform/model/result.ts";
import { decodeGif, encodeGif } from "../../support/gifs.ts";
import {
  BLUE,
  concat,
  cornersOf,
  decode,
  encodeJpeg,
  encodePng,
  exif,
  GIF,
  gradient,
  GREEN,
  jpegSegment,
  looksLike,
  PNG_SIGNATURE,
  pngChunk,
  quarters,
  RED,
  YELLOW,
  type Colour,
} from "../../support/images.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, START_MS } from "../support/media-app.ts";
import { testPlacement } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { stored, uploaded, type StoredFile } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { everywhere, shardDb } from "../../support/shards.ts";

/** The type of Vite's glob. Vite runs the tests. */
interface Glob {
  glob(pattern: string, options: object): Record<string, string>;
}

const app = mediaApp();
const as = principal();
const TRUNCATED = (await encodePng(gradient(300, 300))).slice(0, 5000);

const listed = async (file: StoredFile): Promise<any[]> =>
  expectJson(await app.call(`${file.path}/variants`, { as }), 200);

async function fetched(file: StoredFile, query: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; answer: Response }> {
  const { link } = await expectJson(await app.call(`${file.path}?${query}`, { as }), 200);
  const answer = await app.call(link);
  expect(answer.status).toBe(200);
  return { answer, bytes: new Uint8Array(await answer.arrayBuffer()) };
}

const variantRow = (file: StoredFile) =>
  everywhere.prepare("SELECT nonce, state, reason FROM variant WHERE file_id = ?").bind(file.id).first<{
    nonce: string;
    state: string;
    reason: string | null;
  }>();

describe("a variant", () => {
  // shows: media/what-the-service-does/image-variants
  // shows: media/file/variants
  // shows: media/variant/clip
  // shows: media/variant/crop
  // shows: media/variant/image-jpeg
  // shows: media/variant/image-png
  // shows: media/states-of-a-file/none-post-create
  // shows: media/states-of-a-file/variants-later
  // shows: media/endpoints/post-p
  // shows: media/endpoints/get-p-fileid-variants
  // shows: media/caching/etag-of-a-variant
  // shows: media/caching/if-none-match-equal
  // shows: media/caching/if-none-match-wrong
  // shows: media/limits/variants-at-a-time
  // shows: media/shapes/variant
  // shows: media/variants/format
  it("is declared at creation and made after the commit: pending, then ready; jpeg and png keep their format", async () => {
    for (const [type, bytes] of [
      ["image/png", await encodePng(quarters(400, 200))],
      ["image/jpeg", await encodeJpeg(quarters(400, 200))],
    ] as const) {
      const file = await uploaded(app, bytes, { as, type, query: "?clip=100x100,50x500,100x100&crop=60x60" });
      await app.settle();
      expect(app.jobs).toEqual([]);
      await app.consume();
      await expectJson(await app.call(file.commitLink, { as, method: "POST" }), 202);
      const pending = { width: null, height: null, bytes: null, etag: null, state: "pending" };
      expect(await listed(file)).toEqual([
        { type: "clip", size: "100x100", ...pending },
        { type: "clip", size: "50x500", ...pending },
        { type: "crop", size: "60x60", ...pending },
      ]);
      const early = await app.call(`${file.path}?clip=100x100`, { as });
      await expectProblem(early, 404, "element_resource_non_existing");
      expect(early.headers.get("retry-after")).toBe("2");
      const fallback = await app.call(`${file.path}?clip=100x100&fallback=true`, { as });
      expect([fallback.status, fallback.headers.get("etag")]).toEqual([200, file.etag]);

      expect(await app.consume()).toEqual({ acked: 3, retried: 0 });
      const expected = { "clip=100x100": [100, 50], "clip=50x500": [50, 25], "crop=60x60": [60, 60] };
      const list = await listed(file);
      expect(
        list.map(({ type: kind, size, width, height, state }) => [`${kind}=${size}`, [width, height], state]),
      ).toEqual(Object.entries(expected).map(([name, dimensions]) => [name, dimensions, "ready"]));
      const etags = new Set([file.etag]);
      for (const [index, [query, dimensions]] of Object.entries(expected).entries()) {
        const { bytes: made, answer } = await fetched(file, query);
        expect(answer.headers.get("content-type")).toBe(type);
        expect(answer.headers.get("etag")).toBe(list[index].etag);
        expect(made.length).toBe(list[index].bytes);
        expect(Number(answer.headers.get("content-length"))).toBe(made.length);
        const picture = await decode(made);
        expect([picture.width, picture.height]).toEqual(dimensions);
        const [aboveLeft, aboveRight, belowLeft, belowRight] = cornersOf(picture);
        expect(
          [
            [aboveLeft, RED],
            [aboveRight, GREEN],
            [belowLeft, BLUE],
            [belowRight, YELLOW],
          ].every(([a, b]) => looksLike(a as Colour, b as Colour)),
        ).toBe(true);
        etags.add(list[index].etag);
        const matching = { "if-none-match": list[index].etag };
        expect((await app.call(`${file.path}?${query}`, { as, headers: matching })).status).toBe(304);
        const masters = { "if-none-match": file.etag };
        expect((await app.call(`${file.path}?${query}`, { as, headers: masters })).status).toBe(200);
      }
      expect(etags.size).toBe(4);
    }
  });

  // shows: media/variants/never-enlarged
  it("is never enlarged", async () => {
    const file = await stored(app, await encodePng(gradient(30, 100)), {
      as,
      query: "?clip=200x200&crop=50x50,40x400",
    });
    await app.consume();
    expect((await listed(file)).map(({ type, size, width, height }) => [type, size, width, height])).toEqual([
      ["clip", "200x200", 30, 100],
      ["crop", "40x400", 30, 100],
      ["crop", "50x50", 30, 50],
    ]);
  });

  // shows: media/shapes/variant
  it("has a public link in the list, and a redirection that works", async () => {
    const picture = await encodePng(gradient(30, 30));
    const file = await stored(app, picture, { as, visibility: "public", query: "?clip=10x10" });
    expect((await listed(file))[0]).not.toHaveProperty("link");
    await app.consume();
    const [{ link, etag }] = await listed(file);
    const redirect = await app.call(`${file.path}?clip=10x10`);
    expect([redirect.status, redirect.headers.get("location"), redirect.headers.get("etag")]).toEqual([
      302,
      link,
      etag,
    ]);
    expect((await decode(new Uint8Array(await (await app.call(link)).arrayBuffer()))).width).toBe(10);
    expect((await app.call(link, { headers: { "if-none-match": file.etag } })).status).toBe(200);
    expect((await app.call(link, { headers: { "if-none-match": etag } })).status).toBe(304);
  });

  // shows: media/variants/exif-orientation
  it("is upright for any orientation of the jpeg or png, and has none of its own", async () => {
    const lying = quarters(80, 40);
    // The corners of the stored picture (RED GREEN / BLUE YELLOW) when it is upright, by orientation.
    const upright: Record<number, Colour[]> = {
      1: [RED, GREEN, BLUE, YELLOW],
      2: [GREEN, RED, YELLOW, BLUE],
      3: [YELLOW, BLUE, GREEN, RED],
      4: [BLUE, YELLOW, RED, GREEN],
      5: [RED, BLUE, GREEN, YELLOW],
      6: [BLUE, RED, YELLOW, GREEN],
      7: [YELLOW, GREEN, BLUE, RED],
      8: [GREEN, YELLOW, RED, BLUE],
    };
    for (const [key, corners] of Object.entries(upright)) {
      const orientation = Number(key);
      const jpeg = await encodeJpeg(lying, orientation);
      const png = await encodePng(lying, [pngChunk("eXIf", exif(orientation, true))]);
      for (const [type, bytes] of [
        ["image/jpeg", jpeg],
        ["image/png", png],
      ] as const) {
        const file = await stored(app, bytes, { as, type, query: "?clip=40x40" });
        await app.consume();
        const { bytes: made } = await fetched(file, "clip=40x40");
        const outcome = readImageHeader(made);
        expect(outcome).toMatchObject({ kind: "header", header: { orientation: 1 } });
        const picture = await decode(made);
        expect([type, orientation, picture.width, picture.height]).toEqual(
          orientation >= 5 ? [type, orientation, 20, 40] : [type, orientation, 40, 20],
        );
        expect(cornersOf(picture).map((colour, index) => looksLike(colour, corners[index]!))).toEqual([
          true,
          true,
          true,
          true,
        ]);
      }
    }
  });

  // shows: media/variant/image-gif
  // shows: media/variants/animation
  it("of an animated gif stays animated, with an ETag of its own encoder", async () => {
    const frames = [RED, GREEN].map((_, index) => ({
      width: 40,
      height: 20,
      indices: new Uint8Array(800).fill(index),
    }));
    const gif = encodeGif(40, 20, [RED, GREEN], frames, 3);
    const file = await stored(app, gif, { as, type: "image/gif", query: "?clip=10x10&crop=10x10" });
    expect(await app.consume()).toEqual({ acked: 2, retried: 0 });
    const list = await listed(file);
    expect(list.map(({ width, height, state }) => [width, height, state])).toEqual([
      [10, 5, "ready"],
      [10, 10, "ready"],
    ]);
    const { bytes, answer } = await fetched(file, "clip=10x10");
    expect(answer.headers.get("content-type")).toBe("image/gif");
    expect(answer.headers.get("etag")).toBe(list[0].etag);
    const made = decodeGif(bytes);
    expect([made.loop, made.frames.map((frame) => cornersOf(frame)[0])]).toEqual([3, [RED, GREEN]]);
  });

  it("of an animated png is its still image", async () => {
    const still = [
      pngChunk("acTL", Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 0)),
      pngChunk("fcTL", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0)),
    ];
    const file = await stored(app, await encodePng(quarters(40, 20), still), { as, query: "?clip=10x10" });
    await app.consume();
    const { bytes } = await fetched(file, "clip=10x10");
    expect(new TextDecoder("latin1").decode(bytes)).not.toContain("acTL");
    expect(looksLike(cornersOf(await decode(bytes))[0]!, RED)).toBe(true);
  });

  it("is made though the header is behind much other data", async () => {
    const jpeg = await encodeJpeg(gradient(50, 50));
    const padding = concat(...Array.from({ length: 5 }, () => jpegSegment(0xe2, new Uint8Array(60_000))));
    const padded = concat(jpeg.subarray(0, 2), padding, jpeg.subarray(2));
    const file = await stored(app, padded, { as, type: "image/jpeg", query: "?clip=10x10" });
    await app.consume();
    expect((await listed(file))[0]).toMatchObject({ state: "ready", width: 10, height: 10 });
  });

  it("is made though there are bytes between the segments of a jpeg", async () => {
    const jpeg = await encodeJpeg(gradient(50, 40));
    const padded = concat(jpeg.subarray(0, 2), Uint8Array.of(0xff, 0, 1, 2, 0xff), jpeg.subarray(2));
    expect(readImageHeader(padded)).toMatchObject({ kind: "header", header: { width: 50, height: 40 } });
    expect(readImageHeader(concat(jpeg.subarray(0, 3), new Uint8Array(100)))).toEqual({ kind: "incomplete" });
  });

  it("has the type of its content: a png that was declared as jpeg stays a png", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, type: "image/jpeg", query: "?clip=10x10" });
    await app.consume();
    expect((await fetched(file, "clip=10x10")).answer.headers.get("content-type")).toBe("image/png");
  });
});

describe("the ETag of a variant", () => {
  // shows: media/variants/etag
  it("differs with another encoder, and is the same with the same one", async () => {
    const picture = await encodePng(gradient(10, 10));
    const file = await stored(app, picture, { as, query: "?clip=10x10" });
    const [job] = app.jobs.splice(0);
    const etags: unknown[] = [];
    for (const encoder of ["one 1", "one 2", "one 1"]) {
      const transformer: ImageTransformer = {
        transform: async ({ master }) => {
          await master.cancel();
          return ok({ stream: new Response(picture).body!, encoder });
        },
      };
      const [variants, blobs] = [
        createVariantStore(shardDb(await testPlacement.shardOf("acme", 0))),
        createBlobStore(env.MEDIA),
      ];
      const [queue, clock] = [{ send: async () => {} }, { nowMs: () => START_MS }];
      const patience = createPatience(clock);
      const deps = { clock, variants, blobs, transformer, patience, queue, meter: noMeter };
      expect(await makeVariant(deps as unknown as MakeVariantDeps, job!)).toBeUndefined();
      etags.push((await listed(file))[0].etag);
      await everywhere.prepare("UPDATE variant SET state = 'pending' WHERE file_id = ?").bind(file.id).run();
    }
    expect(etags[0]).toMatch(/^"[0-9a-f]{32}"$/);
    expect(etags[1]).not.toBe(etags[0]);
    expect(etags[2]).toBe(etags[0]);
  });
});

describe("a variant fails at once with a reason for", () => {
  // shows: media/shapes/variant
  // shows: media/variants/broken-or-over-100-megapixels
  it.each([
    ["no image at all", utf8("hello, this is a text"), /not a jpeg, png or gif/],
    ["nothing", new Uint8Array(0), /not a readable image/],
    ["a png that ends early", TRUNCATED, /not a readable image/],
    ["a png of nothing but a signature", PNG_SIGNATURE, /not a readable image/],
    ["a gif that ends early", GIF.slice(0, 30), /not a readable image/],
    ["a gif of a large screen", gifBomb(10_000, 10_000), /10000 x 10000 pixels, which need too much memory/],
    ["a gif of a larger one", gifBomb(10_001, 10_000), /10001 x 10000 pixels, more than 100 megapixels/],
    ["a bomb", bomb(20_000, 20_000), /20000 x 20000 pixels, more than 100 megapixels/],
    ["one that is too long", bomb(20_000, 4000), /20000 x 4000 pixels, more than 12000 on one side/],
    ["one that is too high", bomb(1, 12_001), /more than 12000 on one side/],
    ["a bomb of the largest numbers", bomb(0xffffffff, 0xffffffff), /megapixels/],
  ])("%s", async (_, bytes, reason) => {
    const file = await stored(app, bytes, { as, query: "?clip=10x10" });
    expect(await app.consume()).toEqual({ acked: 1, retried: 0 });
    const [variant] = await listed(file);
    expect(variant).toMatchObject({
      type: "clip",
      size: "10x10",
      state: "failed",
      reason: expect.stringMatching(reason),
    });
    expect(await keysOf(file.id)).toEqual([`blob/${file.id}`]);
    const answer = await app.call(`${file.path}?clip=10x10`, { as });
    const { message } = await expectProblem(answer, 404, "element_resource_non_existing");
    expect(message).toBe(`This variant could not be made: ${variant.reason}`);
    expect(answer.headers.get("retry-after")).toBeNull();
    const foreign = await app.call(`${file.path}?clip=10x10`, { as: principal() });
    expect((await expectProblem(foreign, 404, "element_resource_non_existing")).message).toMatch(/no such file/);
    expect((await app.call(`${file.path}?clip=10x10&fallback=true`, { as })).headers.get("etag")).toBe(file.etag);
  });

  // shows: media/variants/broken-or-over-100-megapixels
  it("a bomb, which is not decoded", async () => {
    const images = { input: () => expect.unreachable("the binding was asked") } as unknown as ImagesBinding;
    const careful = mediaApp({ images });
    const file = await stored(careful, bomb(20_000, 20_000), { as, query: "?clip=10x10" });
    expect(await careful.consume()).toEqual({ acked: 1, retried: 0 });
    expect((await listed(file))[0].state).toBe("failed");
  });
});

/** Makes a gif of one pixel whose header claims these dimensions. */
function gifBomb(width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = GIF.slice();
  new DataView(bytes.buffer).setUint16(6, width, true);
  new DataView(bytes.buffer).setUint16(8, height, true);
  return bytes;
}

/** Makes a png without pixels whose header claims these dimensions. */
function bomb(width: number, height: number): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(13);
  new DataView(header.buffer).setUint32(0, width);
  new DataView(header.buffer).setUint32(4, height);
  header.set([8, 2, 0, 0, 0], 8);
  return concat(PNG_SIGNATURE, pngChunk("IHDR", header), pngChunk("IDAT", new Uint8Array(20)), pngChunk("IEND"));
}

/** Images makes nothing. */
const NO_IMAGES = {
  input: () => {
    throw new Error("injected");
  },
} as unknown as ImagesBinding;

describe("messages", () => {
  it("that arrive after the variant failed delete the bytes of earlier attempts", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const jobs = app.jobs.splice(0);
    await app.consume({ jobs, dead: true });
    await env.MEDIA.put(`variant/${file.id}/${jobs[0]!.nonce}`, "x");
    expect(await app.consume({ jobs })).toEqual({ acked: 1, retried: 0 });
    expect(await keysOf(file.id)).toEqual([`blob/${file.id}`]);
    expect(await variantRow(file)).toMatchObject({ state: "failed" });
  });

  // shows: media/variants/repeated-deliveries
  it("that arrive twice, together or later, change nothing", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const jobs = app.jobs.splice(0);
    expect(await app.consume({ jobs: [...jobs, ...jobs, ...jobs] })).toEqual({ acked: 3, retried: 0 });
    const before = await listed(file);
    const object = await env.MEDIA.head((await keysOf(file.id))[1]!);
    expect(await app.consume({ jobs })).toEqual({ acked: 1, retried: 0 });
    expect(await app.consume({ jobs, dead: true })).toEqual({ acked: 1, retried: 0 });
    expect(await listed(file)).toEqual(before);
    expect(before[0].state).toBe("ready");
    expect((await env.MEDIA.head((await keysOf(file.id))[1]!))!.uploaded).toEqual(object!.uploaded);
  });

  it("that are not jobs are acknowledged", async () => {
    const jobs = [null, 1, "x", {}, { fileId: 1, nonce: "a" }, { fileId: "a" }, { fileId: "\ud800", nonce: "\0" }];
    expect(await app.consume({ jobs })).toEqual({ acked: jobs.length, retried: 0 });
  });

  it("for a deleted variant or file leave no bytes", async () => {
    const picture = await encodePng(gradient(50, 50));
    for (const path of ["", "/variants"]) {
      const file = await stored(app, picture, { as, query: "?clip=10x10" });
      const jobs = app.jobs.splice(0);
      await app.call(`${file.path}${path}`, { as, method: "DELETE" });
      await app.settle();
      for (const dead of [false, true]) {
        // An interrupted attempt wrote these bytes.
        await env.MEDIA.put(`variant/${file.id}/${jobs[0]!.nonce}`, "x");
        expect(await app.consume({ jobs, dead })).toEqual({ acked: 1, retried: 0 });
        expect(await keysOf(file.id)).toEqual(path === "" ? [] : [`blob/${file.id}`]);
      }
      // The proof of a deleted file finds the bytes of a deleted variant, which has no row, in a list of keys alone.
      expect(
        await everywhere
          .prepare("SELECT known_places AS known FROM file WHERE id = ?")
          .bind(file.id)
          .first<{ known: number | null }>(),
      ).toEqual({ known: path === "" ? 1 : null });
    }
  });

  it("for a file whose owner is retired leave no bytes, whenever that happened", async () => {
    const retire = (file: StoredFile) =>
      everywhere
        .prepare("UPDATE owner SET erasure_id = 'e' WHERE id = (SELECT owner_id FROM file WHERE id = ?)")
        .bind(file.id)
        .run();
    const picture = await encodePng(gradient(50, 50));
    for (const moment of ["before", "while it is made"]) {
      const file = await stored(app, picture, { as: principal(), query: "?clip=10x10" });
      const bucket = new Proxy(env.MEDIA, {
        get:
          (target, name) =>
          async (...args: [string]) => {
            if (name === "put" && args[0].startsWith("variant/")) await retire(file);
            return (target as any)[name](...args);
          },
      });
      if (moment === "before") await retire(file);
      const jobs = app.jobs.splice(0);
      expect(await mediaApp({ bucket }).consume({ jobs })).toEqual({ acked: 1, retried: 0 });
      expect((await variantRow(file))!.state).toBe("pending");
      expect(await keysOf(file.id)).toEqual([`blob/${file.id}`]);
    }
  });

  it("leave no bytes if the variant is deleted while it is made, before or after they are written", async () => {
    const picture = await encodePng(gradient(50, 50));
    for (const path of ["", "/variants"]) {
      const file = await stored(app, picture, { as, query: "?clip=10x10" });
      const bucket = new Proxy(env.MEDIA, {
        get:
          (target, name) =>
          async (...args: [string]) => {
            if (name === "put" && args[0].startsWith("variant/")) {
              expect((await app.call(`${file.path}${path}`, { as, method: "DELETE" })).status).toBe(204);
              await app.settle();
            }
            return (target as any)[name](...args);
          },
      });
      const racing = mediaApp({ bucket });
      expect(await racing.consume({ jobs: app.jobs.splice(0) })).toEqual({ acked: 1, retried: 0 });
      expect(await keysOf(file.id)).toEqual(path === "" ? [] : [`blob/${file.id}`]);
    }
  });

  it("are retried after temporary faults; the dead-letter consumer marks the variant failed", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const jobs = app.jobs.splice(0);
    const failing = (method: string) =>
      new Proxy(env.MEDIA, {
        get: (target, name) =>
          name === method
            ? () => Promise.reject(new Error("injected"))
            : (...args: unknown[]) => (target as any)[name](...args),
      });
    const down = {
      input: () => {
        throw new Error("injected");
      },
    } as unknown as ImagesBinding;
    const db = {
      prepare: () => {
        throw new Error("injected");
      },
    } as unknown as D1Database;
    for (const overrides of [{ bucket: failing("get") }, { bucket: failing("put") }, { images: down }, { db }]) {
      expect(await mediaApp(overrides).consume({ jobs })).toEqual({ acked: 0, retried: 1 });
      expect(await variantRow(file)).toMatchObject({ state: "pending" });
    }
    expect(await mediaApp({ db }).consume({ jobs, dead: true })).toEqual({ acked: 0, retried: 1 });
    expect(await app.consume({ jobs, dead: true })).toEqual({ acked: 1, retried: 0 });
    expect(await variantRow(file)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("several attempts"),
    });
  });

  const [wranglerToml = ""] = Object.values(
    (import.meta as unknown as Glob).glob("../../../wrangler.toml", { query: "?raw", import: "default", eager: true }),
  );
  /** The last delivery before the dead letters. */
  const LAST = 1 + Number(/^max_retries = (\d+)$/m.exec(wranglerToml)![1]);
  const broken = () => Promise.reject(new Error("injected"));
  const without = <T extends object>(binding: T, method: keyof T, instead: unknown): T =>
    new Proxy(binding, {
      get(target, name) {
        const found: unknown = name === method ? instead : Reflect.get(target, name);
        return typeof found === "function" ? found.bind(target) : found;
      },
    });
  /** Images that makes every image but pngs. */
  const noPngs = without(env.IMAGES, "input", (stream: ReadableStream<Uint8Array>) => {
    const steps: ImageTransform[] = [];
    const transformer = {
      transform: (step: ImageTransform) => (steps.push(step), transformer),
      async output(output: ImageOutputOptions) {
        if (output.format === "image/png") throw new Error("injected");
        return steps.reduce((made, step) => made.transform(step), env.IMAGES.input(stream)).output(output);
      },
    };
    return transformer;
  });
  /** Images whose results break off. */
  const cutImages = without(env.IMAGES, "input", () => {
    const image = () => new ReadableStream({ pull: (controller) => controller.error(new Error("injected")) });
    const transformer = { transform: () => transformer, output: async () => ({ image }) };
    return transformer;
  });

  it.each<[string, NonNullable<Parameters<typeof mediaApp>[0]>]>([
    ["Images makes nothing", { images: NO_IMAGES }],
    ["Images makes no pngs, though other formats", { images: noPngs }],
    ["the results of Images break off", { images: cutImages }],
    ["the bucket reads nothing", { bucket: without(env.MEDIA, "get", broken) }],
    ["the bucket writes nothing, though it reads", { bucket: without(env.MEDIA, "put", broken) }],
    ["the bucket does not answer", { bucket: without(env.MEDIA, "put", () => new Promise(() => {})) }],
    ["the database takes no change", { db: without(env.DB, "batch", broken) }],
    ["the database does nothing", { db: without(env.DB, "prepare", NO_IMAGES.input) }],
  ])("are sent again by the sweep, and fail nothing, while %s", async (what, down) => {
    const { attemptMs } = LIMITS;
    Object.assign(LIMITS, { attemptMs: 300 });
    try {
      const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
      const jobs = app.jobs.splice(0);
      expect(await mediaApp(down).consume({ jobs, attempts: LAST - 1 })).toEqual({ acked: 0, retried: 1 });
      expect(await mediaApp(down).consume({ jobs, attempts: LAST })).toEqual({ acked: 1, retried: 0 });
      expect(await variantRow(file)).toMatchObject({ state: "pending" });
      expect(await app.media.backlog.lastOutageMs()).toBe(what === "the database does nothing" ? null : START_MS);
      await env.DB.exec("DELETE FROM dead_work");
      await app.media.sweep(START_MS + LIMITS.variantResendMs);
      const again = app.jobs.splice(0).filter((job) => job.fileId === file.id);
      expect(again).toHaveLength(1);
      Object.assign(LIMITS, { attemptMs });
      expect(await app.consume({ jobs: again })).toEqual({ acked: 1, retried: 0 });
      expect((await listed(file))[0].state).toBe("ready");
    } finally {
      Object.assign(LIMITS, { attemptMs });
    }
  });

  it("are sent again for thousands of variants at a time, so that the end of an outage is soon theirs", async () => {
    const file = await stored(app, PNG_SIGNATURE, { as });
    await shardDb(await testPlacement.shardOf(as.tenant, 0))
      .prepare(
        `WITH RECURSIVE size (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM size WHERE n < 2000)
        INSERT INTO variant (file_id, nonce, type, size, state, created_at, due_at)
        SELECT ?1, 'n' || n, 'clip', n || 'x1', 'pending', 0, 0 FROM size`,
      )
      .bind(file.id)
      .run();
    await app.media.sweep(START_MS);
    expect(app.jobs.splice(0).filter(({ fileId }) => fileId === file.id)).toHaveLength(2000);
    await app.call(file.path, { as, method: "DELETE" });
    await app.settle();
  });

  it("become dead letters, which fail the variant, after a week without an image", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const jobs = app.jobs.splice(0);
    for (const [afterMs, fate] of [
      [LIMITS.variantOutageMs - 1, { acked: 1, retried: 0 }],
      [LIMITS.variantOutageMs, { acked: 0, retried: 1 }],
    ] as const) {
      const later = mediaApp({ images: NO_IMAGES });
      later.clock.nowMs = START_MS + afterMs;
      expect(await later.consume({ jobs, attempts: LAST })).toEqual(fate);
      expect(await variantRow(file)).toMatchObject({ state: "pending" });
    }
    await mediaApp({ images: NO_IMAGES }).consume({ jobs, dead: true });
    expect(await variantRow(file)).toMatchObject({ state: "failed" });
  });

  it("become dead letters if the bytes of a removed variant cannot be deleted", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const jobs = app.jobs.splice(0);
    await everywhere.prepare("UPDATE variant SET state = 'removed' WHERE file_id = ?").bind(file.id).run();
    const down = mediaApp({ bucket: without(env.MEDIA, "delete", broken) });
    expect(await down.consume({ jobs, attempts: LAST })).toEqual({ acked: 0, retried: 1 });
  });

  it("are retried if the bucket does not answer when the bytes of a removed variant are deleted", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const jobs = app.jobs.splice(0);
    await everywhere.prepare("UPDATE variant SET state = 'removed' WHERE file_id = ?").bind(file.id).run();
    const { attemptMs } = LIMITS;
    Object.assign(LIMITS, { attemptMs: 300 });
    try {
      const down = mediaApp({ bucket: without(env.MEDIA, "delete", () => new Promise(() => {})) });
      for (const dead of [false, true]) expect(await down.consume({ jobs, dead })).toEqual({ acked: 0, retried: 1 });
    } finally {
      Object.assign(LIMITS, { attemptMs });
    }
  });

  it("do not blame the image for one failure of Images", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    let calls = 0;
    const images = without(env.IMAGES, "input", (stream: ReadableStream<Uint8Array>) => {
      if (calls++ === 0) throw new Error("injected");
      return env.IMAGES.input(stream);
    });
    expect(await mediaApp({ images }).consume({ jobs: app.jobs.splice(0) })).toEqual({ acked: 1, retried: 0 });
    expect(await variantRow(file)).toMatchObject({ state: "ready" });
  });

  it("do not blame the image if the master breaks off while it is read", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    let reads = 0;
    const bucket = new Proxy(env.MEDIA, {
      get:
        (target, name) =>
        async (...args: unknown[]) => {
          const result = await (target as any)[name](...args);
          if (name !== "get" || ++reads < 2) return result;
          return { body: new ReadableStream({ pull: (controller) => controller.error(new Error("injected")) }) };
        },
    });
    expect(await mediaApp({ bucket }).consume({ jobs: app.jobs.splice(0) })).toEqual({ acked: 0, retried: 1 });
    expect(await variantRow(file)).toMatchObject({ state: "pending" });
  });

  it("that were never sent are sent by the sweep, later and once in a quarter of an hour", async () => {
    const sending = mediaApp({ jobs: { sendBatch: () => Promise.reject(new Error("injected")) } as unknown as Queue });
    const file = await stored(sending, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const jobsOf = () => app.jobs.splice(0).filter((job) => job.fileId === file.id);
    await app.media.sweep(START_MS + LIMITS.variantResendMs - 1);
    expect(jobsOf()).toEqual([]);
    await app.media.sweep(START_MS + LIMITS.variantResendMs);
    await app.media.sweep(START_MS + LIMITS.variantResendMs + 1);
    const jobs = jobsOf();
    expect(jobs).toHaveLength(1);
    await app.consume({ jobs });
    expect((await listed(file))[0].state).toBe("ready");
    await app.media.sweep(START_MS + 3 * LIMITS.variantResendMs);
    expect(jobsOf()).toEqual([]);
  });
});

describe("adding variants", () => {
  // shows: media/endpoints/post-p-fileid-variants
  // shows: media/limits/variants-at-a-time
  // shows: media/shapes/variants-create
  it("returns the whole list, new ones pending and old ones unchanged, with a job for each new one", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    await app.consume();
    const answer = await app.call(`${file.path}/variants?clip=10x10,20x20&crop=10x10`, { as, method: "POST" });
    expect((await expectJson(answer, 200)).map((variant: any) => [variant.type, variant.size, variant.state])).toEqual([
      ["clip", "10x10", "ready"],
      ["clip", "20x20", "pending"],
      ["crop", "10x10", "pending"],
    ]);
    expect(await app.consume()).toEqual({ acked: 2, retried: 0 });
    expect((await listed(file)).every((variant) => variant.state === "ready")).toBe(true);
  });

  it("in parallel for one size makes one job", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as });
    const ask = () => app.call(`${file.path}/variants?clip=10x10`, { as, method: "POST" });
    const answers = await Promise.all(Array.from({ length: 10 }, ask));
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await app.consume()).toEqual({ acked: 1, retried: 0 });
  });

  it("replaces a failed one and deletes its bytes; others stay", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    const [first] = app.jobs.splice(0);
    await app.consume({ jobs: [first], dead: true });
    await expectJson(await app.call(`${file.path}/variants?clip=20x20`, { as, method: "POST" }), 200);
    await app.settle();
    const [second] = app.jobs.splice(0);
    await app.consume({ jobs: [second] });
    const before = await listed(file);
    expect(before.map(({ state }) => state)).toEqual(["failed", "ready"]);
    await env.MEDIA.put(`variant/${file.id}/${first!.nonce}`, "x");
    const ask = () => app.call(`${file.path}/variants?clip=10x10,20x20,30x30`, { as, method: "POST" });
    const answers = await Promise.all(Array.from({ length: 5 }, ask));
    for (const answer of answers) {
      const list = await expectJson(answer, 200);
      expect(list.map(({ size, state }: any) => [size, state])).toEqual([
        ["10x10", "pending"],
        ["20x20", "ready"],
        ["30x30", "pending"],
      ]);
      expect(list[0]).not.toHaveProperty("reason");
    }
    await app.settle();
    expect(await keysOf(file.id)).toEqual([`blob/${file.id}`, `variant/${file.id}/${second!.nonce}`]);
    expect(app.jobs).toHaveLength(2);
    // The old message is delivered again, then the new ones.
    expect(await app.consume({ jobs: [first, first] })).toEqual({ acked: 2, retried: 0 });
    expect(await app.consume({ jobs: [first], dead: true })).toEqual({ acked: 1, retried: 0 });
    expect(await app.consume()).toEqual({ acked: 2, retried: 0 });
    const list = await listed(file);
    expect(list.map(({ state }) => state)).toEqual(["ready", "ready", "ready"]);
    expect(list[1]).toEqual(before[1]);
    expect(await keysOf(file.id)).toHaveLength(4);
  });

  it("leaves the bytes of a failed one to the sweep if they cannot be deleted", async () => {
    const file = await stored(app, TRUNCATED, { as, query: "?clip=10x10" });
    const [job] = app.jobs;
    await app.consume();
    await env.MEDIA.put(`variant/${file.id}/${job!.nonce}`, "x");
    const broken = mediaApp({ bucket: { delete: () => Promise.reject(new Error("injected")) } as unknown as R2Bucket });
    await expectJson(await broken.call(`${file.path}/variants?clip=10x10`, { as, method: "POST" }), 200);
    await broken.settle();
    expect(await keysOf(file.id)).toHaveLength(2);
    await app.media.sweep(START_MS);
    expect(await keysOf(file.id)).toEqual([`blob/${file.id}`]);
    expect(await variantRow(file)).toMatchObject({ state: "pending" });
    // The image is still broken.
    await app.consume({ jobs: broken.jobs });
    expect((await listed(file))[0]).toMatchObject({ state: "failed" });
  });

  it("keeps a failed one beyond the limit of a file, and for a stranger", async () => {
    const file = await stored(app, TRUNCATED, { as, query: "?clip=10x10" });
    await app.consume();
    const before = await variantRow(file);
    const sizes = Array.from({ length: 99 }, (_, index) => `${index + 1}x8`).join(",");
    await expectJson(await app.call(`${file.path}/variants?clip=${sizes}`, { as, method: "POST" }), 200);
    const over = await app.call(`${file.path}/variants?clip=10x10,9x9`, { as, method: "POST" });
    await expectProblem(over, 400, "business_error", [{ type: "too_many_variants" }]);
    const stranger = await app.call(`${file.path}/variants?clip=10x10`, { as: principal(), method: "POST" });
    await expectProblem(stranger, 404, "element_resource_non_existing");
    expect((await listed(file))[0]).toMatchObject({ size: "10x10", state: "failed", reason: before!.reason });
    await app.call(`${file.path}/variants`, { as, method: "DELETE" });
    await app.settle();
    app.jobs.splice(0);
  });

  // shows: media/variant/other-types
  // shows: media/endpoints/post-p-fileid-variants
  // shows: media/variants/other-masters
  it("returns 400 without a size, beyond the limit of a file, and if it is not an image", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as });
    const path = `${file.path}/variants`;
    await expectProblem(await app.call(path, { as, method: "POST" }), 400, "validation_violation", [
      { type: "missing_query_parameter", field: "clip" },
    ]);
    const sizes = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => `${from + index}x9`).join(",");
    const over = await app.call(`${path}?clip=${sizes(1, 60)}&crop=${sizes(1, 41)}`, { as, method: "POST" });
    await expectProblem(over, 400, "business_error", [{ type: "too_many_variants" }]);
    await expectJson(await app.call(`${path}?clip=${sizes(1, 99)}`, { as, method: "POST" }), 200);
    const two = await app.call(`${path}?clip=${sizes(98, 101)}`, { as, method: "POST" });
    await expectProblem(two, 400, "business_error", [{ type: "too_many_variants" }]);
    expect(await listed(file)).toHaveLength(99);
    await expectJson(await app.call(`${path}?clip=${sizes(90, 100)}`, { as, method: "POST" }), 200);
    await app.call(path, { as, method: "DELETE" });
    await app.settle();
    app.jobs.splice(0);

    const text = await stored(app, utf8("x"), { as, type: "text/plain" });
    const answer = await app.call(`${text.path}/variants?clip=1x1`, { as, method: "POST" });
    await expectProblem(answer, 400, "business_error", [{ type: "unsupported_content_type" }]);
  });
});

describe("deleting variants", () => {
  // Tests before have dropped messages.
  beforeAll(async () => void (await everywhere.prepare("UPDATE variant SET lane = NULL, waits = 0").run()));

  // shows: media/endpoints/delete-p-fileid-variants
  // shows: media/variants/etag
  it("removes those named, then all, at once; made again they have another nonce and the same ETag", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10,20x20&crop=10x10" });
    await app.consume();
    const before = await listed(file);
    const { link } = await expectJson(await app.call(`${file.path}?clip=10x10`, { as }), 200);
    const remove = (query: string) => app.call(`${file.path}/variants${query}`, { as, method: "DELETE" });
    expect((await remove("?clip=10x10,99x99")).status).toBe(204);
    await expectProblem(await app.call(link), 404, "element_resource_non_existing");
    await app.settle();
    expect((await listed(file)).map(({ type, size }) => [type, size])).toEqual([
      ["clip", "20x20"],
      ["crop", "10x10"],
    ]);
    expect(await keysOf(file.id)).toHaveLength(3);
    await app.call(`${file.path}/variants?clip=10x10`, { as, method: "POST" });
    await app.consume();
    expect((await listed(file))[0]).toEqual(before[0]);
    expect((await app.call(link)).status).toBe(200);
    expect((await remove("")).status).toBe(204);
    await app.settle();
    expect(await listed(file)).toEqual([]);
    expect(await keysOf(file.id)).toEqual([`blob/${file.id}`]);
    expect(await everywhere.prepare("SELECT 1 FROM variant WHERE file_id = ?").bind(file.id).first()).toBeNull();
    expect((await remove("")).status).toBe(204);
  });

  it("is finished by the sweep after a crash before the bytes are deleted", async () => {
    const file = await stored(app, await encodePng(gradient(50, 50)), { as, query: "?clip=10x10" });
    await app.consume();
    const broken = mediaApp({ bucket: { delete: () => Promise.reject(new Error("injected")) } as unknown as R2Bucket });
    expect((await broken.call(`${file.path}/variants`, { as, method: "DELETE" })).status).toBe(204);
    await broken.settle();
    expect(await keysOf(file.id)).toHaveLength(2);
    await app.media.sweep(START_MS);
    expect(await keysOf(file.id)).toEqual([`blob/${file.id}`]);
  });
});
