import sharp from "sharp";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CorpusImage } from "../../tools/corpora/images.ts";
import { findingsOf } from "../../tools/corpora/judge.ts";
import { startCorporaPlatform, type CorporaPlatform } from "../../tools/corpora/platform.ts";
import type { Finding } from "../../tools/corpora/report.ts";

/** `npm run corpora` with a few images that are made here. */
let platform: CorporaPlatform;
beforeAll(async () => {
  platform = await startCorporaPlatform();
}, 120_000);
afterAll(() => platform.stop());

const [WIDTH, HEIGHT] = [180, 120];

/** Turning or mirroring it always gives another picture. */
function painted(): Buffer {
  const pixels = Buffer.alloc(WIDTH * HEIGHT * 3);
  for (let at = 0; at < WIDTH * HEIGHT; at++) {
    const [x, y] = [at % WIDTH, Math.floor(at / WIDTH)];
    pixels.set([(x * 255) / WIDTH, (y * 255) / HEIGHT, x < 60 && y < 40 ? 255 : 0], at * 3);
  }
  return pixels;
}

const raw = { width: WIDTH, height: HEIGHT, channels: 3 } as const;

async function judged(images: readonly Omit<CorpusImage, "corpus">[]): Promise<Finding[]> {
  const findings = await Promise.all(images.map((image) => findingsOf(platform, { corpus: "own", ...image })));
  return findings.flat();
}

// shows: media/variants/exif-orientation
it("every orientation of a jpeg and a png is applied once, as by libvips", async () => {
  const orientations = [1, 2, 3, 4, 5, 6, 7, 8];
  const images = await Promise.all(
    orientations.flatMap((orientation) =>
      (["jpeg", "png"] as const).map(async (format) => ({
        path: `${orientation}.${format}`,
        contentType: `image/${format}`,
        bytes: await sharp(painted(), { raw }).withMetadata({ orientation }).toFormat(format).toBuffer(),
      })),
    ),
  );
  const findings = await judged(images);
  expect(findings).toHaveLength(32);
  for (const finding of findings) {
    expect(finding).not.toHaveProperty("wrong");
    expect(finding).toMatchObject({ state: "ready", difference: expect.any(Number) });
  }
});

// shows: media/variants/animation
it("an animated gif has the frames of libvips; a broken image fails with a reason", async () => {
  const frames = Buffer.concat([0, 1, 2].map(painted));
  const animation = { raw: { ...raw, height: HEIGHT * 3, pageHeight: HEIGHT } };
  const gif = await sharp(frames, animation)
    .gif({ delay: [100, 200, 300] })
    .toBuffer();
  const still = await sharp(painted(), { raw }).gif().toBuffer();
  const png = await sharp(painted(), { raw }).png().toBuffer();
  const contentType = "image/gif";
  const findings = await judged([
    { path: "animated.gif", contentType, bytes: gif },
    { path: "truncated.gif", contentType, bytes: still.subarray(0, still.length / 2) },
    { path: "truncated.png", contentType: "image/png", bytes: png.subarray(0, png.length / 2) },
  ]);
  for (const finding of findings) {
    expect(finding).not.toHaveProperty("wrong");
    if (finding.path === "animated.gif")
      expect(finding).toMatchObject({ state: "ready", difference: expect.any(Number) });
    else expect(finding).toMatchObject({ state: "failed", reason: "The file is not a readable image." });
  }
  expect(findings).toHaveLength(6);
});
