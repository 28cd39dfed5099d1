import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll } from "vitest";
import { useWorld } from "../support/use-world.ts";
import {
  ADA,
  BOB,
  AWKWARD_SECRET,
  makeClient,
  OTHER_TENANT,
  SERVICE,
  type Client,
  type User,
  type World,
} from "../support/world.ts";
import { fieldsOf, header, landing, type Answer } from "./answer.ts";
import { send, type Ask } from "./wire.ts";

/** As deployed: whatever host a request names, the platform is known by this one alone. */
export const PUBLIC_URL = "https://platform.example";
export const ISSUER = `${PUBLIC_URL}/oauth2/v1`;
export const REDIRECT = "https://app.example/callback";
const VERIFIER = "a-verifier-of-at-least-forty-three-characters";
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

/** Clients by what they are for. Those that are not said to be something else are confidential and of one tenant. */
interface Clients {
  readonly web: Client;
  /** Without a secret. */
  readonly spa: Client;
  /** Like `web`. */
  readonly other: Client;
  /** Without a secret; tokens by the browser alone. */
  readonly implicit: Client;
  /** Acts for itself alone. */
  readonly service: Client;
  /** Sends passwords. */
  readonly legacy: Client;
  /** Of a service that both tenants have; tokens by the browser too. */
  readonly hosted: Client;
  readonly disabled: Client;
  /** Of another tenant. */
  readonly foreign: Client;
}

export interface Stage extends Clients {
  readonly world: World;
  /** Below the issuer. */
  ask(path: string, ask?: Ask): Promise<Answer>;
  /** Browsers in which they are signed in. Ada is in one tenant, Bob in two. */
  readonly ada: Visitor;
  readonly bob: Visitor;
}

/** Users whose sign-in never succeeds, with a password or without. */
export const DISABLED: User = { email: "off@acme.example", password: "a password of nobody" };
export const WITHOUT_PASSWORD = "mum@acme.example";

/** For one test file. */
export function useStage(): () => Stage {
  const world = useWorld({ PUBLIC_URL, LOG_LEVEL: "debug" });
  let stage: Stage | undefined;
  beforeAll(async () => {
    const made = world();
    const clients = await makeClients(made);
    await made.put(`users/${DISABLED.email}`, { password: DISABLED.password, disabled: true });
    await made.put(`users/${WITHOUT_PASSWORD}`, {});
    const ask = (path: string, more: Ask = {}) => send(made.url, `/oauth2/v1${path}`, more);
    stage = { world: made, ask, ada: new Visitor(ask), bob: new Visitor(ask), ...clients };
    await signIn(stage, stage.ada, ADA);
    await signIn(stage, stage.bob, BOB);
  });
  return () => {
    if (stage === undefined) throw new Error("nothing was started");
    return stage;
  };
}

async function makeClients(world: World): Promise<Clients> {
  const code = ["authorization_code", "refresh_token"];
  const make = (id: string, fields: Record<string, unknown>) =>
    makeClient(world, id, { redirectUris: [REDIRECT], grantTypes: code, ...fields });
  return {
    web: await make("web", { clientSecret: AWKWARD_SECRET }),
    spa: await make("spa", { confidential: false }),
    other: await make("other", {}),
    implicit: await make("implicit", { confidential: false, grantTypes: ["implicit"] }),
    service: await make("service", { redirectUris: [], grantTypes: ["client_credentials"] }),
    legacy: await make("legacy", { redirectUris: [], grantTypes: ["password", "refresh_token"] }),
    hosted: await make("hosted", { grantTypes: [...code, "implicit"], service: SERVICE }),
    disabled: await make("disabled", { grantTypes: [...code, "client_credentials"], disabled: true }),
    foreign: await make("foreign", { tenant: OTHER_TENANT, grantTypes: [...code, "client_credentials"] }),
  };
}

/** A browser as far as cookies go; it follows nothing, so that every answer can be looked at. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #ask: Stage["ask"];

  constructor(ask: Stage["ask"]) {
    this.#ask = ask;
  }

  async go(path: string, ask: Ask = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await this.#ask(path, { cookie, ...ask });
    for (const line of header(answer, "set-cookie").split("\n")) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name === undefined || value === undefined) continue;
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  authorize(parameters: Record<string, string>): Promise<Answer> {
    return this.go(`/authorize?${new URLSearchParams(parameters).toString()}`);
  }
}

/** What `client` sends to start a sign-in: code flow with PKCE, or what the changes say. */
export const requestOf = (client: Client, changes: Record<string, string> = {}): Record<string, string> => ({
  response_type: "code",
  client_id: client.id,
  redirect_uri: REDIRECT,
  state: "a state",
  code_challenge: CHALLENGE,
  code_challenge_method: "S256",
  ...changes,
});

/** Signs in at the page that the request leads to; the answer to the form. */
async function signIn({ web }: Pick<Stage, "web">, visitor: Visitor, { email, password }: User): Promise<Answer> {
  const page = await visitor.authorize(requestOf(web));
  return visitor.go("/sign-in", { form: { ...fieldsOf(page), email, password } });
}

/** A code for a client of Ada's, who is signed in. */
export async function codeFor({ ada }: Stage, client: Client, changes: Record<string, string> = {}): Promise<string> {
  const answer = await ada.authorize(requestOf(client, changes));
  const code = landing(answer).query.get("code");
  if (code === null) throw new Error(`no code: ${answer.status} ${header(answer, "location")} ${answer.text}`);
  return code;
}

export const tokenForm = (code: string): Record<string, string> => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: REDIRECT,
  code_verifier: VERIFIER,
});

/** How a client names itself: by its secret in the header, or by its name in the form. */
export const asClient = (client: Client, form: Record<string, string>): Ask =>
  client.secret === "" ? { form: { client_id: client.id, ...form } } : { basic: client, form };

export async function tokensFor(stage: Stage, client: Client, changes: Record<string, string> = {}): Promise<any> {
  const answer = await stage.ask("/token", asClient(client, tokenForm(await codeFor(stage, client, changes))));
  if (answer.status !== 200) throw new Error(`no token: ${answer.text}`);
  return answer.json;
}

/** What was printed, once nothing more comes: lines come through pipes, and some after the answer. */
export async function settled(read: () => string): Promise<string> {
  for (let before = ""; before !== read(); await sleep(150)) before = read();
  return read();
}
