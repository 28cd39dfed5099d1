import type { AuditRecord } from "../platform/audit.ts";
import type { BuiltIn } from "../platform/built-in.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { ResourceDeps } from "./resource.ts";
import type { Explain } from "./resources/explain.ts";
import type { MediaConsistency } from "./resources/media-consistency.ts";
import type { PushSubscriptions } from "./resources/push-subscriptions.ts";
import type { SealKeys } from "./resources/seal-keys.ts";
import type { SigningKeys } from "./resources/signing-keys.ts";
import type { AuditCopies } from "./store/audit-copies.ts";

/** What the operator service works with: its own database and ports to the other services. */
export interface AdminDeps extends ResourceDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly random: Random;
  /** Whether plain http and loopback addresses may be registered. */
  readonly allowLoopback: boolean;
  /** Port to the OAuth room: voids what the client, tenant, user or session got until now, as a part of the same transaction. */
  voidStatement(
    kind: "client" | "tenant" | "user" | "session",
    key: string,
    nowMs: number,
    when: "always" | "if changed",
  ): D1PreparedStatement;
  /** Port to the OAuth room: voids what members of an organization got until now, as a part of the same transaction. */
  voidMembersStatement(organization: string, nowMs: number): D1PreparedStatement;
  /** Port to the OAuth room: the same for all who have a role, if the statement before it changed a row. */
  voidHoldersStatement(role: string, nowMs: number): D1PreparedStatement;
  /** Port to the OAuth room: the client secret of an identity provider, as its row holds it and as it is. */
  readonly providerSecrets: {
    seal(providerId: string, secret: string): Promise<string>;
    open(providerId: string, sealed: string): Promise<string | undefined>;
  };
  /**
   * Port to the OAuth room: removes grants, codes and browsers' sessions, as a part of the same transaction. Where a
   * statement changed `mostRows`, there may be more; `exceeds` finds a row where there are more grants than that.
   */
  forget(
    kind: "client" | "tenant" | "user" | "session",
    key: string,
    nowMs: number,
  ): {
    readonly statements: readonly D1PreparedStatement[];
    readonly mostRows: number;
    readonly exceeds: D1PreparedStatement;
  };
  /**
   * Port to the OAuth room: ends all that it got until now, with a row of the audit log if given. `more`: all of it is void,
   * and there are more grants than one request removes.
   */
  endAll(
    kind: "client" | "tenant" | "user" | "session",
    id: string,
    nowMs: number,
    record: AuditRecord | undefined,
  ): Promise<"ended" | "more">;
  /** Port to the OAuth room: ends every sign-in of a user until now, as a part of the same transaction. */
  signOutStatement(email: string, nowMs: number): D1PreparedStatement;
  /** Port to the OAuth room: forgets the failed sign-ins of an account and ends its block. */
  unlock(email: string): Promise<void>;
  readonly explain: Explain;
  readonly signingKeys: SigningKeys;
  /** Port to the OAuth room: tells of subscriptions by rows in the same transaction; `drain` publishes what they say. */
  readonly outbox: {
    /** Behind the insertion; writes nothing unless that put this id there. */
    created(subscriptionId: string, nowMs: number): D1PreparedStatement;
    /** In front of the removal; writes nothing where there is none. */
    cancelled(tenant: string, packageId: string, nowMs: number): D1PreparedStatement;
    drain(): Promise<void>;
  };
  /** Port to the events room: some topics of an owner, a client's name, as rows `{kind, id}`. */
  topicsOf(owner: string, limit: number): D1PreparedStatement;
  /** Port to the media room: what a client, by its name, has files of (of one tenant, if given), as rows `{kind, id}`. */
  filesOfClient(client: string, limit: number, tenant?: string): D1PreparedStatement;
  /** The same for all clients that have files of a tenant. */
  filesOfTenant(tenant: string, limit: number): D1PreparedStatement;
  /** Port to the events room: removes the push subscriptions of a client that is removed, as a part of the same transaction. */
  endSubscriptions(clientId: string, record: AuditRecord): Promise<readonly D1PreparedStatement[]>;
  readonly pushSubscriptions: PushSubscriptions;
  /** Port to the media room: what a tenant stores. */
  usage(tenant: string): Promise<Stored & { readonly pending: Stored }>;
  readonly mediaConsistency: MediaConsistency;
  readonly auditCopies: AuditCopies;
  /** Port to the rooms that seal. */
  readonly sealKeys: SealKeys;
}

interface Stored {
  readonly files: number;
  readonly bytes: number;
}
