import type { TextCache } from "../../../src/platform/copies/location-cache.ts";
import type { VirtualTime } from "./virtual-time.ts";

const ANSWER_MS = 5;

/** The cache of a location, in memory. */
export function memoryCache(time: VirtualTime): TextCache {
  const kept = new Map<string, { readonly text: string; readonly untilMs: number }>();
  return {
    async get(address) {
      await time.pause(ANSWER_MS);
      const found = kept.get(address);
      return found !== undefined && found.untilMs > time.nowMs() ? found.text : undefined;
    },
    async put(address, text, maxAgeSec) {
      await time.pause(ANSWER_MS);
      kept.set(address, { text, untilMs: time.nowMs() + maxAgeSec * 1000 });
    },
  };
}
