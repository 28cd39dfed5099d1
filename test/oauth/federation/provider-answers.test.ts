import { beforeAll, describe, expect, it } from "vitest";
import { utf8 } from "../../../src/platform/text/encoding.ts";
import { fetchJson, FETCH_LIMITS } from "../../../src/oauth/federation/fetch-json.ts";
import { readMetadata } from "../../../src/oauth/federation/metadata.ts";
import { isolate } from "../../support/isolate.ts";
import type { OutsideAnswer } from "../../support/runtime/outside-world.ts";
import { answerAt, answerJson, requestsTo } from "../../support/outside.ts";
import { put } from "../../support/platform/operator.ts";
import { unique } from "../../support/platform/unique.ts";
import { subjectOf } from "../../support/parties/idp/accounts.ts";
import { makeApplication, toClient, type Application } from "../../support/parties/idp/application.ts";
import { Browser } from "../../support/parties/idp/browser.ts";
import { answerToken, claimsFor, sign } from "../../support/parties/idp/id-token.ts";
import { reasonOf } from "../../support/parties/idp/reason-of.ts";
import {
  at,
  CLIENT_ID,
  makeProvider,
  makeSigner,
  type Provider,
  type Signer,
} from "../../support/parties/idp/scripted-provider.ts";
import { comeBack } from "../../support/parties/idp/come-back.ts";
import { authorizeAddress, sendOff, sendOffUnlinked, type SentOff } from "../../support/parties/idp/sent-off.ts";
import { itAtNight } from "../../support/model-runs.ts";

/** Faulty and malicious responses of a provider. */
const DISCOVERY = ".well-known/openid-configuration";
let app: Application;
let provider: Provider;

beforeAll(async () => {
  app = await makeApplication();
  provider = await makeProvider();
});

const expectError = async (response: Response, error: string, reason: string): Promise<void> => {
  expect(toClient(response)).toMatchObject({ error, state: "the client's own state" });
  expect(await reasonOf(response)).toContain(reason);
};

/** A sign-in whose ID token has other claims, another header or another signer. */
async function signInWith(
  change: object,
  more: { header?: object; signer?: any; provider?: Provider; request?: Record<string, string>; first?: true } = {},
): Promise<Response> {
  const from = more.provider ?? provider;
  const send = more.first === true ? sendOffUnlinked : sendOff;
  const sent = await send(app, from, new Browser(), more.request);
  await answerToken(
    from,
    await sign({ ...claimsFor(app, from, sent), ...change }, more.signer ?? from.signer, more.header),
  );
  return comeBack(from, sent);
}

const nowSec = (): number => Math.floor(Date.now() / 1000);

describe("An ID token is accepted", () => {
  it.each(["RS256", "PS256", "ES256", "ES384", "EdDSA"])("signed by %s", async (alg) => {
    const signed = await makeProvider({ signer: await makeSigner(alg) });
    expect(toClient(await signInWith({}, { provider: signed }))).toHaveProperty("code");
  });

  it.each([
    ["with its audience in a list", { aud: [CLIENT_ID] }],
    ["with the platform as its authorized party", { azp: CLIENT_ID }],
    ["a little old, since clocks differ", { iat: nowSec() - 30, exp: nowSec() - 30 }],
    ["with claims that nobody knows", { ["__proto__"]: 1, constructor: "x", at_hash: "x" }],
  ])("%s", async (_, change) => {
    expect(toClient(await signInWith(change))).toHaveProperty("code");
  });

  it.each([{}, { typ: "JWT" }, { typ: "application/jwt" }])("with the header %o", async (header) => {
    expect(toClient(await signInWith({}, { header }))).toHaveProperty("code");
  });
});

