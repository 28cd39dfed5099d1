import { page, type Entry, type Parameter, type ServiceEntries } from "../model/entry.ts";
import { SESSION_ID } from "../../src/platform/model/session-id.ts";
import { bool, int, list, obj, oneOf, ref, str, time, uri, type Schema } from "../model/schema.ts";

/** OAuth 2.0 and OpenID Connect: the protocol's endpoints, the sign-in pages, and users' grants. */
const TOKENS = "Tokens";
const SIGN_IN = "Sign-in";
const GRANTS = "Users' grants";

const TOKEN = "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJkZW1vLnNob3AifQ.c2lnbmF0dXJl";
const clientFields = {
  "client_id?": str("The client, unless it authenticates by HTTP Basic."),
  "client_secret?": str("Its secret, unless it authenticates by HTTP Basic.", { format: "password" }),
  "client_assertion_type?": oneOf(
    ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
    "With `client_assertion`.",
  ),
  "client_assertion?": str(
    "A signed assertion (RFC 7523), for clients registered with `private_key_jwt` or `client_secret_jwt`. It works once.",
  ),
};
const SESSION = str("The caller's name for its session, for the log. The header of the same name wins.", {
  pattern: SESSION_ID.source,
});
const SCOPES =
  "Scopes, separated by spaces. Without any, or with only a tenant or organization: every scope that the client " +
  "lists and that can be granted now.";

const RESOURCES =
  "The address of a service that may receive the token, of the platform or behind the gateway (RFC 8707). May be repeated. " +
  "Without any, the token is for all services that were authorized, or for the whole platform.";
const RESOURCE = uri(RESOURCES);

const tokenForm: Schema = obj({
  grant_type: oneOf(
    [
      "client_credentials",
      "authorization_code",
      "refresh_token",
      "password",
      "urn:ietf:params:oauth:grant-type:device_code",
      "urn:ietf:params:oauth:grant-type:token-exchange",
    ],
    "The grant type, for which the client must be registered.",
  ),
  "scope?": str(`${SCOPES} With a code or a refresh token, it narrows the authorized scopes.`),
  "code?": str("`authorization_code`: the code. It is valid for 60 s and works once."),
  "redirect_uri?": str("`authorization_code`: as in the authorization request; absent if it was absent there."),
  "code_verifier?": str("`authorization_code`: the verifier of the `code_challenge` (PKCE)."),
  "subject_token?": str("Token exchange: the token that the gateway gave to the service (RFC 8693)."),
  "subject_token_type?": str("Token exchange: `urn:ietf:params:oauth:token-type:access_token`."),
  "device_code?": str("Device grant: the `device_code` of `/device_authorization`."),
  "refresh_token?": str("`refresh_token`: the token. A client without a secret gets a new one at each use."),
  "username?": str("`password`: the user's e-mail."),
  "password?": str("`password`: the user's password.", { format: "password" }),
  "plat_id_provider?": oneOf(["legacy_idp"], "`password`: the user's directory."),
  "resource?": RESOURCE,
  "plat-session-id?": SESSION,
  ...clientFields,
});

/** Parameters of an authorization request, in a query or a form. */
const authorization: Readonly<Record<string, Parameter>> = {
  response_type: {
    text: "The kind of response. Ignored beside a `request_uri`.",
    required: true,
    schema: { type: "string", enum: ["code", "token", "id_token", "id_token token", "token id_token"] },
    example: "code",
  },
  client_id: { text: "The client.", required: true, example: "demo.shop" },
  redirect_uri: {
    text: "The target of the response, as registered. Optional if only one is registered.",
    schema: { type: "string", format: "uri" },
    example: "https://shop.example/signed-in",
  },
  scope: { text: `${SCOPES} \`openid\` requests an ID token too.`, example: "openid plat.tenant=demo" },
  state: { text: "Returned unchanged. It binds the response to the browser. At most 4096 characters." },
  response_mode: {
    text: "`query` for codes, `fragment` for tokens, or `form_post` for either: a form that the browser posts.",
  },
  nonce: { text: "Repeated in the ID token. Required for `id_token` and `id_token token`." },
  code_challenge: {
    text: "PKCE (RFC 7636). Required for clients without a secret, and for those registered as requiring it.",
  },
  code_challenge_method: {
    text: "How the challenge was derived. The default is `plain`.",
    schema: { type: "string", enum: ["S256", "plain"] },
  },
  prompt: {
    text:
      "`none`: show no page. `login`: ask the user to sign in again. `select_account`: let a signed-in user who " +
      "cannot get these scopes sign in as another. `consent`: ask for consent again, for clients that need it.",
  },
  max_age: { text: "The maximum age of the sign-in in seconds.", schema: { type: "integer", minimum: 0 } },
  claims: {
    text:
      "A JSON object of requested claims (OpenID Connect Core 5.5). A claim requests its scope, `profile` or `email`; " +
      "`acr` requests a kind of sign-in.",
  },
  acr_values: { text: "The requested kinds of sign-in, the preferred one first: one factor, or two." },
  tenant_choice: {
    text: "`true`: the user chooses the tenant, also in the code flow, if `scope` names none and several fit.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  login_hint: { text: "The expected user's e-mail." },
  id_token_hint: {
    text:
      "An ID token of this client for the expected user. Any other user is refused. While its session and " +
      "grant are valid, no page is shown. The tokens then have no scope beyond the grant's and end with the ID token, " +
      "and there is no refresh token.",
  },
  ui_locales: { text: "Languages of the page, the preferred one first (BCP 47)." },
  resource: {
    text: RESOURCES,
    schema: { type: "string", format: "uri" },
    example: "https://platform.example/media/v2",
  },
  dpop_jkt: { text: "The thumbprint of the key that must redeem the code (RFC 9449)." },
  request_uri: {
    text: "A reference from `/par`, in place of all other parameters but `client_id`.",
    example: "urn:ietf:params:oauth:request_uri:J2VtYmVy",
  },
  display: { text: "`popup`: a page for a small window.", schema: { type: "string", enum: ["page", "popup"] } },
  plat_id_provider: {
    text: "The identity provider: `default_idp`, `legacy_idp` (one directory), or the id of a registered provider.",
  },
  "plat-session-id": {
    text: "The caller's name for its session, for the log. Tokens carry the platform's own session id.",
    schema: { type: "string", pattern: SESSION_ID.source },
  },
};
const logout: Readonly<Record<string, Parameter>> = {
  client_id: { text: "The client. `post_logout_redirect_uri` needs it, or an `id_token_hint`.", example: "demo.shop" },
  id_token_hint: { text: "An ID token of the client, possibly expired." },
  post_logout_redirect_uri: { text: "The address to which the browser returns, as registered for the client." },
  state: { text: "Returned unchanged." },
  ui_locales: { text: "Languages of the page (BCP 47)." },
};

/** The same parameters in a form. */
const fieldsOf = (parameters: Readonly<Record<string, Parameter>>): Record<string, Schema> =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, { text, schema, required }]) => [
      required === true ? name : `${name}?`,
      { type: "string", ...schema, description: text },
    ]),
  );
