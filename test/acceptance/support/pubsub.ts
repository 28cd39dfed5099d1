import { makeClient, OTHER_TENANT, SERVICE, TENANT, type World } from "./world.ts";

/** Tenants that the client below may publish for. Of a topic with four shards each falls on one of its own. */
export const TENANTS = [TENANT, OTHER_TENANT, "hooli", "lemon"];

export interface WireEvent {
  readonly id: string;
  readonly tenant: string;
  readonly payload: string;
  readonly metadata?: Record<string, string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where there is none. */
  readonly body: any;
}

/** A client that owns topics, consumes them, and may publish for all of `TENANTS`. */
export interface Shop {
  readonly id: string;
  /** The header of its token. */
  readonly authorization: string;
  /** One call of the publish/subscribe service; `path` from `/topics` on. A broken connection throws. */
  call(method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Makes a topic and gives its path. */
  topic(eventType: string, shards?: number): Promise<string>;
}

export async function openShop(world: World, id: string): Promise<Shop> {
  for (const tenant of TENANTS.slice(2)) {
    await world.put(`tenants/${tenant}`, { organization: "group", name: tenant });
    await world.put(`tenants/${tenant}/subscriptions/platform`, {});
    await world.put(`tenants/${tenant}/subscriptions/crm`, {});
  }
  const client = await makeClient(world, id, {
    service: SERVICE,
    grantTypes: ["client_credentials"],
    scopes: ["plat.pubsub_publish", "plat.pubsub.topic=*"],
  });
  const answer = await fetch(`${world.issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const authorization = `Bearer ${token}`;
  const call: Shop["call"] = async (method, path, json, headers = {}) => {
    const response = await fetch(`${world.base}/pubsub/v1${path}`, {
      method,
      headers: { authorization, "content-type": "application/json", ...headers },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  };
  return {
    id: client.id,
    authorization,
    call,
    async topic(eventType, shards = 1) {
      must(await call("POST", "/topics", { eventType, shards }), 201);
      return `/topics/${client.id}/${eventType}`;
    },
  };
}

/** The body of an answer that must have this status. */
export function must(answer: Answer, status: number): any {
  if (answer.status === status) return answer.body;
  throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
}