describe("An ID token is refused", () => {
  it.each([
    ["of another issuer", { iss: "https://other.test" }, '"iss"'],
    ["with a slash behind its issuer", { iss: "SLASH" }, '"iss"'],
    ["for another client", { aud: "other" }, '"aud"'],
    ["for nobody", { aud: undefined }, '"aud"'],
    ["for another client too", { aud: [CLIENT_ID, "other"] }, "more than one audience"],
    ["issued to another client", { azp: "other" }, "issued to another client"],
    ["that has expired", { exp: nowSec() - 120 }, '"exp"'],
    ["that never expires", { exp: undefined }, '"exp"'],
    ["from long ago", { iat: nowSec() - 1000, exp: nowSec() + 1000 }, '"iat"'],
    ["from the future", { iat: nowSec() + 300, exp: nowSec() + 1000 }, '"iat"'],
    ["of no time", { iat: undefined }, '"iat"'],
    ["of another sign-in", { nonce: "other" }, "another nonce"],
    ["of no sign-in", { nonce: undefined }, '"nonce"'],
    ["of a nonce that is no text", { nonce: { toString: 1 } }, "another nonce"],
    ["about nobody", { sub: "" }, "has no sub"],
    ["about a number", { sub: 12_345 }, "has no sub"],
    ["about a list", { sub: ["user 1"] }, "has no sub"],
    ["without a subject", { sub: undefined }, '"sub"'],
  ])("%s", async (_, change, reason) => {
    const { iss } = change as { iss?: string };
    const bent = iss === "SLASH" ? { iss: `${provider.issuer}/` } : change;
    await expectError(await signInWith(bent), "access_denied", reason);
  });

  it.each(["at+jwt", "logout+jwt", "JWE"])("of the type %s", async (typ) => {
    await expectError(await signInWith({}, { header: { typ } }), "access_denied", "another type");
  });

  // shows: asvs/v6-authentication/6.8.2
  it("without a signature", async () => {
    const encode = (value: object): string =>
      btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    for (const alg of ["none", "None", "NONE"]) {
      const sent = await sendOff(app, provider);
      const claims = { ...claimsFor(app, provider, sent), iat: nowSec(), exp: nowSec() + 300 };
      await answerToken(provider, `${encode({ alg, kid: provider.signer.kid })}.${encode(claims)}.`);
      await expectError(await comeBack(provider, sent), "access_denied", "refused");
    }
  });

  // shows: asvs/v6-authentication/6.8.2
  it("signed with a secret that others know: the public key, or the client's secret", async () => {
    const { kid, publicJwk } = provider.signer;
    for (const secret of [JSON.stringify(publicJwk), "secret of the platform: +&=% \u007e"])
      await expectError(
        await signInWith({}, { signer: { alg: "HS256", kid, privateKey: utf8(secret) } }),
        "access_denied",
        "not allowed",
      );
  });

  // shows: asvs/v6-authentication/6.8.2
  it("signed with a key that is not the provider's, whatever the header says", async () => {
    const foreign = await makeSigner("ES256", provider.signer.kid);
    await expectError(await signInWith({}, { signer: foreign }), "access_denied", "signature verification failed");
    const header = { jwk: foreign.publicJwk, jku: "https://attacker.test/jwks", x5u: "https://attacker.test/x" };
    await expectError(
      await signInWith({}, { signer: foreign, header }),
      "access_denied",
      "signature verification failed",
    );
    expect(await requestsTo("https://attacker.test/jwks")).toEqual([]);
  });

  it.each(["", "a.b.c", "x".repeat(10_000), "....", "eyJhbGciOiJFUzI1NiJ9..x", "\u00e9.\u00e9.\u00e9", "\0.\0.\0"])(
    "that is none: %s",
    async (token) => {
      const sent = await sendOff(app, provider);
      await answerToken(provider, token);
      await expectError(await comeBack(provider, sent), "access_denied", "ID token");
    },
  );

  // shows: asvs/v6-authentication/6.8.4
  it("for an older sign-in than the client accepts", async () => {
    const request = { max_age: "60" };
    await expectError(await signInWith({}, { request }), "access_denied", "does not say when");
    await expectError(await signInWith({ auth_time: "x" }, { request }), "access_denied", "does not say when");
    await expectError(await signInWith({ auth_time: nowSec() - 200 }, { request }), "access_denied", "older sign-in");
    expect(toClient(await signInWith({ auth_time: nowSec() - 50 }, { request }))).toHaveProperty("code");
    const login = { prompt: "login" };
    await expectError(await signInWith({ auth_time: nowSec() - 200 }, { request: login }), "access_denied", "older");
    expect(toClient(await signInWith({}, { request: login }))).toHaveProperty("code");
  });
});

