import type { ClientAccess, Principal } from "../../http/auth.ts";
import { kindOf } from "../../http/token-kind.ts";
import type { Names } from "../../platform/names.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { alignOwnerPattern, scopeMatches } from "../../platform/scope-pattern.ts";
import type { Failure } from "../model/failure.ts";
import { nameOf, type TopicId } from "../model/topic.ts";
import { nameExactly, namesFrom, type NameRange } from "./topic-store.ts";

/**
 * Who may do what with a topic (contract 3.3, 8). Nothing here asks whether the topic exists, so nothing leaks it:
 * - its owner, by the client's own token: everything; creating, publishing and deleting need `pubsub_publish` besides, or
 *   a scope that names the topic, in a tenant that may use the service which has `pubsub_publish`; who subscribed to it is
 *   shown without a scope;
 * - another client, by a token of its own with a scope that names the topic: look, read, commit, seek, subscribe;
 * - a person, by a token of a tenant with such a scope, whatever the client: look, read and commit, nothing else;
 * - either of them, by a scope for the token's own tenant: look, read and commit, and only this tenant's events are shown;
 * - who is registered for such a scope, without it in the token: 403, so that it can ask for the scope;
 * - everybody else: 404.
 */
export class TopicAccess {
  readonly #clients: ClientAccess;
  readonly #names: Names;

  constructor(clients: ClientAccess, names: Names) {
    this.#clients = clients;
    this.#names = names;
  }

  /** Whether the caller may create a topic of this event type, which it then owns. */
  mayCreate(principal: Principal, eventType: string, nowMs: number): Promise<Result<void, Failure>> {
    return this.mayOwn(principal, { owner: principal.clientName, eventType }, nowMs);
  }

  /** Whether the caller may see and end what others have on the topic: its owner, by no scope. */
  mayOversee(principal: Principal, topic: TopicId): Result<void, Failure> {
    return owns(principal, topic) ? ok(undefined) : err({ kind: "no_topic" });
  }

  /** Whether the caller creates, publishes to and deletes the topic: what its owner alone does. */
  async mayOwn(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    const isOwners = owns(principal, topic);
    const scope = this.#names.scope("pubsub_publish");
    if (principal.scopes.includes(scope)) return isOwners ? ok(undefined) : err({ kind: "no_topic" });
    const isNamed = isOwners && this.#isNamed(ALL, principal, topic);
    const publishes = isNamed && (await this.#clients.tenantUses(principal, PUBLISHING, nowMs));
    return publishes ? ok(undefined) : err({ kind: "scope_missing", scope });
  }

  /** Whether the caller may do what a client may with another one's topic. */
  async mayConsume(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    if (!isClientsOwn(principal)) return err({ kind: "no_topic" });
    const reach = await this.mayRead(principal, topic, nowMs);
    if (!reach.ok) return reach;
    return reach.value === "all" ? ok(undefined) : err({ kind: "scope_missing", scope: this.#scopeOf(ALL, topic) });
  }

  /** Whether the caller may do what a person may as well, and which events it is shown. */
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

  /** Whether a scope of the token names the topic, by its name or by the beginning of it and `*`. */
  #isNamed(form: Form, principal: Principal, topic: TopicId): boolean {
    const prefix = this.#names.scope(form);
    return principal.scopes.some((held) => held.startsWith(prefix) && scopeMatches(held, this.#scopeOf(form, topic)));
  }

  #scopeOf(form: Form, topic: TopicId): string {
    return `${this.#names.scope(form)}${nameOf(topic)}`;
  }
}

/** Which events of a topic somebody is shown: all of them, or those of the token's own tenant. */
export type Reach = "all" | "own_tenant";

/** The scopes that name topics. Who has both is shown all events. */
const ALL = "pubsub.topic=";
const OWN_TENANT = "pubsub.own_tenant_topic=";
const FORMS = [ALL, OWN_TENANT] as const;
type Form = (typeof FORMS)[number];

/** The service that has the scope `pubsub_publish`. */
const PUBLISHING = "pubsub";

/** Whether the token owns the topic: its client is the owner, and got the token for itself. */
export const owns = (principal: Principal, topic: TopicId): boolean =>
  isClientsOwn(principal) && principal.clientName === topic.owner;

/** A token that a client got for itself, having proved who it is: nothing else has a client's rights. */
const isClientsOwn = (principal: Principal): boolean => kindOf(principal) === "client";

/** A person's token, for a tenant in which the person's roles gave it its scopes. */
const isPersons = (principal: Principal): boolean => ["person", "personUnproven"].includes(kindOf(principal));
