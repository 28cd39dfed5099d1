import { CREATED, NAME, scopesField, STANDARD_VERBS, type Resource } from "../resource.ts";

const members = (owner: "tenant" | "organization"): Resource => ({
  noun: `${owner} member`,
  word: owner,
  path: `/${owner}s/{${owner}}/members/{email}`,
  keys: [
    { name: owner, help: `the ${owner}` },
    { name: "email", help: "the user's e-mail address" },
  ],
  summary: `who may act in the ${owner}, and in which roles`,
  fields: [
    {
      name: "roles",
      flag: "role",
      type: "list",
      value: "<role>",
      help: "a role that the member has there",
      required: true,
    },
  ],
  columns: [
    { field: "email", title: "EMAIL" },
    { field: "roles", title: "ROLES", kind: "list" },
    { ...CREATED, title: "SINCE" },
  ],
  verbs: { list: "members", show: "show-member", set: "set-member", remove: "remove-member" },
  readOnly: [owner, "email", "createdAt"],
  removal: `What the user got by being a member is void within seconds.`,
  examples: {
    list: [`${owner} members acme`],
    set: [
      `${owner} set-member acme ada@acme.example --role editor`,
      `${owner} set-member acme ada@acme.example --add-role viewer`,
    ],
    remove: [`${owner} remove-member acme ada@acme.example`],
  },
});

/** Whose the platform is: organizations, tenants and what these have, people and their roles. */
export const PEOPLE: readonly Resource[] = [
  {
    noun: "organization",
    word: "organization",
    path: "/organizations/{organization}",
    keys: [{ name: "organization", help: "its id: letters, digits, . _ - (64 at most)" }],
    summary: "companies: tenants and packages belong to one",
    fields: [{ ...NAME, required: true }],
    columns: [{ field: "id", title: "ID" }, { field: "name", title: "NAME" }, CREATED],
    verbs: STANDARD_VERBS,
    readOnly: ["id", "createdAt"],
    removal: "Its memberships go with it. One with tenants or packages stays.",
    examples: { set: ['organization set acme --name "Acme"'] },
  },
  members("organization"),
  {
    noun: "tenant",
    word: "tenant",
    path: "/tenants/{tenant}",
    keys: [{ name: "tenant", help: "its id: 3 to 16 small letters and digits, a letter first" }],
    summary: "whose data stays apart: clients act in a tenant, users are its members",
    fields: [
      {
        name: "organization",
        flag: "organization",
        type: "text",
        value: "<id>",
        help: "the one that it belongs to",
        required: true,
      },
      { ...NAME, required: true },
      { name: "disabled", flag: "disabled", type: "boolean", help: "nobody gets a token for it; those there are end" },
      {
        name: "quota.files",
        flag: "quota-files",
        type: "count",
        value: "<count>",
        help: "files that it may store",
        optional: true,
      },
      {
        name: "quota.bytes",
        flag: "quota-bytes",
        type: "count",
        value: "<bytes>",
        help: "bytes that it may store, 5000000 or 5MB, 5GiB",
        optional: true,
      },
    ],
    columns: [
      { field: "id", title: "ID" },
      { field: "name", title: "NAME" },
      { field: "organization", title: "ORGANIZATION" },
      { field: "disabled", title: "DISABLED", kind: "flag" },
      CREATED,
    ],
    verbs: STANDARD_VERBS,
    readOnly: ["id", "createdAt"],
    removal: "Its memberships go with it. One with clients, services, subscriptions or files stays.",
    examples: {
      set: [
        'tenant set acmeshop --organization acme --name "Acme shop"',
        "tenant set acmeshop --quota-files 10000 --quota-bytes 5GB",
        "tenant set acmeshop --disabled",
      ],
    },
  },
  members("tenant"),
  {
    noun: "subscription",
    word: "tenant",
    path: "/tenants/{tenant}/subscriptions/{package}",
    keys: [
      { name: "tenant", help: "the tenant" },
      { name: "package", help: "the package" },
    ],
    summary: "which packages a tenant has",
    fields: [],
    columns: [
      { field: "package", title: "PACKAGE" },
      { field: "id", title: "SUBSCRIPTION" },
      { ...CREATED, title: "SINCE" },
    ],
    verbs: { list: "subscriptions", show: "show-subscription", set: "subscribe", remove: "unsubscribe" },
    readOnly: ["id", "tenant", "package", "createdAt"],
    removal: "The tenant gets no more tokens for the package's services.",
    examples: {
      list: ["tenant subscriptions acmeshop"],
      set: ["tenant subscribe acmeshop platform"],
      remove: ["tenant unsubscribe acmeshop platform"],
    },
  },
  {
    noun: "role",
    word: "role",
    path: "/roles/{role}",
    keys: [{ name: "role", help: "its name" }],
    summary: "scopes that members have together",
    fields: [scopesField("a scope that it gives")],
    columns: [{ field: "name", title: "NAME" }, { field: "scopes", title: "SCOPES", kind: "list" }, CREATED],
    verbs: STANDARD_VERBS,
    readOnly: ["name", "createdAt"],
    removal: "One that members have stays.",
    examples: {
      set: [
        "role set editor --scope plat.media_view --scope plat.media_manage",
        "role set editor --add-scope catalog.view",
      ],
    },
  },
  {
    noun: "user",
    word: "user",
    path: "/users/{email}",
    keys: [{ name: "email", help: "the e-mail address" }],
    summary: "people who sign in",
    fields: [
      { ...NAME, help: "the person's name; the address where none is given" },
      {
        name: "password",
        flag: "password",
        type: "secret",
        help: "8 to 256 characters; another one signs the user out",
      },
      { name: "disabled", flag: "disabled", type: "boolean", help: "cannot sign in, and is signed out" },
    ],
    columns: [
      { field: "email", title: "EMAIL" },
      { field: "name", title: "NAME" },
      { field: "hasPassword", title: "PASSWORD", kind: "flag" },
      { field: "disabled", title: "DISABLED", kind: "flag" },
      CREATED,
    ],
    verbs: STANDARD_VERBS,
    readOnly: ["email", "hasPassword", "createdAt"],
    removal: "The user's memberships go with it, and what it got is void within seconds.",
    examples: {
      set: [
        "user set ada@acme.example --name Ada --password-file ada.password",
        "ADA=… npm run -s plat -- user set ada@acme.example --password-env ADA",
      ],
    },
  },
];
