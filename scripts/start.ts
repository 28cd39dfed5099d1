import { parseArgs } from "node:util";
import { buildAssets } from "./assets/build.ts";
import { runPlatform } from "./lib/local/run-platform.ts";
import { failWith } from "./lib/user-error.ts";

const HELP = `npm start

Serves the whole platform on this machine, and prints "ready" with its address. Ctrl-C stops it.

Variables:
  PORT        the port; 8787
  STATE_DIR   the folder of its data; .state
  SITE=none   leaves out documentation and console, which take some seconds to build at first
  LOG_LEVEL   debug, info, warn or error; warn

The others are in docs/reference/configuration.md. Secrets are made at the first start, in .dev.vars.

Example: PORT=9411 STATE_DIR=/tmp/other npm start`;

/** `npm start` */
try {
  const { values } = parseArgs({ options: { help: { type: "boolean", short: "h" } } });
  if (values.help === true) console.log(HELP);
  else await runPlatform({ buildAssets });
} catch (error) {
  failWith(error);
}
