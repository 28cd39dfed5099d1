import { beforeAll, describe, expect, it } from "vitest";
import { authorizeAddress, Browser, landed } from "../../support/browser.ts";
import { answerJson } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { put } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, requestFor, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";

/**
 * Every secret that the platform issues, sent to every place that takes one (RFC 8725 3.12, RFC 9700 4). Each is
 * accepted at its own place only, and has no effect elsewhere. Forged tokens are in rfc8725.test.ts, ended tokens in
 * endpoints/token-state.test.ts and endpoints/revoke.test.ts.
 */
let user: TestUser;
let app: TestApp;
let browser: Browser;

const KINDS = [
  "access token of a client",
  "access token of a user",
  "ID token",
  "refresh token",
  "code",
  "session cookie",
  "browser cookie",
  "form token",
  "state at a provider",
  "client secret",
  "signature of an upload link",
  "signature of a content link",
  "lock token of a consumer",
  "idempotency key of a publisher",
] as const;
type Kind = (typeof KINDS)[number];
const values = {} as Record<Kind, string>;

let uploadLink: string;
let contentLink: string;
let providerId: string;

const OAUTH = "/oauth2/v1";
const SCOPE = () => `openid plat.media_view plat.media_manage plat.pubsub.topic=*`;

async function makeCode(): Promise<string> {
  const done = await visit(browser, app, { scope: SCOPE() });
  return landed(done).query.get("code")!;
}

beforeAll(async () => {
  user = await makeUser();
  app = await makeApp({
    tenant: user.tenant,
    grantTypes: ["authorization_code", "implicit", "refresh_token", "client_credentials"],
  });
  browser = new Browser();
  const done = await signInThrough(browser, app, user, { scope: SCOPE() });
  const tokens = await expectJson(
    await token({
      grant_type: "authorization_code",
      code: landed(done).query.get("code")!,
      redirect_uri: app.redirectUri,
    }),
    200,
  );
  values["access token of a user"] = tokens.access_token;
  values["ID token"] = tokens.id_token;
  values["refresh token"] = tokens.refresh_token;
  values["access token of a client"] = await tokenFor(app);
  values["session cookie"] = browser.cookie("session")!;
  values["client secret"] = app.clientSecret;
  await makeBrowserThings();
  await makeMediaThings();
  await makeEventThings();
  values["code"] = await makeCode();
});

/** The secrets of a browser before anybody signs in. */
async function makeBrowserThings(): Promise<void> {
  const { csrf } = (await visit(visitor, app)).forms[0]!.fields;
  values["form token"] = csrf!;
  values["browser cookie"] = visitor.cookie("browser")!;
  providerId = unique("idp");
  const issuer = `https://${providerId}.example`;
  await answerJson(`${issuer}/.well-known/openid-configuration`, {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  });
  await put(`identity-providers/${providerId}`, { issuer, clientId: "plinth", clientSecret: "s".repeat(40) });
  const sent = await visit(visitor, app, { plat_id_provider: providerId });
  values["state at a provider"] = landed(sent).query.get("state")!;
}
const visitor = new Browser();

async function makeMediaThings(): Promise<void> {
  const bearer = values["access token of a client"];
  const create = () => call("/media/v2/files", { token: bearer, json: { "Content-Type": "text/plain" } });
  const upload = (link: string) =>
    call(link, { method: "PUT", body: "text", headers: { "content-type": "text/plain" } });
  const first = await expectJson(await create(), 200);
  await upload(first.uploadLink);
  const { link } = await expectJson(await call(first.commitLink, { token: bearer, json: {} }), 202);
  contentLink = (await expectJson(await call(link, { token: bearer }), 200)).link;
  uploadLink = (await expectJson(await create(), 200)).uploadLink;
  values["signature of an upload link"] = new URL(uploadLink).searchParams.get("signature")!;
  values["signature of a content link"] = new URL(contentLink).searchParams.get("signature")!;
}

const topic = () => `/pubsub/v1/topics/${app.clientId}/orders`;
async function makeEventThings(): Promise<void> {
  const bearer = values["access token of a client"];
  await call("/pubsub/v1/topics", { token: bearer, json: { eventType: "orders" } });
  const key = unique("key");
  await expectJson(
    await call(`${topic()}/publish`, { token: bearer, json: { payload: "x" }, headers: { "idempotency-key": key } }),
    201,
  );
  values["idempotency key of a publisher"] = key;
  const read = await expectJson(await call(`${topic()}/read`, { token: bearer, json: { ttlMs: 600_000 } }), 200);
  values["lock token of a consumer"] = read.token;
}

const token = (form: Record<string, string>): Promise<Response> =>
  call(`${OAUTH}/token`, { form, headers: { authorization: basic(app) } });
const isTaken = async (answer: Promise<Response>): Promise<boolean> => (await answer).status < 400;
const silently = { prompt: "none", scope: SCOPE() };

/** A place with the kinds that it accepts, and a test for acceptance. */
interface Place {
  readonly belongs: readonly Kind[];
  takes(value: string): Promise<boolean>;
}

const ACCESS_TOKENS: readonly Kind[] = ["access token of a client", "access token of a user"];

