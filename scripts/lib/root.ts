import { resolve } from "node:path";

/** The checkout's root, absolute. */
export const ROOT = resolve(import.meta.dirname, "../..");
