import { DEFAULT_PROVIDER, LEGACY_PROVIDER } from "../../platform/model/names.ts";
import type { SignInTimes } from "./authorization.ts";

/** The limits that an operator set for an identity provider. An empty list sets no limit. */
export interface Binding {
  /**
   * A sign-in by the provider reaches these tenants only: no others, no organization, nothing outside tenants, no
   * `/account`.
   */
  readonly tenants: readonly string[];
  /** The domains of the addresses that it vouches for. Subdomains are not included. */
  readonly domains: readonly string[];
}

/** The platform's own directory. */
export const UNBOUND: Binding = { tenants: [], domains: [] };

/** A bound provider does not stand in for the platform's own directory when a client asks for that. */
export const isBound = ({ tenants, domains }: Binding): boolean => tenants.length + domains.length > 0;

export const isBoundToTenants = ({ tenants }: Pick<Binding, "tenants">): boolean => tenants.length > 0;

export const reaches = ({ tenants }: Binding, tenant: string): boolean =>
  tenants.length === 0 || tenants.includes(tenant);

/** `email`: normalized. */
export const mayVouchFor = ({ domains }: Pick<Binding, "domains">, email: string): boolean =>
  domains.length === 0 || domains.includes(email.slice(email.indexOf("@") + 1));

/** True for the platform's own directory of users. */
export const isLocal = (provider: string): boolean => provider === DEFAULT_PROVIDER || provider === LEGACY_PROVIDER;

/** Finds the binding of a sign-in. */
export interface Bindings {
  /**
   * The binding of the provider that vouched; the platform's own directory is unbound. Undefined if its word is not
   * valid any more.
   */
  findBinding(email: string, signIn: Pick<SignInTimes, "provider" | "authenticatedAtMs">): Promise<Binding | undefined>;
}
