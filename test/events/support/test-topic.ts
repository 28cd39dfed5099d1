import type { Principal } from "../../../src/http/callers/auth.ts";
import { unique } from "../../support/platform/unique.ts";
import type { EventsApp, EventsCall } from "./events-app.ts";
import { someClient } from "./some-client.ts";

export interface WireEvent {
  readonly id: string;
  readonly createdAt: number;
  readonly tenant: string;
  readonly sourceClient: string;
  readonly eventType: string;
  readonly payload: string;
  readonly metadata?: Record<string, string>;
}

export interface ReadAnswer {
  readonly status: number;
  readonly events: readonly WireEvent[];
  readonly token: string | undefined;
  readonly response: Response;
}

/** A topic and its operations, as its owner unless `init` says otherwise. */
export interface TestTopic {
  readonly owner: Principal;
  readonly path: string;
  publish(events: unknown, init?: EventsCall): Promise<Response>;
  /** Publishes, and returns the ids. */
  put(events: unknown, init?: EventsCall): Promise<string[]>;
  read(body?: unknown, init?: EventsCall): Promise<ReadAnswer>;
  commit(token: string | undefined, init?: EventsCall): Promise<Response>;
  /** `extend`, `release`, `seek`. */
  post(operation: string, body: unknown, init?: EventsCall): Promise<Response>;
}

export async function makeTopic(
  app: EventsApp,
  options: { shards?: number; owner?: Principal } = {},
): Promise<TestTopic> {
  const owner = options.owner ?? someClient();
  const eventType = unique("order");
  const created = await app.call("/pubsub/v1/topics", { as: owner, json: { eventType, shards: options.shards ?? 1 } });
  if (created.status !== 201) throw new Error(`no topic: ${created.status} ${await created.text()}`);
  return topicAt(app, owner, `/pubsub/v1/topics/${owner.clientName}/${eventType}`);
}

export function topicAt(app: EventsApp, owner: Principal, path: string): TestTopic {
  const publish = (events: unknown, init: EventsCall = {}) =>
    app.call(`${path}/publish`, { as: owner, json: events, ...init });
  return {
    owner,
    path,
    publish,
    async put(events, init) {
      const response = await publish(events, init);
      const text = await response.text();
      if (response.status !== 201) throw new Error(`not published: ${response.status} ${text}`);
      return (JSON.parse(text) as { ids: string[] }).ids;
    },
    async read(body, init = {}) {
      const response = await app.call(`${path}/read`, { as: owner, method: "POST", json: body, ...init });
      const text = await response.clone().text();
      const answer = response.status === 200 ? JSON.parse(text) : { events: [] };
      return { status: response.status, events: answer.events, token: answer.token, response };
    },
    commit: (token, init = {}) => app.call(`${path}/commit`, { as: owner, json: { token }, ...init }),
    post: (operation, body, init = {}) => app.call(`${path}/${operation}`, { as: owner, json: body, ...init }),
  };
}

export const payloads = (answer: ReadAnswer): string[] => answer.events.map((event) => event.payload);

/** Events `p1`, `p2` and so on. */
export const texts = (count: number, from = 1) =>
  Array.from({ length: count }, (_, at) => ({ payload: `p${from + at}` }));
/** The payloads of `texts`. */
export const names = (count: number, from = 1) => texts(count, from).map((event) => event.payload);
/** A request with this idempotency key. */
export const once = (key: string) => ({ headers: { "idempotency-key": key, "content-type": "application/json" } });
