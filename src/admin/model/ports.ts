import type { Call } from "../../http/route.ts";
import type { AuditRecord } from "../../platform/ports/audit.ts";
import type { News } from "../../platform/ports/mail.ts";

/** Holders of tokens, as an operator revokes them. */
export type OwnerKind = "client" | "tenant" | "user" | "session";

/** A revocation of everything that an owner got until now. */
export interface Revoking {
  readonly kind: OwnerKind;
  readonly key: string;
  readonly nowMs: number;
  readonly record: AuditRecord | undefined;
  /** The organization whose administrator revokes. */
  readonly organization?: string | undefined;
}

/** The OAuth service. Statements are a part of the caller's transaction. */
export interface OAuthPort {
  /**
   * Revokes everything that a client, tenant, user or session got until now. `if changed`: only if the statement before
   * it changed a row. `organization`: the one whose administrator does it, for `endedGuard`.
   */
  revokeStatement(
    kind: OwnerKind,
    key: string,
    nowMs: number,
    when: "always" | "if changed",
    organization?: string,
  ): D1PreparedStatement;
  /** Fails the transaction if an organization's administrators have revoked more within an hour than they may. */
  endedGuard(organization: string): D1PreparedStatement;
  /** True if they have revoked as much as they may. */
  hasEndedMost(organization: string): Promise<boolean>;
  /**
   * Revokes what a user got until now for one tenant or organization, if the statement before it changed a row. Tokens
   * for other places stay.
   */
  revokeInPlaceStatement(
    email: string,
    kind: "tenant" | "organization",
    id: string,
    nowMs: number,
    organization?: string,
  ): D1PreparedStatement;
  /** Revokes everything that the clients of a tenant got until now, for whatever tenant. */
  revokeClientsStatement(tenant: string, nowMs: number): D1PreparedStatement;
  /** Revokes everything that the members of an organization got for it until now. */
  revokeMembersStatement(organization: string, nowMs: number): D1PreparedStatement;
  /** Revokes everything that the holders of a role got until now, if the statement before it changed a row. */
  revokeRoleHoldersStatement(role: string, nowMs: number): D1PreparedStatement;
  /** Ends every sign-in of a user until now. */
  signOutStatement(email: string, nowMs: number): D1PreparedStatement;
  /** Removes grants, codes and sessions of browsers. */
  cleanupStep(
    kind: OwnerKind,
    key: string,
    nowMs: number,
  ): {
    readonly statements: readonly D1PreparedStatement[];
    /** If a statement changed this many rows, there may be more. */
    readonly mostRows: number;
    /** Returns a row if there are more grants than one transaction removes. */
    readonly exceeds: D1PreparedStatement;
  };
  /**
   * Revokes everything in transactions of its own; the first one writes the audit row. `more`: everything is revoked,
   * but one request could not remove all grants.
   */
  revokeAll(owner: Revoking): Promise<"ended" | "more">;
  /** Removes grants in other databases, of a user who was signed out. On a platform of one database it does nothing. */
  endElsewhere(email: string): Promise<unknown>;
  /** Removes the rest of a user who was signed out, in every database. */
  deleteSignedOut(email: string): Promise<void>;
  /** Removes everything in other databases of a user or client, before the directory removes them. */
  forgetElsewhere(kind: "user" | "client", key: string): Promise<void>;
  /** Removes sign-ins that came in between, after the removal. A failure is logged, and the sweep removes them. */
  forgetRemoved(kind: "user" | "client", key: string): Promise<void>;
  /** Call this after sessions ended. Clients are told after the answer. */
  sessionsEnded(where: { readonly email: string } | "anywhere"): void;
  /** Forgets that the user was the first to allow clients that nobody registered. */
  forgetBringer(email: string): Promise<D1PreparedStatement>;
  /** Removes a user's second factor and recovery codes. The last statement changes a row if there was one. */
  secondFactorRemoval(email: string): readonly D1PreparedStatement[];
  /** The valid sessions of a user, the last used first. */
  listSessions(email: string, nowMs: number, limit: number): Promise<readonly OperatedSession[]>;
  /** The passkeys of a user. */
  listPasskeys(email: string): Promise<readonly OperatedPasskey[]>;
  /** Removes a passkey of a user. The last statement changes a row if there was one. */
  passkeyRemoval(email: string, id: string, nowMs: number): readonly D1PreparedStatement[];
  /** Tells the user by mail, beside the answer, what an operator changed. */
  tellByOperator(call: TellingCall, news: Exclude<News, "sign_in">, email: string): void;
  /** Forgets the failed sign-ins of an account and ends its block. */
  unlock(email: string): Promise<void>;
  /** Seals and opens the client secret of an identity provider. */
  readonly providerSecrets: {
    seal(providerId: string, secret: string): Promise<string>;
    open(providerId: string, sealed: string): Promise<string | undefined>;
  };
  /** Tries an identity provider; undefined: there is none of this id. */
  tryProvider(id: string, origin: string): Promise<object | undefined>;
  /** A secret by which a client signs, as a row of `client_secret`. */
  sealClientSecret(clientId: string, secret: string): Promise<{ readonly digest: string; readonly sealed: string }>;
}

