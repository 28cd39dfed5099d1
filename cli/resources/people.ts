import * as api from "../../api/plinth.ts";
import { count, texts, optional, required, secret, text, toggle } from "./fields.ts";
import { BRAND_FIELDS, NAME, scopesField, resource } from "./resource.ts";

const membersOf = (owner: "tenant" | "organization") =>
  ({
    noun: `${owner} member`,
    word: owner,
    keys: [
      { name: owner, help: `the ${owner}` },
      { name: "email", help: "the user's e-mail address" },
    ],
    summary: `who may act in the ${owner}, and in which roles`,
    fields: {
      roles: required(texts("role", "<role>", "a role of the member")),
    },
    columns: ["email", { field: "roles", kind: "list" }, { field: "createdAt", title: "SINCE" }],
    verbs: { list: "members", show: "show-member", set: "set-member", remove: "remove-member" },
    removal: "Tokens that the user got as a member are revoked within seconds.",
    examples: {
      list: [`${owner} members acme`],
      set: [
        `${owner} set-member acme ada@acme.example --role editor`,
        `${owner} set-member acme ada@acme.example --add-role viewer`,
      ],
      remove: [`${owner} remove-member acme ada@acme.example`],
    },
  }) as const;

/** Organizations, tenants, people and roles. */
export const PEOPLE = {
  organizations: resource({
    noun: "organization",
    word: "organization",
    operations: [api.listOrganizations, api.getOrganization, api.putOrganization, api.deleteOrganization],
    keys: [{ name: "organization", help: "its id: letters, digits, . _ - (64 at most)" }],
    summary: "companies that own tenants and packages",
    fields: { name: required(NAME) },
    columns: ["id", "name", "createdAt"],
    readOnly: ["id", "createdAt"],
    removal: "Its memberships are removed too. An organization with tenants or packages stays.",
    examples: { set: ['organization set acme --name "Acme"'] },
  }),
  organizationMembers: resource({
    ...membersOf("organization"),
    operations: [
      api.listOrganizationMembers,
      api.getOrganizationMember,
      api.putOrganizationMember,
      api.deleteOrganizationMember,
    ],
    readOnly: ["organization", "email", "createdAt"],
  }),
  tenants: resource({
    noun: "tenant",
    word: "tenant",
    searched: true,
    operations: [api.listTenants, api.getTenant, api.putTenant, api.deleteTenant],
    keys: [{ name: "tenant", help: "its id: 3 to 16 small letters and digits, first a letter" }],
    summary: "customers with separate data: clients act in a tenant, users are its members",
    fields: {
      organization: required(text("organization", "<id>", "the organization that owns it")),
      name: required(NAME),
      disabled: toggle("disabled", "nobody gets a token for it; existing ones are revoked"),
      "quota.files": optional(count("quota-files", "<count>", "the most files that it may store")),
      "quota.bytes": optional(
        count("quota-bytes", "<bytes>", "the most bytes that it may store: 5000000, 5MB or 5GiB"),
      ),
      plan: optional(text("plan", "<small|standard|large>", "its limit of requests a minute")),
      requireSecondFactor: toggle("require-second-factor", "people get tokens for it only after two factors"),
      ...BRAND_FIELDS,
    },
    columns: ["id", "name", "organization", { field: "disabled", kind: "flag" }, "createdAt"],
    readOnly: ["id", "createdAt"],
    removal:
      "Its memberships are removed too. A tenant with clients, services, subscriptions or files stays: see " +
      "`tenant erase`.",
    examples: {
      set: [
        'tenant set acmeshop --organization acme --name "Acme shop"',
        "tenant set acmeshop --quota-files 10000 --quota-bytes 5GB",
        "tenant set acmeshop --disabled",
      ],
    },
  }),
  tenantMembers: resource({
    ...membersOf("tenant"),
    operations: [api.listTenantMembers, api.getTenantMember, api.putTenantMember, api.deleteTenantMember],
    readOnly: ["tenant", "email", "createdAt"],
  }),
  subscriptions: resource({
    noun: "subscription",
    word: "tenant",
    operations: [api.listSubscriptions, api.getSubscription, api.putSubscription, api.deleteSubscription],
    keys: [
      { name: "tenant", help: "the tenant" },
      { name: "package", help: "the package" },
    ],
    summary: "which packages a tenant has",
    fields: {},
    columns: ["package", { field: "id", title: "SUBSCRIPTION" }, { field: "createdAt", title: "SINCE" }],
    verbs: { list: "subscriptions", show: "show-subscription", set: "subscribe", remove: "unsubscribe" },
    readOnly: ["id", "tenant", "package", "createdAt"],
    removal: "The tenant gets no more tokens for the package's services.",
    examples: {
      list: ["tenant subscriptions acmeshop"],
      set: ["tenant subscribe acmeshop platform"],
      remove: ["tenant unsubscribe acmeshop platform"],
    },
  }),
  roles: resource({
    noun: "role",
    word: "role",
    operations: [api.listRoles, api.getRole, api.putRole, api.deleteRole],
    keys: [{ name: "role", help: "its name" }],
    summary: "named sets of scopes for members",
    fields: {
      scopes: scopesField("a scope of the role"),
      requireSecondFactor: toggle("require-second-factor", "its holders get tokens only after two factors"),
    },
    columns: ["name", { field: "scopes", kind: "list" }, "createdAt"],
    readOnly: ["name", "createdAt"],
    removal: "A role that members have stays.",
    examples: {
      set: [
        "role set editor --scope plat.media_view --scope plat.media_manage",
        "role set editor --add-scope catalog.view",
      ],
    },
  }),
  users: resource({
    noun: "user",
    word: "user",
    searched: true,
    operations: [api.listUsers, api.getUser, api.putUser, api.deleteUser],
    keys: [{ name: "email", help: "the e-mail address" }],
    summary: "people who sign in",
    fields: {
      name: { ...NAME, help: "the person's name; default: the address" },
      picture: text("picture", "<text>", "https address of a picture; empty: none"),
      locale: text("locale", "<text>", "language, such as de-CH; empty: none"),
      password: secret("password", "8 to 256 characters; a new one signs the user out"),
      disabled: toggle("disabled", "the user is signed out and cannot sign in"),
    },
    columns: [
      "email",
      "name",
      { field: "hasPassword", title: "PASSWORD", kind: "flag" },
      { field: "disabled", kind: "flag" },
      "createdAt",
    ],
    readOnly: ["email", "hasPassword", "createdAt"],
    removal: "The user's memberships are removed too, and tokens are revoked within seconds.",
    examples: {
      set: [
        "user set ada@acme.example --name Ada --password-file ada.password",
        "ADA=… npm run -s plat -- user set ada@acme.example --password-env ADA",
      ],
    },
  }),
  linkedIdentities: resource({
    noun: "linked identity",
    word: "user",
    operations: [api.listLinkedIdentities, api.getLinkedIdentity, api.putLinkedIdentity, api.deleteLinkedIdentity],
    keys: [
      { name: "email", help: "the user" },
      { name: "provider", help: "the identity provider" },
    ],
    summary: "accounts at identity providers that sign in as a user",
    fields: {
      subject: required(text("subject", "<sub>", "the account there: `sub` of its ID tokens")),
    },
    columns: ["provider", "subject", "linkedBy", { field: "linkedAt", title: "SINCE" }],
    verbs: { list: "identities", show: "show-identity", set: "link", remove: "unlink" },
    readOnly: ["email", "provider", "linkedBy", "linkedAt"],
    removal: "What the user got until now is revoked. The next sign-in by the provider counts as the first.",
    examples: {
      list: ["user identities ada@acme.example"],
      set: ["user link ada@acme.example corp --subject 248289761001"],
      remove: ["user unlink ada@acme.example corp"],
    },
  }),
};
