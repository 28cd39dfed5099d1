import { describeError, type Log } from "../../platform/log.ts";
import type { Sealer } from "../../platform/seal.ts";
import { keySealContext } from "../tokens/signing-key.ts";
import { providerSealContext } from "./providers.ts";
import type { SealedKind, SealStore } from "./seal-store.ts";

/** Of each kind in one run of the cron. */
const A_RUN = 100;

const CONTEXTS: Readonly<Record<SealedKind, (id: string) => string>> = {
  identityProviders: providerSealContext,
  signingKeys: keySealContext,
};

/**
 * Seals what is under another key than the one that seals now anew. When it finds none any more, the other key may go. One
 * that does not open is left, and does not keep the others from it.
 */
export async function reseal(store: SealStore, sealer: Sealer, log: Log): Promise<void> {
  for (const [kind, sealContext] of Object.entries(CONTEXTS) as [SealedKind, (id: string) => string][]) {
    const found = await store.findSealedOtherwise(kind, sealer.keyId, A_RUN);
    let failed = 0;
    for (const text of found) {
      try {
        const plain = await sealer.open(text.sealed, sealContext(text.id));
        if (plain === undefined) throw new Error("SEAL_KEYS lacks the key that sealed it");
        await store.reseal(kind, text, await sealer.seal(plain, sealContext(text.id)));
      } catch (thrown) {
        failed += 1;
        log.error("not sealed anew", { kind, id: text.id, error: describeError(thrown) });
      }
    }
    if (found.length > 0) log.info("sealed anew", { kind, count: found.length - failed, failed });
  }
}
