import { DEFAULT_PROVIDER, LEGACY_PROVIDER } from "../../platform/names.ts";
import type { SignInTimes } from "./authorization.ts";

/**
 * What an operator bound an identity provider to. An empty list binds to nothing: the provider is trusted for the whole
 * platform.
 */
export interface Binding {
  /**
   * The tenants that a sign-in by it reaches: no other one, no organization, nothing outside of tenants, no `/account`.
   */
  readonly tenants: readonly string[];
  /** The domains of the addresses that it vouches for; those below them are others. */
  readonly domains: readonly string[];
}

/** The platform's own directory. */
export const UNBOUND: Binding = { tenants: [], domains: [] };

/** Whether it may stand for the platform's own directory, for clients that ask for that. */
export const isBound = ({ tenants, domains }: Binding): boolean => tenants.length + domains.length > 0;

export const isBoundToTenants = ({ tenants }: Pick<Binding, "tenants">): boolean => tenants.length > 0;

export const reaches = ({ tenants }: Binding, tenant: string): boolean =>
  tenants.length === 0 || tenants.includes(tenant);

/** `email`: normalised. */
export const mayVouchFor = ({ domains }: Pick<Binding, "domains">, email: string): boolean =>
  domains.length === 0 || domains.includes(email.slice(email.indexOf("@") + 1));

/** Whether it is the platform's own directory of users. */
export const isLocal = (provider: string): boolean => provider === DEFAULT_PROVIDER || provider === LEGACY_PROVIDER;

/** Where it is known what stands behind a sign-in. */
export interface Bindings {
  /**
   * What the provider that vouched is bound to; undefined: its word counts no more. The own directory is bound to
   * nothing.
   */
  findBinding(email: string, signIn: Pick<SignInTimes, "provider" | "authenticatedAtMs">): Promise<Binding | undefined>;
}
