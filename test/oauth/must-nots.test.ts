import { exportJWK, generateSecret, SignJWT } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { Browser } from "../support/browser.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { hashOf, makeProver } from "../support/parties/prover.ts";
import { APP_URI, makeApp, signInThrough, type TestApp } from "../support/sign-in.ts";
import { makeUser } from "../support/users.ts";
import { failureOf, refusalOf } from "./support/answers.ts";

/**
 * Prohibitions of RFC 9126, 9449 and 8628 that the tests of the grants do not cover. The checklist of
 * `test/acceptance/negative` names each of these tests by its section.
 */
const TOKEN = "/oauth2/v1/token";
const LIST = "/pubsub/v1/topics";
const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";
const REQUEST = { response_type: "code", redirect_uri: APP_URI, scope: "openid", state: "s" };

let tenant: string;
let web: TestApp;
let other: TestApp;
let browser: Browser;
beforeAll(async () => {
  tenant = await makeTenant();
  [web, other] = [await makeApp({ tenant }), await makeApp({ tenant })];
  browser = new Browser();
  await signInThrough(browser, web, await makeUser({ tenant }));
});

const twice = (form: Record<string, string>, name: string): URLSearchParams => {
  const sent = new URLSearchParams(form);
  sent.append(name, form[name] ?? "");
  return sent;
};

describe("/par", () => {
  const PAR = "/oauth2/v1/par";
  const by = (app: TestApp) => ({ authorization: basic(app) });
  const referenceOf = async (app: TestApp): Promise<string> =>
    (await expectJson(await call(PAR, { form: REQUEST, headers: by(app) }), 201)).request_uri as string;

  // shows: oauth/pushed-authorization-requests/forbidden
  it("takes POST alone, each parameter once, and a client that authenticates in one way", async () => {
    const get = await call(`${PAR}?${new URLSearchParams(REQUEST).toString()}`, { headers: by(web) });
    expect([get.status, get.headers.get("allow")]).toEqual([405, expect.stringContaining("POST")]);
    for (const name of Object.keys(REQUEST))
      expect(await failureOf(await call(PAR, { form: twice(REQUEST, name), headers: by(web) })), name).toBe(
        "400 invalid_request",
      );
    const both = { ...REQUEST, client_id: web.clientId, client_secret: web.clientSecret };
    expect(await failureOf(await call(PAR, { form: both, headers: by(web) }))).toBe("400 invalid_request");
    // The client has a secret, so its id alone does not authenticate it.
    expect(await failureOf(await call(PAR, { form: { ...REQUEST, client_id: web.clientId } }))).toBe(
      "401 invalid_client",
    );
    // Parameters in the URL are not pushed.
    const inAddress = await call(`${PAR}?${new URLSearchParams(REQUEST).toString()}`, { form: {}, headers: by(web) });
    expect(inAddress.status).toBe(400);
    const large = { ...REQUEST, state: "x".repeat(2_000_000) };
    expect((await call(PAR, { form: large, headers: by(web) })).status).toBe(413);
  });

  // shows: oauth/pushed-authorization-requests/forbidden
  it("never gives a reference twice, and that of another client is as one that nobody made", async () => {
    const references = await Promise.all(Array.from({ length: 5 }, () => referenceOf(web)));
    expect(new Set(references).size).toBe(5);
    const bring = async (requestUri: string) => {
      const query = new URLSearchParams({ client_id: other.clientId, request_uri: requestUri });
      const { status, html } = await browser.get(`${ORIGIN}/oauth2/v1/authorize?${query.toString()}`);
      return [status, html.replaceAll(/[0-9a-f]{32}/g, "")];
    };
    const strange = await bring(references[0] ?? "");
    expect(strange[0]).toBe(400);
    expect(strange).toEqual(await bring(`urn:ietf:params:oauth:request_uri:${"A".repeat(43)}`));
  });
});

