import { expect } from "vitest";
import { Browser, type Visit } from "../../support/browser.ts";
import { answerJson } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { put } from "../../support/platform/operator.ts";
import { unique } from "../../support/platform/unique.ts";
import type { TestUser } from "../../support/users.ts";
import { CHALLENGE, VERIFIER } from "../support/code.ts";

/** A client that no operator registered. */
export interface Agent {
  readonly id: string;
  readonly redirectUri: string;
}
/** A service behind the gateway that the client uses. */
export interface AgentService {
  readonly name: string;
  readonly path: string;
  readonly uri: string;
  readonly scopes: readonly string[];
}

/** Registers a service of the tenant. */
export async function makeService(tenant: string): Promise<AgentService> {
  const name = unique("svc-");
  const scopes = [`${name}.read`, `${name}.write`];
  const own = { sourceUrl: `https://${name}.example.com`, proxyPath: `/${name}/v1`, scopes, tenant, access: "token" };
  await put(`services/${name}`, own);
  await answerJson(`https://${name}.example.com/`, {});
  return { name, path: `/${name}/v1`, uri: `${ORIGIN}/${name}/v1`, scopes };
}

/** Publishes a valid document. `fields` change it; `undefined` leaves one out. */
export async function makeAgent(
  fields: Record<string, unknown> = {},
  answer: Parameters<typeof answerJson>[2] = {},
): Promise<Agent> {
  const origin = `https://${unique("agent")}.example.com`;
  const id = `${origin}/client.json`;
  const redirectUri = `${origin}/callback`;
  const document = {
    client_id: id,
    client_name: "Helper",
    redirect_uris: [redirectUri, "http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
    ...fields,
  };
  await answerJson(id, JSON.parse(JSON.stringify(document)), answer);
  return { id, redirectUri };
}

/** The address of `/authorize` to which the client sends the browser. */
export function addressOf(agent: Agent, service: AgentService, more: Record<string, string | undefined> = {}): string {
  const query = {
    client_id: agent.id,
    response_type: "code",
    redirect_uri: agent.redirectUri,
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    state: "s-1",
    resource: service.uri,
    ...more,
  };
  const sent = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `/oauth2/v1/authorize?${new URLSearchParams(sent).toString()}`;
}

/** Signs in. Returns the browser and the page after the sign-in. */
export async function signedIn(address: string, user: TestUser, browser = new Browser()): Promise<[Browser, Visit]> {
  const page = await browser.get(address);
  return [browser, await browser.submit(page, { email: user.email, password: user.password })];
}

export const follow = async (browser: Browser, answer: Visit): Promise<Visit> =>
  answer.location?.startsWith(ORIGIN) === true ? follow(browser, await browser.get(answer.location)) : answer;

/** Allows the requested access and returns the code. */
export async function allow(browser: Browser, page: Visit): Promise<string> {
  const back = await follow(browser, await browser.submit(page, { decision: "allow" }));
  const code = new URL(back.location ?? "about:blank").searchParams.get("code");
  expect(code, back.html).not.toBeNull();
  return code ?? "";
}

export const redeem = (agent: Agent, code: string, more: Record<string, string> = {}): Promise<Response> =>
  call("/oauth2/v1/token", {
    form: {
      grant_type: "authorization_code",
      client_id: agent.id,
      code,
      redirect_uri: agent.redirectUri,
      code_verifier: VERIFIER,
      ...more,
    },
  });

export const refresh = (agent: Agent, token: string): Promise<Response> =>
  call("/oauth2/v1/token", {
    form: { grant_type: "refresh_token", client_id: agent.id, refresh_token: token },
  });

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly scope: string;
}

/** Signs in, allows the access and redeems the code. */
export async function tokensFor(agent: Agent, service: AgentService, user: TestUser, more = {}): Promise<Tokens> {
  const [browser, page] = await signedIn(addressOf(agent, service, more), user);
  return expectJson(await redeem(agent, await allow(browser, page)), 200);
}
