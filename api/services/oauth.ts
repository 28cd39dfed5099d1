import { page, type Entry, type Parameter, type ServiceEntries } from "../model/entry.ts";
import { SESSION_ID } from "../../src/platform/session-id.ts";
import { bool, int, list, obj, oneOf, ref, str, time, uri, type Schema } from "../model/schema.ts";

/** OAuth 2.0 and OpenID Connect: the protocol's endpoints, the sign-in pages, and users' grants. */
const TOKENS = "Tokens";
const SIGN_IN = "Sign-in";
const GRANTS = "Users' grants";

const TOKEN = "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJkZW1vLnNob3AifQ.c2lnbmF0dXJl";
const clientFields = {
  "client_id?": str("The client, where it does not authenticate by HTTP Basic."),
  "client_secret?": str("Its secret, where it does not authenticate by HTTP Basic.", { format: "password" }),
};
const SESSION = str("What the caller calls its session: for the log. The header of the same name wins.", {
  pattern: SESSION_ID.source,
});
const SCOPES =
  "Scopes, separated by spaces. None, or the tenant's alone: every scope that the client lists and that is grantable now.";

const tokenForm: Schema = obj({
  grant_type: oneOf(
    ["client_credentials", "authorization_code", "refresh_token", "password"],
    "How the caller proves what it may have. The client must be registered for it.",
  ),
  "scope?": str(`${SCOPES} With a code or a refresh token it narrows what was authorized.`),
  "code?": str("`authorization_code`: the code. It lives 60 s and works once."),
  "redirect_uri?": str("`authorization_code`: the one of the authorization request."),
  "code_verifier?": str("`authorization_code`: what the `code_challenge` was made of (PKCE)."),
  "refresh_token?": str("`refresh_token`: the token. A client without a secret gets a new one at each use."),
  "username?": str("`password`: the user's e-mail."),
  "password?": str("`password`: the user's password.", { format: "password" }),
  "plat_id_provider?": oneOf(["legacy_idp"], "`password`: the directory of the user."),
  "plat-session-id?": SESSION,
  ...clientFields,
});

/** Parameters of an authorization request, in a query or a form. */
const authorization: Readonly<Record<string, Parameter>> = {
  response_type: {
    text: "What the client wants back.",
    required: true,
    schema: { type: "string", enum: ["code", "token", "id_token token", "token id_token"] },
    example: "code",
  },
  client_id: { text: "The client.", required: true, example: "demo.shop" },
  redirect_uri: {
    text: "Where the answer goes: exactly one that is registered. May be left out where there is one.",
    schema: { type: "string", format: "uri" },
    example: "https://shop.example/signed-in",
  },
  scope: { text: `${SCOPES} \`openid\`: an ID token too.`, example: "openid plat.tenant=demo" },
  state: { text: "Comes back unchanged; binds the answer to the browser. At most 4096 characters." },
  response_mode: { text: "`query` for codes, `fragment` for tokens; nothing else is possible." },
  nonce: { text: "Stands in the ID token; needed for `id_token token`." },
  code_challenge: { text: "PKCE (RFC 7636); needed by clients without a secret." },
  code_challenge_method: {
    text: "How the challenge was made of the verifier; `plain` where absent.",
    schema: { type: "string", enum: ["S256", "plain"] },
  },
  prompt: {
    text: "`none`: ask nobody anything. `login`: let the user sign in anew. `select_account`: show the page to a user who is signed in and gets nothing here. `consent`: ask the user again for what they have to allow a client of a tenant that they are no member of.",
  },
  max_age: { text: "The user signed in at most so many seconds ago.", schema: { type: "integer", minimum: 0 } },
  login_hint: { text: "Whom the client expects: an e-mail." },
  id_token_hint: {
    text: "An ID token of this client and of the expected user: nobody else gets an answer. While its session and grant live, no prompt; what comes of it has no refresh token, no scope beyond its grant's, and ends with it.",
  },
  ui_locales: { text: "Languages of the page, the preferred one first (BCP 47)." },
  display: { text: "`popup`: a page for a small window.", schema: { type: "string", enum: ["page", "popup"] } },
  plat_id_provider: {
    text: "Who knows the user: `default_idp`, `legacy_idp` (one directory), or a provider that an operator registered.",
  },
  "plat-session-id": {
    text: "What the caller calls its session: for the log. The tokens carry an id of the platform's own.",
    schema: { type: "string", pattern: SESSION_ID.source },
  },
};
const logout: Readonly<Record<string, Parameter>> = {
  client_id: { text: "The client; needed without an `id_token_hint`.", example: "demo.shop" },
  id_token_hint: { text: "An ID token of the client, an expired one too." },
  post_logout_redirect_uri: { text: "Where the browser goes: one that is registered at the client." },
  state: { text: "Comes back unchanged." },
  ui_locales: { text: "Languages of the page (BCP 47)." },
};

