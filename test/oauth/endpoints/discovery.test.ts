import { env } from "cloudflare:workers";
import * as oauth from "oauth4webapi";
import { describe, expect, it } from "vitest";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";

const ISSUER = `${ORIGIN}/oauth2/v1`;
const PROOFS = ["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"];
const ALGS = ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512", "Ed25519", "EdDSA"];
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";
const OIDC = "/oauth2/v1/.well-known/openid-configuration";
const RFC8414 = "/.well-known/oauth-authorization-server/oauth2/v1";
const metadata = async () => expectJson<Record<string, any>>(await call(OIDC), 200);

describe("The two metadata documents", () => {
  // shows: platform/addresses/.well-known-oauth-authorization-server
  // shows: oauth/other-endpoints/discovery
  it("are equal, public, cacheable and readable from any origin", async () => {
    const answers = await Promise.all(
      [OIDC, RFC8414].map((path) => call(path, { headers: { origin: "https://x.y" } })),
    );
    const [first, second] = await Promise.all(answers.map((answer) => expectJson(answer, 200)));
    expect(first).toEqual(second);
    for (const { headers } of answers) {
      expect(headers.get("cache-control")).toBe("public, max-age=300");
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("content-type")).toBe("application/json");
    }
  });

  // shows: oauth/other-endpoints/discovery
  it.each(["oidc", "oauth2"] as const)("are taken by a strict client (%s)", async (algorithm) => {
    const server = await oauth.discoveryRequest(new URL(ISSUER), {
      algorithm,
      [oauth.customFetch]: (url, init) => call(url, { headers: Object.fromEntries(new Headers(init.headers)) }),
    });
    const found = await oauth.processDiscoveryResponse(new URL(ISSUER), server);
    expect(found.issuer).toBe(ISSUER);
  });

  // shows: oauth/versioning/path
  // shows: platform/addresses/oauth-service
  // shows: oauth/other-endpoints/discovery
  it("contain what RFC 8414 and OpenID Connect Discovery require, and their optional parts", async () => {
    expect(await metadata()).toEqual({
      issuer: ISSUER,
      authorization_endpoint: `${ISSUER}/authorize`,
      token_endpoint: `${ISSUER}/token`,
      userinfo_endpoint: `${ISSUER}/userinfo`,
      jwks_uri: `${ISSUER}/jwks`,
      revocation_endpoint: `${ISSUER}/revoke`,
      introspection_endpoint: `${ISSUER}/introspect`,
      device_authorization_endpoint: `${ISSUER}/device_authorization`,
      pushed_authorization_request_endpoint: `${ISSUER}/par`,
      require_pushed_authorization_requests: false,
      end_session_endpoint: `${ISSUER}/end_session`,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      scopes_supported: [
        "openid",
        "profile",
        "email",
        "plat.no_tenant",
        "plat.pubsub.topic=*",
        "plat.pubsub.own_tenant_topic=*",
        "plat.pubsub_publish",
        "plat.media_view",
        "plat.media_manage",
        "plat.media_admin",
      ],
      response_types_supported: ["code", "token", "id_token", "id_token token"],
      response_modes_supported: ["query", "fragment", "form_post"],
      grant_types_supported: [
        "client_credentials",
        "authorization_code",
        "refresh_token",
        "password",
        DEVICE,
        EXCHANGE,
        "implicit",
      ],
      code_challenge_methods_supported: ["S256", "plain"],
      token_endpoint_auth_methods_supported: [...PROOFS, "none"],
      token_endpoint_auth_signing_alg_values_supported: [...ALGS, "HS256"],
      revocation_endpoint_auth_methods_supported: [...PROOFS, "none"],
      revocation_endpoint_auth_signing_alg_values_supported: [...ALGS, "HS256"],
      introspection_endpoint_auth_methods_supported: PROOFS,
      introspection_endpoint_auth_signing_alg_values_supported: [...ALGS, "HS256"],
      dpop_signing_alg_values_supported: ALGS.filter((alg) => !alg.startsWith("RS")),
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256", "ES256"],
      claims_supported:
        "iss sub aud exp iat auth_time acr amr nonce at_hash email name picture locale tenant email_verified".split(
          " ",
        ),
      claim_types_supported: ["normal"],
      claims_parameter_supported: true,
      acr_values_supported: [
        "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport",
        "urn:plinth:acr:two-factors",
      ],
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      prompt_values_supported: ["none", "login", "consent", "select_account"],
      display_values_supported: ["page", "popup"],
      ui_locales_supported: ["en", "de", "fr"],
      service_documentation: `${ORIGIN}/docs`,
    });
  });

  it("name only addresses that exist", async () => {
    for (const [name, address] of Object.entries(await metadata())) {
      if (!/_(endpoint|uri|documentation)$/.test(name)) continue;
      expect((await call(address as string)).status, `${name} ${address as string}`).not.toBe(404);
    }
  });

  // shows: oauth/versioning/issuer
  // shows: platform/addresses/.well-known-oauth-authorization-server
  // shows: platform/deployment-variables/path_prefix
  // shows: platform/deployment-variables/public_url
  it("name the issuer of the tokens, and the prefix in the well-known address", async () => {
    const other = isolate({ PUBLIC_URL: "https://auth.example", PATH_PREFIX: "/hybris", PLATFORM: env.PLATFORM });
    const paths = [
      "/hybris/oauth2/v1/.well-known/openid-configuration",
      "/.well-known/oauth-authorization-server/hybris/oauth2/v1",
    ];
    for (const path of paths)
      expect(await expectJson(await other.fetch(path), 200)).toMatchObject({
        issuer: "https://auth.example/hybris/oauth2/v1",
        token_endpoint: "https://auth.example/hybris/oauth2/v1/token",
        service_documentation: "https://auth.example/hybris/docs",
      });
  });
});
