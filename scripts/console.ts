import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./lib/root.ts";

/**
 * `npm run console` develops the console with hot reload, against the platform at PLINTH_URL (that of `npm start`).
 * `npm run console -- --port 5174` listens elsewhere. `npm run console -- screenshots` takes the pictures of
 * docs/console.md.
 */
const args = process.argv.slice(2);
if (args[0] === "screenshots") {
  const { takeScreenshots } = await import("./console/screenshots.ts");
  await takeScreenshots();
} else {
  const program = join(ROOT, "node_modules/vite/bin/vite.js");
  const { status } = spawnSync(process.execPath, [program, join(ROOT, "console"), ...args], { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
