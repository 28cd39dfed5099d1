import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { randomId, systemRandom } from "../../../src/platform/runtime/random.ts";
import { createTokenVerifier, issueAccessToken, type NewToken } from "../../../src/oauth/tokens/access-token.ts";
import { createProofVerifier } from "../../../src/oauth/tokens/proof.ts";
import { createTrustStore } from "../../../src/oauth/tokens/trust-store.ts";
import { createTrust } from "../../../src/oauth/tokens/trust.ts";
import { MAX_VERIFIED_TOKENS } from "../../../src/oauth/tokens/verified-tokens.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";
import { OF_ACME } from "./of-acme.ts";
import { HOUR_MS } from "../../../src/platform/runtime/clock.ts";
import { rotation } from "./rotation.ts";
import { sealer } from "../../support/sealer.ts";

const ISSUER = { issuer: "https://plinth.test/oauth2/v1", audience: "https://plinth.test" };
const NOW_MS = Date.now();

/** A separate isolate that issues and verifies. */
function isolate() {
  const trust = createTrust({
    store: createTrustStore(env.DB),
    makeFirstKey: rotation.makeFirst,
    sealer,
    isolate: ownIsolate,
    onFault() {},
  });
  const { verify } = createTokenVerifier(trust, ISSUER, createProofVerifier(sealer));
  const issue = (tokenId: string): Promise<string> => issueAccessToken(newToken(tokenId), {}, ISSUER, trust, NOW_MS);
  return { trust, verify, issue };
}

const newToken = (tokenId: string): NewToken => ({
  ...OF_ACME,
  clientTenant: undefined,
  user: "",
  subject: "acme.app",
  scopes: ["plat.media_view"],
  tokenId,
  grantId: `g-${tokenId}`,
  sessionId: "sid",
  recordsAsOfMs: NOW_MS,
  userAsOfMs: NOW_MS,
  expiresAtSec: Math.floor(NOW_MS / 1000) + 3_600,
});

const other = (char: string): string => (char === "A" ? "B" : "A");

afterEach(() => {
  vi.restoreAllMocks();
});

describe("A token that was verified before", () => {
  it("is accepted without checking its signature again, with the same claims", async () => {
    const { verify, issue } = isolate();
    const token = await issue(randomId(systemRandom));
    const first = await verify(token, NOW_MS);
    const checked = vi.spyOn(crypto.subtle, "verify");
    expect(await verify(token, NOW_MS)).toEqual(first);
    expect(first).toMatchObject({ ok: true, value: { clientId: "acme.app", scopes: ["plat.media_view"] } });
    expect(checked).not.toHaveBeenCalled();
  });

  // shows: oauth/access-tokens/spellings
  it("vouches for no other text of the same id", async () => {
    const { verify, issue } = isolate();
    const token = await issue("texts");
    expect(await verify(token, NOW_MS)).toMatchObject({ ok: true });
    const [header, payload, signature] = token.split(".") as [string, string, string];
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
    const wider = toBase64Url(utf8(JSON.stringify({ ...claims, scope: "plat.admin" })));
    const longer = toBase64Url(utf8(JSON.stringify({ ...claims, exp: claims.exp + 3_600 })));
    for (const text of [
      `${header}.${wider}.${signature}`,
      `${header}.${longer}.${signature}`,
      `${toBase64Url(utf8('{"alg":"none"}'))}.${payload}.${signature}`,
      `${header}.${payload}.${other(signature[0]!)}${signature.slice(1)}`,
      `${header}.${payload}.${signature.slice(0, 40)}${other(signature[40]!)}${signature.slice(41)}`,
      `${header}.${payload}.${signature.slice(0, -1)}`,
      `${header}.${payload}.${signature}=`,
      `${header}.${payload}.${signature}.`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
    ])
      expect(await verify(text, NOW_MS), text).toEqual({ ok: false, error: "malformed" });
    expect(await verify(token, NOW_MS)).toMatchObject({ ok: true });
  });

  it("ends when it expires", async () => {
    const { verify, issue } = isolate();
    const token = await issue("expiry");
    const endMs = (Math.floor(NOW_MS / 1000) + 3600) * 1000;
    expect(await verify(token, NOW_MS)).toMatchObject({ ok: true });
    expect(await verify(token, endMs - 1)).toMatchObject({ ok: true });
    expect(await verify(token, endMs)).toEqual({ ok: false, error: "expired" });
  });

  it("ends when it is revoked", async () => {
    const { trust, verify, issue } = isolate();
    const token = await issue("revoked");
    expect(await verify(token, NOW_MS)).toMatchObject({ ok: true });
    const expiresSec = Math.floor((NOW_MS + HOUR_MS) / 1000);
    await trust.revoke([{ kind: "token", key: "revoked", issuedTo: "acme.app", expiresSec }], []);
    expect(await verify(token, NOW_MS)).toEqual({ ok: false, error: "revoked" });
  });

  it("ends with the key that signed it", async () => {
    const { verify, issue } = isolate();
    const token = await issue("key");
    expect(await verify(token, NOW_MS)).toMatchObject({ ok: true });
    await env.DB.prepare("DELETE FROM signing_key").run();
    expect(await verify(token, NOW_MS + 6_000)).toEqual({ ok: false, error: "malformed" });
  });
});

it("is one of a limited number", async () => {
  const { verify, issue } = isolate();
  const first = await issue("first");
  await verify(first, NOW_MS);
  for (let number = 0; number < MAX_VERIFIED_TOKENS; number++) await verify(await issue(`t-${number}`), NOW_MS);
  const checked = vi.spyOn(crypto.subtle, "verify");
  expect(await verify(first, NOW_MS)).toMatchObject({ ok: true });
  expect(checked).toHaveBeenCalledOnce();
});
