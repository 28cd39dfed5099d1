import { clean } from "../terminal/values.ts";
import type { Place } from "./mistake.ts";

/**
 * What a file describes, kind by kind, in the order in which it is made: whoever is referred to comes first. Removal goes
 * the other way. What one of a kind may hold is the service's to say (`rules.ts`).
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
  /** One of it, for people. */
  readonly noun: string;
  /** `tenants/{}/members/{}`: the owner's id, if there is an owner, and its own. As the audit log names it, and people. */
  readonly label: string;
  /** Field of an answer that holds the id. */
  readonly idField: string;
  /** Whose id a part of it is: `owner` and `id` of the item itself, or a field; each element of a list. */
  readonly references: readonly { readonly from: string; readonly to: KindName }[];
  /** A field whose value no other of the kind may have. */
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

/** One of a kind, wanted or found. */
export interface Item {
  readonly kind: KindName;
  /** Empty where the kind has no owners. */
  readonly owner: string;
  readonly id: string;
  /** As `normalize` leaves them; no secret. */
  readonly fields: Fields;
}

/** As the file describes it. */
export interface Wanted extends Item {
  readonly place: Place;
  /** Where a field (`scopes[2]`) is written; `owner` and `id` are the item's own place. */
  at(field: string): Place;
  /** The variable of the environment that holds the secret. */
  readonly secretFrom?: { readonly variable: string; readonly place: Place };
}

/** What tells one of a kind from the others. */
export const keyOf = ({ owner, id }: Pick<Item, "owner" | "id">): string => (owner === "" ? id : `${owner}/${id}`);

/** What the resource's operations name it by. */
export const valuesOf = ({ owner, id }: Pick<Item, "owner" | "id">): string[] => (owner === "" ? [id] : [owner, id]);

/** `tenants/acme/members/ada@acme.example` */
export function labelOf(item: Pick<Item, "kind" | "owner" | "id">): string {
  const values = valuesOf(item);
  return clean(KIND[item.kind].label.replaceAll("{}", () => values.shift() ?? ""));
}

/** The ids that a reference of the item names. */
export function referred(item: Item, from: string): string[] {
  if (from === "owner" || from === "id") return [item[from]];
  const value = item.fields[from];
  if (Array.isArray(value)) return value.map(String);
  return typeof value === "string" ? [value] : [];
}

/**
 * Two that mean the same are equal afterwards: defaults written out by the caller, lists in one order. In none of them does
 * the order mean anything, nor that a value stands there twice.
 */
export function normalize(fields: Fields): Fields {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    known.map(([name, value]) => [name, Array.isArray(value) ? [...new Set(value as string[])].sort() : value]),
  );
}