describe("A proof of a key", () => {
  // shows: oauth/bound-tokens/forbidden
  it("is none by a shared secret, by nothing, or by two at once, where a token is asked for", async () => {
    const client = await makeClient({ tenant });
    const prover = await makeProver();
    const ask = (dpop: string) =>
      call(TOKEN, { form: { grant_type: "client_credentials" }, headers: { authorization: basic(client), dpop } });
    await prover.send(TOKEN, { form: { grant_type: "client_credentials" }, headers: { authorization: basic(client) } });
    const good = await prover.proofFor("POST", TOKEN);
    const [, payload = ""] = good.split(".");
    const encoded = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
    const secret = await generateSecret("HS256", { extractable: true });
    const claims = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) as object;
    const shared = { typ: "dpop+jwt", alg: "HS256", jwk: await exportJWK(secret) };
    const wrong: Record<string, string> = {
      "a shared secret": await new SignJWT({ ...claims }).setProtectedHeader(shared).sign(secret),
      none: `${encoded({ typ: "dpop+jwt", alg: "none", jwk: prover.jwk })}.${payload}.`,
      "no signature": good.slice(0, good.lastIndexOf(".") + 1),
      two: `${good}, ${await prover.proofFor("POST", TOKEN)}`,
      "another method": await prover.proofFor("GET", TOKEN),
      "another address": await prover.proofFor("POST", "/oauth2/v1/par"),
      "no jti": await prover.proofFor("POST", TOKEN, { claims: { jti: undefined } }),
      "a long jti": await prover.proofFor("POST", TOKEN, { claims: { jti: "x".repeat(5_000) } }),
      "no time": await prover.proofFor("POST", TOKEN, { claims: { iat: undefined } }),
    };
    for (const [what, proof] of Object.entries(wrong))
      expect(await failureOf(await ask(proof)), what).toBe("400 invalid_dpop_proof");
    expect((await ask(good)).status).toBe(200);
    expect(await failureOf(await ask(good))).toBe("400 invalid_dpop_proof");
  });

  // shows: oauth/bound-tokens/forbidden
  it("is needed wherever the bound token is: in a form or an address it opens nothing", async () => {
    const client = await makeClient({ tenant });
    const prover = await makeProver();
    const headers = { authorization: basic(client) };
    const form = { grant_type: "client_credentials" };
    const { access_token: bound } = await expectJson(await prover.send(TOKEN, { form, headers }), 200);
    expect((await prover.send(LIST, { token: bound as string })).status).toBe(200);
    expect(refusalOf(await call(LIST, { token: bound as string }))).toBe("401 invalid_token");
    const dpop = await prover.proofFor("GET", LIST, { token: bound as string });
    expect(refusalOf(await call(LIST, { token: bound as string, headers: { dpop } }))).toBe("401 invalid_token");
    for (const answer of [
      await call(`${LIST}?access_token=${bound as string}`, { headers: { dpop } }),
      await call(`/oauth2/v1/userinfo?access_token=${bound as string}`),
      await call("/oauth2/v1/userinfo", { form: { access_token: bound as string } }),
    ])
      expect(answer.status).toBe(401);
    // The scheme DPoP is for the resource, and not for proxies in between.
    const forProxy = { "proxy-authorization": `DPoP ${bound as string}`, dpop };
    expect((await call(LIST, { headers: forProxy })).status).toBe(401);
    // A token that is not bound to a key cannot be sent with a proof.
    const plain = await tokenFor(client);
    const forPlain = await prover.proofFor("GET", LIST, { claims: { ath: await hashOf(plain) } });
    const sent = { authorization: `DPoP ${plain}`, dpop: forPlain };
    expect(refusalOf(await call(LIST, { headers: sent }))).toBe("401 invalid_token");
  });
});

