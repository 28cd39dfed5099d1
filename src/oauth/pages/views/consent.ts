import type { RedirectingFormView } from "./page.ts";

export interface TenantChooserView extends RedirectingFormView {
  readonly logoUri?: string | undefined;
  readonly clientName: string;
  /** The address of the signed-in user. */
  readonly user: string;
  /** `value`: the value of the form's field `scope` for this tenant. */
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly value: string }[];
}

/** A scope, in the words of the service that has it. */
export interface ScopeView {
  readonly scope: string;
  /** The name without the prefix, if it is a scope of the platform: the pages have words for these. */
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
  /** The user is a member there. */
  readonly isMember: boolean;
  /** Nobody registered the client: the host of the document that describes it, and where the browser goes back to. */
  readonly source: { readonly host: string; readonly goesTo: string; readonly isOnDevice: boolean } | undefined;
  /** The address of the signed-in user. */
  readonly user: string;
  /** The tenant or organization that the scopes are for. Empty outside any. */
  readonly place: string;
  readonly scopes: readonly ScopeView[];
  /** The client learns the user's name. */
  readonly showsName: boolean;
  /** The code of the device that waits for the decision. Undefined: the browser waits itself. */
  readonly device?: string | undefined;
  /** The client keeps access while the user is away. */
  readonly lasts: boolean;
  /** The previous form was made for another sign-in or for other scopes. */
  readonly fault: "stale" | undefined;
}

/** Asks for the code that a device shows, or says how it went. */
export interface DeviceView extends RedirectingFormView {
  readonly kind: "ask" | "allowed" | "denied";
  readonly status: 200 | 400;
  /** Prefilled. May be empty. */
  readonly userCode: string;
  readonly fault: "wrong" | "blocked" | "stale" | undefined;
}
