import type { ClientAccess, Principal } from "../http/auth.ts";
import type { Names } from "../platform/names.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { aligned, covers } from "../platform/scope-pattern.ts";
import type { Failure } from "./failure.ts";
import { nameExactly, namesFrom, type NameRange } from "./store/topic-store.ts";
import { nameOf, type TopicId } from "./topic.ts";

/**
 * Who may do what with a topic (contract 3.3, 8). Nothing here asks whether the topic exists, so nothing leaks it:
 * - its owner, by the client's own token: everything; creating, publishing and deleting need `pubsub_publish` besides, or
 *   a scope that names the topic, in a tenant that may use the service which has `pubsub_publish`;
 * - another client, by a token of its own with a scope that names the topic: look, read, commit, seek, subscribe;
 * - a person, by a token of a tenant with such a scope, whatever the client: look, read and commit, nothing else;
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

  async mayCreate(principal: Principal, eventType: string, nowMs: number): Promise<Result<void, Failure>> {
    if (principal.clientId === "") return err({ kind: "no_client" });
    if (!isClientsOwn(principal)) return err({ kind: "not_the_clients" });
    return this.mayOwn(principal, { owner: principal.clientName, eventType }, nowMs);
  }

  /** Whether the caller creates, publishes to and deletes the topic: what its owner alone does. */
  async mayOwn(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    const isOwners = owns(principal, topic);
    const scope = this.#names.scope("pubsub_publish");
    if (principal.scopes.includes(scope)) return isOwners ? ok(undefined) : err({ kind: "no_topic" });
    const isNamed = isOwners && this.#isNamed(principal, topic);
    const publishes = isNamed && (await this.#clients.tenantUses(principal, PUBLISHING, nowMs));
    return publishes ? ok(undefined) : err({ kind: "scope_missing", scope });
  }

  /** Whether the caller may do what a client may with another one's topic. */
  async mayConsume(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    if (principal.clientId === "") return err({ kind: "no_client" });
    return isClientsOwn(principal) ? this.mayRead(principal, topic, nowMs) : err({ kind: "no_topic" });
  }

  /** Whether the caller may do what a person may as well. */
  async mayRead(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    if (principal.clientId === "") return err({ kind: "no_client" });
    if (!isClientsOwn(principal) && !isPersons(principal)) return err({ kind: "no_topic" });
    if (owns(principal, topic) || this.#isNamed(principal, topic)) return ok(undefined);
    const scope = this.#scopeOf(topic);
    const registered = await this.#clients.listsScope(principal.clientId, scope, nowMs);
    return err(registered ? { kind: "scope_missing", scope } : { kind: "no_topic" });
  }

  /** The names of all topics that the caller owns or may read. */
  visible(principal: Principal): NameRange[] {
    const isOwn = isClientsOwn(principal);
    if (!isOwn && !isPersons(principal)) return [];
    const prefix = this.#prefix();
    const ranges = principal.scopes
      .filter((scope) => scope.startsWith(prefix))
      .map((scope) => aligned(scope).slice(prefix.length))
      .map((pattern) => (pattern.endsWith("*") ? namesFrom(pattern.slice(0, -1)) : nameExactly(pattern)));
    return isOwn ? [namesFrom(`${principal.clientName}.`), ...ranges] : ranges;
  }

  /** Whether a scope of the token names the topic, by its name or by the beginning of it and `*`. */
  #isNamed(principal: Principal, topic: TopicId): boolean {
    const prefix = this.#prefix();
    return principal.scopes.some((held) => held.startsWith(prefix) && covers(held, this.#scopeOf(topic)));
  }

  #scopeOf(topic: TopicId): string {
    return `${this.#prefix()}${nameOf(topic)}`;
  }

  #prefix(): string {
    return this.#names.scope("pubsub.topic=");
  }
}

/** The service that has the scope `pubsub_publish`. */
const PUBLISHING = "pubsub";

/** Whether the token owns the topic: its client is the owner, and got the token for itself. */
export const owns = (principal: Principal, topic: TopicId): boolean =>
  isClientsOwn(principal) && principal.clientName === topic.owner;

/** A token that a client got for itself, having proved who it is: nothing else has a client's rights. */
export const isClientsOwn = ({ clientId, clientName, clientAuthenticated, user, tenant }: Principal): boolean =>
  clientId !== "" && clientName !== "" && clientAuthenticated && user === "" && tenant !== "";

/** A person's token, for a tenant in which the person's roles gave it its scopes. */
const isPersons = ({ user, tenant }: Principal): boolean => user !== "" && tenant !== "";
