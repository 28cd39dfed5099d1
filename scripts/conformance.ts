import { runMcp } from "../test/conformance/mcp.ts";
import { runConformance } from "../test/conformance/run.ts";
import { failWith, UserError } from "./lib/user-error.ts";

/** `npm run conformance`; with `mcp` the suite of the Model Context Protocol. */
const [which, suite, ...more] = process.argv.slice(2);
if (which !== "mcp") await runConformance(process.argv.slice(2));
else if (suite === undefined || more.length > 0)
  failWith(new UserError("Usage: npm run conformance -- mcp <path of the suite's dist/index.js>"));
else process.exitCode = (await runMcp(suite)) ? 0 : 1;