describe("The provider's keys", () => {
  const publish = (from: Provider, ...signers: Signer[]): Promise<void> =>
    answerJson(at(from, "jwks"), { keys: signers.map(({ publicJwk }) => publicJwk) });

  it("are read again, once, if a token names an unknown one", async () => {
    const own = await makeProvider();
    const browser = (): Browser => new Browser(platform);
    const platform = isolate();
    const attempt = async (signer: Signer): Promise<Response> => {
      const sent = await sendOff(app, own, browser());
      await answerToken(own, await sign(claimsFor(app, own, sent), signer));
      return comeBack(own, sent);
    };
    expect(toClient(await attempt(own.signer))).toHaveProperty("code");
    const next = await makeSigner();
    await publish(own, own.signer, next);
    expect(toClient(await attempt(next))).toHaveProperty("code");
    expect(toClient(await attempt(own.signer))).toHaveProperty("code");
    expect(await requestsTo(at(own, "jwks"))).toHaveLength(2);
    await expectError(await attempt(await makeSigner()), "access_denied", "no applicable key");
    expect(await requestsTo(at(own, "jwks"))).toHaveLength(1);
    // An isolate that has just fetched the keys does not fetch them again.
    const sent = await sendOff(app, own);
    await answerToken(own, await sign(claimsFor(app, own, sent), await makeSigner()));
    await expectError(await comeBack(own, sent), "access_denied", "no applicable key");
    expect(await requestsTo(at(own, "jwks"))).toHaveLength(1);
  });

  it("stay known if they cannot be read again", async () => {
    const own = await makeProvider();
    const platform = isolate();
    const attempt = async (signer: Signer): Promise<Response> => {
      const sent = await sendOff(app, own, new Browser(platform));
      await answerToken(own, await sign(claimsFor(app, own, sent), signer));
      return comeBack(own, sent);
    };
    expect(toClient(await attempt(own.signer))).toHaveProperty("code");
    await answerJson(at(own, "jwks"), {}, { status: 500 });
    expect(toClient(await attempt(await makeSigner()))).not.toHaveProperty("code");
    expect(toClient(await attempt(own.signer))).toHaveProperty("code");
  });

  it("can change without names too; several without names match no token", async () => {
    const own = await makeProvider();
    const nameless = async (): Promise<Signer> => {
      const signer = await makeSigner("ES256");
      return { ...signer, publicJwk: { ...signer.publicJwk, kid: undefined } };
    };
    const platform = isolate();
    const attempt = async (signer: Signer): Promise<Response> => {
      const sent = await sendOff(app, own, new Browser(platform));
      await answerToken(own, await sign(claimsFor(app, own, sent), signer, { kid: undefined as never }));
      return comeBack(own, sent);
    };
    for (const signer of [await nameless(), await nameless()]) {
      await publish(own, signer);
      expect(toClient(await attempt(signer))).toHaveProperty("code");
    }
    const [first, second] = [await nameless(), await nameless()];
    await publish(own, first, second);
    await expectError(await attempt(first), "access_denied", "ID token");
  });

  it("are useless if they are not public keys", async () => {
    const own = await makeProvider();
    const secret = { kty: "oct", k: btoa("a secret of 32 bytes, known to all"), kid: own.signer.kid };
    for (const keys of [[secret], [{ kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: own.signer.kid }], [{}], []]) {
      await answerJson(at(own, "jwks"), { keys });
      await expectError(await signInWith({}, { provider: own }), "access_denied", "ID token");
    }
    await answerJson(at(own, "jwks"), { keys: "none" });
    await expectError(await signInWith({}, { provider: own }), "server_error", "keys at");
  });
});

