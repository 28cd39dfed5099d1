import type { RedirectingFormView } from "./page.ts";

export interface TenantChooserView extends RedirectingFormView {
  readonly logoUri?: string | undefined;
  readonly clientName: string;
  /** The address of the signed-in user. */
  readonly user: string;
  /** `value`: the field `scope` of the form that chooses this tenant. */
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly value: string }[];
}

/** A scope, in the words of the service that has it. */
export interface ScopeView {
  readonly scope: string;
  /** The name without the platform's prefix, for a scope of the platform: the pages describe these themselves. */
  readonly own: string | undefined;
  readonly words: string | undefined;
}

/** The scopes that a client requests of a user. */
export interface ConsentView extends RedirectingFormView {
  readonly status: 200 | 400;
  readonly client: { readonly id: string; readonly name: string };
  readonly logoUri?: string | undefined;
  /** The client's tenant. */
  readonly tenant: { readonly id: string; readonly name: string };
  /** The user is a member of the client's tenant. */
  readonly isMember: boolean;
  /**
   * Set if no operator registered the client. `host`: of the document that describes it; empty if it registered itself.
   * `goesTo`: the host or scheme of the redirect URI.
   */
  readonly source: { readonly host: string; readonly goesTo: string; readonly isOnDevice: boolean } | undefined;
  /** The address of the signed-in user. */
  readonly user: string;
  /** The tenant or organization that the scopes are for. Empty outside any. */
  readonly place: string;
  readonly scopes: readonly ScopeView[];
  /** The client gets the user's profile. */
  readonly showsName: boolean;
  /** The user code of the device that gets the tokens. Undefined: the request came by this browser. */
  readonly device?: string | undefined;
  /** The client may get refresh tokens, so it keeps access while the user is away. */
  readonly lasts: boolean;
  /** The previous form was made for another sign-in or for other scopes. */
  readonly fault: "stale" | undefined;
}

/** Asks for the code of a device, or shows the decision. */
export interface DeviceView extends RedirectingFormView {
  readonly kind: "ask" | "allowed" | "denied";
  readonly status: 200 | 400;
  /** Prefilled. May be empty. */
  readonly userCode: string;
  readonly fault: "wrong" | "blocked" | "stale" | undefined;
}
