import * as client from "openid-client";
import { beforeAll, describe, expect, test } from "vitest";
import {
  ADA,
  AWKWARD_SECRET as SECRET,
  BOB,
  makeClient,
  OTHER_TENANT,
  SCOPES,
  SERVICE,
  TENANT,
  type Client,
  type World,
} from "../support/world.ts";
import { CALLBACK, follow, newBrowser, signIn, SIGNED_OUT } from "../support/visit.ts";

/** openid-client, as its documentation says; plain http is what it has to be told about. */
export function openidClientSuite(world: () => World): void {
  let web: Client;
  let spa: Client;
  let service: Client;

  beforeAll(async () => {
    const redirects = { redirectUris: [CALLBACK], postLogoutRedirectUris: [SIGNED_OUT] };
    web = await makeClient(world(), "openid-web", { ...redirects, clientSecret: SECRET });
    spa = await makeClient(world(), "openid-spa", { ...redirects, confidential: false });
    service = await makeClient(world(), "openid-service", {
      grantTypes: ["client_credentials", "password"],
      clientSecret: SECRET,
    });
  });

  const discover = (of: Client, authentication: client.ClientAuth, algorithm: "oidc" | "oauth2" = "oidc") =>
    client.discovery(new URL(world().issuer), of.id, undefined, authentication, {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
      algorithm,
    });

  /** An authorization request, and what the application keeps to check the answer by. */
  async function begin(config: client.Configuration, more: Record<string, string> = {}) {
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()];
    const link = client.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: `openid ${SCOPES.join(" ")}`,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      state: expectedState,
      nonce: expectedNonce,
      ...more,
    });
    return { link, checks: { pkceCodeVerifier, expectedState, expectedNonce } };
  }

  /** Ada signs in. */
  async function visit(config: client.Configuration, browser = newBrowser()) {
    const { link, checks } = await begin(config);
    const callback = await signIn(link, ADA, browser);
    return { callback, checks };
  }

  async function tokensOf(config: client.Configuration) {
    const { callback, checks } = await visit(config);
    return client.authorizationCodeGrant(config, callback, checks);
  }

  /** Every way in which this client proves itself, or does not. */
  const ways = [
    { name: "client_secret_basic", of: () => web, authentication: () => client.ClientSecretBasic(SECRET) },
    { name: "client_secret_post", of: () => web, authentication: () => client.ClientSecretPost(SECRET) },
    { name: "none", of: () => spa, authentication: () => client.None() },
  ] as const;

  describe("openid-client", () => {
    test.each(["oidc", "oauth2"] as const)("finds the server by its %s metadata", async (algorithm) => {
      const server = (await discover(web, client.ClientSecretBasic(SECRET), algorithm)).serverMetadata();
      expect(server.issuer).toBe(world().issuer);
      expect(server.supportsPKCE()).toBe(true);
      expect(server.authorization_response_iss_parameter_supported).toBe(true);
    });

    describe.each(ways)("with $name", ({ of, authentication }) => {
      // shows: oauth/what-the-service-does/framework
      test("signs in by code, PKCE, state, nonce and iss, and reads who it is", async () => {
        const config = await discover(of(), authentication());
        const tokens = await tokensOf(config);
        const claims = tokens.claims();
        expect(claims).toMatchObject({ sub: ADA.email, email: ADA.email, aud: of().id, tenant: TENANT });
        expect(tokens.expires_in).toBe(3600);
        const user = await client.fetchUserInfo(config, tokens.access_token, claims?.sub ?? "");
        expect(user).toEqual({ sub: ADA.email });
      });

      test("refreshes, with narrower scopes too, and revokes", async () => {
        const config = await discover(of(), authentication());
        const tokens = await tokensOf(config);
        const fresh = await client.refreshTokenGrant(config, tokens.refresh_token ?? "");
        expect(fresh.claims()).toMatchObject({ sub: ADA.email, auth_time: tokens.claims()?.["auth_time"] });
        const scope = `plat.tenant=${TENANT} plat.media_view`;
        const narrow = await client.refreshTokenGrant(config, fresh.refresh_token ?? "", { scope });
        expect(narrow.scope?.split(" ").sort()).toEqual(scope.split(" ").sort());
        await client.tokenRevocation(config, narrow.refresh_token ?? "");
        await expect(client.refreshTokenGrant(config, narrow.refresh_token ?? "")).rejects.toMatchObject({
          error: "invalid_grant",
          status: 400,
        });
        await expect(client.fetchUserInfo(config, narrow.access_token, ADA.email)).rejects.toMatchObject({
          cause: [{ scheme: "bearer", parameters: { error: "invalid_token" } }],
        });
      });
    });

    test.each([
      ["client_secret_basic", client.ClientSecretBasic(SECRET)],
      ["client_secret_post", client.ClientSecretPost(SECRET)],
    ])("gets a token of its own and looks at it, with %s", async (_, authentication) => {
      const config = await discover(service, authentication, "oauth2");
      const tokens = await client.clientCredentialsGrant(config, { scope: "plat.media_manage" });
      expect(await client.tokenIntrospection(config, tokens.access_token)).toMatchObject({
        active: true,
        client_id: service.id,
        sub: service.id,
        tenant: TENANT,
        token_type: "Bearer",
      });
      const files = new URL(`${world().base}/media/v2/files`);
      const create = () => client.fetchProtectedResource(config, tokens.access_token, files, "POST");
      expect((await create()).status).toBe(200);
      await client.tokenRevocation(config, tokens.access_token);
      expect(await client.tokenIntrospection(config, tokens.access_token)).toEqual({ active: false });
      await expect(create()).rejects.toMatchObject({ cause: [{ parameters: { error: "invalid_token" } }] });
    });

    test("sends any other grant: the password's", async () => {
      const config = await discover(service, client.ClientSecretBasic(SECRET));
      const person = { username: ADA.email, password: ADA.password, plat_id_provider: "legacy_idp" };
      const tokens = await client.genericGrantRequest(config, "password", { ...person, scope: "openid" });
      expect(tokens.claims()).toMatchObject({ sub: ADA.email, aud: service.id });
      const wrong = client.genericGrantRequest(config, "password", { ...person, password: "another" });
      await expect(wrong).rejects.toMatchObject({ error: "invalid_grant", status: 400 });
    });

    test("max_age, prompt=none and login_hint do what they say", async () => {
      const config = await discover(web, client.ClientSecretBasic(SECRET));
      const browser = newBrowser();
      await visit(config, browser);
      const silent = await begin(config, { prompt: "none", max_age: "1000" });
      const tokens = await client.authorizationCodeGrant(config, await follow(silent.link, browser), {
        ...silent.checks,
        maxAge: 1000,
      });
      expect(tokens.claims()?.sub).toBe(ADA.email);
      const stranger = await begin(config, { prompt: "none", login_hint: BOB.email });
      const refused = client.authorizationCodeGrant(config, await follow(stranger.link), stranger.checks);
      await expect(refused).rejects.toMatchObject({ error: "login_required" });
    });

    test("a token for another tenant by an ID token, without a page", async () => {
      const hosted = await makeClient(world(), "openid-hosted", { redirectUris: [CALLBACK], service: SERVICE });
      const config = await discover(hosted, client.ClientSecretBasic(hosted.secret));
      const first = await begin(config);
      const callback = await signIn(first.link, BOB);
      const tokens = await client.authorizationCodeGrant(config, callback, first.checks);
      expect(tokens.claims()).toMatchObject({ sub: BOB.email, tenant: TENANT });
      const again = await begin(config, {
        id_token_hint: tokens.id_token ?? "",
        prompt: "none",
        scope: `openid plat.tenant=${OTHER_TENANT}`,
      });
      const landed = await follow(again.link);
      const others = await client.authorizationCodeGrant(config, landed, again.checks);
      expect(others.claims()).toMatchObject({ sub: BOB.email, tenant: OTHER_TENANT });
    });

    test("refuses an answer whose state or issuer is another's, or that has none", async () => {
      const config = await discover(web, client.ClientSecretBasic(SECRET));
      const { callback, checks } = await visit(config);
      const changed = (name: string, value: string | undefined) => {
        const url = new URL(callback);
        url.searchParams.delete(name);
        if (value !== undefined) url.searchParams.set(name, value);
        return client.authorizationCodeGrant(config, url, checks);
      };
      const complainsOf = (name: string) => ({ cause: { message: expect.stringContaining(`"${name}"`) } });
      await expect(changed("state", "another")).rejects.toMatchObject(complainsOf("state"));
      await expect(changed("iss", "https://another.example")).rejects.toMatchObject(complainsOf("iss"));
      await expect(changed("iss", undefined)).rejects.toMatchObject(complainsOf("iss"));
      await client.authorizationCodeGrant(config, callback, checks);
      await expect(client.authorizationCodeGrant(config, callback, checks)).rejects.toMatchObject({
        error: "invalid_grant",
      });
    });

    test("signs out and goes back to the application; the next visit asks again", async () => {
      const config = await discover(web, client.ClientSecretBasic(SECRET));
      const browser = newBrowser();
      const { callback, checks } = await visit(config, browser);
      const { id_token = "" } = await client.authorizationCodeGrant(config, callback, checks);
      const out = { post_logout_redirect_uri: SIGNED_OUT, id_token_hint: id_token, state: "a state" };
      const landed = await follow(client.buildEndSessionUrl(config, out), browser);
      expect(landed.href).toBe(`${SIGNED_OUT}?state=a%20state`);
      await expect(follow((await begin(config)).link, browser)).rejects.toThrow(
        "expected to be at the application: 200",
      );
    });
  });
}
