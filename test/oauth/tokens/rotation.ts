import { env } from "cloudflare:workers";
import { createKeyRotation } from "../../../src/oauth/tokens/key-rotation.ts";
import { createKeyStore } from "../../../src/oauth/tokens/keys/key-store.ts";
import { makeKey } from "../../../src/oauth/tokens/keys/signing-key.ts";
import { sealer } from "../../support/sealer.ts";

export const noAudit = { statement: () => env.DB.prepare("SELECT 1"), note: async () => {} };

/** The rotation of the real signing keys, without rows in the audit log. */
export const rotation = createKeyRotation(createKeyStore(env.DB), (alg) => makeKey(alg, sealer), noAudit);
