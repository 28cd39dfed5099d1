import { loginClient } from "../../../cli/session/login-client.ts";
import { OPERATORS, putOperator, putOperators, type ConsolePlace, type Put } from "./operators.ts";
import type { Settings } from "./settings.ts";

/** The records of the first start, so that the first request can be tried at once. The ids never change. */
export const DEMO = {
  organization: "demo",
  tenant: "demo",
  role: "demo-all",
  user: "ada@demo.example",
  /** Runs the platform in the console. */
  operator: "olga@demo.example",
  client: "demo.shop",
  /** A browser application: no secret, PKCE. */
  web: "demo.web",
  /** The command line, for people who sign in by the browser. */
  cli: "demo.cli",
  operatorRole: "demo-operator",
  redirectUri: "http://127.0.0.1/callback",
  otherRedirectUri: "http://localhost/callback",
};

/** All scopes of the built-in services, except reading other tenants' events. */
const roleScopes = (platform: string): string[] => [
  `${platform}.pubsub_publish`,
  ownEvents(platform),
  `${platform}.media_view`,
  `${platform}.media_manage`,
  `${platform}.media_admin`,
];

const ownEvents = (platform: string): string => `${platform}.pubsub.own_tenant_topic=*`;

/** A client may also read and subscribe to all of its own topics. */
const clientScopes = (platform: string): string[] => [
  ...roleScopes(platform),
  `${platform}.pubsub.topic=${DEMO.client}.*`,
];

/** Credentials that the local documentation fills into its examples. The operator's secret is not among them. */
export const demoKeys = ({ demoClientSecret, demoUserPassword }: Settings): Readonly<Record<string, string>> => ({
  tenant: DEMO.tenant,
  client: DEMO.client,
  clientSecret: demoClientSecret,
  web: DEMO.web,
  user: DEMO.user,
  userPassword: demoUserPassword,
});

/**
 * Makes the demo through the operator service. Each step replaces existing records. The console's client comes near the
 * end, so it shows that the demo is complete.
 */
export async function loadDemo(origin: string, settings: Settings): Promise<void> {
  const { platform, pathPrefix, operatorSecret } = settings.config;
  const base = `${origin}${pathPrefix}`;

  const answer = await signIn(base, `${platform}.operator`, operatorSecret);
  if (answer.status !== 200) throw new Error(`the operator cannot sign in: ${answer.status} ${await answer.text()}`);
  const { access_token: token } = (await answer.json()) as { access_token: string };

  const put = async (path: string, body: unknown): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${base}/admin/v1/${path}`, { method: "PUT", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`PUT ${path}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const state = await loaded(base, token, settings);
  if (state === "yes") return;
  if (state === "no") await putDemo(put, settings);
  await putOperators(put, { platform, ...consolesOf(settings) });
  if (state === "no") await putOperator(put, DEMO.operator);
}

async function putDemo(put: Put, settings: Settings): Promise<void> {
  const { platform } = settings.config;
  const scopes = clientScopes(platform);
  await put(`organizations/${DEMO.organization}`, { name: "Demo organization" });
  await put(`tenants/${DEMO.tenant}`, { organization: DEMO.organization, name: "Demo shop" });
  await put(`tenants/${DEMO.tenant}/subscriptions/platform`, {});
  await put(`roles/${DEMO.role}`, { scopes: roleScopes(platform) });
  await put(`users/${DEMO.user}`, { name: "Ada Demo", password: settings.demoUserPassword });
  await put(`tenants/${DEMO.tenant}/members/${DEMO.user}`, { roles: [DEMO.role] });
  await put(`clients/${DEMO.client}`, {
    tenant: DEMO.tenant,
    confidential: true,
    clientSecret: settings.demoClientSecret,
    redirectUris: [DEMO.redirectUri],
    postLogoutRedirectUris: [],
    grantTypes: ["client_credentials", "authorization_code", "refresh_token", "password"],
    scopes,
  });
  await put(`clients/${DEMO.web}`, {
    tenant: DEMO.tenant,
    confidential: false,
    redirectUris: [DEMO.redirectUri, DEMO.otherRedirectUri],
    postLogoutRedirectUris: [DEMO.redirectUri, DEMO.otherRedirectUri],
    grantTypes: ["authorization_code", "refresh_token", "implicit"],
    scopes,
  });
  await put(`roles/${DEMO.operatorRole}`, { scopes: [`${platform}.admin_tenant`] });
  await put(`organizations/${DEMO.organization}/members/${DEMO.user}`, { roles: [DEMO.operatorRole] });
  await put(`clients/${DEMO.cli}`, loginClient(DEMO.tenant, platform));
  await put(`users/${DEMO.operator}`, { name: "Olga Demo", password: settings.demoOperatorPassword });
}

/**
 * The console's addresses. A redirect may have any port; the return from a sign-out has this start's or the dev
 * server's.
 */
function consolesOf({ port, config: { pathPrefix, publicUrl } }: Settings): Pick<ConsolePlace, "consoles" | "exits"> {
  const hosts = ["127.0.0.1", "localhost"].map((host) => `http://${host}`);
  const known = publicUrl === "" ? [] : [`${publicUrl}${pathPrefix}/console`];
  return {
    consoles: [...hosts.map((host) => `${host}${pathPrefix}/console`), ...known],
    exits: [
      ...hosts.flatMap((host) => [`${host}:${port}${pathPrefix}/console`, `${host}:${DEVELOPMENT_PORT}/console`]),
      ...known,
    ],
  };
}

const DEVELOPMENT_PORT = 5173;

/** How far the demo is loaded. The platform may have another port than at its last start. */
async function loaded(base: string, token: string, settings: Settings): Promise<"no" | "at another port" | "yes"> {
  const { config, demoClientSecret } = settings;
  const headers = { authorization: `Bearer ${token}` };
  const found = await fetch(`${base}/admin/v1/clients/${OPERATORS.client}`, { headers });
  const { postLogoutRedirectUris = [] } = (await found.json()) as { postLogoutRedirectUris?: readonly string[] };
  if (found.status !== 200) return "no";
  const answer = await signIn(base, DEMO.client, demoClientSecret);
  const { scope = "" } = (await answer.json()) as { scope?: string };
  const held = scope.split(" ");
  const wanted = [`${config.platform}.media_view`, ownEvents(config.platform)];
  if (answer.status !== 200 || !wanted.every((name) => held.includes(name))) return "no";
  return postLogoutRedirectUris.includes(`${consolesOf(settings).exits[0]}/sign-in`) ? "yes" : "at another port";
}

function signIn(base: string, clientId: string, secret: string): Promise<Response> {
  const authorization = `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`)}`;
  const body = new URLSearchParams({ grant_type: "client_credentials" });
  return fetch(`${base}/oauth2/v1/token`, { method: "POST", headers: { authorization }, body });
}
