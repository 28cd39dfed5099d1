import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import type { Env } from "../../src/env.ts";
import { noteResponse, ORIGIN } from "./platform/call.ts";
import { basic } from "./platform/tokens.ts";
import { noteRequest } from "./secrets.ts";

/**
 * Another isolate from the Worker's point of view. It has its own caches, and the same bindings unless others are
 * given.
 */
export interface Isolate {
  /** `path` may be an absolute address too. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** `POST /token` with client credentials. */
  token(client: { clientId: string; clientSecret: string }): Promise<Response>;
}

export function isolate(bindings: Partial<Env> = {}): Isolate {
  const own = { ...env, ...bindings };
  const app = createApp(createDeps(own));
  const fetch = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const context = createExecutionContext();
    noteRequest(path, new Headers(init.headers), init.body);
    const address = /^https?:/.test(path) ? path : `${ORIGIN}${path}`;
    const response = await app.fetch(new Request(address, init), own, context);
    await noteResponse(path, response);
    await waitOnExecutionContext(context);
    return response;
  };
  const token: Isolate["token"] = (client) =>
    fetch("/oauth2/v1/token", {
      method: "POST",
      headers: { authorization: basic(client), "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=client_credentials",
    });
  return { fetch, token };
}

/** Ends an unknown session, so that the isolate learns whether any client must be told of ended sessions. */
export const learnsLogouts = ({ fetch }: Pick<Isolate, "fetch">): Promise<Response> =>
  fetch("/oauth2/v1/end_session", { headers: { cookie: `__Host-plat_session=${"A".repeat(43)}` } });
