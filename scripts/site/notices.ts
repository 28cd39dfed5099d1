import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../lib/root.ts";

/** Packages whose scripts and styles are part of the site. */
const HANDED_ON = [
  "@astrojs/starlight",
  "@expressive-code/core",
  "@pagefind/default-ui",
  "@scalar/fastify-api-reference",
  "astro",
  "pagefind",
];

/** Their licences, with the names of their owners. A package without a licence file gets its licence's name. */
export const noticesText = (): string =>
  HANDED_ON.map((name) => {
    const folder = join(ROOT, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      readonly version: string;
      readonly license: string;
    };
    const files = globSync(["LICEN[CS]E*", "LICENSE/*"], { cwd: folder, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    const texts = files.map((one) => readFileSync(join(one.parentPath, one.name), "utf8").trim());
    const text = texts.length === 0 ? `Licence: ${license}` : texts.join("\n\n");
    return `${name} ${version}\n\n${text}\n`;
  }).join(`\n${"-".repeat(72)}\n\n`);
