import { clean } from "../terminal/values.ts";
import type { Place } from "./mistake.ts";

/**
 * The kinds in a file, in the order in which they are made: dependencies first. Removal goes the other way. `rules.ts`
 * has the service's rules for each.
 */
export const KINDS = [
  "organizations",
  "tenants",
  "services",
  "packages",
  "subscriptions",
  "roles",
  "users",
  "organizationMembers",
  "tenantMembers",
  "clients",
  "identityProviders",
  "linkedIdentities",
] as const;
export type KindName = (typeof KINDS)[number];

export interface Kind {
  /** The singular, for people. */
  readonly noun: string;
  /** `tenants/{}/members/{}`: the ids of the owner, if any, and of the item; as in the audit log. */
  readonly label: string;
  /** The field of an answer with the id. */
  readonly idField: string;
  /** References by id: `owner` and `id` of the item itself, or a field; every element of a list. */
  readonly references: readonly { readonly from: string; readonly to: KindName }[];
  /** A field that must be unique within the kind. */
  readonly unique?: string;
  /** A field that is sent and never shown. */
  readonly secret?: "password" | "clientSecret";
}

export const KIND: Readonly<Record<KindName, Kind>> = {
  organizations: { noun: "organization", label: "organizations/{}", idField: "id", references: [] },
  tenants: {
    noun: "tenant",
    label: "tenants/{}",
    idField: "id",
    references: [{ from: "organization", to: "organizations" }],
  },
  services: {
    noun: "service",
    label: "services/{}",
    idField: "name",
    references: [{ from: "tenant", to: "tenants" }],
    unique: "proxyPath",
  },
  packages: {
    noun: "package",
    label: "packages/{}",
    idField: "id",
    references: [
      { from: "organization", to: "organizations" },
      { from: "services", to: "services" },
    ],
  },
  subscriptions: {
    noun: "subscription",
    label: "tenants/{}/subscriptions/{}",
    idField: "package",
    references: [
      { from: "owner", to: "tenants" },
      { from: "id", to: "packages" },
    ],
  },
  roles: { noun: "role", label: "roles/{}", idField: "name", references: [] },
  users: { noun: "user", label: "users/{}", idField: "email", references: [], secret: "password" },
  organizationMembers: memberOf("organizations"),
  tenantMembers: memberOf("tenants"),
  clients: {
    noun: "client",
    label: "clients/{}",
    idField: "clientId",
    references: [
      { from: "tenant", to: "tenants" },
      { from: "service", to: "services" },
    ],
    unique: "name",
    secret: "clientSecret",
  },
  identityProviders: {
    noun: "identity provider",
    label: "identity-providers/{}",
    idField: "id",
    references: [{ from: "tenants", to: "tenants" }],
    secret: "clientSecret",
  },
  linkedIdentities: {
    noun: "linked identity",
    label: "users/{}/identities/{}",
    idField: "provider",
    references: [
      { from: "owner", to: "users" },
      { from: "id", to: "identityProviders" },
    ],
  },
};

function memberOf(owners: "organizations" | "tenants"): Kind {
  return {
    noun: "member",
    label: `${owners}/{}/members/{}`,
    idField: "email",
    references: [
      { from: "owner", to: owners },
      { from: "id", to: "users" },
      { from: "roles", to: "roles" },
    ],
  };
}

export type Fields = Readonly<Record<string, unknown>>;

/** An item of a kind, wanted or found. */
export interface Item {
  readonly kind: KindName;
  /** Empty if the kind has no owners. */
  readonly owner: string;
  readonly id: string;
  /** Normalized, without secrets. */
  readonly fields: Fields;
}

/** An item in the file. */
export interface Wanted extends Item {
  readonly place: Place;
  /** The place of a field (`scopes[2]`); `owner` and `id` are the item's own place. */
  at(field: string): Place;
  /** The environment variable with the secret. */
  readonly secretFrom?: { readonly variable: string; readonly place: Place };
}

/** Identifies an item within its kind. */
export const keyOf = ({ owner, id }: Pick<Item, "owner" | "id">): string => (owner === "" ? id : `${owner}/${id}`);

/** The path parameters of the resource's operations. */
export const valuesOf = ({ owner, id }: Pick<Item, "owner" | "id">): string[] => (owner === "" ? [id] : [owner, id]);

/** `tenants/acme/members/ada@acme.example` */
export function labelOf(item: Pick<Item, "kind" | "owner" | "id">): string {
  const values = valuesOf(item);
  return clean(KIND[item.kind].label.replaceAll("{}", () => values.shift() ?? ""));
}

/** The ids of a reference. */
export function referred(item: Item, from: string): string[] {
  if (from === "owner" || from === "id") return [item[from]];
  const value = item.fields[from];
  if (Array.isArray(value)) return value.map(String);
  return typeof value === "string" ? [value] : [];
}

/**
 * Makes equivalent values equal: fills in defaults and sorts lists, because order and repetition mean nothing in them.
 */
export function normalize(fields: Fields): Fields {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    known.map(([name, value]) => [name, Array.isArray(value) ? [...new Set(value as string[])].sort() : value]),
  );
}
