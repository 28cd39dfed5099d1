import { readFileSync } from "node:fs";
import sharp from "sharp";
import { offer } from "../lib/offer.ts";
import { CLIP } from "./pictures.ts";

/** A picture, and how often to shrink it. */
export interface Clipping {
  readonly file: string;
  readonly times: number;
  readonly inParallel: number;
}

/** `sharp` alone in a server's process: decodes, shrinks and encodes. */
await offer(async () => ({
  async answer({ file, times, inParallel }: Clipping): Promise<{ elapsedMs: number }> {
    const bytes = readFileSync(file);
    let left = times;
    const work = async (): Promise<void> => {
      while (left-- > 0)
        await sharp(bytes, { autoOrient: true })
          .resize({ ...CLIP, fit: "inside", withoutEnlargement: true })
          .jpeg()
          .toBuffer();
    };
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: inParallel }, work));
    return { elapsedMs: performance.now() - startedMs };
  },
  stop: async () => undefined,
}));
