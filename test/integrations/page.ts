import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../../scripts/lib/root.ts";

/**
 * A page of docs/integrations as a program: its blocks with a title. `title="Register"`, `"Install"` and `"Run"` are
 * commands; every other title is a file. The page names the ports of a first start, which are replaced.
 */
export interface Page {
  /** The commands of that title, one after another. */
  commands(title: string): string;
  /** Writes the page's files below the folder and returns their names. */
  writeFiles(folder: string): string[];
}

const COMMANDS: readonly string[] = ["Register", "Install", "Run"];
const BLOCK = /^```\w* title="([^"]+)"\n([^]*?)^```$/gm;

export interface Places {
  /** Its port stands for 8787. */
  readonly platform: string;
  /** Stand for the ports 8090 and 8091. */
  readonly ports: readonly [number, number];
}

export function readPage(name: string, { platform, ports }: Places): Page {
  const text = readFileSync(join(ROOT, "docs", "integrations", `${name}.md`), "utf8")
    .replaceAll(/(?<!\d)8787(?!\d)/g, new URL(platform).port)
    .replaceAll(/(?<!\d)8090(?!\d)/g, String(ports[0]))
    .replaceAll(/(?<!\d)8091(?!\d)/g, String(ports[1]));
  const blocks = Array.from(text.matchAll(BLOCK), ([, title = "", body = ""]) => ({ title, body }));
  return {
    commands: (title) =>
      blocks
        .filter((block) => block.title === title)
        .map(({ body }) => body)
        .join("\n"),
    writeFiles(folder) {
      const files = blocks.filter(({ title }) => !COMMANDS.includes(title));
      for (const { title, body } of files) {
        mkdirSync(dirname(join(folder, title)), { recursive: true });
        writeFileSync(join(folder, title), body);
      }
      return files.map(({ title }) => title);
    },
  };
}
