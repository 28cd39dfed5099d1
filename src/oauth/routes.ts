import { defineRoute, formBody, json, jsonObjectBody, type Route } from "../http/route.ts";
import type { Service } from "../http/service.ts";
import { PROFILE_SCOPES } from "../platform/model/oidc-scopes.ts";
import { ACCOUNT_BASE, accountAddress } from "./account/notice.ts";
import { createAccountRoutes } from "./account/routes.ts";
import { serverMetadata } from "./endpoints/discovery.ts";
import { introspect } from "./endpoints/introspect.ts";
import { createPageRoutes } from "./endpoints/pages.ts";
import type { PageEndpointDeps } from "./endpoints/deps.ts";
import { authorizeDevice, type DeviceDeps } from "./endpoints/device.ts";
import { pushRequest } from "./endpoints/par.ts";
import { refreshTokenRoutes } from "./endpoints/refresh-tokens.ts";
import { register, type RegisterDeps } from "./endpoints/register.ts";
import { revoke } from "./endpoints/revoke.ts";
import { tokenInfo } from "./endpoints/token-info.ts";
import { GRANT_TYPES, token } from "./endpoints/token.ts";
import { userInfoRoutes } from "./endpoints/user-info.ts";
import type { Federation } from "./federation/federation.ts";
import type { AnyCall } from "./model/call.ts";
import { renderOAuthProblem } from "./model/failure.ts";
import type { LinkDeps, RecoveryDeps } from "./recovery/recovery.ts";
import { createInvitationRoutes, createRecoveryRoutes } from "./recovery/routes.ts";
import { DOCUMENT, DOCUMENT_OR_FRAME, navigatedTo, renderProblemPage } from "./pages/page.ts";

/** The dependencies of all endpoints, made once in service.ts. Each takes the part that it uses. */
export interface RouteDeps extends DeviceDeps, RegisterDeps {
  readonly federation: Federation;
  readonly revocations: PageEndpointDeps["revocations"];
  /** Tags of the pages' languages. */
  readonly uiLocales: readonly string[];
  /** Undefined: the platform sends no mail, so it has none of these pages. */
  readonly recovery: RecoveryDeps | undefined;
  readonly links: LinkDeps;
}

export const OAUTH_BASE = "/oauth2/v1";

/** The limits fit the longest list of scopes, and a list of tokens to revoke. */
const TOKEN_FORM_BYTES = 64 * 1024;
const REVOKE_FORM_BYTES = 1024 * 1024;
/** As for a document that describes a client. */
const REGISTRATION_BYTES = 16 * 1024;
const METADATA_MAX_AGE_SEC = 300;
/** A key that an operator makes signs at once, so caches of verifiers must expire soon. */
const JWKS_MAX_AGE_SEC = 60;

