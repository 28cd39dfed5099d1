import { CompactEncrypt, decodeJwt, exportJWK, exportSPKI, generateKeyPair, importJWK } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { isolate } from "../../support/isolate.ts";
import { requestsTo } from "../../support/outside.ts";
import { expectJson, ORIGIN } from "../../support/platform/call.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { makeApp } from "../../support/sign-in.ts";
import {
  ALG,
  app,
  BOTH,
  encode,
  expectRefused,
  forge,
  good,
  keys,
  other,
  prepare,
  split,
  strangers,
  takenAt,
  TYP,
} from "./forged.ts";
import { quickPauses } from "../../support/quick-pauses.ts";

/**
 * JSON Web Token Best Current Practices, line by line, for both kinds of JWT that return to the platform: access tokens
 * and ID tokens (as `id_token_hint`). Every place that accepts the kind refuses these. Each token differs from a valid
 * one only in the part that its test names. Tokens of another kind are in token-confusion.test.ts.
 */
beforeAll(prepare);
// An unknown key is looked up a second after the last look.
beforeEach(() => quickPauses());
afterEach(() => {
  vi.useRealTimers();
});

describe("The tokens that these tests are made of", () => {
  it("are accepted at every place, and so is one that a test signs", async () => {
    expect(await takenAt("access", good.access)).toEqual(["tokeninfo", "introspect", "userinfo", "refreshtokens"]);
    expect(await takenAt("id", good.id)).toEqual(["authorize", "end_session"]);
    for (const kind of BOTH) expect(await takenAt(kind, await forge(kind, {}))).not.toEqual([]);
  });
});

