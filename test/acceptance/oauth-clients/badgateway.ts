import { generateCodeVerifier, OAuth2Client, OAuth2Fetch, type OAuth2Token } from "@badgateway/oauth2-client";
import { beforeAll, describe, expect, test } from "vitest";
import { CALLBACK, signIn } from "../support/visit.ts";
import { ADA, AWKWARD_SECRET, makeClient, SCOPES, TENANT, type Client, type World } from "../support/world.ts";

/** @badgateway/oauth2-client: finds its way by RFC 8414's metadata, and renews tokens behind `fetch`. */
export function badgatewaySuite(world: () => World): void {
  let web: Client;
  let spa: Client;

  beforeAll(async () => {
    const grantTypes = ["authorization_code", "refresh_token", "client_credentials"];
    web = await makeClient(world(), "bad-web", {
      redirectUris: [CALLBACK],
      clientSecret: AWKWARD_SECRET,
      grantTypes,
    });
    spa = await makeClient(world(), "bad-spa", { redirectUris: [CALLBACK], confidential: false });
  });

  const clientOf = ({ id, secret }: Client, more: object = {}) =>
    new OAuth2Client({
      server: world().url,
      discoveryEndpoint: `/.well-known/oauth-authorization-server${new URL(world().issuer).pathname}`,
      clientId: id,
      ...(secret === "" ? {} : { clientSecret: secret }),
      ...more,
    });

  async function visit(client: OAuth2Client): Promise<OAuth2Token> {
    const codeVerifier = await generateCodeVerifier();
    const asked = { redirectUri: CALLBACK, state: "a state", codeVerifier };
    const link = await client.authorizationCode.getAuthorizeUri({ ...asked, scope: ["openid", ...SCOPES] });
    const landed = await signIn(link, ADA);
    return client.authorizationCode.getTokenFromCodeRedirect(landed, asked);
  }

  describe("@badgateway/oauth2-client", () => {
    test.each([
      ["what the metadata prefers", () => clientOf(web)],
      ["client_secret_post", () => clientOf(web, { authenticationMethod: "client_secret_post" })],
      ["no secret", () => clientOf(spa)],
    ])("signs in, refreshes, revokes, with %s", async (_, make) => {
      const client = make();
      const token = await visit(client);
      expect(token.scope?.sort()).toEqual(["openid", ...SCOPES, `plat.tenant=${TENANT}`].sort());
      expect(token.idToken).toBeDefined();
      const fresh = await client.refreshToken(token);
      await client.revoke(fresh, "refresh_token");
      await expect(client.refreshToken(fresh)).rejects.toMatchObject({ oauth2Code: "invalid_grant" });
    });

    test("gets a token of its own, looks at it, revokes it", async () => {
      const client = clientOf(web);
      const token = await client.clientCredentials({ scope: [...SCOPES] });
      expect(await client.introspect(token)).toMatchObject({ active: true, client_id: web.id });
      await client.revoke(token);
      expect(await client.introspect(token)).toEqual({ active: false });
    });

    test("renews behind fetch when the service no longer takes the token", async () => {
      const client = clientOf(spa);
      const begun = await visit(client);
      const kept: (string | undefined)[] = [];
      const wrapper = new OAuth2Fetch({
        client,
        getNewToken: async () => begun,
        storeToken: (token) => kept.push(token?.accessToken),
        scheduleRefresh: false,
      });
      const who = () => wrapper.fetch(`${world().issuer}/userinfo`).then((answer) => answer.json());
      expect(await who()).toEqual({ sub: ADA.email });
      await client.revoke(begun, "access_token");
      expect(await who()).toEqual({ sub: ADA.email });
      expect(kept).toHaveLength(2);
    });
  });
}
