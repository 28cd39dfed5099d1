import { createHash, randomBytes } from "node:crypto";
import { basic } from "../../../examples/tour/people.ts";
import { cookiesOf, formOf } from "../../../examples/tour/sign-in.ts";

/** The run's own records on the platform, with names that meet nothing else. */
export interface World {
  readonly base: string;
  readonly platform: string;
  /** Prefix of all names of the run. */
  readonly run: string;
  /** The tenants; the clients belong to the first. */
  readonly tenants: readonly string[];
  /** The path of the topic, from `/pubsub` on. */
  readonly topic: string;
  /** The public path of the service behind the gateway. */
  readonly proxyPath: string;
  readonly sourceUrl: string;
  /** Basic credentials of a client. */
  readonly credentials: Readonly<Record<"shop" | "app", string>>;
  readonly user: { readonly email: string; readonly password: string };
  readonly refreshToken: string;
  /** The header of a token that the run does not revoke; renewed after some time. */
  authorization(who: Who): Promise<string>;
}

export type Who = "shop" | "billing" | "operator";

const RENEW_MS = 20 * 60_000;
const REDIRECT_URI = "http://127.0.0.1/callback";

interface Place {
  readonly base: string;
  readonly platform: string;
  readonly operatorSecret: string;
  readonly sourceUrl: string;
  readonly receiverOrigin: string;
}

export async function makeWorld({ base, platform, operatorSecret, sourceUrl, receiverOrigin }: Place): Promise<World> {
  const run = `soak${Date.now().toString(36)}`;
  const secrets: Partial<Record<Who | "app", string>> = {
    operator: basic({ id: `${platform}.operator`, secret: operatorSecret }),
  };
  const authorization = authorizer(base, secrets);
  const ask = async (method: string, path: string, who: Who, json: unknown): Promise<any> => {
    const headers = { authorization: await authorization(who), "content-type": "application/json" };
    return answered(
      `${method} ${path}`,
      await fetch(`${base}${path}`, { method, headers, body: JSON.stringify(json) }),
    );
  };
  const put = (path: string, json: unknown): Promise<any> => ask("PUT", `/admin/v1/${path}`, "operator", json);

  const tenants = ["a", "b", "c"].map((letter) => `${run}${letter}`);
  const [home = ""] = tenants;
  const scope = (name: string): string => `${platform}.${name}`;
  await put(`organizations/${run}`, { name: "Soak" });
  for (const tenant of tenants) {
    await put(`tenants/${tenant}`, { organization: run, name: tenant });
    await put(`tenants/${tenant}/subscriptions/platform`, {});
  }
  const proxyPath = `/${run}/v1`;
  await put(`services/${run}`, { sourceUrl, proxyPath, scopes: [`${run}.read`], tenant: home, access: "token" });
  await put(`packages/${run}`, { version: "1", organization: run, services: [run] });
  for (const tenant of tenants) await put(`tenants/${tenant}/subscriptions/${run}`, {});

  const client = async (name: string, fields: object): Promise<string> => {
    const id = `${run}.${name}`;
    const shared = { tenant: home, confidential: true, grantTypes: ["client_credentials"] };
    const { clientSecret } = await put(`clients/${id}`, { ...shared, ...fields });
    return basic({ id, secret: clientSecret });
  };
  const media = [scope("media_view"), scope("media_manage")];
  const shop = await client("shop", { service: run, scopes: [scope("pubsub_publish"), ...media] });
  secrets.shop = shop;
  secrets.billing = await client("billing", { scopes: [scope(`pubsub.topic=${run}.shop.*`)] });
  const app = await client("app", {
    scopes: media,
    grantTypes: ["authorization_code", "refresh_token", "password", "client_credentials"],
    redirectUris: [REDIRECT_URI],
  });
  const user = { email: `${run}@soak.example`, password: randomBytes(12).toString("base64url") };
  await put(`roles/${run}`, { scopes: media });
  await put(`users/${user.email}`, { password: user.password });
  await put(`tenants/${home}/members/${user.email}`, { roles: [run] });

  await ask("POST", "/pubsub/v1/topics", "shop", { eventType: "order", shards: 2 });
  const topic = `/pubsub/v1/topics/${run}.shop/order`;
  const pushConfig = { endpoint: `${receiverOrigin}/`, basicAuth: { username: "soak", password: "soak" } };
  await ask("POST", `${topic}/subscriptions`, "shop", { name: "push", pushConfig });
  const refreshToken = await signIn(base, app, `${run}.app`, user);
  // From now on the platform may be killed in the middle of an answer.
  await authorization("billing");
  const credentials = { shop, app };
  return { base, platform, run, tenants, topic, proxyPath, sourceUrl, credentials, user, refreshToken, authorization };
}

function authorizer(base: string, secrets: Partial<Record<Who | "app", string>>): World["authorization"] {
  const known = new Map<Who, { readonly header: Promise<string>; readonly atMs: number }>();
  const get = async (who: Who): Promise<string> => {
    const headers = { authorization: secrets[who] ?? "" };
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const answer = await fetch(`${base}/oauth2/v1/token`, { method: "POST", headers, body });
    return `Bearer ${(await answered(`a token for ${who}`, answer)).access_token}`;
  };
  return async (who) => {
    const last = known.get(who);
    if (last !== undefined && performance.now() - last.atMs < RENEW_MS) return last.header;
    const next = { header: get(who), atMs: performance.now() };
    known.set(who, next);
    // If the platform is down, the old token stays valid for some time.
    next.header.catch(() => (last === undefined ? known.delete(who) : known.set(who, last)));
    return last === undefined ? next.header : next.header.catch(() => last.header);
  };
}

/** Signs in as a browser: the page, its form, the code, and the refresh token. */
async function signIn(base: string, credentials: string, clientId: string, user: World["user"]): Promise<string> {
  const verifier = randomBytes(32).toString("base64url");
  const parameters = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const page = await fetch(`${base}/oauth2/v1/authorize?${parameters.toString()}`);
  const { action, fields } = formOf(await page.text());
  const signedIn = await fetch(new URL(action, `${base}/`), {
    method: "POST",
    redirect: "manual",
    headers: { cookie: cookiesOf(page) },
    body: new URLSearchParams({ ...fields, ...user }),
  });
  const code = new URL(signedIn.headers.get("location") ?? "").searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", redirect_uri: REDIRECT_URI, code, code_verifier: verifier };
  const headers = { authorization: credentials };
  const answer = await fetch(`${base}/oauth2/v1/token`, { method: "POST", headers, body: new URLSearchParams(form) });
  return (await answered("a code for a refresh token", answer)).refresh_token;
}

async function answered(what: string, response: Response): Promise<any> {
  const text = await response.text();
  if (!response.ok) throw new Error(`Setting up, ${what} answered ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