describe.each(BOTH)("RFC 8725, %s token", (kind) => {
  // shows: asvs/v9-self-contained-tokens/9.1.2
  it("3.1 perform algorithm verification: no `none`, in no spelling, with and without a signature", async () => {
    const [, payload, signature] = split(good[kind]);
    const tokens: Record<string, string> = {};
    for (const alg of ["none", "None", "NONE", "nOnE", ""])
      for (const end of ["", signature])
        tokens[`${alg} ${end}`] = `${encode({ alg, typ: TYP[kind], kid: keys[kind].kid })}.${payload}.${end}`;
    await expectRefused(kind, tokens);
  });

  // shows: asvs/v9-self-contained-tokens/9.1.2
  it("3.1 perform algorithm verification: no HMAC with the public key as the secret", async () => {
    const { jwk } = keys[kind];
    const spki = await exportSPKI((await importJWK(jwk, ALG[kind], { extractable: true })) as CryptoKey);
    const secrets = [JSON.stringify(jwk), spki, spki.trim(), jwk["n"] ?? jwk["x"]!, keys[kind].kid, "secret"];
    const tokens: Record<string, Promise<string>> = {};
    for (const [index, secret] of secrets.entries())
      for (const bits of [256, 384, 512]) {
        const algorithm = { name: "HMAC", hash: `SHA-${bits}` };
        const key = await crypto.subtle.importKey("raw", utf8(secret), algorithm, false, ["sign"]);
        tokens[`${index} HS${bits}`] = forge(kind, { header: { alg: `HS${bits}` } }, key, "HMAC");
      }
    await expectRefused(kind, tokens);
  });

  it("3.1 perform algorithm verification: each key signs by its own algorithm alone", async () => {
    const its = other(kind);
    await expectRefused(kind, {
      "the other key and its algorithm": forge(
        kind,
        { header: { alg: ALG[its], kid: keys[its].kid } },
        keys[its].sign,
        ALG[its],
      ),
      "the other key's name": forge(kind, { header: { kid: keys[its].kid } }),
      "the other algorithm's name": forge(kind, { header: { alg: ALG[its] } }),
      "the other key under this one's name": forge(kind, {}, keys[its].sign, ALG[its]),
    });
  });

  it("3.2 use appropriate algorithms: two, and keys that are long enough", async () => {
    const algs = ["ES384", "ES512", "ES256K", "RS384", "RS512", "PS256", "EdDSA", "Ed25519", "ES25", "es256", "rs256"];
    await expectRefused(kind, Object.fromEntries(algs.map((alg) => [alg, forge(kind, { header: { alg } })])));
    const { jwk } = keys[kind];
    if (kind === "access") expect(jwk).toMatchObject({ kty: "EC", crv: "P-256" });
    else expect(jwk["n"]!.length).toBeGreaterThanOrEqual(342);
  });

  // shows: oauth/id-token/signature
  // shows: oauth/authentication/id-token-validation-signature
  // shows: asvs/v9-self-contained-tokens/9.1.1
  it("3.3 validate all cryptographic operations: whatever is changed anywhere", async () => {
    const [header, payload, signature] = split(good[kind]);
    const flip = (text: string, at: number) =>
      `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
    const tokens: Record<string, string> = { "no signature": `${header}.${payload}.` };
    for (const share of [0, 0.3, 0.6, 0.9]) {
      const at = (text: string) => Math.floor(text.length * share);
      tokens[`header ${share}`] = `${flip(header, at(header))}.${payload}.${signature}`;
      tokens[`payload ${share}`] = `${header}.${flip(payload, at(payload))}.${signature}`;
      tokens[`signature ${share}`] = `${header}.${payload}.${flip(signature, at(signature))}`;
    }
    await expectRefused(kind, tokens);
    await expectRefused(kind, { "signed by a stranger": forge(kind, {}, strangers[kind].privateKey) });
  });

  it("3.4 validate cryptographic inputs: signatures that no key makes", async () => {
    const [header, payload, signature] = split(good[kind]);
    const length = kind === "access" ? 64 : 256;
    const bytes = Uint8Array.from(atob(signature.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const signatures: Record<string, Uint8Array> = {
      zeros: new Uint8Array(length),
      ones: new Uint8Array(length).fill(255),
      "one byte short": bytes.subarray(1),
      "one byte more": Uint8Array.of(...bytes, 0),
      "a zero in front": Uint8Array.of(0, ...bytes),
      "one byte": Uint8Array.of(1),
      "the order of the curve": Uint8Array.from(
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551".repeat(2).match(/../g)!,
        (hex) => Number.parseInt(hex, 16),
      ),
      // The same signature in ASN.1, as other libraries write it.
      DER: Uint8Array.of(0x30, 68, 2, 32, ...bytes.subarray(0, 32), 2, 32, ...bytes.subarray(32, 64)),
      long: new Uint8Array(2_000).fill(1),
    };
    await expectRefused(
      kind,
      Object.fromEntries(
        Object.entries(signatures).map(([what, made]) => [what, `${header}.${payload}.${toBase64Url(made)}`]),
      ),
    );
  });

  it("3.6 avoid compression of encryption inputs: nothing encrypted is taken at all", async () => {
    const { publicKey } = await generateKeyPair("ECDH-ES");
    const inner = new CompactEncrypt(utf8(good[kind])).setProtectedHeader({
      alg: "ECDH-ES",
      enc: "A256GCM",
      typ: TYP[kind],
      kid: keys[kind].kid,
      cty: "JWT",
    });
    await expectRefused(kind, {
      encrypted: inner.encrypt(publicKey),
      "a part for compression in the header": forge(kind, { header: { zip: "DEF" }, payload: new Uint8Array(9) }),
    });
  });

  it("3.7 use UTF-8: and JSON, an object, nothing else", async () => {
    const text = JSON.stringify(decodeJwt(good[kind]));
    const utf16 = Uint8Array.from(Array.from(text).flatMap((char) => [char.charCodeAt(0), 0]));
    const payloads: Record<string, Uint8Array<ArrayBuffer>> = {
      "UTF-16": utf16,
      "not JSON": utf8("x"),
      "an array": utf8(`[${text}]`),
      "a text": utf8(JSON.stringify(text)),
      null: utf8("null"),
      "two objects": utf8(text + text),
      "a NUL in front": utf8(`\0${text}`),
      nothing: utf8("{}"),
    };
    await expectRefused(
      kind,
      Object.fromEntries(Object.entries(payloads).map(([what, payload]) => [what, forge(kind, { payload })])),
    );
  });

  // shows: asvs/v9-self-contained-tokens/9.1.3
  it("3.10 do not trust received claims: no key and no address of the header is used, nothing is fetched", async () => {
    const stranger = strangers[kind];
    const jwk = { ...(await exportJWK(stranger.publicKey)), kid: keys[kind].kid, alg: ALG[kind], use: "sig" };
    const address = "https://keys-of-a-stranger.example/jwks";
    const sign = (header: object) => forge(kind, { header }, stranger.privateKey);
    await expectRefused(kind, {
      jwk: sign({ jwk }),
      "jwk and no kid": sign({ jwk, kid: undefined }),
      jku: sign({ jku: address }),
      x5u: sign({ x5u: address }),
      x5c: sign({ x5c: ["MIIB"], x5t: "x", "x5t#S256": "x" }),
      "iss of theirs": forge(
        kind,
        { claims: { iss: new URL(address).origin }, header: { jku: address } },
        stranger.privateKey,
      ),
    });
    expect(await requestsTo(address)).toEqual([]);
  });

  it("3.10 do not trust received claims: a kid is a name that is looked up, whatever it looks like", async () => {
    const kids: unknown[] = [
      undefined,
      null,
      0,
      true,
      {},
      [keys[kind].kid],
      "",
      " ",
      `${keys[kind].kid} `,
      `${keys[kind].kid}\0`,
      "' OR 1=1 --",
      "../../../dev/null",
      "https://keys-of-a-stranger.example/jwks",
      "__proto__",
      "constructor",
      "k".repeat(5_000),
      "\ud800",
    ];
    await expectRefused(
      kind,
      Object.fromEntries(kids.map((kid, index) => [`${index}`, forge(kind, { header: { kid } })])),
    );
  });

  it("3.10 and RFC 7515 4.1.11: extensions that are critical are refused, known or not", async () => {
    await expectRefused(kind, {
      unknown: forge(kind, { header: { crit: ["x"], x: 1 } }),
      b64: forge(kind, { header: { crit: ["b64"], b64: false } }),
      "b64 alone": forge(kind, { header: { crit: ["b64"], b64: true }, payload: new Uint8Array(3) }),
      empty: forge(kind, { header: { crit: [] } }),
      "no list": forge(kind, { header: { crit: "exp" } }),
      "a name of the standard": forge(kind, { header: { crit: ["alg"] } }),
    });
  });

  // shows: asvs/v9-self-contained-tokens/9.2.2
  it("3.11 use explicit typing, 3.12 rules that exclude each other: our own key and another type", async () => {
    const types = [undefined, "", TYP[other(kind)], "jose", "logout+jwt", "secevent+jwt", `${TYP[kind]}x`, 1, null, {}];
    await expectRefused(
      kind,
      Object.fromEntries(types.map((typ, index) => [`${index}`, forge(kind, { header: { typ } })])),
    );
    await expectRefused(kind, { "the other kind": good[other(kind)] });
  });

  // shows: oauth/access-tokens/spellings
  it("one spelling: no padding, spare bits, white space, other alphabets, other numbers of parts", async () => {
    const [header, payload, signature] = split(good[kind]);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const spare = `${signature.slice(0, -1)}${alphabet[alphabet.indexOf(signature.at(-1)!) ^ 1]!}`;
    const token = good[kind];
    const inOtherAlphabet = await forge(kind, { claims: { mark: "???" } });
    expect(await takenAt(kind, inOtherAlphabet)).not.toEqual([]);
    await expectRefused(kind, {
      "spare bits": `${header}.${payload}.${spare}`,
      padding: `${token}==`,
      "padding inside": `${header}=.${payload}.${signature}`,
      "a space in front": ` ${token}`,
      "a space behind": `${token} `,
      "a new line behind": `${token}\n`,
      "a new line inside": `${header}.\n${payload}.${signature}`,
      "a NUL behind": `${token}\0`,
      "a NUL inside": `${header}\0.${payload}.${signature}`,
      "two parts": `${header}.${payload}`,
      "one part": header,
      "four parts": `${token}.`,
      "four parts, one empty": `.${token}`,
      "five parts": `${token}.${payload}.${signature}`,
      dots: "..",
      "parts in another order": `${payload}.${header}.${signature}`,
      "scheme in front": `Bearer ${token}`,
      "JSON serialization": JSON.stringify({ protected: header, payload, signature }),
      "general JSON serialization": JSON.stringify({ payload, signatures: [{ protected: header, signature }] }),
      "the standard alphabet": inOtherAlphabet.replaceAll("_", "/"),
      "full-width dots": token.replaceAll(".", "\uff0e"),
      "twice, with a comma": `${token},${token}`,
    });
  });
});

describe("RFC 8725 3.8 validate issuer and subject, 3.9 use and validate audience", () => {
  // shows: oauth/versioning/issuer
  // shows: asvs/v9-self-contained-tokens/9.2.3
  it("accepts an access token for the deployment that its issuer and audience name", async () => {
    const here = isolate({ PUBLIC_URL: "https://here.example" });
    const there = isolate({ PUBLIC_URL: "https://there.example" });
    const token = (await expectJson(await here.token(await confidential()), 200)).access_token as string;
    const status = async (at: typeof here, text: string) =>
      (await at.fetch(`/oauth2/v1/tokeninfo?access_token=${text}`)).status;
    expect(await status(here, token)).toBe(200);
    expect(await status(there, token)).toBe(400);
    const claims = decodeJwt(token);
    const wrong = [
      { iss: "https://there.example/oauth2/v1" },
      { iss: "https://here.example" },
      { iss: ["https://here.example/oauth2/v1"] },
      { iss: undefined },
      { aud: "https://there.example" },
      { aud: undefined },
      { aud: [] },
    ];
    for (const change of wrong) {
      const payload = utf8(JSON.stringify({ ...claims, ...change }));
      expect([change, await status(here, await forge("access", { payload }))]).toEqual([change, 400]);
    }
  });

  // shows: oauth/id-token/iss
  // shows: oauth/authentication/id-token-validation-iss
  // shows: oauth/authentication/id-token-validation-aud
  // shows: asvs/v9-self-contained-tokens/9.2.4
  it("accepts an ID token as a hint for the client that it was issued to, by this issuer, about one user", async () => {
    const changes: object[] = [
      { iss: "https://there.example/oauth2/v1" },
      { iss: ORIGIN },
      { iss: undefined },
      { aud: undefined },
      { aud: [app.clientId, app.clientId] },
      { aud: [app.clientId] },
      { aud: 1 },
      { sub: undefined },
      { iat: undefined },
      { iat: "now" },
      { exp: undefined },
      { exp: "never" },
      { auth_ms: undefined },
      { auth_ms: "0" },
    ];
    await expectRefused(
      "id",
      Object.fromEntries(changes.map((claims) => [changeText(claims), forge("id", { claims })])),
    );
    const someone = await makeApp({ tenant: app.tenant });
    const foreign = await forge("id", { claims: { aud: someone.clientId } });
    expect(await takenAt("id", foreign)).toEqual(["end_session"]);
    expect(await takenAt("id", await forge("id", { claims: { email: "nobody@users.example" } }))).toEqual([
      "end_session",
    ]);
  });

  it("requires an end, an id and a time of issue in an access token", async () => {
    const changes = [
      { exp: undefined },
      { exp: "never" },
      { jti: undefined },
      { iat: undefined },
      { iat: "now" },
      { exp: 1 },
    ];
    await expectRefused(
      "access",
      Object.fromEntries(changes.map((claims) => [changeText(claims), forge("access", { claims })])),
    );
  });

  // shows: oauth/authentication/id-token-validation-exp
  // shows: asvs/v9-self-contained-tokens/9.2.1
  it("ends both when they say: an expired ID token signs out, and no more", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 3_601_000);
    expect(await takenAt("access", good.access)).toEqual([]);
    expect(await takenAt("id", good.id)).toEqual(["end_session"]);
  });
});

const changeText = (claims: object): string =>
  JSON.stringify(claims, (_, value: unknown) => (value === undefined ? "(absent)" : value));

async function confidential(): Promise<{ clientId: string; clientSecret: string }> {
  const client = await makeApp({ tenant: app.tenant, grantTypes: ["client_credentials"] });
  await tokenFor(client);
  return client;
}