describe("The e-mail address at an account's first sign-in", () => {
  /** The provider links every address that it vouches for, so each accepted response signs the user in. */
  const trusted = { linking: "verified_email", domains: ["example.org"] };
  const firstSignIn = (change: object, from: Provider): Promise<Response> =>
    signInWith(change, { provider: from, first: true });
  const userinfoOf = async (userinfo: unknown): Promise<Provider> => {
    const own = await makeProvider(trusted);
    const metadata = { ...own.metadata, userinfo_endpoint: at(own, "userinfo") };
    await answerJson(at(own, DISCOVERY), metadata);
    await answerJson(at(own, "userinfo"), userinfo);
    return own;
  };
  const silent = { email: undefined, email_verified: undefined };

  // shows: oauth/authorize/custom-provider-user
  it("is the user's in any letter case", async () => {
    expect(
      toClient(await firstSignIn({ email: ` ${app.email.toUpperCase()} ` }, await makeProvider(trusted))),
    ).toHaveProperty("code");
  });

  // shows: oauth/authorize/custom-provider-user
  it.each([
    ["is not verified", { email_verified: false }, "has not verified"],
    ["is verified in words", { email_verified: "true" }, "has not verified"],
    ["is verified by number", { email_verified: 1 }, "has not verified"],
    ["is verified by nothing", { email_verified: undefined }, "no userinfo endpoint"],
    ["is missing", { email: undefined }, "no userinfo endpoint"],
    ["is no text", { email: ["ada@example.org"] }, "names no e-mail"],
    ["is no address", { email: "ada" }, "no e-mail address"],
    ["is empty", { email: "" }, "no e-mail address"],
  ])("is refused if it %s", async (_, change, reason) => {
    await expectError(await firstSignIn(change, await makeProvider(trusted)), "access_denied", reason);
  });

  it("is not another mailbox that only Unicode makes equal to the user's", async () => {
    const [name = "", domain = ""] = app.email.split("@");
    const own = await makeProvider();
    for (const email of [
      `${String.fromCodePoint(name.charCodeAt(0) + 0xfee0)}${name.slice(1)}@${domain}`,
      `${name}@${domain.replace("e", "\uff45")}`,
      `${name}@${domain.replace(".", "\uff0e")}`,
    ]) {
      expect(email.normalize("NFKC")).toBe(app.email);
      await expectError(await firstSignIn({ email }, own), "access_denied", "normal form");
    }
  });

  it("counts as verified if the operator trusts the provider's, unless the provider says that it is not", async () => {
    const own = await makeProvider({ ...trusted, trustEmail: true });
    const refused = await firstSignIn({ email_verified: false }, own);
    await expectError(refused, "access_denied", "has not verified");
    const foreign = await firstSignIn({ email: "eve@example.com", email_verified: undefined }, own);
    expect([foreign.status, await reasonOf(foreign)]).toEqual([400, expect.stringContaining("eve@example.com")]);
    expect(toClient(await firstSignIn({ email_verified: undefined }, own))).toHaveProperty("code");
  });

  it("comes from userinfo if the ID token has none", async () => {
    const own = await userinfoOf({ sub: subjectOf(app), email: app.email, email_verified: true });
    expect(toClient(await firstSignIn(silent, own))).toHaveProperty("code");
    const [request] = await requestsTo(at(own, "userinfo"));
    expect(request?.headers["authorization"]).toBe("Bearer access-token-of-the-provider");
  });

  it.each([
    ["about another user", { sub: "user 2" }, "another user"],
    ["about nobody", { sub: undefined }, "another user"],
    ["without verification", { email_verified: undefined }, "has not verified"],
    ["with verification in words", { email_verified: "true" }, "has not verified"],
    ["without an address", { email: undefined }, "names no e-mail"],
  ])("is refused from userinfo %s", async (_, change, reason) => {
    const own = await userinfoOf({ sub: subjectOf(app), email: app.email, email_verified: true, ...change });
    await expectError(await firstSignIn(silent, own), "access_denied", reason);
  });

  it("comes from the same source as its verification", async () => {
    const own = await userinfoOf({ sub: subjectOf(app), email: "eve@example.org", email_verified: true });
    const back = await firstSignIn({ email_verified: undefined }, own);
    await expectError(back, "access_denied", "eve@example.org is unknown");
  });

  it.each([
    ["x", "DPoP"],
    ["x", undefined],
    ["", "Bearer"],
    ["two words", "Bearer"],
    ["a\nb: c", "Bearer"],
    ["\u20ac", "Bearer"],
    [7, "Bearer"],
  ])("is not requested with the token %o of type %s", async (accessToken, type) => {
    const own = await userinfoOf({ sub: subjectOf(app), email: app.email, email_verified: true });
    const sent = await sendOffUnlinked(app, own);
    const idToken = await sign({ ...claimsFor(app, own, sent), ...silent }, own.signer);
    await answerJson(at(own, "token"), { id_token: idToken, access_token: accessToken, token_type: type });
    await expectError(await comeBack(own, sent), "access_denied", "no userinfo endpoint");
    expect(await requestsTo(at(own, "userinfo"))).toEqual([]);
  });
});

