import { clean } from "../values.ts";
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
] as const;
export type KindName = (typeof KINDS)[number];

export interface Kind {
  /** One of it, for people. */
  readonly noun: string;
  /** `/tenants/{}/members/{}`: the owner's id, if there is an owner, and its own. */
  readonly path: string;
  /** Field of an answer that holds the id. */
  readonly idField: string;
  /** Whose id a part of it is: `owner` and `id` of the item itself, or a field; each element of a list. */
  readonly references: readonly { readonly from: string; readonly to: KindName }[];
  /** Lists whose order means nothing, and where a value may stand twice without a meaning. */
  readonly unordered: readonly string[];
  /** A field whose value no other of the kind may have. */
  readonly unique?: string;
  /** A field that is sent and never shown. */
  readonly secret?: "password" | "clientSecret";
}

export const KIND: Readonly<Record<KindName, Kind>> = {
  organizations: { noun: "organization", path: "/organizations/{}", idField: "id", references: [], unordered: [] },
  tenants: {
    noun: "tenant",
    path: "/tenants/{}",
    idField: "id",
    references: [{ from: "organization", to: "organizations" }],
    unordered: [],
  },
  services: {
    noun: "service",
    path: "/services/{}",
    idField: "name",
    references: [{ from: "tenant", to: "tenants" }],
    unordered: ["scopes"],
    unique: "proxyPath",
  },
  packages: {
    noun: "package",
    path: "/packages/{}",
    idField: "id",
    references: [
      { from: "organization", to: "organizations" },
      { from: "services", to: "services" },
    ],
    unordered: ["services"],
  },
  subscriptions: {
    noun: "subscription",
    path: "/tenants/{}/subscriptions/{}",
    idField: "package",
    references: [
      { from: "owner", to: "tenants" },
      { from: "id", to: "packages" },
    ],
    unordered: [],
  },
  roles: { noun: "role", path: "/roles/{}", idField: "name", references: [], unordered: ["scopes"] },
  users: { noun: "user", path: "/users/{}", idField: "email", references: [], unordered: [], secret: "password" },
  organizationMembers: memberOf("organizations"),
  tenantMembers: memberOf("tenants"),
  clients: {
    noun: "client",
    path: "/clients/{}",
    idField: "clientId",
    references: [
      { from: "tenant", to: "tenants" },
      { from: "service", to: "services" },
    ],
    unordered: ["redirectUris", "postLogoutRedirectUris", "grantTypes", "scopes"],
    unique: "name",
    secret: "clientSecret",
  },
  identityProviders: {
    noun: "identity provider",
    path: "/identity-providers/{}",
    idField: "id",
    references: [],
    unordered: ["scopes"],
    secret: "clientSecret",
  },
};

function memberOf(owners: "organizations" | "tenants"): Kind {
  return {
    noun: "member",
    path: `/${owners}/{}/members/{}`,
    idField: "email",
    references: [
      { from: "owner", to: owners },
      { from: "id", to: "users" },
      { from: "roles", to: "roles" },
    ],
    unordered: ["roles"],
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

export const pathOf = ({ kind, owner, id }: Pick<Item, "kind" | "owner" | "id">): string =>
  fill(KIND[kind].path, owner, id, encodeURIComponent);

/** `tenants/acme/members/ada@acme.example`: for people, and the subject of the audit log's rows. */
export const labelOf = ({ kind, owner, id }: Pick<Item, "kind" | "owner" | "id">): string =>
  clean(fill(KIND[kind].path, owner, id, (text) => text).slice(1));

function fill(path: string, owner: string, id: string, write: (text: string) => string): string {
  const parts = owner === "" ? [id] : [owner, id];
  return path.replaceAll("{}", () => write(parts.shift() ?? ""));
}

/** The keys that a reference of the item names, each with the field that it stands in. */
export function referred(item: Item, from: string): { readonly id: string; readonly field: string }[] {
  if (from === "owner" || from === "id") return [{ id: item[from], field: from }];
  const value = item.fields[from];
  if (Array.isArray(value)) return value.map((id: unknown, index) => ({ id: String(id), field: `${from}[${index}]` }));
  return typeof value === "string" ? [{ id: value, field: from }] : [];
}

/** Two that mean the same are equal afterwards: defaults written out by the caller, lists without an order in one order. */
export function normalize(kind: KindName, fields: Fields): Fields {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    known.map(([name, value]) => [
      name,
      KIND[kind].unordered.includes(name) && Array.isArray(value) ? [...new Set(value as string[])].sort() : value,
    ]),
  );
}
