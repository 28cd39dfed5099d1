import type { ClientAccess, Principal } from "../http/auth.ts";
import type { Names } from "../platform/names.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { covers } from "../platform/scope-pattern.ts";
import type { Failure } from "./failure.ts";
import { nameExactly, namesFrom, type NameRange } from "./store/topic-store.ts";
import { nameOf, type TopicId } from "./topic.ts";

/**
 * Who may do what with a topic (contract 3.3, 8). Nothing here asks whether the topic exists, so nothing leaks it:
 * - its owner, by the client's own token: everything; creating, publishing and deleting need `pubsub_publish` besides,
 *   which the routes say;
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

  mayOwn(principal: Principal, topic: TopicId): Result<void, Failure> {
    return owns(principal, topic) ? ok(undefined) : err({ kind: "no_topic" });
  }

  /** Everything that a client may do with another one's topic. */
  async mayConsume(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    if (principal.clientId === "") return err({ kind: "no_client" });
    return isClientsOwn(principal) ? this.mayRead(principal, topic, nowMs) : err({ kind: "no_topic" });
  }

  /** What a person may do as well. */
  async mayRead(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    if (principal.clientId === "") return err({ kind: "no_client" });
    if (!isClientsOwn(principal) && !isPersons(principal)) return err({ kind: "no_topic" });
    if (owns(principal, topic) || this.#patterns(principal).some((pattern) => covers(pattern, nameOf(topic))))
      return ok(undefined);
    const scope = `${this.#prefix()}${nameOf(topic)}`;
    const registered = await this.#clients.listsScope(principal.clientId, scope, nowMs);
    return err(registered ? { kind: "scope_missing", scope } : { kind: "no_topic" });
  }

  /** The names of all topics that the caller owns or may read. */
  visible(principal: Principal): NameRange[] {
    const isOwn = isClientsOwn(principal);
    if (!isOwn && !isPersons(principal)) return [];
    const ranges = this.#patterns(principal).map((pattern) =>
      pattern.endsWith("*") ? namesFrom(pattern.slice(0, -1)) : nameExactly(pattern),
    );
    return isOwn ? [namesFrom(`${principal.clientName}.`), ...ranges] : ranges;
  }

  /** The topics that the token's scopes name: a name, or its beginning and `*`. */
  #patterns(principal: Principal): string[] {
    const prefix = this.#prefix();
    return principal.scopes.filter((scope) => scope.startsWith(prefix)).map((scope) => scope.slice(prefix.length));
  }

  #prefix(): string {
    return this.#names.scope("pubsub.topic=");
  }
}

/** Whether the token owns the topic: its client is the owner, and got the token for itself. */
export const owns = (principal: Principal, topic: TopicId): boolean =>
  isClientsOwn(principal) && principal.clientName === topic.owner;

/** A token that a client got for itself, having proved who it is: nothing else has a client's rights. */
export const isClientsOwn = ({ clientId, clientName, clientAuthenticated, user, tenant }: Principal): boolean =>
  clientId !== "" && clientName !== "" && clientAuthenticated && user === "" && tenant !== "";

/** A person's token, for a tenant in which the person's roles gave it its scopes. */
const isPersons = ({ user, tenant }: Principal): boolean => user !== "" && tenant !== "";
