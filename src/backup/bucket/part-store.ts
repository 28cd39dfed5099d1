import { sha256Hex } from "../../platform/secrets/hash.ts";
import { fromUtf8, utf8 } from "../../platform/text/encoding.ts";
import { type FindingKind } from "../model/job.ts";
import type { Part } from "../model/part.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";

export const PART_PREFIX = "part/";
const keyOf = (digest: string): string => `${PART_PREFIX}${digest}`;

export type PartStore = ReturnType<typeof createPartStore>;

/** Parts in the bucket. Writing a part that exists changes nothing, so a repeated step does no harm. */
export function createPartStore(bucket: R2Bucket) {
  return {
    /** Writes a part. `isNew` is true if it did not exist before. */
    async put(
      section: string,
      lines: readonly string[],
      info: string = "",
    ): Promise<{ readonly part: Part; readonly isNew: boolean }> {
      const bytes = utf8(`${lines.join("\n")}\n`);
      const digest = await sha256Hex(bytes);
      const put = await bucket.put(keyOf(digest), bytes, {
        onlyIf: { etagDoesNotMatch: "*" },
        sha256: digest,
        httpMetadata: { contentType: "application/x-ndjson" },
      });
      const part = { section, digest, bytes: bytes.byteLength, count: lines.length, info };
      return { part, isNew: put !== null };
    },

    /** Reads the lines of a part. Fails if the part is missing or does not have its digest. */
    async read(digest: string): Promise<Result<readonly string[], FindingKind>> {
      const object = await bucket.get(keyOf(digest));
      if (object === null) return err("part_missing");
      const bytes = new Uint8Array(await object.arrayBuffer());
      if ((await sha256Hex(bytes)) !== digest) return err("part_changed");
      const text = fromUtf8(bytes);
      return text === undefined ? err("part_changed") : ok(text.replace(/\n$/, "").split("\n"));
    },
  };
}

/**
 * Splits lines into parts. The hash of a line's key says whether a part ends with it, so unchanged rows make the same
 * parts in the next backup. `rest`: lines after the last end.
 */
export function splitLines(lines: readonly Line[], rowsPerPart: number): { parts: Line[][]; rest: Line[] } {
  const parts: Line[][] = [];
  let part: Line[] = [];
  for (const line of lines) {
    part.push(line);
    if (hash(line.key) % rowsPerPart !== 0) continue;
    parts.push(part);
    part = [];
  }
  return { parts, rest: part };
}

export interface Line {
  readonly key: string;
  readonly text: string;
}

/** FNV-1a: evenly spread, fast, and the same in each release. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value;
}
