import * as api from "../../api/plinth.ts";
import { texts, optional, required, secret, text, toggle } from "./fields.ts";
import { BRAND_FIELDS, scopesField, resource } from "./resource.ts";

/** Clients, services, packages, and external identity providers. */
export const SOFTWARE = {
  clients: resource({
    noun: "client",
    word: "client",
    searched: true,
    byTenant: true,
    operations: [api.listClients, api.getClient, api.putClient, api.deleteClient],
    keys: [{ name: "client", help: "its id" }],
    summary: "applications that get tokens",
    fields: {
      name: text("name", "<project>.<app>", "the owner of its topics and files; default: its id"),
      displayName: text("display-name", "<text>", "its name on pages for people"),
      logoUri: text("logo-uri", "<url>", "its logo on these pages: https, or data of at most 8,000 characters"),
      tenant: required(text("tenant", "<tenant>", "the tenant that it belongs to")),
      confidential: required(toggle("confidential", "it can keep a secret; browser and phone applications cannot")),
      service: optional(text("service", "<service>", "the registered service whose client it is")),
      redirectUris: texts(
        "redirect-uri",
        "<uri>",
        "where sign-ins may return to: https, http on a loopback host, or a private-use scheme",
      ),
      postLogoutRedirectUris: texts("post-logout-redirect-uri", "<uri>", "where sign-outs may return to"),
      grantTypes: required(
        texts(
          "grant-type",
          "<grant>",
          "client_credentials, authorization_code, refresh_token, implicit, password, " +
            "urn:ietf:params:oauth:grant-type:device_code or urn:ietf:params:oauth:grant-type:token-exchange",
        ),
      ),
      scopes: scopesField("a scope that it may request; * at the end matches any ending"),
      ...BRAND_FIELDS,
      filesPerUser: toggle("files-per-user", "keeps people's files apart: each person reaches only their own"),
      thirdParty: toggle("third-party", "people are asked before it gets access; it has no password grant"),
      requireSecondFactor: toggle("require-second-factor", "people get its tokens only after two factors"),
      backchannelLogoutUri: text(
        "backchannel-logout-uri",
        "<url>",
        "where it is told that a session of a person ended",
      ),
      backchannelLogoutSessionRequired: toggle(
        "backchannel-logout-session-required",
        "it wants the session's id in these logout tokens, which always have it",
      ),
      requirePkce: toggle("require-pkce", "codes need PKCE; always on without a secret"),
      authMethod: text(
        "auth-method",
        "<method>",
        "how it authenticates: client_secret, or assertions signed by it (client_secret_jwt) or by a private key (private_key_jwt)",
      ),
      requirePushedAuthorizationRequests: toggle(
        "require-pushed-authorization-requests",
        "its authorization requests come through /par alone",
      ),
      dpopBoundAccessTokens: toggle(
        "dpop-bound-access-tokens",
        "its access tokens are bound to keys that it proves (DPoP)",
      ),
      securityProfile: text("security-profile", "<none|fapi2>", "fapi2: it keeps to the FAPI 2.0 Security Profile"),
      jwks: text("jwks", "<json>", "private_key_jwt: its public keys, a JSON Web Key Set"),
      jwksUri: text("jwks-uri", "<url>", "private_key_jwt: the address of its public keys"),
      clientSecret: secret(
        "client-secret",
        "at least 32 characters; the old secret and its tokens stop working at once",
      ),
      disabled: toggle("disabled", "it gets no tokens; existing ones are revoked within seconds"),
    },
    columns: [
      { field: "clientId", title: "ID" },
      "tenant",
      { field: "confidential", kind: "flag" },
      { field: "grantTypes", title: "GRANTS", kind: "list" },
      { field: "scopes", kind: "list" },
      { field: "disabled", kind: "flag" },
      "createdAt",
    ],
    readOnly: ["clientId", "createdAt"],
    removal:
      "Its push subscriptions are removed too, and its tokens are revoked within seconds. A client with " +
      "topics or files stays.",
    notes:
      "A new confidential client gets a secret, which is shown once, unless you give it one. To replace a " +
      "secret without interruption, use `client new-secret`.",
    examples: {
      set: [
        "client set acme.shop --tenant acmeshop --confidential --grant-type client_credentials --scope plat.media_view",
        "client set acme.shop --add-scope plat.media_manage",
        "client set acme.shop --file shop.json",
      ],
    },
  }),
  services: resource({
    noun: "service",
    word: "service",
    operations: [api.listServices, api.getService, api.putService, api.deleteService],
    keys: [{ name: "service", help: "its name" }],
    summary: "services behind the gateway, with their scopes",
    fields: {
      sourceUrl: required(text("source-url", "<url>", "its private address")),
      proxyPath: required(text("proxy-path", "<path>", "its public path, such as /catalog/v1")),
      scopes: scopesField("a scope of this service"),
      scopeDescriptions: {
        ...texts(
          "scope-description",
          "<scope:words>",
          "what an application may do with the scope: the words of the page that asks people",
        ),
        type: "pairs",
      },
      tenant: required(text("tenant", "<tenant>", "the tenant that owns it")),
      access: required(text("access", "<token|public>", "token: callers need one")),
      essential: toggle("essential", "every tenant has it without a package"),
      forwardAuthorization: toggle(
        "forward-authorization",
        "forward the original tokens of other tenants' callers, which are valid everywhere",
      ),
      trusted: toggle("trusted", "do not isolate its pages and cookies from other services"),
    },
    columns: [
      "name",
      { field: "proxyPath", title: "PATH" },
      { field: "sourceUrl", title: "SOURCE" },
      "tenant",
      "access",
      { field: "essential", kind: "flag" },
      { field: "builtIn", kind: "flag" },
      { field: "scopes", kind: "list" },
    ],
    readOnly: ["name", "createdAt", "builtIn"],
    removal: "The gateway stops forwarding to it. A service of a client or a package stays.",
    examples: {
      set: [
        "service set catalog --source-url https://catalog.example --proxy-path /catalog/v1 --tenant acmeshop --access token --scope catalog.view",
        "service set catalog --source-url https://catalog2.example",
      ],
    },
  }),
  packages: resource({
    noun: "package",
    word: "package",
    operations: [api.listPackages, api.getPackage, api.putPackage, api.deletePackage],
    keys: [{ name: "package", help: "its id" }],
    summary: "sets of services that tenants subscribe to",
    fields: {
      version: required(text("version", "<version>", "its version")),
      organization: required(text("organization", "<id>", "the organization that offers it")),
      services: required(texts("service", "<service>", "a service in the package")),
    },
    columns: ["id", "version", "organization", { field: "services", kind: "list" }, { field: "builtIn", kind: "flag" }],
    readOnly: ["id", "createdAt", "builtIn"],
    removal: "A package with subscribers stays.",
    examples: { set: ["package set catalog --version 1 --organization acme --service catalog"] },
  }),
  identityProviders: resource({
    noun: "identity provider",
    word: "identity-provider",
    operations: [
      api.listIdentityProviders,
      api.getIdentityProvider,
      api.putIdentityProvider,
      api.deleteIdentityProvider,
    ],
    keys: [{ name: "provider", help: "its id, the parameter id_provider" }],
    summary: "external OpenID providers for sign-in",
    fields: {
      issuer: required(text("issuer", "<url>", "its issuer, with the discovery document")),
      clientId: required(text("client-id", "<id>", "the platform's client id there")),
      clientSecret: {
        ...secret("client-secret", "the platform's client secret there; a new issuer needs a new one"),
        requiredOfNew: true,
      },
      scopes: texts("scope", "<scope>", "a requested scope; openid is required"),
      tenants: texts("tenant", "<tenant>", "a tenant that sign-ins can reach; none: all"),
      domains: texts("domain", "<domain>", "an e-mail domain that it may vouch for; none: all"),
      linking: text(
        "linking",
        "<who>",
        "who links a user to an account there: confirm (the user, by password), operator, or verified_email " +
          "(needs --domain)",
      ),
      trustEmail: toggle(
        "trust-email",
        "its addresses count as verified where it does not say; for a provider that verifies all of them",
      ),
      button: text("button", "<text>", "its name on a button of the sign-in page; empty: no button"),
    },
    columns: [
      "id",
      "issuer",
      "clientId",
      { field: "scopes", kind: "list" },
      { field: "tenants", kind: "list" },
      { field: "domains", kind: "list" },
      "createdAt",
    ],
    readOnly: ["id", "createdAt"],
    removal: "Users who signed in by it are signed out, and their links to accounts there are removed.",
    examples: {
      set: [
        "identity-provider set corp --issuer https://login.acme.example --client-id plinth --client-secret-file corp.secret",
        "identity-provider set corp --tenant acmeshop --domain acme.example",
      ],
    },
  }),
};