const formOf = (parameters: Readonly<Record<string, Parameter>>): Schema => obj(fieldsOf(parameters));

/** Parameters of a pushed request. Its client is the authenticated one, and it cannot name another pushed request. */
const { client_id: _client, request_uri: _reference, ...PUSHED } = authorization;

const TO_CLIENT = { text: "To the client, with a code, tokens or an error; or to another identity provider." };
const AUTHORIZE = {
  200: { text: "The sign-in page, the choice of a tenant, or the consent page.", mediaTypes: page! },
  302: { ...TO_CLIENT, headers: ["Location"] },
};
const PAGE_400 =
  "A page: the client or the redirect URI is unknown, so no redirect is safe. Other failures go to the client.";
const metadata = (id: string, about: string): Entry => ({
  id,
  tag: TOKENS,
  about,
  answers: { 200: { text: "The metadata.", json: ref("ServerMetadata"), headers: ["Cache-Control"] } },
});
const LIST_OF_TEXTS = (text: string): Schema => list({ type: "string" }, text);

/** The metadata that a client registers (RFC 7591 2). */
const METADATA = {
  "client_name?": str("The client's name, which people see."),
  "grant_types?": LIST_OF_TEXTS("`authorization_code`, and optionally `refresh_token`."),
  "token_endpoint_auth_method?": str("`none` or `private_key_jwt`."),
  "jwks?": { type: "object", description: "The client's public keys." },
  "jwks_uri?": uri("The address of the public keys."),
};

const BASE = "https://platform.example/oauth2/v1";
const ENDPOINT = uri("The address of the endpoint.");

const NO_MAIL = "A page: the platform sends no mail.";
/** The form behind a link that sets a password. */
const NEW_PASSWORD = {
  body: {
    schema: obj({
      token: str("The token of the link."),
      "csrf?": str("Binds the form to the browser."),
      "new_password?": str("8 to 256 characters.", { format: "password" }),
      "repeated_password?": str("The new password again.", { format: "password" }),
    }),
    example: { token: "…", new_password: "…", repeated_password: "…" },
  },
  answers: { 200: { text: "A page with the result, which leads on.", mediaTypes: page! } },
} as const;
const NEW_PASSWORD_400 =
  "A page: as for the link. The page again: the password is not acceptable, or the form is stale.";

