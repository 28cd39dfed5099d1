import { env } from "cloudflare:workers";
import { randomId, systemRandom } from "../../src/platform/runtime/random.ts";
import { createUserStore } from "../../src/oauth/users/user-store.ts";
import type { CodeRequest } from "../../src/oauth/grants/code-store.ts";
import { createCodes } from "../../src/oauth/grants/codes.ts";
import { createCode } from "../../src/oauth/grants/authorization-code.ts";
import { createHeldTokens } from "../../src/oauth/homes/held-token.ts";
import { homeOf } from "../../src/platform/storage/home.ts";
import type { Authorization } from "../../src/oauth/model/authorization.ts";
import { createSessionStore } from "../../src/oauth/sign-in/session-store.ts";
import { createSealer, parseSealKeys } from "../../src/platform/secrets/seal.ts";
import { shardsOf } from "../../src/platform/storage/shards.ts";
import { addressIn, shardDb } from "../support/shards.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { register } from "../support/platform/clients.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { seedMember, seedUser } from "../support/seed.ts";

/** Users, their clients, and codes as `/authorize` makes them, without the pages before. */
export interface FlowClient {
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly tenant: string;
}

export interface Flow {
  readonly client: FlowClient;
  readonly email: string;
  readonly tenant: string;
  /** The name of the user's role. */
  readonly role: string;
}

export const REDIRECT = "https://app.example/callback";
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/** BASE64URL(SHA256(VERIFIER)), RFC 7636 appendix B. */
export const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
export const MEDIA = ["plat.media_view", "plat.media_manage"];
export const CODE_AND_REFRESH = ["authorization_code", "refresh_token"];

export const registration = (tenant: string, more: object = {}): object => ({
  tenant,
  confidential: true,
  redirectUris: [REDIRECT],
  grantTypes: CODE_AND_REFRESH,
  scopes: MEDIA,
  ...more,
});

export async function makeFlowClient(tenant: string, more: object = {}): Promise<FlowClient> {
  const clientId = `${tenant}.${unique("app")}`;
  return { clientId, clientSecret: await register(clientId, registration(tenant, more)), tenant };
}

export async function makeUser(
  tenant: string,
  scopes: readonly string[] = MEDIA,
  home?: number,
): Promise<{ email: string; role: string }> {
  const made = () => `${unique("ada")}@users.example`;
  const email = home === undefined ? made() : addressIn(home, made);
  const role = unique("role");
  await seedUser(email);
  await seedMember(email, tenant, role, scopes);
  return { email, role };
}

/**
 * A tenant with a user and a client. `client`: fields of its registration. `home`: the shard of the user's refresh
 * grants; any, if absent.
 */
export async function makeFlow(client: object = {}, home?: number): Promise<Flow> {
  const tenant = await makeTenant();
  return { client: await makeFlowClient(tenant, client), tenant, ...(await makeUser(tenant, MEDIA, home)) };
}

export const makePublicFlow = (client: object = {}, home?: number): Promise<Flow> =>
  makeFlow({ confidential: false, ...client }, home);

export interface CodeOptions extends Partial<Omit<CodeRequest, "authorization">> {
  readonly authorization?: Partial<Authorization>;
  /** Another database than the home, as from before there were as many shards. */
  readonly shard?: number;
}

const shards = shardsOf(env);
const sealKeys = parseSealKeys(env.SEAL_KEYS);
if (!sealKeys.ok) throw new Error(sealKeys.error);
const heldCodes = createHeldTokens(createSealer(sealKeys.value, systemRandom), systemRandom, shards.length, "code");
const codes = createCodes(shards, createUserStore(env.DB, "email", systemRandom), heldCodes);

/** In a shard a code needs its session: one with this id, of a browser that nobody has. */
async function sessionIn(shard: number, email: string, sid: string, authenticatedAtMs: number): Promise<void> {
  const store = createSessionStore(shardDb(shard), false);
  const idHash = `${sid}${randomId(systemRandom)}`;
  const times = { authenticatedAtMs, seenAtMs: authenticatedAtMs, expiresAtMs: Date.now() + 43_200_000 };
  const where = { browser: "", system: "", country: "", city: "" };
  const record = { idHash, email, sid, provider: "default_idp", ...times, ...where };
  await store.run(store.startStatements(record, undefined).statements);
}

/** A code, with PKCE and S256 by default, in the home of its person. */
export async function codeFor(flow: Flow, options: CodeOptions = {}): Promise<string> {
  const { authorization: some, ...request } = options;
  const nowMs = Date.now();
  const email = request.email ?? flow.email;
  const { shard = homeOf(email, shards.length) } = options;
  const authorization = {
    tenant: flow.tenant,
    tenantExplicit: false,
    org: "",
    openid: false,
    scopes: MEDIA,
    sessionId: "session-1",
    authenticatedAtMs: nowMs,
    ...some,
  };
  if (shard > 0) await sessionIn(shard, email, authorization.sessionId, authorization.authenticatedAtMs);
  const code = await createCode(
    { codes, random: systemRandom },
    {
      clientId: flow.client.clientId,
      email,
      redirectUri: REDIRECT,
      challenge: { value: CHALLENGE, method: "S256" },
      nonce: undefined,
      shard,
      ...request,
      authorization,
    },
    nowMs,
  );
  if (code === undefined) throw new Error("the client or the user is not there");
  return code.text;
}

type Form = Record<string, string>;

/** `POST /token` as this client: by Basic with its secret, else by its name in the body. Omits empty values. */
export function tokenRequest({ clientId, clientSecret }: FlowClient, form: Form): Promise<Response> {
  const present = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ""));
  return call("/oauth2/v1/token", {
    form: clientSecret === undefined ? { client_id: clientId, ...present } : present,
    headers: clientSecret === undefined ? {} : { authorization: basic({ clientId, clientSecret }) },
  });
}

export const redeem = (client: FlowClient, code: string, more: Form = {}): Promise<Response> =>
  tokenRequest(client, {
    grant_type: "authorization_code",
    code,
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
    ...more,
  });

export const refresh = (client: FlowClient, token: string, more: Form = {}): Promise<Response> =>
  tokenRequest(client, { grant_type: "refresh_token", refresh_token: token, ...more });

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token?: string;
  readonly scope: string;
}

/** The tokens of a new code. */
export async function signIn(flow: Flow, options: CodeOptions = {}): Promise<Tokens> {
  return expectJson<Tokens>(await redeem(flow.client, await codeFor(flow, options)), 200);
}

export const refreshed = async (client: FlowClient, token: string, more: Form = {}): Promise<Tokens> =>
  expectJson<Tokens>(await refresh(client, token, more), 200);

export const errorOf = async (response: Response, status = 400): Promise<string> =>
  (await expectJson<{ error: string }>(response, status)).error;

export const tokenInfo = (token: string): Promise<Response> =>
  call(`/oauth2/v1/tokeninfo?access_token=${encodeURIComponent(token)}`);

export const isLiving = async (token: string): Promise<boolean> => (await tokenInfo(token)).status === 200;

/** Reasons in the audit log for this actor, the newest first. */
export async function auditOf(
  actor: string,
): Promise<{ action: string; subject: string; outcome: string; reason: string }[]> {
  const rows = await env.DB.prepare(
    "SELECT action, subject, outcome, reason FROM audit_entry WHERE actor = ?1 ORDER BY seq DESC",
  )
    .bind(actor)
    .all<{ action: string; subject: string; outcome: string; reason: string }>();
  return rows.results;
}
