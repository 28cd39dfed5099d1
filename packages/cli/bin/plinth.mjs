#!/usr/bin/env node
/**
 * `plinth`: the bundle of the published package. In a checkout the sources run instead, so that nothing has to be
 * built: `npx ../plinth/packages/cli login`.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const bootstrap = fileURLToPath(new URL("../../../scripts/bootstrap.mjs", import.meta.url));
const source = fileURLToPath(new URL("../../../scripts/plinth.ts", import.meta.url));

if (existsSync(bootstrap) && existsSync(source)) {
  const child = spawn(process.execPath, [bootstrap, "plinth", ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
} else await import("../dist/plinth.js");
