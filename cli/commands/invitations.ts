import { pagedListCommand } from "../command-line/patterns.ts";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { rowsOf } from "../client/admin-client.ts";
import type { Command, Given } from "../command-line/command.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import type { Column } from "../terminal/table.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean, formatTime } from "../terminal/values.ts";
import { UserError } from "../../scripts/lib/user-error.ts";

/** Invitations by mail into a tenant or an organization. */
export const invitationCommands = (): Command[] => [invite, list, withdraw];

type Body = Parameters<typeof api.putTenantInvitation>[2];
type Opts = Parameters<typeof api.putTenantInvitation>[3];
type Sizes = Parameters<typeof rowsOf>[1];

const OPERATIONS = {
  tenant: {
    put: (id: string, email: string, body: Body, opts: Opts) => ok(api.putTenantInvitation(id, email, body, opts)),
    list: (id: string, sizes: Sizes, opts: Opts) => rowsOf((page) => api.listTenantInvitations(id, page, opts), sizes),
    remove: api.deleteTenantInvitation,
  },
  organization: {
    put: (id: string, email: string, body: Body, opts: Opts) =>
      ok(api.putOrganizationInvitation(id, email, body, opts)),
    list: (id: string, sizes: Sizes, opts: Opts) =>
      rowsOf((page) => api.listOrganizationInvitations(id, page, opts), sizes),
    remove: api.deleteOrganizationInvitation,
  },
} as const;

const PLACE = [
  { flag: "tenant", value: "<tenant>", help: "the tenant that the person joins" },
  { flag: "organization", value: "<id>", help: "or the organization" },
] as const;
const EMAIL = { name: "email", help: "the e-mail address" };

function placeOf(options: Given) {
  const [tenant, organization] = [options.value("tenant"), options.value("organization")];
  if ((tenant === undefined) === (organization === undefined))
    throw new UsageError("Name either --tenant or --organization.");
  return tenant === undefined
    ? { id: organization ?? "", ...OPERATIONS.organization }
    : { id: tenant, ...OPERATIONS.tenant };
}

const invite: Command = {
  words: ["user", "invite"],
  summary: "Send a person a link to join a tenant or an organization. It works once, for a week.",
  args: [EMAIL],
  options: [
    ...PLACE,
    { flag: "role", value: "<role>", repeated: true, help: "a role that the person gets there" },
    { flag: "name", value: "<text>", help: "the name of a new account; default: the address" },
    { flag: "language", value: "<tag>", help: "the language of the mail: en, de, fr" },
  ],
  notes: [
    "The account is made if there is none. The person chooses its password on the page behind the link. A second " +
      "invitation ends the link of the first.",
    "The platform must send mail: docs/operate/mail.md.",
  ],
  examples: [
    "user invite grace@acme.example --tenant acmeshop --role editor",
    "user invite grace@acme.example --organization acme --name Grace --language de",
  ],
  changes: true,
  async run(invocation) {
    const { args, io, options, client } = invocation;
    const email = args["email"] ?? "";
    const place = placeOf(options);
    const [name, language] = [options.value("name"), options.value("language")];
    const body = {
      roles: [...options.values("role")],
      ...(name === undefined ? {} : { name }),
      ...(language === undefined ? {} : { language }),
    };
    const sent = await place.put(place.id, email, body, (await client()).opts);
    if (!sent.mailed) throw new UserError(`The mail to ${clean(email)} was not taken. Type this command again.`);
    sayDone(io, `A link is on its way to ${clean(email)}. It works until ${formatTime(sent.expiresAt)}.`);
    await printRecord(invocation, sent);
  },
};

type Shown = api.TenantInvitation | api.OrganizationInvitation;

const COLUMNS: readonly Column<Shown>[] = [
  "email",
  { field: "roles", kind: "list" },
  { field: "createdAt", title: "SENT" },
  { field: "expiresAt", title: "UNTIL" },
];

const list = pagedListCommand<Shown>({
  words: ["user", "invitations"],
  summary: "List the invitations into a tenant or an organization that nobody has accepted yet.",
  options: PLACE,
  examples: ["user invitations --tenant acmeshop"],
  columns: COLUMNS,
  nouns: "open invitations",
  rows({ options }) {
    const place = placeOf(options);
    return ({ opts }, page) => place.list(place.id, page, opts);
  },
});

const withdraw: Command = {
  words: ["user", "withdraw-invitation"],
  summary: "End the link of an invitation. An account that was made stays.",
  args: [EMAIL],
  options: [...PLACE, YES_OPTION],
  examples: ["user withdraw-invitation grace@acme.example --tenant acmeshop --yes"],
  changes: true,
  async run(invocation) {
    const { args, io, options, client } = invocation;
    const email = args["email"] ?? "";
    const place = placeOf(options);
    await confirm(invocation, `End the invitation of ${clean(email)}?`);
    await place.remove(place.id, email, (await client()).opts);
    sayDone(io, `The invitation of ${clean(email)} has ended.`);
  },
};