/** The same parameters in a form. */
const formOf = (parameters: Readonly<Record<string, Parameter>>): Schema =>
  obj(
    Object.fromEntries(
      Object.entries(parameters).map(([name, { text, schema, required }]) => [
        required === true ? name : `${name}?`,
        { type: "string", ...schema, description: text },
      ]),
    ),
  );

const TO_CLIENT = { text: "To the client: with a code, tokens or an error; or on to another identity provider." };
const AUTHORIZE = {
  200: { text: "The sign-in page, the choice of a tenant, or what the user has to allow.", mediaTypes: page! },
  302: { ...TO_CLIENT, headers: ["Location"] },
};
const PAGE_400 =
  "A page: the client, or where the answer goes, is not known, so nobody else is told. Other failures go to the client.";
const metadata = (id: string, about: string): Entry => ({
  id,
  tag: TOKENS,
  about,
  answers: { 200: { text: "The metadata.", json: ref("ServerMetadata"), headers: ["Cache-Control"] } },
});
const LIST_OF_TEXTS = (text: string): Schema => list({ type: "string" }, text);

const BASE = "https://platform.example/oauth2/v1";
const ENDPOINT = uri("The address of the endpoint.");

export const oauth: ServiceEntries = {
  base: "/oauth2/v1",
  tags: [
    {
      name: TOKENS,
      description:
        "Getting, checking and ending tokens. Access tokens are JWTs (RFC 9068, ES256) that live 3600 s; clients treat them as opaque.",
    },
    {
      name: SIGN_IN,
      description: "Where browsers come with people before them. These answer with pages and redirects.",
    },
    { name: GRANTS, description: "Who a user is, and which clients hold a refresh token of theirs." },
  ],
  parameters: {
    clientId: { text: "Those of this client alone.", example: "demo.shop" },
    id: { text: "The grant's id, as the list has it.", example: "6f1c0e9f7a8b4c2d9e3f5a6b7c8d9e0f" },
    providerId: { text: "The identity provider's id.", example: "corporate" },
  },
  schemas: {
    TokenResponse: {
      schema: obj({
        token_type: oneOf(["Bearer"], "How the token is used."),
        access_token: str("The access token. Opaque."),
        expires_in: int("Seconds that it lives."),
        scope: str("What it is good for, separated by spaces: the tenant's scope first."),
        "refresh_token?": str("With `authorization_code` and `refresh_token`, for clients registered for it."),
        "id_token?": str("With the scope `openid`: who signed in (RS256)."),
      }),
      example: {
        token_type: "Bearer",
        access_token: TOKEN,
        expires_in: 3600,
        scope: "plat.tenant=demo plat.media_view",
      },
    },
    TokenInfo: {
      schema: obj({
        scopes: LIST_OF_TEXTS("What the token is good for; where it is for first."),
        tenant: str("Its tenant; empty for an organization, or outside of any tenant."),
        clientId: str("Its client; empty where a user signed in without one."),
        "user?": str("The user that it was issued for."),
        "allowedServices?": list(
          obj({
            name: str("The service."),
            proxyUrl: LIST_OF_TEXTS("Where it is reached."),
            serviceScopes: LIST_OF_TEXTS("Its scopes."),
          }),
          "With `details=true`: services that packages brought to the tenant.",
        ),
      }),
      example: { scopes: ["plat.tenant=demo", "plat.media_view"], tenant: "demo", clientId: "demo.shop" },
    },
    Introspection: {
      schema: obj({
        active: bool("Whether the token is good now, and the caller may know."),
        "scope?": str("Its scopes, separated by spaces."),
        "client_id?": str("Its client."),
        "token_type?": oneOf(["Bearer"], "Of an access token."),
        "sub?": str("The user, as ID tokens and `/userinfo` have it; else the client's id."),
        "username?": str("The user's e-mail."),
        "iss?": uri("Who issued it."),
        "aud?": str("Whom it is for."),
        "iat?": int("When it was issued, in seconds."),
        "exp?": int("When it expires, in seconds."),
        "jti?": str("Its id."),
        "tenant?": str("Its tenant; empty outside of any."),
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
    JwkSet: {
      schema: obj({
        keys: list(
          obj({
            kty: oneOf(["EC", "RSA"], "The kind of key."),
            kid: str("The key's id, as tokens name it."),
            alg: oneOf(["ES256", "RS256"], "ES256 signs access tokens, RS256 ID tokens."),
            use: oneOf(["sig"], "It verifies signatures."),
            "crv?": str("EC: the curve."),
            "x?": str("EC: the point."),
            "y?": str("EC: the point."),
            "n?": str("RSA: the modulus."),
            "e?": str("RSA: the exponent."),
          }),
          "Keys that sign now, will, or did lately.",
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
        issuer: uri("Who issues tokens."),
        authorization_endpoint: ENDPOINT,
        token_endpoint: ENDPOINT,
        userinfo_endpoint: ENDPOINT,
        jwks_uri: ENDPOINT,
        revocation_endpoint: ENDPOINT,
        introspection_endpoint: ENDPOINT,
        end_session_endpoint: ENDPOINT,
        scopes_supported: LIST_OF_TEXTS("Scopes of the platform itself."),
        response_types_supported: LIST_OF_TEXTS("What `/authorize` gives."),
        response_modes_supported: LIST_OF_TEXTS("How it gives it."),
        grant_types_supported: LIST_OF_TEXTS("Ways to get a token."),
        code_challenge_methods_supported: LIST_OF_TEXTS("PKCE."),
        token_endpoint_auth_methods_supported: LIST_OF_TEXTS("How clients authenticate there."),
        revocation_endpoint_auth_methods_supported: LIST_OF_TEXTS("How clients authenticate there."),
        introspection_endpoint_auth_methods_supported: LIST_OF_TEXTS("How clients authenticate there."),
        authorization_response_iss_parameter_supported: bool("RFC 9207."),
        subject_types_supported: LIST_OF_TEXTS("OpenID Connect Discovery."),
        id_token_signing_alg_values_supported: LIST_OF_TEXTS("How ID tokens are signed."),
        claims_supported: LIST_OF_TEXTS("What ID tokens say."),
        claim_types_supported: LIST_OF_TEXTS("OpenID Connect Discovery."),
        claims_parameter_supported: bool("OpenID Connect Discovery."),
        request_parameter_supported: bool("OpenID Connect Discovery."),
        request_uri_parameter_supported: bool("OpenID Connect Discovery."),
        prompt_values_supported: LIST_OF_TEXTS("What `prompt` may be."),
        display_values_supported: LIST_OF_TEXTS("What `display` may be."),
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
        end_session_endpoint: `${BASE}/end_session`,
        scopes_supported: ["openid", "plat.no_tenant", "plat.media_view"],
        response_types_supported: ["code", "token", "id_token token"],
        response_modes_supported: ["query", "fragment"],
        grant_types_supported: ["client_credentials", "authorization_code", "refresh_token", "password", "implicit"],
        code_challenge_methods_supported: ["S256", "plain"],
        token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
        revocation_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
        introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
        authorization_response_iss_parameter_supported: true,
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        claims_supported: ["iss", "sub", "aud", "exp", "iat"],
        claim_types_supported: ["normal"],
        claims_parameter_supported: false,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
        prompt_values_supported: ["none", "login"],
        display_values_supported: ["page", "popup"],
        ui_locales_supported: ["en"],
        service_documentation: "https://platform.example/docs",
      },
    },
    UserInfo: {
      schema: obj({ sub: str("The user's e-mail; a text of its own where the deployment wants `SUBJECT=opaque`.") }),
      example: { sub: "ada@demo.example" },
    },
    RefreshToken: {
      schema: obj({
        id: str("Identifies the grant; it stays when its token is replaced."),
        clientId: str("The client that holds the token."),
        clientName: str("The client's name."),
        tenant: str("The tenant that it is for; empty outside of any."),
        scope: str("What it is good for, separated by spaces."),
        createdAt: time("When the user gave it."),
        lastUsedAt: time("When it was used last."),
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
        "Client credentials, a code, a refresh token, or a user's password. A client with a secret sends it by HTTP Basic or in the form, never both.",
      security: "client",
      headers: ["Session-Id"],
      body: {
        schema: tokenForm,
        example: { grant_type: "client_credentials", scope: "plat.tenant=demo plat.media_view" },
      },
      answers: { 200: { text: "The tokens.", json: ref("TokenResponse"), headers: ["Cache-Control"] } },
      errors: {
        400: "`invalid_request`, `invalid_grant` (a blocked account too), `invalid_scope`, `unauthorized_client`, `unsupported_grant_type`.",
        401: "`invalid_client`",
      },
    },
    "GET /tokeninfo": {
      id: "getTokenInfo",
      tag: TOKENS,
      parameters: {
        access_token: { text: "The token.", required: true, example: TOKEN },
        details: {
          text: "`true`: the services that packages brought to its tenant, too.",
          schema: { type: "boolean" },
        },
      },
      answers: { 200: { text: "The token is valid now.", json: ref("TokenInfo"), headers: ["Cache-Control"] } },
      errors: { 400: "`invalid_query_parameter`: the token is missing, or not valid (any more)." },
    },
    "POST /revoke": {
      id: "revokeTokens",
      tag: TOKENS,
      about:
        "RFC 7009, and lists: at most 500 tokens, with commas between. A refresh token ends with the access tokens of its grant. Unknown tokens count as revoked, so a repeat does no harm.",
      security: "client",
      body: {
        schema: obj({
          token: str("One token, or several with commas between them."),
          "token_type_hint?": str("Accepted, and not needed."),
          ...clientFields,
        }),
        example: { token: TOKEN },
      },
      answers: { 200: { text: "They are revoked.", json: ref("Empty"), headers: ["Cache-Control"] } },
      errors: {
        400: "`invalid_request`; `unauthorized_client`: a token of another client was left alone, the caller's own are revoked.",
        401: "`invalid_client`",
      },
    },
    "POST /introspect": {
      id: "introspectToken",
      tag: TOKENS,
      about:
        "RFC 7662. A client asks about its own tokens, a registered service's client and the operator about any; what else there is is not active.",
      security: "client",
      body: {
        schema: obj({
          token: str("An access token or a refresh token."),
          "token_type_hint?": str("Accepted, and not needed."),
          ...clientFields,
        }),
        example: { token: TOKEN },
      },
      answers: { 200: { text: "What it is good for.", json: ref("Introspection"), headers: ["Cache-Control"] } },
      errors: { 400: "`invalid_request`", 401: "`invalid_client`" },
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
      about: "OpenID Connect Core 5.3. The token is asked of the database each time.",
      security: "token",
      answers: { 200: { text: "The user.", json: ref("UserInfo"), headers: ["Cache-Control"] } },
      errors: { 401: "There is no valid access token, or it was issued for no user." },
    },
    "POST /userinfo": {
      id: "postUserInfo",
      tag: GRANTS,
      about: "As `GET`, for clients that send a form. A token in it is refused.",
      security: "token",
      body: { schema: { type: "object", properties: {} }, text: "Needs nothing in it.", example: {} },
      answers: { 200: { text: "The user.", json: ref("UserInfo"), headers: ["Cache-Control"] } },
      errors: { 401: "There is no valid access token, or it was issued for no user." },
    },
    "GET /refreshtokens": {
      id: "listRefreshTokens",
      tag: GRANTS,
      answers: {
        200: {
          text: "A page of the grants of the client whose token asks, never the tokens.",
          json: list(ref("RefreshToken")),
          headers: ["Link"],
        },
      },
    },
    "DELETE /refreshtokens": {
      id: "deleteRefreshTokens",
      tag: GRANTS,
      answers: { 204: { text: "All that the client got of the user is gone, its access tokens too." } },
    },
    "DELETE /refreshtokens/{id}": {
      id: "deleteRefreshToken",
      tag: GRANTS,
      answers: { 204: { text: "It is gone, with its access tokens." } },
      errors: { 404: "" },
    },
    "GET /authorize": {
      id: "authorize",
      tag: SIGN_IN,
      about:
        "RFC 6749 and OpenID Connect Core. A browser that is signed in is not asked again. Failures go to the redirect URI with `error`, `error_description`, `state` and `iss`.",
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
      about: "For the page alone: its form holds the request and a token that is bound to the browser.",
      body: {
        schema: obj({
          request: str("The authorization request, as a query."),
          "csrf?": str("Binds the form to the browser."),
          "email?": str("Who signs in."),
          "password?": str("The password.", { format: "password" }),
        }),
        example: { request: "response_type=code&client_id=demo.shop", email: "ada@demo.example", password: "…" },
      },
      answers: {
        200: { text: "The choice of a tenant, or what the user has to allow.", mediaTypes: page! },
        303: { ...TO_CLIENT, headers: ["Location"] },
      },
      errors: { 400: "The page again: wrong e-mail or password, blocked, or a form that is too old." },
    },
    "POST /consent": {
      id: "consent",
      tag: SIGN_IN,
      about:
        "For the page alone, which a person sees before a client of a tenant that they are no member of gets anything. Its form holds the request, what was shown, and a token that is bound to both and to the sign-in.",
      body: {
        schema: obj({
          request: str("The authorization request, as a query."),
          decision: oneOf(["allow", "deny"], "What the person decided."),
          "asked?": str("What was shown."),
          "csrf?": str("Binds the form to the sign-in and to what was shown."),
        }),
        example: { request: "response_type=code&client_id=demo.shop", decision: "deny" },
      },
      answers: {
        200: {
          text: "The page again, where more is asked for now than was shown; or the sign-in page.",
          mediaTypes: page!,
        },
        303: { ...TO_CLIENT, headers: ["Location"] },
      },
      errors: { 400: "The page again: the form was made for another sign-in, or was changed." },
    },
    "GET /callback/{providerId}": {
      id: "federationCallback",
      tag: SIGN_IN,
      about: "For the identity provider's redirect alone.",
      parameters: {
        code: { text: "The provider's code." },
        state: { text: "What the platform sent along." },
        iss: { text: "The provider (RFC 9207)." },
        error: { text: "Why the provider refuses." },
        error_description: { text: "The same in its own words." },
      },
      answers: {
        200: {
          text: "The page on which the user links the account there, the choice of a tenant, or what the user has to allow.",
          mediaTypes: page!,
        },
        302: AUTHORIZE[302],
      },
      errors: { 400: "A page: the sign-in is over, or the provider's answer does not belong to this browser." },
    },
    "POST /link-identity": {
      id: "linkIdentity",
      tag: SIGN_IN,
      about: "For the page alone: its form holds what the provider vouched for, sealed for the browser.",
      body: {
        schema: obj({
          vouched: str("Who signs in by the provider, and for which request."),
          "password?": str("The password here.", { format: "password" }),
        }),
        example: { vouched: "…", password: "…" },
      },
      answers: {
        200: { text: "The choice of a tenant, or what the user has to allow.", mediaTypes: page! },
        303: { ...TO_CLIENT, headers: ["Location"] },
      },
      errors: { 400: "The page again: wrong password, blocked; or one that says that the sign-in is over." },
    },
    "GET /end_session": {
      id: "endSession",
      tag: SIGN_IN,
      about: "OpenID Connect RP-Initiated Logout. Tokens live on.",
      parameters: logout,
      answers: {
        200: { text: "A page that says so.", mediaTypes: page! },
        302: { text: "To `post_logout_redirect_uri`.", headers: ["Location"] },
      },
      errors: { 400: "A page: wrong input ends nothing." },
    },
    "POST /end_session": {
      id: "postEndSession",
      tag: SIGN_IN,
      body: {
        schema: formOf(logout),
        example: { client_id: "demo.shop", post_logout_redirect_uri: "https://shop.example/" },
      },
      answers: {
        200: { text: "A page that says so.", mediaTypes: page! },
        302: { text: "To `post_logout_redirect_uri`.", headers: ["Location"] },
        303: { text: "From another site: once more by GET, with the browser's cookies.", headers: ["Location"] },
      },
      errors: { 400: "A page: wrong input ends nothing." },
    },
  },
};

/** RFC 8414 wants this document at the root. */
export const wellKnown: ServiceEntries = {
  base: "/.well-known/oauth-authorization-server",
  tags: [],
  parameters: {},
  schemas: { ServerMetadata: oauth.schemas["ServerMetadata"]! },
  entries: {
    "GET /oauth2/v1": metadata("getServerMetadata", "RFC 8414. It stands at the root, the path prefix behind it."),
  },
};
