import type { Call } from "../../http/route.ts";
import type { OAuthFailure } from "./failure.ts";

/** The part of a call that an endpoint of this service needs for its response. */
export type AnyCall = Pick<
  Call<unknown, unknown, unknown, unknown>,
  "request" | "url" | "publicBase" | "requestId" | "nowMs" | "waitUntil" | "attributeTo"
>;

/** The recorded part of a refusal. */
type Refusal = Pick<OAuthFailure, "reason" | "actor" | "clientId"> & { readonly error: string };

export interface Issuer {
  /** `{origin}{PATH_PREFIX}/oauth2/v1` */
  readonly issuer: string;
  /** The issuer's origin, which is the audience. */
  readonly audience: string;
}

/** The base addresses of this call. */
export interface Addresses {
  issuerFor(call: AnyCall): Issuer;
  /** The base of `/authorize` and the other pages: the issuer, or the same below `AUTH_URL`. */
  pagesBase(call: AnyCall): string;
}

export interface Refusals {
  /** Returns the failure as a response. Its exact reason goes to the log and the audit log. */
  refuse(call: AnyCall, action: string, refusal: OAuthFailure): Response;
  /** Records a refusal that is answered differently. */
  noteRefusal(call: AnyCall, action: string, refusal: Refusal): void;
}
