import type { CorpusImage } from "./images.ts";
import type { CorporaPlatform, MadeVariant } from "./platform.ts";
import { referenceOf } from "./reference.ts";
import type { Finding } from "./report.ts";

const QUERY = "clip=100x100&crop=64x64";
/** On a scale of 255, in the average colour of a sixty-fourth of the picture. */
const NEAR = 24;

/** libvips paints cleared areas in the background colour, unlike browsers. */
const READ_OTHERWISE = /\/dispose_bgnd(_rgba)?\.gif$/;

/** Makes variants of the image and compares them with libvips. */
export async function findingsOf(platform: CorporaPlatform, image: CorpusImage): Promise<Finding[]> {
  const place = { corpus: image.corpus, path: image.path };
  try {
    const variants = await platform.makeVariants(image, QUERY);
    return await Promise.all(variants.map(async (variant) => ({ ...place, ...(await judge(image, variant)) })));
  } catch (error) {
    return [{ ...place, variant: "", state: "pending", wrong: (error as Error).message }];
  }
}

async function judge(
  { bytes: master, path }: CorpusImage,
  made: MadeVariant,
): Promise<Omit<Finding, "corpus" | "path">> {
  const { state, reason, width, height, bytes } = made;
  const finding = { variant: `${made.type}=${made.size}`, state };
  if (state === "pending") return { ...finding, wrong: "neither ready nor failed" };
  if (bytes === undefined) return reason === undefined ? { ...finding, wrong: "no reason" } : { ...finding, reason };
  if (READ_OTHERWISE.test(path)) return finding;
  const reference = await referenceOf(master, made.type, made.size);
  const { expected } = reference;
  if (expected !== undefined && (expected.width !== width || expected.height !== height))
    return { ...finding, wrong: `${width} x ${height} instead of ${expected.width} x ${expected.height}` };
  try {
    const difference = await reference.difference(bytes);
    if (difference === undefined) return finding;
    return { ...finding, difference, ...(difference > NEAR ? { wrong: `${difference} from what libvips makes` } : {}) };
  } catch (error) {
    return { ...finding, wrong: (error as Error).message };
  }
}
