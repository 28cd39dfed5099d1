import type { Call } from "../../http/route.ts";
import type { OAuthFailure } from "./failure.ts";

/** Anything of a call that an endpoint of this room needs to answer with. */
export type AnyCall = Pick<
  Call<unknown, unknown, unknown, unknown>,
  "request" | "url" | "publicBase" | "requestId" | "nowMs" | "waitUntil"
>;

/** What is recorded of a refusal. */
export type Refusal = Pick<OAuthFailure, "reason" | "actor" | "clientId"> & { readonly error: string };

export interface Issuer {
  /** `{origin}{PATH_PREFIX}/oauth2/v1` */
  readonly issuer: string;
  /** The issuer's origin, which is the audience. */
  readonly audience: string;
}

/** Where this call's addresses begin. */
export interface Addresses {
  issuerOf(call: AnyCall): Issuer;
  /** Below which `/authorize` and the other pages are: the issuer, or the same at `AUTH_URL`. */
  pagesOf(call: AnyCall): string;
}

export interface Refusals {
  /** The failure as an answer, with its exact reason in the log and in the audit log. */
  refuse(call: AnyCall, action: string, refusal: OAuthFailure): Response;
  /** The same record for a refusal that is answered in another way. */
  noteRefusal(call: AnyCall, action: string, refusal: Refusal): void;
}
