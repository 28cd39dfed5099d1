import type { ErrorView, SignInFault } from "../../oauth/ports.ts";

/**
 * All that the pages say. A language is a file of this shape and a line in languages.ts. Names in braces stand for
 * what a page puts there. Detail for developers is English in every language.
 */
export interface Texts {
  readonly signIn: {
    readonly title: string;
    /** `{client}` */
    readonly lead: string;
    /** `{client}`, `{tenant}` */
    readonly leadInTenant: string;
    readonly email: string;
    readonly password: string;
    readonly submit: string;
    /** In front of the window's title, so that it is the first thing that a screen reader says. */
    readonly failed: string;
    readonly faults: Readonly<Record<SignInFault, string>>;
  };
  readonly chooseTenant: {
    readonly title: string;
    /** `{client}` */
    readonly lead: string;
    /** `{user}` */
    readonly user: string;
  };
  readonly errors: Readonly<Record<ErrorView["kind"], { readonly title: string; readonly text: string }>>;
  readonly forDevelopers: string;
  /** `{id}` */
  readonly requestId: string;
  readonly signedOut: { readonly title: string; readonly text: string };
}
