import { waitUntil } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { expect, it } from "vitest";
import { createServiceTokens } from "../../../src/oauth/tokens/service-token.ts";
import type { IssuedToken } from "../../../src/oauth/tokens/issued-token.ts";
import { createIsolate } from "../../../src/platform/copies/isolate.ts";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";

/** test/gateway/service-token.test.ts has what the service gets. */
it("is signed while the database does not answer, and does not show that it answers again", async () => {
  const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  const isolate = createIsolate(systemClock, systemRandom, waitUntil);
  const nowMs = systemClock.nowMs();
  const trust = { signingKey: async () => ({ kid: "k", key: pair.privateKey }) };
  const tokens = createServiceTokens(trust, systemRandom, isolate);
  const caller = { tokenId: "t", subject: "ada", scopes: [], expiresAtSec: nowMs } as unknown as IssuedToken;
  isolate.database.noteLate("a record", nowMs - 3_000, nowMs);
  const service = { name: "orders", scopes: [] };
  // At once, and as the database might be asked again.
  for (const laterMs of [0, 60_000]) {
    const token = await tokens.tokenFor(
      { ...caller, tokenId: `t${laterMs}` },
      service,
      "https://x.example",
      nowMs + laterMs,
    );
    expect(decodeJwt(token)).toMatchObject({ aud: "orders", sub: "ada" });
    expect(isolate.database.isFailing(nowMs + laterMs)).toBe(true);
  }
});
