import { AuthorizationCode, ClientCredentials, ResourceOwnerPassword } from "simple-oauth2";
import { beforeAll, describe, expect, test } from "vitest";
import { CALLBACK, signIn } from "../support/visit.ts";
import { ADA, AWKWARD_SECRET, makeClient, SCOPES, type Client, type World } from "../support/world.ts";

/** simple-oauth2, which knows no metadata, reads every answer as JSON and replaces what it has by what it gets. */
export function simpleOAuth2Suite(world: () => World): void {
  let web: Client;

  beforeAll(async () => {
    web = await makeClient(world(), "simple-web", {
      redirectUris: [CALLBACK],
      grantTypes: ["authorization_code", "refresh_token", "client_credentials", "password"],
      clientSecret: AWKWARD_SECRET,
    });
  });

  const at = (path: string): string => new URL(`${world().issuer}/${path}`).pathname;
  const configuration = (options: Record<string, string> = {}, secret = web.secret) => ({
    client: { id: web.id, secret },
    auth: { tokenHost: world().url, tokenPath: at("token"), revokePath: at("revoke") },
    options,
  });
  const withPages = (options: Record<string, string>) => {
    const { auth, ...rest } = configuration(options);
    return { ...rest, auth: { ...auth, authorizePath: at("authorize") } };
  };

  const ways: readonly [string, Record<string, string>][] = [
    ["a strict header", { authorizationMethod: "header", credentialsEncodingMode: "strict" }],
    ["a loose header", { authorizationMethod: "header", credentialsEncodingMode: "loose" }],
    ["the body", { authorizationMethod: "body" }],
  ];

  describe.each(ways)("simple-oauth2, the secret in %s", (_, options) => {
    test("signs in by code, refreshes twice, revokes all", async () => {
      const client = new AuthorizationCode(withPages(options));
      const link = client.authorizeURL({ redirect_uri: CALLBACK, scope: SCOPES, state: "a state" });
      const landed = await signIn(link, ADA);
      expect(landed.searchParams.get("state")).toBe("a state");
      const code = landed.searchParams.get("code");
      const first = await client.getToken({ code, redirect_uri: CALLBACK, scope: SCOPES });
      expect(first.token.token_type).toBe("Bearer");
      expect(first.expired()).toBe(false);
      // As an application does that keeps it as text.
      const kept = client.createToken(JSON.parse(JSON.stringify(first)));
      const second = await kept.refresh();
      const third = await second.refresh({ scope: [SCOPES[0]] });
      expect(third.token.scope.split(" ")).toContain(SCOPES[0]);
      expect(third.token.scope.split(" ")).not.toContain(SCOPES[1]);
      await third.revokeAll();
      await expect(third.refresh()).rejects.toMatchObject({ data: { payload: { error: "invalid_grant" } } });
    });

    test("gets tokens of its own, and with a password", async () => {
      const own = await new ClientCredentials(configuration(options)).getToken({ scope: SCOPES });
      expect(own.token.expires_in).toBe(3600);
      await own.revoke("access_token");
      const person = { username: ADA.email, password: ADA.password, plat_id_provider: "legacy_idp" };
      const byPassword = await new ResourceOwnerPassword(configuration(options)).getToken(person);
      expect((await byPassword.refresh()).token.refresh_token).toBeDefined();
      const wrong = new ResourceOwnerPassword(configuration(options)).getToken({ ...person, password: "wrong" });
      await expect(wrong).rejects.toMatchObject({ data: { payload: { error: "invalid_grant" } } });
      const stranger = new ClientCredentials(configuration(options, "x".repeat(40))).getToken({});
      await expect(stranger).rejects.toMatchObject({
        data: { payload: { error: "invalid_client" }, res: { statusCode: 401 } },
      });
    });
  });
}