/** Places that use a value up come last. */
const PLACES: Readonly<Record<string, Place>> = {
  "bearer at a service": {
    belongs: ACCESS_TOKENS,
    takes: (value) => isTaken(call(topic(), { token: value })),
  },
  "/tokeninfo": {
    belongs: ACCESS_TOKENS,
    takes: (value) => isTaken(call(`${OAUTH}/tokeninfo?access_token=${encodeURIComponent(value)}`)),
  },
  "/userinfo": {
    belongs: ["access token of a user"],
    takes: (value) => isTaken(call(`${OAUTH}/userinfo`, { token: value })),
  },
  "/refreshtokens": {
    belongs: ["access token of a user"],
    takes: (value) => isTaken(call(`${OAUTH}/refreshtokens`, { token: value })),
  },
  "/introspect": {
    belongs: [...ACCESS_TOKENS, "refresh token"],
    takes: async (value) => {
      const form = { token: value };
      const answer = await call(`${OAUTH}/introspect`, { form, headers: { authorization: basic(app) } });
      return (await expectJson(answer, 200)).active as boolean;
    },
  },
  "id_token_hint of /authorize": {
    belongs: ["ID token"],
    takes: async (value) => {
      const request = requestFor(app, { ...silently, id_token_hint: value });
      return landed(await new Browser().get(authorizeAddress(request))).query.has("code");
    },
  },
  "id_token_hint of /end_session": {
    belongs: ["ID token"],
    takes: async (value) =>
      (await new Browser().get(`${ORIGIN}${OAUTH}/end_session?id_token_hint=${encodeURIComponent(value)}`)).status <
      400,
  },
  "session cookie": {
    belongs: ["session cookie"],
    takes: async (value) => {
      const stranger = new Browser();
      stranger.cookies.set("__Host-plat_session", value);
      return landed(await visit(stranger, app, silently)).query.has("code");
    },
  },
  "client secret": {
    belongs: ["client secret"],
    takes: (value) => {
      const authorization = basic({ clientId: app.clientId, clientSecret: value });
      return isTaken(
        call(`${OAUTH}/token`, { form: { grant_type: "client_credentials" }, headers: { authorization } }),
      );
    },
  },
  "link to content": {
    belongs: ["signature of a content link"],
    takes: (value) => isTaken(call(withSignature(contentLink, value))),
  },
  "refresh_token of /token": {
    belongs: ["refresh token"],
    takes: (value) => isTaken(token({ grant_type: "refresh_token", refresh_token: value })),
  },
  "code of /token": {
    belongs: ["code"],
    takes: (value) => isTaken(token({ grant_type: "authorization_code", code: value, redirect_uri: app.redirectUri })),
  },
  "link to upload": {
    belongs: ["signature of an upload link"],
    takes: (value) =>
      isTaken(
        call(withSignature(uploadLink, value), {
          method: "PUT",
          body: "text",
          headers: { "content-type": "text/plain" },
        }),
      ),
  },
  "state of /callback": {
    belongs: ["state at a provider"],
    // A known state leads back to the client, since the provider does not respond; an unknown one to a page.
    takes: async (value) => {
      const query = new URLSearchParams({ state: value, code: "x" });
      return (await visitor.get(`${ORIGIN}${OAUTH}/callback/${providerId}?${query.toString()}`)).status === 302;
    },
  },
  "commit of a consumer": {
    belongs: ["lock token of a consumer"],
    takes: (value) =>
      isTaken(call(`${topic()}/commit`, { token: values["access token of a client"], json: { token: value } })),
  },
  "form token of /sign-in": {
    belongs: ["form token"],
    takes: async (value) => {
      const page = await visit(visitor, app);
      const { email, password } = user;
      return (await visitor.submit(page, { email, password, csrf: value })).status === 303;
    },
  },
};

function withSignature(link: string, signature: string): string {
  const url = new URL(link);
  url.searchParams.set("signature", signature);
  return url.href;
}

const places = Object.entries(PLACES).map(([name, place]) => ({ name, ...place }));
const revoke = (value: string) =>
  call(`${OAUTH}/revoke`, { form: { token: value }, headers: { authorization: basic(app) } });

describe("Each secret at the places of others", () => {
  it("has every kind, none like another", () => {
    expect(KINDS.filter((kind) => !values[kind])).toEqual([]);
    expect(new Set(Object.values(values)).size).toBe(KINDS.length);
  });

  it.each(places)("is refused: $name takes nothing else", async ({ belongs, takes }) => {
    for (const kind of KINDS)
      if (!belongs.includes(kind)) expect([kind, await takes(values[kind])]).toEqual([kind, false]);
  });

  it("is not reported and ends nothing at /revoke", async () => {
    const unknown = KINDS.filter((kind) => !ACCESS_TOKENS.includes(kind) && kind !== "refresh token");
    for (const kind of unknown) expect(await expectJson(await revoke(values[kind]), 200)).toEqual({});
  });
});

describe("Each secret at its own place, after all that", () => {
  it.each(places)("is accepted: $name takes it", async ({ belongs, takes }) => {
    for (const kind of belongs) expect([kind, await takes(values[kind])]).toEqual([kind, true]);
  });

  it("is revoked by /revoke: access and refresh tokens", async () => {
    for (const kind of [...ACCESS_TOKENS, "refresh token"] as const) {
      expect((await revoke(values[kind])).status).toBe(200);
      expect([kind, await PLACES["/introspect"]!.takes(values[kind])]).toEqual([kind, false]);
    }
  });
});
