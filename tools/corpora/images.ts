import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Corpus } from "./fetch.ts";

export interface CorpusImage {
  readonly corpus: string;
  /** Within its package. */
  readonly path: string;
  /** The type that a caller would declare, by the file name. */
  readonly contentType: string;
  readonly bytes: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  gif: "image/gif",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  png: "image/png",
};

/** Every jpeg, png and gif of a corpus; equal files once. */
export function imagesOf(home: string, { name: corpus, sourcePackage, within }: Corpus): CorpusImage[] {
  const root = join(home, sourcePackage);
  const seen = new Set<string>();
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .flatMap((file): CorpusImage[] => {
      const contentType = TYPES[/\.(\w+)$/.exec(file)?.[1]?.toLowerCase() ?? ""];
      const path = relative(root, file);
      if (contentType === undefined || (within !== undefined && !path.split("/").includes(within))) return [];
      const bytes = readFileSync(file);
      const digest = createHash("sha256").update(bytes).digest("hex");
      if (seen.has(digest)) return [];
      seen.add(digest);
      return [{ corpus, path, contentType, bytes }];
    });
}
