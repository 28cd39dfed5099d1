import { runIntegrations } from "../test/integrations/run.ts";
import { failWith } from "./lib/user-error.ts";

/** `npm run integrations` */
try {
  process.exit((await runIntegrations(process.argv.slice(2))) ? 0 : 1);
} catch (error) {
  failWith(error);
}