export const oauth: ServiceEntries = {
  base: "/oauth2/v1",
  tags: [
    {
      name: TOKENS,
      description:
        "Issuing, checking and revoking tokens. Access tokens are JWTs (RFC 9068, ES256) that are valid for 3600 s. " +
        "Clients treat them as opaque.",
    },
    {
      name: SIGN_IN,
      description: "Pages and redirects for people in browsers.",
    },
    { name: GRANTS, description: "The user's claims, and the calling client's refresh tokens of the user." },
  ],
  parameters: {
    clientId: { text: "Only tokens of this client. Another client than the token's has none.", example: "demo.shop" },
    id: { text: "The grant's id, as in the list.", example: "6f1c0e9f7a8b4c2d9e3f5a6b7c8d9e0f" },
    providerId: { text: "The identity provider's id.", example: "corporate" },
  },
  schemas: {
    TokenResponse: {
      schema: obj({
        token_type: oneOf(["Bearer", "DPoP"], "How the token is used. `DPoP`: bound to the key of the proof."),
        access_token: str("The access token. Opaque."),
        expires_in: int("Lifetime in seconds."),
        scope: str("Its scopes, separated by spaces; the tenant's first."),
        "issued_token_type?": str("For an exchange: `urn:ietf:params:oauth:token-type:access_token`."),
        "refresh_token?": str("With `authorization_code` and `refresh_token`, for clients registered for it."),
        "id_token?": str("With the scope `openid`: identifies the user (RS256)."),
      }),
      example: {
        token_type: "Bearer",
        access_token: TOKEN,
        expires_in: 3600,
        scope: "plat.tenant=demo plat.media_view",
      },
    },
    RegisteredClient: {
      schema: obj({
        client_id: str("The client's id."),
        client_id_issued_at: int("The time of the registration, in seconds."),
        redirect_uris: LIST_OF_TEXTS("The addresses to which browsers return."),
        response_types: LIST_OF_TEXTS("`code`."),
        ...METADATA,
        grant_types: LIST_OF_TEXTS("The grant types that the client may use."),
        token_endpoint_auth_method: str("How the client authenticates."),
      }),
      example: {
        client_id: "~Zm9yLXRoZS1leGFtcGxlLW9ubHktMzItYnl0ZXMtbG9uZw",
        client_id_issued_at: 1790000000,
        redirect_uris: ["http://127.0.0.1/callback"],
        response_types: ["code"],
        client_name: "Helper",
        grant_types: ["authorization_code"],
        token_endpoint_auth_method: "none",
      },
    },
    TokenInfo: {
      schema: obj({
        scopes: LIST_OF_TEXTS("The token's scopes; the tenant's first."),
        tenant: str("Its tenant; empty for an organization, or without a tenant."),
        clientId: str("Its client; empty if a user signed in without one."),
        "user?": str("The user that it was issued to."),
        "resources?": LIST_OF_TEXTS("Addresses of the services that it is for; absent: all (RFC 8707)."),
        "allowedServices?": list(
          obj({
            name: str("The service."),
            proxyUrl: LIST_OF_TEXTS("Its address."),
            serviceScopes: LIST_OF_TEXTS("Its scopes."),
          }),
          "With `details=true`: services of the packages that the tenant subscribes to.",
        ),
      }),
      example: { scopes: ["plat.tenant=demo", "plat.media_view"], tenant: "demo", clientId: "demo.shop" },
    },
    Introspection: {
      schema: obj({
        active: bool("Whether the token is valid and the caller may know it."),
        "scope?": str("Its scopes, separated by spaces."),
        "client_id?": str("Its client."),
        "token_type?": oneOf(["Bearer", "DPoP"], "For an access token."),
        "act?": { type: "object", description: "The service that acts for the user (RFC 8693)." },
        "cnf?": obj({ jkt: str("The thumbprint of the key.") }),
        "sub?": str("The user, as in ID tokens and `/userinfo`; otherwise the client's id."),
        "username?": str("The user's e-mail."),
        "iss?": uri("The issuer."),
        "aud?": {
          type: ["string", "array"],
          items: { type: "string" },
          description: "Its audience: the platform, or the services that it is for (RFC 8707).",
        },
        "iat?": int("The time of issue, in seconds."),
        "exp?": int("The time of expiry, in seconds."),
        "jti?": str("Its id."),
        "tenant?": str("Its tenant; empty for an organization, or without a tenant."),
      }),
      example: {
        active: true,
        scope: "plat.tenant=demo plat.media_view",
        client_id: "demo.shop",
        token_type: "Bearer",
        sub: "demo.shop",
        iss: BASE,
        aud: "https://platform.example",
        iat: 1_763_000_000,
        exp: 1_763_003_600,
        jti: "0d9f8c7b6a5e4d3c2b1a09f8e7d6c5b4",
        tenant: "demo",
      },
    },
    DeviceAuthorization: {
      schema: obj({
        device_code: str("The device's secret, for `/token`."),
        user_code: str("The code that the device shows."),
        verification_uri: uri("The page on which a person types the code."),
        verification_uri_complete: uri("The page with the code filled in, for a QR code."),
        expires_in: int("Seconds until the codes expire: 600."),
        interval: int("The least seconds between two requests to `/token`: 5."),
      }),
      example: {
        device_code: "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS",
        user_code: "WDJB-MJHT",
        verification_uri: `${BASE}/device`,
        verification_uri_complete: `${BASE}/device?user_code=WDJB-MJHT`,
        expires_in: 600,
        interval: 5,
      },
    },
    PushedRequest: {
      schema: obj({
        request_uri: str("The reference, for `/authorize`."),
        expires_in: int("Seconds until the reference expires: 90."),
      }),
      example: { request_uri: "urn:ietf:params:oauth:request_uri:J2VtYmVy", expires_in: 90 },
    },
    JwkSet: {
      schema: obj({
        keys: list(
          obj({
            kty: oneOf(["EC", "RSA"], "The kind of key."),
            kid: str("The key's id in tokens."),
            alg: oneOf(["ES256", "RS256"], "ES256 signs access tokens, RS256 ID tokens."),
            use: oneOf(["sig"], "It verifies signatures."),
            "crv?": str("EC: the curve."),
            "x?": str("EC: the point."),
            "y?": str("EC: the point."),
            "n?": str("RSA: the modulus."),
            "e?": str("RSA: the exponent."),
          }),
          "Current, coming and recent signing keys.",
        ),
      }),
      example: {
        keys: [
          {
            kty: "EC",
            crv: "P-256",
            x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            kid: "Q2mVb0pXr7sT1uWz",
            alg: "ES256",
            use: "sig",
          },
        ],
      },
    },
    ServerMetadata: {
      schema: obj({
        issuer: uri("The issuer of tokens."),
        authorization_endpoint: ENDPOINT,
        token_endpoint: ENDPOINT,
        userinfo_endpoint: ENDPOINT,
        jwks_uri: ENDPOINT,
        revocation_endpoint: ENDPOINT,
        introspection_endpoint: ENDPOINT,
        "registration_endpoint?": uri("Where clients register themselves, if the deployment allows it."),
        device_authorization_endpoint: ENDPOINT,
        pushed_authorization_request_endpoint: ENDPOINT,
        require_pushed_authorization_requests: bool(
          "False: only clients that are registered for it must push their requests (RFC 9126).",
        ),
        end_session_endpoint: ENDPOINT,
        backchannel_logout_supported: bool("Clients are told when a session ends."),
        backchannel_logout_session_supported: bool("The notice contains the session's id."),
        scopes_supported: LIST_OF_TEXTS("Scopes of the platform itself."),
        response_types_supported: LIST_OF_TEXTS("The responses of `/authorize`."),
        response_modes_supported: LIST_OF_TEXTS("How `/authorize` returns its responses."),
        grant_types_supported: LIST_OF_TEXTS("The grant types."),
        code_challenge_methods_supported: LIST_OF_TEXTS("PKCE."),
        token_endpoint_auth_methods_supported: LIST_OF_TEXTS("How clients authenticate there."),
        token_endpoint_auth_signing_alg_values_supported: LIST_OF_TEXTS("How they sign assertions."),
        revocation_endpoint_auth_methods_supported: LIST_OF_TEXTS("How clients authenticate there."),
        revocation_endpoint_auth_signing_alg_values_supported: LIST_OF_TEXTS("How they sign assertions."),
        introspection_endpoint_auth_methods_supported: LIST_OF_TEXTS("How clients authenticate there."),
        introspection_endpoint_auth_signing_alg_values_supported: LIST_OF_TEXTS("How they sign assertions."),
        dpop_signing_alg_values_supported: LIST_OF_TEXTS("How DPoP proofs are signed (RFC 9449)."),
        authorization_response_iss_parameter_supported: bool("RFC 9207."),
        client_id_metadata_document_supported: bool(
          "A client's id may be the address of a document that describes it.",
        ),
        subject_types_supported: LIST_OF_TEXTS("OpenID Connect Discovery."),
        id_token_signing_alg_values_supported: LIST_OF_TEXTS("How ID tokens are signed."),
        claims_supported: LIST_OF_TEXTS("Claims of ID tokens and of `/userinfo`."),
        claim_types_supported: LIST_OF_TEXTS("OpenID Connect Discovery."),
        claims_parameter_supported: bool("OpenID Connect Discovery."),
        acr_values_supported: LIST_OF_TEXTS("Values of `acr`: kinds of sign-in."),
        request_parameter_supported: bool("OpenID Connect Discovery."),
        request_uri_parameter_supported: bool("OpenID Connect Discovery."),
        prompt_values_supported: LIST_OF_TEXTS("Values of `prompt`."),
        display_values_supported: LIST_OF_TEXTS("Values of `display`."),
        ui_locales_supported: LIST_OF_TEXTS("Languages of the pages."),
        service_documentation: uri("For developers."),
      }),
      example: {
        issuer: BASE,
        authorization_endpoint: `${BASE}/authorize`,
        token_endpoint: `${BASE}/token`,
        userinfo_endpoint: `${BASE}/userinfo`,
        jwks_uri: `${BASE}/jwks`,
        revocation_endpoint: `${BASE}/revoke`,
        introspection_endpoint: `${BASE}/introspect`,
        device_authorization_endpoint: `${BASE}/device_authorization`,
        pushed_authorization_request_endpoint: `${BASE}/par`,
        require_pushed_authorization_requests: false,
        end_session_endpoint: `${BASE}/end_session`,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        scopes_supported: ["openid", "plat.no_tenant", "plat.media_view"],
        response_types_supported: ["code", "token", "id_token", "id_token token"],
        response_modes_supported: ["query", "fragment"],
        grant_types_supported: ["client_credentials", "authorization_code", "refresh_token", "password", "implicit"],
        code_challenge_methods_supported: ["S256", "plain"],
        token_endpoint_auth_methods_supported: [
          "client_secret_basic",
          "client_secret_post",
          "client_secret_jwt",
          "private_key_jwt",
          "none",
        ],
        token_endpoint_auth_signing_alg_values_supported: ["ES256", "PS256", "HS256"],
        revocation_endpoint_auth_methods_supported: [
          "client_secret_basic",
          "client_secret_post",
          "client_secret_jwt",
          "private_key_jwt",
          "none",
        ],
        revocation_endpoint_auth_signing_alg_values_supported: ["ES256", "PS256", "HS256"],
        introspection_endpoint_auth_methods_supported: [
          "client_secret_basic",
          "client_secret_post",
          "client_secret_jwt",
          "private_key_jwt",
        ],
        introspection_endpoint_auth_signing_alg_values_supported: ["ES256", "PS256", "HS256"],
        dpop_signing_alg_values_supported: ["ES256", "PS256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        claims_supported: ["iss", "sub", "aud", "exp", "iat"],
        claim_types_supported: ["normal"],
        claims_parameter_supported: true,
        acr_values_supported: ["urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"],
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
        prompt_values_supported: ["none", "login"],
        display_values_supported: ["page", "popup"],
        ui_locales_supported: ["en"],
        service_documentation: "https://platform.example/docs",
      },
    },
    UserInfo: {
      schema: obj({
        sub: str("The user's e-mail, or an opaque text if the deployment has `SUBJECT=opaque`."),
        "email?": str("The user's e-mail, with the scope `email`."),
        "email_verified?": bool("True if the user used a link in a mail to that address. Otherwise absent."),
        "name?": str("The user's name, with the scope `profile`."),
        "picture?": uri("The address of the user's picture, with the scope `profile`. Absent without a picture."),
        "locale?": str("The user's language (BCP 47), with the scope `profile`. Absent if it is unknown."),
      }),
      example: { sub: "ada@demo.example", email: "ada@demo.example", name: "Ada", locale: "en-GB" },
    },
    RefreshToken: {
      schema: obj({
        id: str("The id of the grant. It stays the same when the token is replaced."),
        clientId: str("The client that holds the token."),
        clientName: str("The client's name."),
        tenant: str("Its tenant; empty for an organization, or without a tenant."),
        scope: str("Its scopes, separated by spaces."),
        createdAt: time("The time at which the user granted access."),
        lastUsedAt: time("The time of the last use."),
      }),
      example: {
        id: "6f1c0e9f7a8b4c2d9e3f5a6b7c8d9e0f",
        clientId: "demo.shop",
        clientName: "demo.shop",
        tenant: "demo",
        scope: "plat.tenant=demo",
        createdAt: 1_763_000_000_000,
        lastUsedAt: 1_763_000_000_000,
      },
    },
    Empty: { schema: { type: "object", properties: {}, description: "Nothing." }, example: {} },
  },
  entries: {
    "POST /token": {
      id: "getToken",
      tag: TOKENS,
      about:
        "One of the grants of `grant_type`. A client authenticates by HTTP Basic, by its secret in the form, or by an " +
        "assertion: only one of them.",
      security: "client",
      headers: ["Session-Id"],
      body: {
        schema: tokenForm,
        example: { grant_type: "client_credentials", scope: "plat.tenant=demo plat.media_view" },
      },
      answers: { 200: { text: "The tokens.", json: ref("TokenResponse"), headers: ["Cache-Control"] } },
      errors: {
        400: "`invalid_grant` (also for a blocked account), `invalid_scope`, `invalid_target`, or another error.",
        401: "`invalid_client`",
      },
    },
    "GET /tokeninfo": {
      id: "getTokenInfo",
      tag: TOKENS,
      parameters: {
        access_token: { text: "The token.", required: true, example: TOKEN },
        details: {
          text: "`true`: lists the services of the packages that the tenant subscribes to.",
          schema: { type: "boolean" },
        },
      },
      answers: { 200: { text: "The token is valid.", json: ref("TokenInfo"), headers: ["Cache-Control"] } },
      errors: { 400: "`invalid_query_parameter`: the token is missing or invalid." },
    },
    "POST /revoke": {
      id: "revokeTokens",
      tag: TOKENS,
      about:
        "RFC 7009, also for lists of at most 500 tokens, separated by commas. Revoking a refresh token revokes the " +
        "access tokens of its grant too. Unknown tokens count as revoked, so a repeat does no harm.",
      security: "client",
      body: {
        schema: obj({
          token: str("One token, or several separated by commas."),
          "token_type_hint?": str("Accepted, and not needed."),
          ...clientFields,
        }),
        example: { token: TOKEN },
      },
      answers: { 200: { text: "The tokens are revoked.", json: ref("Empty"), headers: ["Cache-Control"] } },
      errors: {
        400:
          "`invalid_request`; `unauthorized_client`: another client's token stays valid, and the caller's own are " +
          "revoked.",
        401: "`invalid_client`: wrong credentials; or none, though a token needs them. The other tokens are revoked then.",
      },
    },
    "POST /introspect": {
      id: "introspectToken",
      tag: TOKENS,
      about:
        "RFC 7662. A client may ask about its own tokens. A registered service's client and the operator client may ask " +
        "about any. Other tokens are inactive.",
      security: "client",
      body: {
        schema: obj({
          token: str("An access token or a refresh token."),
          "token_type_hint?": str("Accepted, and not needed."),
          ...clientFields,
        }),
        example: { token: TOKEN },
      },
      answers: {
        200: {
          text: "The state of the token, and its claims if it is active.",
          json: ref("Introspection"),
          headers: ["Cache-Control"],
        },
      },
      errors: { 400: "`invalid_request`", 401: "`invalid_client`" },
    },
    "POST /device_authorization": {
      id: "authorizeDevice",
      tag: SIGN_IN,
      about:
        "RFC 8628. For command lines and televisions: the device shows `user_code`. A person types it at " +
        "`verification_uri`, signs in and decides. Meanwhile the device polls `/token`, which answers " +
        "`authorization_pending` or `slow_down`, and then tokens, `access_denied` or `expired_token`.",
      security: "client",
      body: {
        schema: obj({ "scope?": str(SCOPES), ...clientFields }),
        example: { client_id: "demo.shop", scope: "openid" },
      },
      answers: { 200: { text: "The codes.", json: ref("DeviceAuthorization"), headers: ["Cache-Control"] } },
      errors: { 400: "`unauthorized_client`, `invalid_scope`, or `invalid_request`", 401: "`invalid_client`" },
    },
    "POST /register": {
      id: "registerClient",
      tag: TOKENS,
      about:
        "RFC 7591, if the deployment has `UNREGISTERED_CLIENTS=registration`. The client has no secret. Its only right is " +
        "to act for people at services behind the gateway. It is deleted after a day unless a person has allowed it. Other " +
        "fields are ignored.",
      body: {
        schema: {
          ...obj({
            redirect_uris: LIST_OF_TEXTS(
              "Addresses with https at no host of the platform, or with http on a loopback host.",
            ),
            ...METADATA,
          }),
          additionalProperties: true,
        },
        example: { redirect_uris: ["http://127.0.0.1/callback"], client_name: "Helper" },
      },
      answers: {
        201: { text: "The client, as it is registered.", json: ref("RegisteredClient"), headers: ["Cache-Control"] },
      },
      errors: {
        400: "`registration_not_supported`, `invalid_redirect_uri` or `invalid_client_metadata`",
        429: "`temporarily_unavailable`: too many clients registered themselves, from this network or altogether",
      },
    },
    "GET /device": {
      id: "showDevicePage",
      tag: SIGN_IN,
      about: "The page on which a person types the code of a device. The parameter `user_code` fills it in.",
      answers: { 200: { text: "The page.", mediaTypes: page! } },
      errors: { 400: "A page: a script requested it (`Sec-Fetch-Dest`). Pages only open in windows and frames." },
    },
    "POST /device": {
      id: "enterDeviceCode",
      tag: SIGN_IN,
      about: "Only for the page. Wrong codes count for the network.",
      body: {
        schema: obj({
          user_code: str("The code as the person typed it."),
          "csrf?": str("Binds the form to the browser."),
        }),
        example: { user_code: "WDJB-MJHT" },
      },
      answers: { 303: { text: "To `/authorize`, where the person signs in and decides.", headers: ["Location"] } },
      errors: {
        400: "The page again: no device shows this code, there were too many wrong ones, or the form is stale.",
      },
    },
    "POST /par": {
      id: "pushAuthorizationRequest",
      tag: SIGN_IN,
      about:
        "RFC 9126. The client authenticates as at `/token` and sends the parameters of an authorization request. Within " +
        "90 s, the browser goes to `/authorize` with only `client_id` and `request_uri`. The request gives one code.",
      security: "client",
      body: {
        schema: obj({
          ...fieldsOf(PUSHED),
          ...clientFields,
        }),
        example: { client_id: "demo.shop", response_type: "code", scope: "openid" },
      },
      answers: {
        201: {
          text: "A reference to the request.",
          json: ref("PushedRequest"),
          headers: ["Cache-Control"],
        },
      },
      errors: { 400: "`invalid_request`, `invalid_scope`, or another error of `/authorize`", 401: "`invalid_client`" },
    },
    "GET /jwks": {
      id: "getKeys",
      tag: TOKENS,
      answers: { 200: { text: "The keys.", json: ref("JwkSet"), headers: ["Cache-Control"] } },
    },
    "GET /.well-known/openid-configuration": metadata("getOpenIdConfiguration", "OpenID Connect Discovery 1.0."),
    "GET /userinfo": {
      id: "getUserInfo",
      tag: GRANTS,
      about: "OpenID Connect Core 5.3. A token that was just revoked is refused at once.",
      security: "token",
      answers: { 200: { text: "The user.", json: ref("UserInfo"), headers: ["Cache-Control"] } },
      errors: { 401: "There is no valid access token, or it was not issued for a user." },
    },
    "POST /userinfo": {
      id: "postUserInfo",
      tag: GRANTS,
      about:
        "Like `GET`, for clients that send a form. A token in the form is ignored; beside one in the header it is a 400.",
      security: "token",
      body: { schema: { type: "object", properties: {} }, text: "No field is required.", example: {} },
      answers: { 200: { text: "The user.", json: ref("UserInfo"), headers: ["Cache-Control"] } },
      errors: { 401: "There is no valid access token, or it was not issued for a user." },
    },
    "GET /refreshtokens": {
      id: "listRefreshTokens",
      tag: GRANTS,
      answers: {
        200: {
          text: "A page of the calling client's grants, without tokens.",
          json: list(ref("RefreshToken")),
          headers: ["Link"],
        },
      },
    },
    "DELETE /refreshtokens": {
      id: "deleteRefreshTokens",
      tag: GRANTS,
      answers: { 204: { text: "All grants of the user to the client are revoked, with their access tokens." } },
    },
    "DELETE /refreshtokens/{id}": {
      id: "deleteRefreshToken",
      tag: GRANTS,
      answers: { 204: { text: "The grant is revoked, with its access tokens." } },
      errors: { 404: "" },
    },
    "GET /authorize": {
      id: "authorize",
      tag: SIGN_IN,
      about:
        "RFC 6749 and OpenID Connect Core. A signed-in browser is not asked again. Failures go to the " +
        "redirect URI with `error`, `error_description`, `state` and `iss`.",
      parameters: authorization,
      headers: ["Session-Id"],
      answers: AUTHORIZE,
      errors: { 400: PAGE_400 },
    },
    "POST /authorize": {
      id: "postAuthorize",
      tag: SIGN_IN,
      headers: ["Session-Id"],
      body: {
        schema: formOf(authorization),
        example: { response_type: "code", client_id: "demo.shop", scope: "openid", state: "af0ifjsldkj" },
      },
      answers: { 200: AUTHORIZE[200], 303: { ...TO_CLIENT, headers: ["Location"] } },
      errors: { 400: PAGE_400 },
    },
    "POST /sign-in": {
      id: "signIn",
      tag: SIGN_IN,
      about: "Only for the page. Its form holds the request and a token that is bound to the browser.",
      body: {
        schema: obj({
          request: str("The authorization request, as a query."),
          "csrf?": str("Binds the form to the browser."),
          "email?": str("The user's e-mail."),
          "password?": str("The password.", { format: "password" }),
          "challenge?": str("The challenge of the page, for a passkey."),
          "credential?": str(
            "The answer of a passkey, as JSON from the page's script, in place of address and password.",
          ),
          "step?": str("`address`: the form asked for the address alone. Its domain may lead to a provider."),
        }),
        example: { request: "response_type=code&client_id=demo.shop", email: "ada@demo.example", password: "…" },
      },
      answers: {
        200: { text: "The form for the password, the choice of a tenant, or the consent page.", mediaTypes: page! },
        303: { ...TO_CLIENT, headers: ["Location"] },
      },
      errors: { 400: "The page again: wrong e-mail or password, a blocked account, or an expired form." },
    },
    "GET /forgot": {
      id: "openForgotPassword",
      tag: SIGN_IN,
      about: "The pages that `POST /forgot` leads to. Opening them changes nothing.",
      answers: { 200: { text: "The page.", mediaTypes: page! } },
      errors: { 400: "A page: the request is not valid any more.", 404: NO_MAIL },
    },
    "POST /forgot": {
      id: "forgotPassword",
      tag: SIGN_IN,
      about:
        "Only for the pages. A form of the sign-in page leads to the page that asks for the address. The form of that page " +
        "requests a link. The response is the same for every address. An account with a password gets at most three links " +
        "an hour, and three more in browsers in which the person has signed in.",
      body: {
        schema: obj({
          "request?": str("The authorization request, as a query."),
          "csrf?": str("Binds the form to the browser."),
          "email?": str("The address of the account."),
          "send?": str("Present: send the link. Absent: show the page that asks for the address."),
        }),
        example: { email: "ada@demo.example", send: "1" },
      },
      answers: {
        200: { text: "The page, if its address would be too long.", mediaTypes: page! },
        303: { text: "To the page, at `GET /forgot`.", headers: ["Location"] },
      },
      errors: {
        400: "A page: another site sent the form, or the request is not valid any more.",
        404: NO_MAIL,
      },
    },
    "GET /verify": {
      id: "openVerifyLink",
      tag: SIGN_IN,
      about: "The link of a mail that the person requested at the account page. Opening it changes nothing.",
      answers: { 200: { text: "The page.", mediaTypes: page! } },
      errors: {
        400: "A page: the link is unknown, used, older than 30 minutes, or of another browser.",
        404: NO_MAIL,
      },
    },
    "POST /verify": {
      id: "verifyAddress",
      tag: SIGN_IN,
      about: "Only for the page. Verifies the address: from then on the claim `email_verified` is true.",
      body: {
        schema: obj({ token: str("The token of the link."), "csrf?": str("Binds the form to the browser.") }),
        example: { token: "…" },
      },
      answers: { 200: { text: "A page with the result, which leads on.", mediaTypes: page! } },
      errors: { 400: "A page: as for the link.", 404: NO_MAIL },
    },
    "GET /invitation": {
      id: "openInvitation",
      tag: SIGN_IN,
      about: "The link of an operator's invitation. Opening it changes nothing.",
      answers: { 200: { text: "The page.", mediaTypes: page! } },
      errors: { 400: "A page: the invitation is unknown, accepted, withdrawn or expired." },
    },
    "POST /invitation": {
      id: "acceptInvitation",
      tag: SIGN_IN,
      about:
        "Only for the page. Makes the person a member, and sets the password of a person who cannot sign in yet. The link " +
        "of a mail also verifies the address. It works once.",
      ...NEW_PASSWORD,
      errors: { 400: NEW_PASSWORD_400 },
    },
    "GET /reset": {
      id: "openResetLink",
      tag: SIGN_IN,
      about: "The link of a mail, which asks for a new password. Opening it changes nothing.",
      answers: { 200: { text: "The page.", mediaTypes: page! } },
      errors: {
        400: "A page: the link is unknown, used, older than 30 minutes, or of another browser.",
        404: NO_MAIL,
      },
    },
    "POST /reset": {
      id: "resetPassword",
      tag: SIGN_IN,
      about:
        "Only for the page. Sets the password, uses the link, and ends every session, grant and token of the person. It " +
        "works once, in the browser that requested the link.",
      ...NEW_PASSWORD,
      errors: { 400: NEW_PASSWORD_400, 404: NO_MAIL },
    },
    "POST /second-factor": {
      id: "secondFactor",
      tag: SIGN_IN,
      about:
        "Only for the page that asks for a second factor, or that sets one up. Its form holds the request, and a token " +
        "that is bound to the sign-in. A wrong code counts like a wrong password.",
      body: {
        schema: obj({
          request: str("The authorization request, as a query."),
          "code?": str("A one-time code of the authenticator app."),
          "recovery_code?": str("A recovery code, in place of a one-time code."),
          "offer?": str("The new secret, encrypted, if an app is set up."),
          "challenge?": str("The challenge of the page, for a passkey."),
          "credential?": str("The answer of a passkey, as JSON from the page's script."),
          "csrf?": str("Binds the form to the sign-in."),
        }),
        example: { request: "response_type=code&client_id=demo.shop", code: "123456" },
      },
      answers: {
        200: { text: "A page: the recovery codes, the sign-in, or another step of the request.", mediaTypes: page! },
        303: { ...TO_CLIENT, headers: ["Location"] },
      },
      errors: { 400: "The page again: a wrong or used code, a blocked account, or an expired form." },
    },
    "POST /consent": {
      id: "consent",
      tag: SIGN_IN,
      about:
        "Only for the consent page, which appears for clients of other tenants and third parties, for devices, and for " +
        "clients that no operator registered. Its form holds the request, the shown scopes, and a token that is bound to " +
        "these scopes and to the sign-in.",
      body: {
        schema: obj({
          request: str("The authorization request, as a query."),
          decision: oneOf(["allow", "deny"], "The person's decision."),
          "asked?": str("The shown scopes."),
          "csrf?": str("Binds the form to the sign-in and the shown scopes."),
        }),
        example: { request: "response_type=code&client_id=demo.shop", decision: "deny" },
      },
      answers: {
        200: {
          text: "The page again, if the request has other scopes than were shown; or the sign-in page.",
          mediaTypes: page!,
        },
        303: { ...TO_CLIENT, headers: ["Location"] },
      },
      errors: { 400: "The page again: the form belongs to another sign-in, or was changed." },
    },
    "GET /callback/{providerId}": {
      id: "federationCallback",
      tag: SIGN_IN,
      about: "Only for the identity provider's redirect.",
      parameters: {
        code: { text: "The provider's code." },
        state: { text: "The state that the platform sent." },
        iss: { text: "The provider (RFC 9207)." },
        error: { text: "The provider's error." },
        error_description: { text: "The description of the error." },
      },
      answers: {
        200: {
          text: "The page that links the provider's account, the choice of a tenant, or the consent page.",
          mediaTypes: page!,
        },
        302: AUTHORIZE[302],
      },
      errors: { 400: "A page: the sign-in has ended, or the response belongs to another browser." },
    },
    "POST /link-identity": {
      id: "linkIdentity",
      tag: SIGN_IN,
      about: "Only for the page. Its form holds the provider's claims, sealed for the browser.",
      body: {
        schema: obj({
          vouched: str("The provider's claims and the request."),
          "password?": str("The password on this platform.", { format: "password" }),
        }),
        example: { vouched: "…", password: "…" },
      },
      answers: {
        200: { text: "The choice of a tenant, or the consent page.", mediaTypes: page! },
        303: { ...TO_CLIENT, headers: ["Location"] },
      },
      errors: {
        400: "The page again: a wrong password, or a blocked account. A page: the sign-in has ended.",
      },
    },
    "GET /end_session": {
      id: "endSession",
      tag: SIGN_IN,
      about: "OpenID Connect RP-Initiated Logout. Access and refresh tokens stay valid.",
      parameters: logout,
      answers: {
        200: { text: "A page with the result.", mediaTypes: page! },
        302: { text: "To `post_logout_redirect_uri`.", headers: ["Location"] },
      },
      errors: { 400: "A page: wrong input changes nothing." },
    },
    "POST /end_session": {
      id: "postEndSession",
      tag: SIGN_IN,
      body: {
        schema: formOf(logout),
        example: { client_id: "demo.shop", post_logout_redirect_uri: "https://shop.example/" },
      },
      answers: {
        200: { text: "A page with the result.", mediaTypes: page! },
        302: { text: "To `post_logout_redirect_uri`.", headers: ["Location"] },
        303: {
          text: "For a form of another site: repeats the request by GET, with the browser's cookies.",
          headers: ["Location"],
        },
      },
      errors: { 400: "A page: wrong input changes nothing." },
    },
  },
};

/** RFC 8414 requires this document at the root. */
export const wellKnown: ServiceEntries = {
  base: "/.well-known/oauth-authorization-server",
  tags: [],
  parameters: {},
  schemas: { ServerMetadata: oauth.schemas["ServerMetadata"]! },
  entries: {
    "GET /oauth2/v1": metadata(
      "getServerMetadata",
      "RFC 8414. The address is at the root, and ends with the path prefix and `/oauth2/v1`.",
    ),
  },
};
