import { call, expectJson } from "../../support/platform/call.ts";
import { basic } from "../../support/platform/tokens.ts";
import { REDIRECT, type Flow, type FlowClient } from "./flow.ts";
import { codeFor, VERIFIER, type CodeOptions } from "./code.ts";

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