/** A browser in which a user is signed in. Texts that are not known are empty. */
interface OperatedSession {
  readonly sid: string;
  readonly provider: string;
  readonly browser: string;
  readonly system: string;
  readonly country: string;
  readonly city: string;
  readonly authenticatedAtMs: number;
  /** To the hour. */
  readonly seenAtMs: number;
}

interface OperatedPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  /** Null: never. */
  readonly lastUsedAtMs: number | null;
  /** 1: it is copied to other devices of the person. */
  readonly backedUp: number;
}

/** The part of a call that a mail beside its answer needs. */
export type TellingCall = Pick<
  Call<unknown, unknown, unknown, unknown>,
  "request" | "url" | "publicBase" | "requestId" | "nowMs" | "waitUntil"
>;

/** Announces subscriptions by rows in the transaction that changes them. */
export interface OutboxPort {
  /** Runs after the insertion; writes nothing unless that inserted this id. */
  created(subscriptionId: string, nowMs: number): D1PreparedStatement;
  /** Runs before the removal; writes nothing if there is no subscription. */
  cancelled(tenant: string, packageId: string, nowMs: number): D1PreparedStatement;
  /** Publishes the rows. */
  drain(): Promise<void>;
}

export interface EventsPort {
  /** Some topics of an owner, a client's name, as rows `{kind, id}`. */
  topicsOf(owner: string, limit: number): D1PreparedStatement;
  /** Removes the push subscriptions of a client, as a part of the transaction that removes the client. */
  endSubscriptions(clientId: string, record: AuditRecord): Promise<readonly D1PreparedStatement[]>;
  /** Removes those in other databases, after the client. A failure is logged, and the sweep removes them. */
  endSubscriptionsElsewhere(clientId: string, record: AuditRecord): Promise<void>;
}

export interface MediaPort {
  /** A kind of files and an id for each tenant in which a client (its name) has files. */
  filesOfClient(client: string, limit: number, tenant?: string): Promise<readonly Dependent[]>;
  /** The same for each client that has files of a tenant. */
  filesOfTenant(tenant: string, limit: number): Promise<readonly Dependent[]>;
  /** The amount that a tenant stores. */
  usage(tenant: string): Promise<Stored & { readonly pending: Stored }>;
  /** Runs changes of clients and tenants with files. */
  readonly ownerChanges: {
    changeClient<T>(
      change: { readonly id: string; readonly after: { readonly name: string; readonly tenant: string } | undefined },
      write: (before: ClientBefore) => Promise<T>,
    ): Promise<T>;
    removeTenant<T>(tenant: string, write: () => Promise<T>): Promise<T>;
  };
}

/** The client's record when a change began, which the write must find unchanged; `any`: it need not. */
export type ClientBefore = { readonly name: string; readonly tenant: string } | "absent" | "any";

/** A record that prevents the removal of another one. */
export interface Dependent {
  readonly kind: string;
  readonly id: string;
}

/** The shards of tenants. On a platform of one database this does nothing. */
export interface ShardsPort {
  /** Statements of the transaction that creates a tenant, before its row. */
  placeStatements(tenant: string, nowMs: number): readonly D1PreparedStatement[];
  /** Statements of the transaction that removes a tenant. */
  keepPlaceStatements(tenant: string): readonly D1PreparedStatement[];
  readonly copies: { copy(tenant: string): Promise<void> };
}

/** The use of tenants, by month. */
export interface MetricsPort {
  /** `month`: `2026-11`. Without days, nothing was counted. */
  monthOfUse(tenant: string, month: string, nowMs: number): Promise<{ readonly days: readonly object[] }>;
}

interface Stored {
  readonly files: number;
  readonly bytes: number;
}
