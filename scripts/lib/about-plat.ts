import { ROOT } from "./root.ts";
import { VERSION } from "./version.ts";

/** The command line as npm scripts of this checkout call it. */
export const PLAT = { name: "npm run plat --", version: VERSION, root: ROOT } as const;
export const PLINTH = { ...PLAT, name: "plinth" } as const;
