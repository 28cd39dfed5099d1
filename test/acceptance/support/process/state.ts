import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readDevVars } from "../../../../scripts/lib/local/dev-vars.ts";
import { freePort as freePortOf } from "../../../../scripts/lib/local/free-port.ts";
import { ROOT } from "../../../../scripts/lib/root.ts";

export const newStateDir = (): string => mkdtempSync(join(tmpdir(), "plinth-state-"));

export const freePort = (): Promise<number> => freePortOf("127.0.0.1");

/** A secret that the first start made. */
export const localSecret = (name: string): string => readDevVars(join(ROOT, ".dev.vars"))[name] ?? "";