describe("The nonce of a proof", () => {
  // shows: oauth/bound-tokens/forbidden
  it("is one in each answer, where a token is asked for and where it is used", async () => {
    const client = await makeClient({ tenant });
    const prover = await makeProver();
    const headers = { authorization: basic(client) };
    const form = { grant_type: "client_credentials" };
    const claims = { nonce: undefined };
    const first = { ...headers, dpop: await prover.proofFor("POST", TOKEN, { claims }) };
    const asked = await call(TOKEN, { form, headers: first });
    expect(asked.headers.get("dpop-nonce")).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
    // A client that was given a nonce is refused without one.
    expect(await failureOf(asked)).toBe("400 use_dpop_nonce");
    const { access_token: bound } = await expectJson(await prover.send(TOKEN, { form, headers }), 200);
    const dpop = await prover.proofFor("GET", LIST, { token: bound as string, claims });
    const refused = await call(LIST, { headers: { authorization: `DPoP ${bound as string}`, dpop } });
    expect(refusalOf(refused)).toBe("401 use_dpop_nonce");
    expect(refused.headers.get("dpop-nonce")).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
  });
});

describe("The device grant", () => {
  const ASK = "/oauth2/v1/device_authorization";

  // shows: oauth/devices/forbidden
  it("takes POST alone, each parameter once, and the code with the client that began", async () => {
    const tool = await makeApp({ tenant, confidential: false, redirectUris: [], grantTypes: [DEVICE] });
    const shop = await makeApp({ tenant, redirectUris: [], grantTypes: [DEVICE] });
    const form = { client_id: tool.clientId, scope: "openid" };
    expect((await call(`${ASK}?${new URLSearchParams(form).toString()}`)).status).toBe(405);
    for (const name of Object.keys(form))
      expect(await failureOf(await call(ASK, { form: twice(form, name) })), name).toBe("400 invalid_request");
    // An empty parameter counts as absent, and unknown ones are ignored.
    await expectJson(await call(ASK, { form: { ...form, resource: "", anything: "x" } }), 200);
    // A client with a secret authenticates, here and when it polls.
    expect(await failureOf(await call(ASK, { form: { client_id: shop.clientId } }))).toBe("401 invalid_client");
    const headers = { authorization: basic(shop) };
    const { device_code } = await expectJson(await call(ASK, { form: { scope: "openid" }, headers }), 200);
    const poll = { grant_type: DEVICE, device_code: device_code as string };
    expect(await failureOf(await call(TOKEN, { form: { ...poll, client_id: shop.clientId } }))).toBe(
      "401 invalid_client",
    );
    expect(await failureOf(await call(TOKEN, { form: { ...poll, client_id: tool.clientId } }))).toBe(
      "400 invalid_grant",
    );
    expect(await failureOf(await call(TOKEN, { form: { grant_type: DEVICE }, headers }))).toBe("400 invalid_request");
    expect(await failureOf(await call(TOKEN, { form: twice(poll, "device_code"), headers }))).toBe(
      "400 invalid_request",
    );
    expect(await failureOf(await call(TOKEN, { form: poll, headers }))).toBe("400 authorization_pending");
  });

  // shows: oauth/devices/forbidden
  it("gives codes that tell nothing: each new, the typed one without letters that make words", async () => {
    const tool = await makeApp({ tenant, confidential: false, redirectUris: [], grantTypes: [DEVICE] });
    const begun = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const answer = await call(ASK, { form: { client_id: tool.clientId } });
        expect(answer.headers.get("cache-control")).toBe("no-store");
        return expectJson<{ device_code: string; user_code: string; verification_uri: string }>(answer, 200);
      }),
    );
    expect(new Set(begun.flatMap(({ device_code, user_code }) => [device_code, user_code])).size).toBe(16);
    for (const { device_code, user_code, verification_uri } of begun) {
      // Everybody who sees the device can read the page's address.
      expect(verification_uri).not.toContain(user_code);
      expect(user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
      expect(device_code).toMatch(/^[A-Za-z0-9_-]{43}$/);
    }
  });
});
