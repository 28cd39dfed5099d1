import type { ClientAccess, Principal } from "../../http/callers/auth.ts";
import { kindOf } from "../../http/callers/token-kind.ts";
import type { Names } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { alignOwnerPattern, scopeMatches } from "../../platform/model/scope-pattern.ts";
import type { Failure } from "../model/failure.ts";
import { nameOf, type TopicId } from "../model/topic.ts";
import { nameExactly, namesFrom, type NameRange } from "./topic-store.ts";

/**
 * Access rules of topics. No rule depends on whether the topic exists, so responses do not reveal it.
 * - The owner, with the client's own token, may do everything. Creating, publishing and deleting also need the scope
 *   `pubsub_publish`, or a scope that names the topic in a tenant that may use the service with `pubsub_publish`.
 *   Listing subscribers needs no scope.
 * - Another client, with its own token and a scope that names the topic, may peek, read, commit, seek and subscribe.
 * - A person, with a token that any client got and a scope that names the topic, may only peek, read and commit.
 * - A client or person with a scope for the token's own tenant may peek, read and commit and sees only its events.
 * - A client whose registration lists such a scope gets 403 if the token lacks it, so that it can ask for the scope.
 * - Everybody else gets 404.
 */
export class TopicAccess {
  readonly #clients: ClientAccess;
  readonly #names: Names;

  constructor(clients: ClientAccess, names: Names) {
    this.#clients = clients;
    this.#names = names;
  }

  /** Checks that the caller may create a topic of this event type, which it then owns. */
  mayCreate(principal: Principal, eventType: string, nowMs: number): Promise<Result<void, Failure>> {
    return this.mayOwn(principal, { owner: principal.clientName, eventType }, nowMs);
  }

  /** Checks that the caller may list and end other clients' subscriptions on the topic. The owner needs no scope. */
  mayOversee(principal: Principal, topic: TopicId): Result<void, Failure> {
    return owns(principal, topic) ? ok(undefined) : err({ kind: "no_topic" });
  }

  /** Checks that the caller owns the topic and may create it, publish to it and delete it. */
  async mayOwn(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    const isOwners = owns(principal, topic);
    const scope = this.#names.scope("pubsub_publish");
    if (principal.scopes.includes(scope)) return isOwners ? ok(undefined) : err({ kind: "no_topic" });
    const isNamed = isOwners && this.#isNamed(ALL, principal, topic);
    const publishes = isNamed && (await this.#clients.tenantUses(principal, PUBLISHING, nowMs));
    return publishes ? ok(undefined) : err({ kind: "scope_missing", scope });
  }

  /** Checks that the caller may consume the topic as a client. */
  async mayConsume(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    if (!isClientsOwn(principal)) return err({ kind: "no_topic" });
    const reach = await this.mayRead(principal, topic, nowMs);
    if (!reach.ok) return reach;
    return reach.value === "all" ? ok(undefined) : err({ kind: "scope_missing", scope: this.#scopeOf(ALL, topic) });
  }

  /** Checks that the caller may read the topic, and returns which events it is shown. */
  async mayRead(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<Reach, Failure>> {
    if (!isClientsOwn(principal) && !isPersons(principal)) return err({ kind: "no_topic" });
    if (owns(principal, topic) || this.#isNamed(ALL, principal, topic)) return ok("all");
    if (this.#isNamed(OWN_TENANT, principal, topic)) return ok("own_tenant");
    for (const form of FORMS) {
      const scope = this.#scopeOf(form, topic);
      if (await this.#clients.listsScope(principal.clientId, scope, nowMs))
        return err({ kind: "scope_missing", scope });
    }
    return err({ kind: "no_topic" });
  }

  /** The names of all topics that the caller owns or may read. */
  visible(principal: Principal): NameRange[] {
    const isOwn = isClientsOwn(principal);
    if (!isOwn && !isPersons(principal)) return [];
    const ranges = FORMS.map((form) => this.#names.scope(form))
      .flatMap((prefix) =>
        principal.scopes
          .filter((scope) => scope.startsWith(prefix))
          .map((scope) => alignOwnerPattern(scope).slice(prefix.length)),
      )
      .map((pattern) => (pattern.endsWith("*") ? namesFrom(pattern.slice(0, -1)) : nameExactly(pattern)));
    return isOwn ? [namesFrom(`${principal.clientName}.`), ...ranges] : ranges;
  }

  /** True if a scope of the token names the topic, by name or by a prefix and `*`. */
  #isNamed(form: Form, principal: Principal, topic: TopicId): boolean {
    const prefix = this.#names.scope(form);
    return principal.scopes.some((held) => held.startsWith(prefix) && scopeMatches(held, this.#scopeOf(form, topic)));
  }

  #scopeOf(form: Form, topic: TopicId): string {
    return `${this.#names.scope(form)}${nameOf(topic)}`;
  }
}

/** The events a caller is shown: all, or those of the token's own tenant. */
export type Reach = "all" | "own_tenant";

/** The scopes that name topics. A token with both is shown all events. */
const ALL = "pubsub.topic=";
const OWN_TENANT = "pubsub.own_tenant_topic=";
const FORMS = [ALL, OWN_TENANT] as const;
type Form = (typeof FORMS)[number];

/** The service that the scope `pubsub_publish` belongs to. */
const PUBLISHING = "pubsub";

/** True if the token is the owning client's own. */
export const owns = (principal: Principal, topic: TopicId): boolean =>
  isClientsOwn(principal) && principal.clientName === topic.owner;

/** True for a token that an authenticated client got for itself. Only these have the client's rights. */
const isClientsOwn = (principal: Principal): boolean => kindOf(principal) === "client";

/** True for a person's token. */
const isPersons = (principal: Principal): boolean => ["person", "personUnproven"].includes(kindOf(principal));