/** The OAuth service, and its metadata at the root, where RFC 8414 requires it. */
export function createOAuthServices(deps: RouteDeps, pathPrefix: string): readonly Service[] {
  const metadata = async (call: AnyCall): Promise<Response> => {
    const { services, adminScope, operatorScopes } = deps.builtIn;
    const scopes = services
      .flatMap((service) => service.scopes)
      .filter((scope) => scope !== adminScope && !operatorScopes.includes(scope));
    const description = {
      issuer: deps.issuerFor(call).issuer,
      pages: deps.pagesBase(call),
      publicBase: call.publicBase,
      scopes: ["openid", ...PROFILE_SCOPES, deps.names.scope("no_tenant"), ...scopes],
      uiLocales: deps.uiLocales,
      sendsMail: deps.recovery !== undefined,
      takesRegistrations: deps.unregisteredClients === "registration",
      takesDocuments: deps.unregisteredClients !== "none",
      grantTypes: GRANT_TYPES.filter((type) => type !== "password" || deps.passwordGrant !== "nobody"),
    };
    return publicDocument(serverMetadata(description), METADATA_MAX_AGE_SEC);
  };
  const wellKnown = {
    method: "GET",
    operation: "readMetadataOfServer",
    produces: "any",
    handle: metadata,
  } as const;
  const routes: readonly Route[] = [
    defineRoute({
      method: "POST",
      path: "/token",
      summary: "Get an access token",
      operation: "getToken",
      body: formBody(TOKEN_FORM_BYTES),
      produces: "any",
      handle: (call) => token(deps, call),
    }),
    defineRoute({
      method: "GET",
      path: "/tokeninfo",
      summary: "Describe an access token",
      operation: "readTokenInfo",
      produces: "any",
      handle: (call) => tokenInfo(deps, call),
    }),
    defineRoute({
      method: "POST",
      path: "/revoke",
      summary: "Revoke tokens",
      operation: "revokeTokens",
      body: formBody(REVOKE_FORM_BYTES),
      produces: "any",
      handle: (call) => revoke(deps, call),
    }),
    defineRoute({
      method: "POST",
      path: "/introspect",
      summary: "Describe a token to a client",
      operation: "introspectToken",
      body: formBody(TOKEN_FORM_BYTES),
      produces: "any",
      handle: (call) => introspect(deps, call),
    }),
    defineRoute({
      method: "POST",
      path: "/device_authorization",
      summary: "Begin a sign-in for a device without a browser",
      operation: "authorizeDevice",
      body: formBody(TOKEN_FORM_BYTES),
      produces: "any",
      handle: (call) => authorizeDevice(deps, call),
    }),
    defineRoute({
      method: "POST",
      path: "/par",
      summary: "Push an authorization request",
      operation: "pushRequest",
      body: formBody(TOKEN_FORM_BYTES),
      produces: "any",
      handle: (call) => pushRequest(deps, call),
    }),
    defineRoute({
      method: "POST",
      path: "/register",
      summary: "Register the calling client",
      operation: "registerClient",
      body: jsonObjectBody(REGISTRATION_BYTES, false),
      produces: "any",
      handle: (call) => register(deps, call),
    }),
    defineRoute({
      method: "GET",
      path: "/jwks",
      summary: "Public keys that verify tokens",
      operation: "readKeys",
      produces: "any",
      handle: async (call) => {
        // Verifiers cache the response, so it must contain the key of the token that made them ask.
        if (!(await deps.trust.ensure(call.nowMs, "newest"))) return deps.unavailable();
        return publicDocument({ keys: await deps.trust.publicKeys(call.nowMs) }, JWKS_MAX_AGE_SEC);
      },
    }),
    defineRoute({
      ...wellKnown,
      path: "/.well-known/openid-configuration",
      summary: "Metadata (OpenID Connect Discovery)",
    }),
  ];
  const atRoot = defineRoute({ ...wellKnown, path: `${pathPrefix}${OAUTH_BASE}`, summary: "Metadata (RFC 8414)" });
  return [
    { name: "oauth", base: OAUTH_BASE, routes, renderProblem: renderOAuthProblem, crossOrigin: true },
    // These are called with a bearer token, so their errors are the platform's objects and not the protocol's.
    {
      name: "oauth",
      base: OAUTH_BASE,
      routes: [...userInfoRoutes(deps), ...refreshTokenRoutes(deps)],
      crossOrigin: true,
    },
    {
      name: "oauth",
      base: OAUTH_BASE,
      routes: createPageRoutes(deps),
      renderProblem: renderProblemPage(deps.pages),
      crossOrigin: false,
      host: "auth",
      guard: navigatedTo(DOCUMENT_OR_FRAME),
    },
    {
      name: "oauth",
      base: OAUTH_BASE,
      routes: [
        ...(deps.recovery === undefined ? [] : createRecoveryRoutes(deps.recovery)),
        ...createInvitationRoutes(deps.links),
      ],
      renderProblem: renderProblemPage(deps.pages),
      crossOrigin: false,
      host: "auth",
      guard: navigatedTo(DOCUMENT),
    },
    {
      name: "oauth",
      base: ACCOUNT_BASE,
      routes: createAccountRoutes(deps),
      renderProblem: renderProblemPage(deps.pages, accountAddress),
      crossOrigin: false,
      host: "auth",
      guard: navigatedTo(DOCUMENT),
    },
    {
      name: "oauth",
      base: "/.well-known/oauth-authorization-server",
      atRoot: true,
      routes: [atRoot],
      renderProblem: renderOAuthProblem,
      crossOrigin: true,
    },
  ];
}

const publicDocument = (document: object, maxAgeSec: number): Response =>
  json(200, document, { "cache-control": `public, max-age=${maxAgeSec}` });
