import * as oauth from "oauth4webapi";
import { beforeAll, describe, expect, test } from "vitest";
import { CALLBACK, follow, signIn } from "../support/visit.ts";
import {
  ADA,
  AWKWARD_SECRET as SECRET,
  makeClient,
  OTHER_TENANT,
  SCOPES,
  TENANT,
  type Client,
  type World,
} from "../support/world.ts";

const INSECURE = { [oauth.allowInsecureRequests]: true };

/**
 * The strictest of them: oauth4webapi with every check that it has and none of them loosened. It looks at the status,
 * content type, fields and signatures of each answer.
 */
export function oauth4webapiSuite(world: () => World): void {
  let server: oauth.AuthorizationServer;
  let web: Client;
  let spa: Client;
  let service: Client;

  beforeAll(async () => {
    const redirectUris = [CALLBACK];
    web = await makeClient(world(), "strict-web", { redirectUris, clientSecret: SECRET, requirePkce: true });
    spa = await makeClient(world(), "strict-spa", { redirectUris, confidential: false });
    service = await makeClient(world(), "strict-service", {
      grantTypes: ["client_credentials"],
      clientSecret: SECRET,
    });
    server = await discover("oidc");
  });

  async function discover(algorithm: "oidc" | "oauth2"): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(world().issuer);
    const response = await oauth.discoveryRequest(issuer, { algorithm, ...INSECURE });
    return oauth.processDiscoveryResponse(issuer, response);
  }

  const ways = [
    { name: "client_secret_basic", of: () => web, authentication: oauth.ClientSecretBasic(SECRET) },
    { name: "client_secret_post", of: () => web, authentication: oauth.ClientSecretPost(SECRET) },
    { name: "none", of: () => spa, authentication: oauth.None() },
  ] as const;

  /** What has to be in an ID token, and how it has to be signed. */
  const metadataOf = ({ id }: Client): oauth.Client => ({
    client_id: id,
    require_auth_time: true,
    default_max_age: 600,
    id_token_signed_response_alg: "RS256",
    [oauth.clockTolerance]: 1,
  });

  interface Visit {
    readonly verifier: string;
    readonly nonce: string;
    readonly parameters: URLSearchParams;
  }

  /** Through the sign-in page and back, with the answer checked. */
  async function authorize(client: Client, more: Record<string, string> = {}): Promise<Visit> {
    const verifier = oauth.generateRandomCodeVerifier();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const link = new URL(server.authorization_endpoint ?? "");
    const request = {
      client_id: client.id,
      redirect_uri: CALLBACK,
      response_type: "code",
      scope: `openid ${SCOPES.join(" ")}`,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
      ...more,
    };
    for (const [name, value] of Object.entries(request)) link.searchParams.set(name, value);
    const landed = await signIn(link, ADA);
    const parameters = oauth.validateAuthResponse(server, metadataOf(client), landed, state);
    return { verifier, nonce, parameters };
  }

  async function redeem(client: Client, authentication: oauth.ClientAuth, { verifier, nonce, parameters }: Visit) {
    const metadata = metadataOf(client);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      metadata,
      authentication,
      parameters,
      CALLBACK,
      verifier,
      INSECURE,
    );
    const kept = response.clone();
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, metadata, response, expected);
    await oauth.validateApplicationLevelSignature(server, response, INSECURE);
    return { tokens, response: kept };
  }

  /** As a resource server would that knows the server's metadata alone (RFC 9068). */
  function asResourceServer(token: string, audience = world().url): Promise<oauth.JWTAccessTokenClaims> {
    const request = new Request("https://resource.example/", { headers: { authorization: `Bearer ${token}` } });
    return oauth.validateJwtAccessToken(server, request, audience, {
      signingAlgorithms: ["ES256"],
      ...INSECURE,
    });
  }

  describe("oauth4webapi, strict", () => {
    test("finds the same server by both documents", async () => {
      expect(await discover("oauth2")).toEqual(server);
    });

    test("everything that the metadata names is there", async () => {
      const endpoints = Object.entries(server).filter(([name]) => name.endsWith("_endpoint") || name === "jwks_uri");
      expect(endpoints.map(([name]) => name).sort()).toEqual([
        "authorization_endpoint",
        "device_authorization_endpoint",
        "end_session_endpoint",
        "introspection_endpoint",
        "jwks_uri",
        "pushed_authorization_request_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
        "token_endpoint",
        "userinfo_endpoint",
      ]);
      for (const [name, address] of endpoints) {
        const response = await fetch(address as string, { method: "OPTIONS" });
        await response.arrayBuffer();
        expect([name, response.status < 500 && response.status !== 404]).toEqual([name, true]);
      }
    });

    // shows: oauth/what-the-service-does/framework
    test.each(ways)("code grant, ID token, access token and userinfo, $name", async ({ of, authentication }) => {
      const client = of();
      const { tokens, response } = await redeem(client, authentication, await authorize(client, { max_age: "600" }));
      expect(response.headers.get("cache-control")).toBe("no-store");
      const claims = oauth.getValidatedIdTokenClaims(tokens);
      expect(claims).toMatchObject({ sub: ADA.email, email: ADA.email, tenant: TENANT });
      expect(await asResourceServer(tokens.access_token)).toMatchObject({
        sub: ADA.email,
        client_id: client.id,
        tenant: TENANT,
      });
      const answer = await oauth.userInfoRequest(server, metadataOf(client), tokens.access_token, INSECURE);
      const info = await oauth.processUserInfoResponse(server, metadataOf(client), claims?.sub ?? "", answer);
      expect(info).toEqual({ sub: ADA.email });
    });

    test.each(ways)("refresh, $name", async ({ of, authentication }) => {
      const [client, metadata] = [of(), metadataOf(of())];
      const { tokens } = await redeem(client, authentication, await authorize(client));
      const refresh = async (token = "") => {
        const response = await oauth.refreshTokenGrantRequest(server, metadata, authentication, token, INSECURE);
        const fresh = await oauth.processRefreshTokenResponse(server, metadata, response);
        await oauth.validateApplicationLevelSignature(server, response, INSECURE);
        return fresh;
      };
      const fresh = await refresh(tokens.refresh_token);
      expect(oauth.getValidatedIdTokenClaims(fresh)?.sub).toBe(ADA.email);
      await asResourceServer(fresh.access_token);
      // What a client without a secret gets replaces what it had; the other one keeps its own.
      expect(fresh.refresh_token === tokens.refresh_token).toBe(client === web);
      expect((await refresh(fresh.refresh_token)).refresh_token).toBeDefined();
    });

    test.each(ways.slice(0, 2))("client credentials, introspection, revocation, $name", async ({ authentication }) => {
      const metadata = metadataOf(service);
      const parameters = { scope: `plat.media_view plat.tenant=${TENANT}` };
      const granted = await oauth.processClientCredentialsResponse(
        server,
        metadata,
        await oauth.clientCredentialsGrantRequest(server, metadata, authentication, parameters, INSECURE),
      );
      expect(await asResourceServer(granted.access_token)).toMatchObject({ sub: service.id, scope: granted.scope });
      const look = async () =>
        oauth.processIntrospectionResponse(
          server,
          metadata,
          await oauth.introspectionRequest(server, metadata, authentication, granted.access_token, INSECURE),
        );
      expect(await look()).toMatchObject({ active: true, iss: server.issuer, aud: world().url, client_id: service.id });
      const revoke = () => oauth.revocationRequest(server, metadata, authentication, granted.access_token, INSECURE);
      await oauth.processRevocationResponse(await revoke());
      await oauth.processRevocationResponse(await revoke());
      expect(await look()).toEqual({ active: false });
    });

    test("a public client revokes by its name alone", async () => {
      const { tokens } = await redeem(spa, oauth.None(), await authorize(spa));
      const token = tokens.refresh_token ?? "";
      const response = await oauth.revocationRequest(server, metadataOf(spa), oauth.None(), token, INSECURE);
      await oauth.processRevocationResponse(response);
      const again = await oauth.refreshTokenGrantRequest(server, metadataOf(spa), oauth.None(), token, INSECURE);
      const refused = oauth.processRefreshTokenResponse(server, metadataOf(spa), again);
      await expect(refused).rejects.toMatchObject({ error: "invalid_grant" });
    });

    test("errors are in the shapes that it knows", async () => {
      const metadata = metadataOf(service);
      const grant = async (authentication: oauth.ClientAuth, scope: string) =>
        oauth.processClientCredentialsResponse(
          server,
          metadata,
          await oauth.clientCredentialsGrantRequest(server, metadata, authentication, { scope }, INSECURE),
        );
      await expect(grant(oauth.ClientSecretBasic("another"), "")).rejects.toMatchObject({
        code: oauth.WWW_AUTHENTICATE_CHALLENGE,
        cause: [{ scheme: "basic" }],
      });
      await expect(grant(oauth.ClientSecretBasic(SECRET), `plat.tenant=${OTHER_TENANT}`)).rejects.toMatchObject({
        code: oauth.RESPONSE_BODY_ERROR,
        error: "invalid_scope",
        status: 400,
      });
      const stranger = await oauth.userInfoRequest(server, metadata, "no.such.token", INSECURE);
      await expect(oauth.processUserInfoResponse(server, metadata, ADA.email, stranger)).rejects.toMatchObject({
        cause: [{ scheme: "bearer", parameters: { error: "invalid_token" } }],
      });
      const visit = await authorize(web);
      await redeem(web, oauth.ClientSecretBasic(SECRET), visit);
      await expect(redeem(web, oauth.ClientSecretBasic(SECRET), visit)).rejects.toMatchObject({
        error: "invalid_grant",
      });
    });

    test("a failed authorization is an answer that it understands, for code and for tokens", async () => {
      const state = oauth.generateRandomState();
      const link = new URL(server.authorization_endpoint ?? "");
      const request = { client_id: spa.id, redirect_uri: CALLBACK, response_type: "code", state, prompt: "none" };
      for (const [name, value] of Object.entries(request)) link.searchParams.set(name, value);
      link.searchParams.set("code_challenge", await oauth.calculatePKCECodeChallenge("x".repeat(43)));
      link.searchParams.set("code_challenge_method", "S256");
      const landed = await follow(link);
      const complaint = { code: oauth.AUTHORIZATION_RESPONSE_ERROR, error: "login_required" };
      const look = (parameters: URLSearchParams) => {
        oauth.validateAuthResponse(server, metadataOf(spa), parameters, state);
      };
      expect(() => look(landed.searchParams)).toThrow(expect.objectContaining(complaint));
      expect(() => look(new URLSearchParams(landed.hash.slice(1)))).toThrow(expect.objectContaining(complaint));
    });

    test("an access token is no ID token, and for nobody but this platform", async () => {
      const { tokens } = await redeem(web, oauth.ClientSecretBasic(SECRET), await authorize(web));
      await expect(asResourceServer(tokens.id_token ?? "")).rejects.toThrow();
      await expect(asResourceServer(tokens.access_token, "https://another.example")).rejects.toThrow('"aud"');
    });
  });
}
