import * as z from "zod/mini";
import { problem } from "../../../http/errors/errors.ts";
import { matching } from "../../../http/input/validate.ts";
import { sha256Hex } from "../../../platform/secrets/hash.ts";
import { randomSecret, type Random } from "../../../platform/runtime/random.ts";
import { displayName, identifier } from "../../model/fields.ts";
import type { RuleContext } from "../../model/rules.ts";
import { faultsOf, ofPerson, refuseRoles, type OwnerNoun } from "./members.ts";
import { refuseFaults } from "../shared/refusals.ts";
import { toList, type Resource } from "../shared/resource.ts";
import { guard, isOrganization, ownsTenant, type Condition } from "../shared/within-organization.ts";
import { DAY_MS } from "../../../platform/runtime/clock.ts";

/**
 * Invitations into a tenant or an organization.
 *
 *   none ──PUT──▶ open: the person has a link by mail ──the person uses it──▶ a member, with the roles
 *                   │ PUT again: another link, the one before is void
 *                   └──DELETE · a week · the person, tenant or organization is removed──▶ none
 *
 * If there is no account, PUT creates one without a password: the page behind the link asks for a password. So the
 * answer is the same for every address, and people who run one organization learn nothing about others. The link of a
 * disabled account is void.
 *
 * Limits apply to the open invitations of a tenant or organization, and to the mails of a day: to an address, and of an
 * organization with its tenants. A mail counts even if its invitation was withdrawn. The mail is sent before the
 * answer, which reports whether the mail service accepted it.
 *
 * The sweep removes an account that only invitations made, when none is open and no mail of one is a week old or less.
 */
const INVITATION_LIFE_MS = 7 * DAY_MS;
/** Our choice: an organization may invite a whole department, and no mailbox gets many mails. */
export const INVITATION_LIMITS = { open: 500, ofAddress: 5, ofOrganization: 1_000, withinMs: DAY_MS } as const;

/** Sends the link of an invitation. Returns false if the mail service did not accept the mail. */
export type SendInvitation = (invitation: {
  readonly email: string;
  readonly token: string;
  /** The name of the tenant or organization. */
  readonly place: string;
  /** The id of a tenant. */
  readonly tenant?: string;
  /** A language tag, or the empty text. */
  readonly language: string;
  /** The origin of the request. */
  readonly origin: string;
  readonly nowMs: number;
}) => Promise<boolean>;

export const schema = z.object({
  roles: z.array(identifier).check(z.maxLength(100)),
  name: z.optional(displayName),
  language: z.optional(matching(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/, "must be a language, such as en or de-AT")),
});

/** SQL: what stands for the network in the mails of an organization and of its tenants. `id`: the owner's. */
const sender = (owner: OwnerNoun, id: string): string =>
  `'organization ' || ${owner === "tenant" ? `(SELECT organization FROM tenant WHERE id = ${id})` : id}`;

/** `owner` is one of two words, which name the tables and their column. */
export const statements = (owner: OwnerNoun) => {
  const columns = `${owner} AS owner, email, roles, name, language, created_at, expires_at,
    (SELECT name FROM ${owner} WHERE id = ${owner}_invitation.${owner}) AS place`;
  /** True if fewer invitations are open than the limit, besides that of the address. */
  const fewOpen = `
    (SELECT count(*) FROM (SELECT 1 FROM ${owner}_invitation WHERE ${owner} = ?1 AND email <> ?2 LIMIT ${INVITATION_LIMITS.open})) < ${INVITATION_LIMITS.open}`;
  return {
    faults: faultsOf(owner, "?2"),
    fewOpen,
    /** True if fewer mails went to the address and out of the organization, and fewer are open, than the limits. */
    withinLimits: `
      (SELECT count(*) FROM mail_link WHERE email = ?2 AND purpose = 'invitation' AND created_at > ?3) < ${INVITATION_LIMITS.ofAddress}
      AND (SELECT count(*) FROM mail_link WHERE network_hash = ${sender(owner, "?1")} AND created_at > ?3) < ${INVITATION_LIMITS.ofOrganization}
      AND ${fewOpen}`,
    /** Records the mail, which counts for the limits. */
    addMail: `
      INSERT INTO mail_link (token_hash, purpose, email, browser_hash, network_hash, request, created_at, expires_at)
      VALUES (?1, 'invitation', ?2, '', ${sender(owner, "?5")}, '', ?3, ?4)`,
    upsert: `
      INSERT INTO ${owner}_invitation (${owner}, email, roles, name, language, token_hash, created_at, expires_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      ON CONFLICT (${owner}, email) DO UPDATE SET roles = excluded.roles, name = excluded.name,
        language = excluded.language, token_hash = excluded.token_hash, created_at = excluded.created_at,
        expires_at = excluded.expires_at, by_hand = 0`,
    /** Changes with each mail, so one that is sent again leaves a row in the audit log. */
    link: `SELECT token_hash FROM ${owner}_invitation AS sent WHERE sent.${owner} = shown.owner AND sent.email = shown.email`,
    byHand: `UPDATE ${owner}_invitation SET by_hand = 1 WHERE ${owner} = ?1 AND email = ?2`,
    select: `SELECT ${columns} FROM ${owner}_invitation WHERE ${owner} = ?1 AND email = ?2`,
    page: `
      SELECT ${columns}, email AS page_key FROM ${owner}_invitation
      WHERE ${owner} = ?1 AND email > ?2 ORDER BY email LIMIT ?3 OFFSET ?4`,
    delete: `DELETE FROM ${owner}_invitation WHERE ${owner} = ?1 AND email = ?2`,
  };
};
/** SQL: `signed_out_at` marks an account that only invitations made. One that an operator made has less (users.ts). */
export const ADD_USER = `
  INSERT INTO user (email, name, created_at, signed_out_at) VALUES (?1, ?2, ?3, ?3) ON CONFLICT DO NOTHING`;

