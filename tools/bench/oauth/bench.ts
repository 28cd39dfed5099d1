import type { Bench } from "../lib/bench.ts";
import { bareWorker, PLINTH, type ServerModule } from "../lib/server-module.ts";
import { basic, call, exchange, repeated, type ExchangeInit } from "../lib/exchange.ts";
import type { Work } from "../lib/load.ts";
import { openPlatform, TENANT } from "../lib/platform.ts";
import type { Server } from "../lib/server.ts";

const BARE = bareWorker("oauth");
const OIDC_PROVIDER: ServerModule = { id: "oidc-provider", module: "tools/bench/oauth/oidc-provider-server.ts" };

/**
 * Issues tokens and answers about them: the platform, a bare Worker that only signs and verifies (bare/worker.ts), and
 * `oidc-provider` with opaque tokens in memory and with JWTs. All clients authenticate by HTTP Basic, all JWTs are
 * signed with ES256. (oidc-provider introspects and serves `/userinfo` only for opaque tokens.)
 */
export const oauthBench: Bench = {
  summary: "tokens, token information, introspection, user information; against oidc-provider and a bare Worker",
  notes: [
    "Plinth as `npm start` serves it: `LOG_LEVEL=warn`, no rate limits, D1 in the same process. `tokeninfo`, " +
      "`introspection` and `userinfo` ask D1 for revocations every time; what that costs here (see the bare Worker " +
      "with one D1 statement) is spent on other machines when deployed. oidc-provider keeps its tokens in memory.",
  ],
  operations: [
    { id: "tokens", label: "client_credentials token" },
    { id: "tokeninfo", label: "tokeninfo" },
    { id: "introspection", label: "introspection" },
    { id: "userinfo", label: "userinfo" },
  ],
  subjects: [
    { id: "plinth", label: "Plinth", server: PLINTH, setUp: setUpPlinth },
    { id: "bare", label: "bare Worker", server: BARE, setUp: setUpBare },
    { id: "bare-own", label: "bare Worker, Plinth's signing", server: BARE, setUp: setUpBareWithOwnSigning },
    { id: "bare-d1", label: "bare Worker, one D1 statement", server: BARE, setUp: setUpBareWithD1 },
    { id: "oidc-opaque", label: "oidc-provider, opaque", server: OIDC_PROVIDER, setUp: setUpOpaque },
    { id: "oidc-jwt", label: "oidc-provider, JWT", server: OIDC_PROVIDER, setUp: setUpJwt },
  ],
  ratios: [
    { operation: "tokens", of: "plinth", to: "bare", mark: { measure: "requestsPerSec", atLeast: 0.7 } },
    { operation: "tokens", of: "plinth", to: "bare-own" },
    { operation: "tokens", of: "plinth", to: "oidc-jwt", mark: { measure: "requestsPerCpuSec", atLeast: 1 } },
    { operation: "tokens", of: "plinth", to: "oidc-opaque" },
    { operation: "tokeninfo", of: "plinth", to: "bare-d1" },
    { operation: "introspection", of: "plinth", to: "bare-d1" },
    { operation: "introspection", of: "plinth", to: "oidc-opaque" },
    { operation: "userinfo", of: "plinth", to: "bare-d1" },
    { operation: "userinfo", of: "plinth", to: "oidc-opaque" },
  ],
};

type Request = Omit<ExchangeInit, "host">;
type Works = Readonly<Record<string, () => Promise<Work>>>;

async function setUpPlinth(server: Server): Promise<Works> {
  const { platform, prefix: pathPrefix, put, client } = await openPlatform(server);
  const prefix = `${pathPrefix}/oauth2/v1`;
  const scopes = ["pubsub_publish", "pubsub.topic=*", "media_view", "media_manage", "media_admin"];
  await put("roles/bench", { scopes: scopes.map((scope) => `${platform}.${scope}`) });
  const user = { username: "ada@bench.example", password: "a long password for a bench" };
  await put(`users/${user.username}`, { name: "Ada", password: user.password });
  await put(`tenants/${TENANT}/members/${user.username}`, { roles: ["bench"] });
  const { authorization } = await client("client", scopes, ["client_credentials", "password"]);
  const tokens = tokenRequest(`${prefix}/token`, authorization);
  const forUser = { grant_type: "password", [`${platform}_id_provider`]: "legacy_idp", ...user };
  return {
    tokens: fixed(server, tokens),
    tokeninfo: onToken(server, tokens, (token) => tokenInfoRequest(`${prefix}/tokeninfo`, token)),
    introspection: onToken(server, tokens, (token) =>
      introspectionRequest(`${prefix}/introspect`, authorization, token),
    ),
    userinfo: onToken(server, { ...tokens, form: forUser }, (token) =>
      userInfoRequest(`${prefix}/userinfo`, token, user.username),
    ),
  };
}