describe("Discovery", () => {
  const issuer = "https://idp.example/realm";
  const document = {
    issuer,
    authorization_endpoint: "https://login.example/a?b=c",
    token_endpoint: "https://idp.example/token",
    jwks_uri: "https://keys.example/jwks",
  };

  it("is read as the provider means it", () => {
    expect(readMetadata(document, issuer, false)).toEqual({
      ok: true,
      value: {
        authorizationEndpoint: document.authorization_endpoint,
        tokenEndpoint: document.token_endpoint,
        jwksUri: document.jwks_uri,
        userinfoEndpoint: undefined,
        clientAuthentication: "client_secret_basic",
        namesIssuer: false,
      },
    });
  });

  it.each([
    ["issuer", "https://idp.example/realm/", "about the issuer"],
    ["issuer", "https://attacker.example", "about the issuer"],
    ["issuer", undefined, "about the issuer"],
    ["issuer", [issuer], "about the issuer"],
    ["issuer", { toString: 1 }, "about the issuer"],
    ["authorization_endpoint", undefined, "is missing"],
    ["authorization_endpoint", "javascript:alert(1)", "must start with https"],
    ["authorization_endpoint", "https://idp.example/a#b", "no fragment"],
    ["token_endpoint", 1, "is missing"],
    ["token_endpoint", "http://idp.example/token", "must start with https"],
    ["token_endpoint", "https://10.0.0.1/token", "private"],
    ["token_endpoint", "https://user:password@idp.example/token", "no user"],
    ["jwks_uri", "https://169.254.169.254/latest/meta-data", "private"],
    ["jwks_uri", "https://localhost/jwks", "local network"],
    ["jwks_uri", "/jwks", "absolute"],
    ["userinfo_endpoint", "http://idp.example/userinfo", "must start with https"],
    ["userinfo_endpoint", null, "is missing"],
    ["token_endpoint_auth_methods_supported", ["private_key_jwt"], "takes no client secret"],
    ["token_endpoint_auth_methods_supported", "client_secret_basic", "takes no client secret"],
  ])("with %s %o is refused", (name, value, reason) => {
    const read = readMetadata({ ...document, [name]: value }, issuer, false);
    expect(read).toEqual({ ok: false, error: expect.stringContaining(reason) });
  });

  it("of another issuer redirects nobody, and is read again next time", async () => {
    const own = await makeProvider();
    const browser = new Browser();
    await answerJson(at(own, DISCOVERY), { ...own.metadata, issuer: "https://attacker.test" });
    await expectError(await browser.get(authorizeAddress(app, own)), "server_error", "attacker.test");
    await answerJson(at(own, DISCOVERY), own.metadata);
    expect((await sendOff(app, own, browser)).address.origin).toBe(own.issuer);
  });

  it("is not read from a loopback host if that is not allowed any more", async () => {
    const id = unique("idp");
    const local = "http://127.0.0.1:4000";
    await answerJson(`${local}/${DISCOVERY}`, { ...provider.metadata, issuer: local });
    await put(`identity-providers/${id}`, { issuer: local, clientId: CLIENT_ID, clientSecret: "secret" });
    const address = authorizeAddress(app, { ...provider, id });
    const forbidden = new Browser(isolate({ ALLOW_LOOPBACK: "false" }));
    await expectError(await forbidden.get(address), "server_error", "https://");
    expect((await new Browser().get(address)).headers.get("location")).toContain(provider.issuer);
  });

  it("is found below an issuer with a path, with or without a trailing slash", async () => {
    for (const end of ["", "/"]) {
      const host = `https://${unique("idp")}.test`;
      const realm = `${host}/realm${end}`;
      const id = unique("idp");
      await answerJson(`${host}/realm/${DISCOVERY}`, { ...provider.metadata, issuer: realm });
      await put(`identity-providers/${id}`, { issuer: realm, clientId: CLIENT_ID, clientSecret: "secret" });
      const { status, headers } = await new Browser().get(authorizeAddress(app, { ...provider, id }));
      expect([status, headers.get("location")]).toEqual([302, expect.stringContaining(`${provider.issuer}/authorize`)]);
    }
  });
});

