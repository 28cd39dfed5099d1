import { readFileSync } from "node:fs";
import sharp from "sharp";
import { offer } from "../lib/offer.ts";
import { CLIP } from "./pictures.ts";

/** What the bench asks: a picture, and how often it is to be made small. */
export interface Clipping {
  readonly file: string;
  readonly times: number;
  readonly inParallel: number;
}

/** `sharp` alone, in a process of its own where a server would be: it decodes, makes small and encodes. */
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
