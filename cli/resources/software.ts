import * as api from "../../api/plinth.ts";
import { CREATED, scopesField, resource, STANDARD_VERBS } from "./resource.ts";

/** Clients, services, packages, and external identity providers. */
export const SOFTWARE = {
  clients: resource({
    noun: "client",
    word: "client",
    operations: [api.listClients, api.getClient, api.putClient, api.deleteClient],
    keys: [{ name: "client", help: "its id" }],
    summary: "applications that get tokens",
    fields: {
      name: {
        flag: "name",
        type: "text",
        value: "<project>.<app>",
        help: "the owner of its topics and files; default: its id",
      },
      displayName: { flag: "display-name", type: "text", value: "<text>", help: "its name on pages for people" },
      logoUri: {
        flag: "logo-uri",
        type: "text",
        value: "<url>",
        help: "its logo on these pages: https, or data of at most 8,000 characters",
      },
      tenant: {
        flag: "tenant",
        type: "text",
        value: "<tenant>",
        help: "the tenant that it belongs to",
        required: true,
      },
      confidential: {
        flag: "confidential",
        type: "boolean",
        help: "it can keep a secret; browser and phone applications cannot",
        required: true,
      },
      service: {
        flag: "service",
        type: "text",
        value: "<service>",
        help: "the registered service whose client it is",
        optional: true,
      },
      redirectUris: {
        flag: "redirect-uri",
        type: "list",
        value: "<uri>",
        help: "where sign-ins may return to: https, http on a loopback host, or a private-use scheme",
      },
      postLogoutRedirectUris: {
        flag: "post-logout-redirect-uri",
        type: "list",
        value: "<uri>",
        help: "where sign-outs may return to",
      },
      grantTypes: {
        flag: "grant-type",
        type: "list",
        value: "<grant>",
        help: "client_credentials, authorization_code, refresh_token, implicit or password",
        required: true,
      },
      scopes: scopesField("a scope that it may request; * at the end matches any ending"),
      requirePkce: { flag: "require-pkce", type: "boolean", help: "codes need PKCE; always on without a secret" },
      clientSecret: {
        flag: "client-secret",
        type: "secret",
        help: "at least 32 characters; the old secret and its tokens stop working at once",
      },
      disabled: {
        flag: "disabled",
        type: "boolean",
        help: "it gets no tokens; existing ones are revoked within seconds",
      },
    },
    columns: [
      { field: "clientId", title: "ID" },
      { field: "tenant", title: "TENANT" },
      { field: "confidential", title: "CONFIDENTIAL", kind: "flag" },
      { field: "grantTypes", title: "GRANTS", kind: "list" },
      { field: "scopes", title: "SCOPES", kind: "list" },
      { field: "disabled", title: "DISABLED", kind: "flag" },
      CREATED,
    ],
    verbs: STANDARD_VERBS,
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
      sourceUrl: {
        flag: "source-url",
        type: "text",
        value: "<url>",
        help: "its private address",
        required: true,
      },
      proxyPath: {
        flag: "proxy-path",
        type: "text",
        value: "<path>",
        help: "its public path, such as /catalog/v1",
        required: true,
      },
      scopes: scopesField("a scope of this service"),
      tenant: { flag: "tenant", type: "text", value: "<tenant>", help: "the tenant that owns it", required: true },
      access: {
        flag: "access",
        type: "text",
        value: "<token|public>",
        help: "token: callers need one",
        required: true,
      },
      essential: { flag: "essential", type: "boolean", help: "every tenant has it without a package" },
      forwardAuthorization: {
        flag: "forward-authorization",
        type: "boolean",
        help: "forward the original tokens of other tenants' callers, which are valid everywhere",
      },
      trusted: {
        flag: "trusted",
        type: "boolean",
        help: "do not isolate its pages and cookies from other services",
      },
    },
    columns: [
      { field: "name", title: "NAME" },
      { field: "proxyPath", title: "PATH" },
      { field: "sourceUrl", title: "SOURCE" },
      { field: "tenant", title: "TENANT" },
      { field: "access", title: "ACCESS" },
      { field: "essential", title: "ESSENTIAL", kind: "flag" },
      { field: "builtIn", title: "BUILT IN", kind: "flag" },
      { field: "scopes", title: "SCOPES", kind: "list" },
    ],
    verbs: STANDARD_VERBS,
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
      version: { flag: "version", type: "text", value: "<version>", help: "its version", required: true },
      organization: {
        flag: "organization",
        type: "text",
        value: "<id>",
        help: "the organization that offers it",
        required: true,
      },
      services: { flag: "service", type: "list", value: "<service>", help: "a service in the package", required: true },
    },
    columns: [
      { field: "id", title: "ID" },
      { field: "version", title: "VERSION" },
      { field: "organization", title: "ORGANIZATION" },
      { field: "services", title: "SERVICES", kind: "list" },
      { field: "builtIn", title: "BUILT IN", kind: "flag" },
    ],
    verbs: STANDARD_VERBS,
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
      issuer: {
        flag: "issuer",
        type: "text",
        value: "<url>",
        help: "its issuer, with the discovery document",
        required: true,
      },
      clientId: {
        flag: "client-id",
        type: "text",
        value: "<id>",
        help: "the platform's client id there",
        required: true,
      },
      clientSecret: {
        flag: "client-secret",
        type: "secret",
        help: "the platform's client secret there; a new issuer needs a new one",
        requiredOfNew: true,
      },
      scopes: { flag: "scope", type: "list", value: "<scope>", help: "a requested scope; openid is required" },
      tenants: {
        flag: "tenant",
        type: "list",
        value: "<tenant>",
        help: "a tenant that sign-ins can reach; none: all",
      },
      domains: {
        flag: "domain",
        type: "list",
        value: "<domain>",
        help: "an e-mail domain that it may vouch for; none: all",
      },
      linking: {
        flag: "linking",
        type: "text",
        value: "<who>",
        help:
          "who links a user to an account there: confirm (the user, by password), operator, or verified_email " +
          "(needs --domain)",
      },
      trustEmail: {
        flag: "trust-email",
        type: "boolean",
        help: "its addresses count as verified where it does not say; for a provider that verifies all of them",
      },
      button: {
        flag: "button",
        type: "text",
        value: "<text>",
        help: "its name on a button of the sign-in page; empty: no button",
      },
    },
    columns: [
      { field: "id", title: "ID" },
      { field: "issuer", title: "ISSUER" },
      { field: "clientId", title: "CLIENT ID" },
      { field: "scopes", title: "SCOPES", kind: "list" },
      { field: "tenants", title: "TENANTS", kind: "list" },
      { field: "domains", title: "DOMAINS", kind: "list" },
      CREATED,
    ],
    verbs: STANDARD_VERBS,
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
