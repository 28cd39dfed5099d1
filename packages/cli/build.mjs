/**
 * Builds `dist/plinth.js`: the command line, the SDK and their packages in one file for Node, so that the package has
 * no dependencies. `dist/notices.txt` has the licences of what is in it.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = join(here, "dist");

mkdirSync(dist, { recursive: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/plinth.ts"],
  outfile: "dist/plinth.js",
  bundle: true,
  platform: "node",
  target: "node20.12",
  format: "esm",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  metafile: true,
  // Packages of the older kind ask for Node's own modules by `require`.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
});
writeFileSync(join(dist, "notices.txt"), noticesOf(Object.keys(metafile.inputs)));

/** The licence texts of the packages that the inputs belong to. */
function noticesOf(inputs) {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const notices = [...new Set(folders)].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
    const file = readdirSync(join(here, folder)).find((one) => /^licen[cs]e/i.test(one));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(here, folder, file), "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return notices.join(`\n${"-".repeat(80)}\n\n`);
}
