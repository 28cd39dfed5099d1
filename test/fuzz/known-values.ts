import { VERIFIER } from "../oauth/support/code.ts";
import { REDIRECT, type Flow } from "../oauth/support/flow.ts";
import { type TestClient } from "../support/platform/clients.ts";
import { unique } from "../support/platform/unique.ts";
import type { TestApp } from "../support/sign-in.ts";
import type { TestUser } from "../support/users.ts";
import type { AdminPool } from "./admin-pool.ts";
import type { Belongings } from "./belongings.ts";
import type { Operation } from "./operations.ts";

export const HOOK = "https://hook.fuzz.test/events";
export const SUBSCRIPTION = "orders-to-erp";

/** What exists while the requests are made. */
export interface World {
  readonly pool: AdminPool;
  readonly own: Belongings;
  /** Another tenant's. */
  readonly foreign: Belongings;
  /** Whose files may all be deleted. */
  readonly scrap: TestClient;
  readonly flow: Flow;
  readonly app: TestApp;
  readonly user: TestUser;
  readonly tokens: Record<"operator" | "weak" | "user" | "scrap", string>;
  /** What the operation at hand needs, by the name of the parameter or field. */
  fresh: Record<string, string>;
  stylesheet: string;
  /** The id of an event that the subscription had. */
  delivered: string;
  /** The id of the subscription. */
  subscriber: string;
  erasure: string;
  /** The latest of each operation, and the latest `event`. */
  readonly cursors: Map<string, string>;
}

/** Values of a parameter or field of an operation, the one that it is about first. */
export function knownValues({ id, method, template }: Operation, name: string, world: World): readonly string[] {
  const [own, foreign] = [world.own, world.foreign];
  if (name === "cursor") return [world.cursors.get(id), ...world.cursors.values()].filter((one) => one !== undefined);
  if (/Operated(File|Bulk|Erasure|Variant|Metadata)|FileOwners|WaitingVariants/.test(id)) {
    const owner = id === "deleteOperatedFiles" ? world.scrap : own.client;
    if (name === "tenant") return [owner.tenant, foreign.client.tenant];
    if (name === "client") return [owner.clientId];
  } else if (template.startsWith("/admin/")) {
    const known = world.pool.values(template, name);
    if (known.length > 0) return known;
  }
  switch (name) {
    case "topicOwnerClient":
      return [own.topic.owner, foreign.topic.owner];
    case "eventType":
      if (template.endsWith("/topics")) return [unique("e"), own.topic.eventType];
      return method === "DELETE" && template.endsWith("{eventType}")
        ? [foreign.topic.eventType]
        : [own.topic.eventType, foreign.topic.eventType];
    case "to":
      return ["oldest", "newest"];
    case "name":
      return /createPush/i.test(id) ? [unique("push"), SUBSCRIPTION] : [SUBSCRIPTION];
    case "endpoint":
      return [HOOK, "https://127.0.0.1/", "https://nobody.fuzz.test/"];
    case "eventId":
      return [world.delivered, world.own.topic.eventType];
    case "subscriptionId":
    case "subscriberId":
      return [world.subscriber, "8f14e45fceea167a5a36dedd4bea2543"];
    case "erasureId":
      return [world.erasure, world.own.privateFile];
    case "after":
    case "commitThrough":
      return [world.cursors.get("event") ?? "0", `${world.cursors.get("event") ?? "0"}-0`];
    case "fileId": {
      const { privateFile, publicFile } = own;
      if (/^delete(Private|Public|Operated)File$/.test(id)) return [foreign.privateFile, foreign.publicFile];
      const two = id.includes("Public") ? [publicFile, privateFile] : [privateFile, publicFile];
      return [...two, foreign.privateFile, foreign.publicFile];
    }
    case "file":
      return [world.stylesheet];
    case "variant":
      return ["clip-4x4", "crop-1x1"];
    case "tenant":
      return /deletePrivateFiles|deletePublicFiles/.test(id)
        ? [world.scrap.tenant, foreign.client.tenant]
        : [own.client.tenant, foreign.client.tenant];
    case "client":
    case "clientId":
      return [world.flow.client.clientId, own.client.clientId, foreign.client.clientId];
    case "client_id":
      return /token|revoke|introspect|par$|device_/.test(template)
        ? [world.flow.client.clientId, world.app.clientId]
        : [world.app.clientId, world.flow.client.clientId];
    case "client_secret":
      return [world.flow.client.clientSecret!, world.app.clientSecret];
    case "redirect_uri":
      return template.includes("token") ? [REDIRECT, world.app.redirectUri] : [world.app.redirectUri, REDIRECT];
    case "post_logout_redirect_uri":
      return ["https://app.example/bye", REDIRECT];
    case "code_verifier":
      return [VERIFIER];
    case "username":
      if (template.includes("/subscriptions")) return ["fuzz"];
      return [world.user.email, world.flow.email];
    case "email":
      return [world.user.email, world.flow.email];
    case "password":
      return [world.user.password];
    case "scope":
      return [`plat.tenant=${world.user.tenant}`, "openid", "plat.media_view", `plat.tenant=${foreign.client.tenant}`];
    case "token":
    case "access_token":
    case "id_token_hint":
      return [world.fresh["token"] ?? "x", "a.b.c"];
    default:
      return [];
  }
}