interface Deps extends Pick<RuleContext, "builtIn"> {
  readonly db: D1Database;
  readonly random: Random;
  readonly sendInvitation: SendInvitation;
}

export function invitations(owner: OwnerNoun, deps: Deps): Resource<z.output<typeof schema>> {
  const { db, random } = deps;
  const sql = statements(owner);
  const withinLimits = (id: string, address: string, nowMs: number): Condition => ({
    sql: sql.withinLimits,
    values: [id, address, nowMs - INVITATION_LIMITS.withinMs],
  });
  return {
    ...ofPerson(owner, "invitation", sql, db),
    schema,
    toJson: (row) => ({
      [owner]: row["owner"],
      email: row["email"],
      roles: toList(row["roles"]),
      ...(row["name"] === "" ? {} : { name: row["name"] }),
      ...(row["language"] === "" ? {} : { language: row["language"] }),
      createdAt: row["created_at"],
      expiresAt: row["expires_at"],
    }),
    logged: {
      roles: { list: "roles" },
      name: { value: "name" },
      language: { value: "language" },
      link: { secret: sql.link },
    },
    async validate({ params: { id = "", email: address = "" }, body: { roles }, nowMs }) {
      const refused = await refuseFaults(db.prepare(sql.faults).bind(id, JSON.stringify(roles)));
      if (refused !== undefined) return refused;
      const { sql: limits, values } = withinLimits(id, address, nowMs);
      const fits = await db
        .prepare(`SELECT 1 WHERE ${limits}`)
        .bind(...values)
        .first();
      return fits === null ? tooMany(owner) : undefined;
    },
    async put({ params: { id = "", email: address = "" }, body: { roles, name = "", language = "" }, ...by }, write) {
      const { nowMs, origin } = by;
      const token = randomSecret(random);
      const tokenHash = await sha256Hex(token);
      const expiresAt = nowMs + INVITATION_LIFE_MS;
      const values = [id, address, JSON.stringify(roles), name, language, tokenHash, nowMs, expiresAt];
      const written = await write([
        guard(db, withinLimits(id, address, nowMs)),
        db.prepare(ADD_USER).bind(address, name === "" ? address : name, nowMs),
        db.prepare(sql.addMail).bind(tokenHash, address, nowMs, expiresAt, id),
        db.prepare(sql.upsert).bind(...values),
      ]);
      const place = String(written.row["place"]);
      const from = owner === "tenant" ? { place, tenant: id } : { place };
      const mailed = await deps.sendInvitation({ ...from, email: address, token, language, origin, nowMs });
      return { ...written, shownOnce: { mailed } };
    },
    remove: ({ params: { id, email: address = "" } }, remove) => remove(db.prepare(sql.delete).bind(id, address)),
    within: {
      owns: ({ id = "" }, organization) => place(owner, id, organization),
      change: {
        permits: ({ params: { id = "" } }, organization) => place(owner, id, organization),
        validate: ({ params: path, body }, by) => refuseRoles(owner, deps, path, body.roles, by),
      },
    },
  };
}

const place = (owner: OwnerNoun, id: string, organization: string): Condition =>
  owner === "tenant" ? ownsTenant(id, organization) : isOrganization(id, organization);

const tooMany = (owner: OwnerNoun) => {
  const { ofAddress, ofOrganization, open } = INVITATION_LIMITS;
  const message =
    `An address gets at most ${ofAddress} invitations a day, an organization with its tenants sends at most ` +
    `${ofOrganization}, and the ${owner} has at most ${open} open ones.`;
  return problem("insufficient_resources", message, { headers: { "retry-after": "3600" } });
};