describe("A provider with a faulty response", () => {
  const json = { "content-type": "application/json" };
  const faults: [string, OutsideAnswer, string, string][] = [
    ["is busy", { status: 429, headers: json, body: "{}" }, "temporarily_unavailable", "429"],
    ["is broken", { status: 500, headers: json, body: "{}" }, "temporarily_unavailable", "500"],
    ["is not there", { status: 502 }, "temporarily_unavailable", "502"],
    ["redirects", { status: 302, headers: { location: "https://attacker.test/" } }, "server_error", "redirects (302)"],
    [
      "redirects for ever",
      { status: 308, headers: { location: "https://attacker.test/" } },
      "server_error",
      "redirects",
    ],
    ["sends a megabyte", { headers: json, bodyBytes: 1024 * 1024 }, "server_error", "more than 262144 bytes"],
    ["sends a page", { headers: { "content-type": "text/html" }, body: "<html>" }, "server_error", "without JSON"],
    ["says no type", { body: "{}" }, "server_error", "without JSON"],
    ["sends broken JSON", { headers: json, body: "{" }, "server_error", "without a JSON object"],
    ["sends nothing", { headers: json }, "server_error", "without a JSON object"],
    ["sends a list", { headers: json, body: "[]" }, "server_error", "without a JSON object"],
    ["sends null", { headers: json, body: "null" }, "server_error", "without a JSON object"],
  ];

  it.each(faults)("%s, at discovery", async (_, answer, error, reason) => {
    const own = await makeProvider();
    await answerAt(at(own, DISCOVERY), answer);
    await expectError(await new Browser().get(authorizeAddress(app, own)), error, reason);
  });

  it.each(faults)("%s, at its token endpoint, with its keys, and at userinfo", async (_, answer, error, reason) => {
    for (const path of ["token", "jwks", "userinfo"]) {
      const own = await makeProvider();
      await answerJson(at(own, DISCOVERY), { ...own.metadata, userinfo_endpoint: at(own, "userinfo") });
      const sent = await sendOffUnlinked(app, own);
      const claims = { ...claimsFor(app, own, sent), email: undefined };
      await answerToken(own, await sign(claims, own.signer));
      await answerAt(at(own, path), answer);
      await expectError(await comeBack(own, sent), error, reason);
    }
    expect(await requestsTo("https://attacker.test/")).toEqual([]);
  });

  it.each([
    [400, { error: "invalid_grant" }, "access_denied", '400 "invalid_grant"'],
    [401, { error: "invalid_client" }, "server_error", '401 "invalid_client"'],
    [400, { error: { toString: 1 } }, "server_error", "400 something"],
    [404, {}, "server_error", "404"],
    [200, { access_token: "x", token_type: "Bearer" }, "server_error", "without an ID token"],
    [200, { id_token: { a: 1 } }, "server_error", "without an ID token"],
  ])("refuses the code: %i %o", async (status, body, error, reason) => {
    const sent = await sendOff(app, provider);
    await answerJson(at(provider, "token"), body, { status });
    await expectError(await comeBack(provider, sent), error, reason);
  });

  it.each([
    ["jwks", 404],
    ["userinfo", 401],
    [DISCOVERY, 404],
  ])("has no %s: %i", async (path, status) => {
    const own = await makeProvider();
    await answerJson(at(own, DISCOVERY), { ...own.metadata, userinfo_endpoint: at(own, "userinfo") });
    await answerJson(at(own, path), { error: "x" }, { status });
    const silent = { email: undefined };
    const back =
      path === DISCOVERY
        ? new Browser().get(authorizeAddress(app, own))
        : signInWith(silent, { provider: own, first: true });
    await expectError(await back, "server_error", String(status));
  });

  it("is given up after its time if it hangs, even in the body", async () => {
    const limits = { timeoutMs: 150, maxBytes: 1000 };
    expect(FETCH_LIMITS).toEqual({ timeoutMs: 5_000, maxBytes: 262_144 });
    for (const hangs of ["at once", "in the body"] as const) {
      const address = `https://${unique("hangs")}.test/`;
      await answerAt(address, { hangs, headers: json });
      const beganMs = Date.now();
      const answer = await fetchJson(address, {}, limits);
      expect(answer).toMatchObject({ ok: false, error: { error: "temporarily_unavailable" } });
      expect(Date.now() - beganMs).toBeLessThan(1_000);
    }
  });

  itAtNight(
    "blocks nobody else if it hangs, and its own client gets an error after 5 s",
    { timeout: 15_000 },
    async () => {
      const platform = isolate();
      const own = await makeProvider();
      await answerAt(at(own, DISCOVERY), { hangs: "at once" });
      const beganMs = Date.now();
      const hanging = new Browser(platform).get(authorizeAddress(app, own));
      const sent: SentOff = await sendOff(app, provider, new Browser(platform));
      await answerToken(provider, await sign(claimsFor(app, provider, sent), provider.signer));
      expect(toClient(await comeBack(provider, sent))).toHaveProperty("code");
      expect(Date.now() - beganMs).toBeLessThan(2_000);
      await expectError(await hanging, "temporarily_unavailable", "does not answer");
      expect(Date.now() - beganMs).toBeLessThan(7_000);
    },
  );
});