async function setUpBare(server: Server): Promise<Works> {
  return { tokens: fixed(server, bareTokens), ...bareQuestions(server, "") };
}

/** The same signing on both sides isolates the platform's other work. */
async function setUpBareWithOwnSigning(server: Server): Promise<Works> {
  return { tokens: fixed(server, tokenRequest("/own/token", bareAuthorization)) };
}

/** A token may be revoked, so the platform asks D1 at every question about one. */
async function setUpBareWithD1(server: Server): Promise<Works> {
  return bareQuestions(server, "/d1");
}

const bareAuthorization = basic("bench.client", "a-secret-that-nobody-checks-of-43-characters");
const bareTokens = tokenRequest("/token", bareAuthorization);

const bareQuestions = (server: Server, prefix: string): Works => ({
  tokeninfo: onToken(server, bareTokens, (token) => tokenInfoRequest(`${prefix}/tokeninfo`, token)),
  introspection: onToken(server, bareTokens, (token) =>
    introspectionRequest(`${prefix}/introspect`, bareAuthorization, token),
  ),
  userinfo: onToken(server, bareTokens, (token) => userInfoRequest(`${prefix}/userinfo`, token, "bench.client")),
});

async function setUpOpaque(server: Server): Promise<Works> {
  const { clientId, clientSecret, scope, email } = server.facts;
  const authorization = basic(clientId, clientSecret);
  const tokens = tokenRequest("/token", authorization, { scope });
  const userToken: Request = { method: "GET", path: "/bench/user-token", holds: hasToken };
  return {
    tokens: fixed(server, tokens),
    introspection: onToken(server, tokens, (token) =>
      introspectionRequest("/token/introspection", authorization, token),
    ),
    userinfo: onToken(server, userToken, (token) => userInfoRequest("/me", token, email)),
  };
}

async function setUpJwt(server: Server): Promise<Works> {
  const { clientId, clientSecret, scope, resource } = server.facts;
  return { tokens: fixed(server, tokenRequest("/token", basic(clientId, clientSecret), { scope, resource })) };
}

function hasToken(body: any): boolean {
  return typeof body.access_token === "string";
}

function tokenRequest(path: string, authorization: string, more: Record<string, string> = {}): Request {
  const form = { grant_type: "client_credentials", ...more };
  return { method: "POST", path, headers: { authorization }, form, holds: hasToken };
}

const tokenInfoRequest = (path: string, token: string): Request => ({
  method: "GET",
  path: `${path}?access_token=${token}`,
  holds: (body) => body.clientId === "bench.client",
});

const introspectionRequest = (path: string, authorization: string, token: string): Request => ({
  method: "POST",
  path,
  headers: { authorization },
  form: { token },
  holds: (body) => body.active === true,
});

const userInfoRequest = (path: string, token: string, sub: string): Request => ({
  method: "GET",
  path,
  headers: { authorization: `Bearer ${token}` },
  holds: (body) => body.sub === sub,
});

const fixed = (server: Server, request: Request) => async (): Promise<Work> =>
  repeated(exchange({ ...request, host: hostOf(server) }), server);

/** A request about a freshly fetched token. */
const onToken = (server: Server, tokens: Request, request: (token: string) => Request) => async (): Promise<Work> => {
  const { access_token: token } = (await call(tokens.method, `${server.origin}${tokens.path}`, tokens)).json();
  return fixed(server, request(token))();
};

const hostOf = ({ host, port }: Server): string => `${host}:${port}`;
