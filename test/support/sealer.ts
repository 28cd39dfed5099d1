import { systemRandom } from "../../src/platform/runtime/random.ts";
import { createSealer } from "../../src/platform/secrets/seal.ts";

/** The sealer of services that a test creates itself. */
export const sealer = createSealer([{ id: "t1", bytes: new Uint8Array(32).fill(7) }], systemRandom);
