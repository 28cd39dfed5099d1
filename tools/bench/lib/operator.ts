import { ask, basic } from "./exchange.ts";
import type { Server } from "./server.ts";

/** The platform's operator service, as a bench needs it. */
export interface Operator {
  /** `{origin}{PATH_PREFIX}` */
  readonly base: string;
  /** The prefix of its scopes. */
  readonly platform: string;
  put(path: string, json: object): Promise<any>;
}

export async function signInAsOperator({ origin, facts }: Server): Promise<Operator> {
  const base = `${origin}${facts.pathPrefix}`;
  const { access_token: token } = await ask(base, {
    method: "POST",
    path: `${facts.pathPrefix}/oauth2/v1/token`,
    headers: { authorization: basic(`${facts.platform}.operator`, facts.operatorSecret) },
    form: { grant_type: "client_credentials" },
    holds: (body) => typeof body.access_token === "string",
  });
  return {
    base,
    platform: facts.platform,
    async put(path, json) {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const response = await fetch(`${base}/admin/v1/${path}`, { method: "PUT", headers, body: JSON.stringify(json) });
      const text = await response.text();
      if (!response.ok) throw new Error(`PUT ${path} answered ${response.status}: ${text}`);
      return text === "" ? undefined : JSON.parse(text);
    },
  };
}
