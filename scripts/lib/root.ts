import { resolve } from "node:path";

/** The absolute path of the checkout. */
export const ROOT = resolve(import.meta.dirname, "../..");
