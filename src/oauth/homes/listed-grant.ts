import type { Authorization } from "../model/authorization.ts";

/** A refresh grant as its user sees it. */
export interface ListedGrant {
  readonly id: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly authorization: Authorization;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number;
}

/** A client with refresh grants or a consent of the user. */
export interface Application {
  readonly clientId: string;
  readonly clientName: string;
  /** The access that its grants give, without duplicates. */
  readonly access: readonly Pick<Authorization, "tenant" | "org" | "openid" | "profile" | "scopes">[];
  /** The time of the oldest grant or consent. */
  readonly createdAtMs: number;
  /** The last use of any grant. Equals `createdAtMs` before the first use. */
  readonly lastUsedAtMs: number;
}

/** The position after `(createdAtMs, id)`, newest first. */
export interface GrantCursor {
  readonly createdAtMs: number;
  readonly id: string;
}
