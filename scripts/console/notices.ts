import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { ROOT } from "../lib/root.ts";

/** Writes `licences.txt`: the licences, with their owners, of all packages whose code is in the console. */
export function notices(): Plugin {
  return {
    name: "plinth-notices",
    apply: "build",
    generateBundle(_, bundle) {
      const names = new Set<string>();
      for (const chunk of Object.values(bundle))
        if (chunk.type === "chunk")
          for (const id of chunk.moduleIds) {
            const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
            if (name !== undefined) names.add(name);
          }
      const source = [...names]
        .toSorted()
        .map(noticeOf)
        .join(`\n${"-".repeat(72)}\n\n`);
      this.emitFile({ type: "asset", fileName: "licences.txt", source });
    },
  };
}

function noticeOf(name: string): string {
  const folder = join(ROOT, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly version: string;
    readonly license: string;
  };
  const [file] = globSync("LICEN[CS]E*", { cwd: folder });
  const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version}\n\n${text}\n`;
}
