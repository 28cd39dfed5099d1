import type { ServerModule } from "../lib/server-module.ts";
import { basic } from "../lib/exchange.ts";
import { signInAsOperator, type Operator } from "../lib/operator.ts";
import type { Server } from "../lib/server.ts";
import { call } from "./caller.ts";

/** The counted platform, with the log level of a deployment. */
export const PLINTH: ServerModule = {
  id: "plinth",
  module: "tools/bench/cost/plinth-server.ts",
  env: { LOG_LEVEL: "info", ALLOW_LOOPBACK: "true" },
};

/** The same, whose uploads go straight to R2. */
export const PLINTH_R2: ServerModule = {
  ...PLINTH,
  id: "plinth-r2",
  env: { ...PLINTH.env, R2_ACCESS_KEY_ID: "cost-bench", R2_SECRET_ACCESS_KEY: "a-secret-of-this-bench" },
};

export const TENANT = "cost";

/** The platform with a tenant. */
export interface Platform extends Operator {
  /** Makes a client with the id `cost.<name>`, which gets tokens by itself with these scopes, without the prefix. */
  makeClient(name: string, scopes: readonly string[]): Promise<Client>;
}

export interface Client {
  readonly id: string;
  readonly secret: string;
  /** A new token. Tokens go out of date, more so as the bench moves the clock. */
  token(): Promise<string>;
}

/** By client ids: a secret is shown once. */
const secrets = new WeakMap<Server, Map<string, string>>();

/** Anew for each study, since the operator's token goes out of date too. */
export async function openPlatform(server: Server): Promise<Platform> {
  const known = secrets.get(server) ?? new Map<string, string>();
  secrets.set(server, known);
  const operator = await signInAsOperator(server);
  const { base, platform, put } = operator;
  await put("organizations/cost", { name: "Cost" });
  await put(`tenants/${TENANT}`, { organization: "cost", name: "Cost" });
  await put(`tenants/${TENANT}/subscriptions/platform`, {});
  return {
    ...operator,
    async makeClient(name, scopes) {
      const id = `${TENANT}.${name}`;
      const { clientSecret } = await put(`clients/${id}`, {
        tenant: TENANT,
        confidential: true,
        redirectUris: [],
        postLogoutRedirectUris: [],
        grantTypes: ["client_credentials"],
        scopes: scopes.map((scope) => `${platform}.${scope}`),
      });
      const secret = known.get(id) ?? clientSecret;
      known.set(id, secret);
      const headers = { authorization: basic(id, secret) };
      const request = { headers, form: { grant_type: "client_credentials" } };
      const token = async () => (await call("POST", `${base}/oauth2/v1/token`, request)).json().access_token;
      return { id, secret, token };
    },
  };
}

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
