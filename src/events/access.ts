import type { ClientAccess, Principal } from "../http/auth.ts";
import type { Names } from "../platform/names.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { covers } from "../platform/scope-pattern.ts";
import type { Failure } from "./failure.ts";
import { nameExactly, namesFrom, type NameRange } from "./store/topic-store.ts";
import { nameOf, type TopicId } from "./topic.ts";

/**
 * Who may do what with a topic (contract 3.3). Nothing here asks whether the topic exists, so nothing leaks it:
 * - its owner: everything; creating, publishing and deleting need `pubsub_publish` besides, which the routes say;
 * - a client whose token carries a scope that matches the topic: read, commit, look;
 * - a client that is registered for such a scope, without it in its token: 403, so that it can ask for the scope;
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

  async mayConsume(principal: Principal, topic: TopicId, nowMs: number): Promise<Result<void, Failure>> {
    if (principal.clientId === "") return err({ kind: "no_client" });
    if (owns(principal, topic) || this.#patterns(principal).some((pattern) => covers(pattern, nameOf(topic))))
      return ok(undefined);
    const scope = `${this.#prefix()}${nameOf(topic)}`;
    const registered = await this.#clients.listsScope(principal.clientId, scope, nowMs);
    return err(registered ? { kind: "scope_missing", scope } : { kind: "no_topic" });
  }

  /** The names of all topics that the caller owns or may consume. */
  visible(principal: Principal): NameRange[] {
    const ranges = this.#patterns(principal).map((pattern) =>
      pattern.endsWith("*") ? namesFrom(pattern.slice(0, -1)) : nameExactly(pattern),
    );
    return principal.clientName === "" ? ranges : [namesFrom(`${principal.clientName}.`), ...ranges];
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

export const owns = (principal: Principal, topic: TopicId): boolean =>
  principal.clientName !== "" && principal.clientName === topic.owner;
