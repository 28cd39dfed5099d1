import OAuth2Strategy from "passport-oauth2";
import { beforeAll, describe, expect, test } from "vitest";
import { CALLBACK, follow, signIn } from "../support/visit.ts";
import { ADA, makeClient, SCOPES, TENANT, type Client, type World } from "../support/world.ts";

/** What Passport makes of a request, by the strategy's outcome. */
type Outcome =
  | { readonly redirect: string }
  | { readonly user: { readonly accessToken: string; readonly refreshToken: string; readonly scope: string } }
  | { readonly failed: { readonly message: string } }
  | { readonly error: Error & { readonly code?: string } };

/** passport-oauth2's strategy, asked as Passport asks it. */
export function passportSuite(world: () => World): void {
  let web: Client;
  let spa: Client;

  beforeAll(async () => {
    web = await makeClient(world(), "passport-web", { redirectUris: [CALLBACK] });
    spa = await makeClient(world(), "passport-spa", { redirectUris: [CALLBACK], confidential: false });
  });

  const strategyFor = ({ id, secret }: Client, options: Record<string, unknown> = {}) =>
    new OAuth2Strategy(
      {
        authorizationURL: `${world().issuer}/authorize`,
        tokenURL: `${world().issuer}/token`,
        clientID: id,
        clientSecret: secret,
        callbackURL: CALLBACK,
        scope: SCOPES,
        state: true,
        ...options,
      },
      (accessToken: string, refreshToken: string, { scope }: any, _profile: unknown, done: any) =>
        done(null, { accessToken, refreshToken, scope }),
    );

  const ask = (strategy: any, query: Record<string, string>, session: object): Promise<Outcome> =>
    new Promise((resolve) => {
      const asked = Object.assign(Object.create(strategy), {
        redirect: (redirect: string) => resolve({ redirect }),
        success: (user: any) => resolve({ user }),
        fail: (failed: any) => resolve({ failed }),
        error: (error: any) => resolve({ error }),
      });
      asked.authenticate({ query, session });
    });

  async function roundTrip(strategy: any, more: Record<string, string> = {}): Promise<Outcome> {
    const session = {};
    const started = await ask(strategy, {}, session);
    if (!("redirect" in started)) return started;
    const landed = await signIn(started.redirect, ADA);
    return ask(strategy, { ...Object.fromEntries(landed.searchParams), ...more }, session);
  }

  describe("passport-oauth2", () => {
    test.each([
      ["a client with a secret", () => strategyFor(web)],
      ["a client with a secret and PKCE", () => strategyFor(web, { pkce: true })],
      ["a client without a secret, with PKCE", () => strategyFor(spa, { pkce: true })],
      ["a client without a secret, with plain PKCE", () => strategyFor(spa, { pkce: "plain" })],
    ])("signs in: %s", async (_, strategy) => {
      const outcome = await roundTrip(strategy());
      expect(outcome).toEqual({
        user: { accessToken: expect.any(String), refreshToken: expect.any(String), scope: expect.any(String) },
      });
      if (!("user" in outcome)) return;
      expect(outcome.user.scope.split(" ").sort()).toEqual([...SCOPES, `plat.tenant=${TENANT}`].sort());
    });

    test("a state that is not the session's signs nobody in", async () => {
      expect(await roundTrip(strategyFor(web), { state: "another" })).toMatchObject({ failed: {} });
    });

    test("a code that is not one is an error that it can read", async () => {
      const outcome = await roundTrip(strategyFor(web), { code: "no-such-code" });
      expect(outcome).toMatchObject({ error: { name: "TokenError", code: "invalid_grant" } });
    });

    test("a refused request comes back as an error that it can read", async () => {
      const started = await ask(strategyFor(web, { scope: ["plat.admin"] }), {}, {});
      const landed = await follow("redirect" in started ? started.redirect : "");
      const outcome = await ask(strategyFor(web), Object.fromEntries(landed.searchParams), {});
      expect(outcome).toMatchObject({ error: { name: "AuthorizationError", code: "invalid_scope" } });
    });
  });
}
