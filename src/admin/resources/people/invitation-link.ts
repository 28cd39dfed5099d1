import { problem } from "../../../http/errors/errors.ts";
import { defineRoute, json, jsonBody, type Route } from "../../../http/route.ts";
import { rowBy, type AuditTrail } from "../../../platform/ports/audit.ts";
import { sha256Hex } from "../../../platform/secrets/hash.ts";
import { randomSecret, type Random } from "../../../platform/runtime/random.ts";
import { ADD_USER, INVITATION_LIMITS, schema, statements } from "./invitations.ts";
import { paramsOf } from "./members.ts";
import { refuseFaults } from "../shared/refusals.ts";
import { guard, holds } from "../shared/within-organization.ts";
import { DAY_MS } from "../../../platform/runtime/clock.ts";

/**
 * An invitation into an organization whose link the operator hands over. It serves the first operator of a deployment,
 * and platforms that send no mail.
 *
 *   none ──POST──▶ open for a day ──the person uses the link──▶ a member, with the roles
 *                    │ POST again, or an invitation by mail: another link, the one before is void
 *                    └──a day──▶ none
 *
 * Only this answer shows the link. A person with the link can choose the password of an account without one. An
 * operator of the whole platform can do that anyway, so only such operators may make links. The link does not verify
 * the address.
 */
interface Deps {
  readonly db: D1Database;
  readonly random: Random;
  readonly audit: Pick<AuditTrail, "statement">;
  readonly oauth: { invitationLink(token: string, origin: string): string };
}

/** Our choice: the operator hands the link over at once, and a terminal or a log may keep it. */
const LIFE_MS = DAY_MS;
const sql = statements("organization");

export const invitationLinkRoute = ({ db, random, audit, oauth }: Deps): Route =>
  defineRoute({
    method: "POST",
    path: "/organizations/{id}/invitations/{email}/link",
    summary: "Invite a person by a link that you hand over",
    operation: "makeInvitationLink",
    params: paramsOf("organization"),
    body: jsonBody(schema),
    async handle(call) {
      const { nowMs, url } = call;
      const { id, email } = call.params;
      const { roles, name = "", language = "" } = call.body;
      const given = JSON.stringify(roles);
      const refused = await refuseFaults(db.prepare(sql.faults).bind(id, given));
      if (refused !== undefined) return refused;
      const token = randomSecret(random);
      const expiresAt = nowMs + LIFE_MS;
      const hash = await sha256Hex(token);
      const record = rowBy(call, "make invitation link", `organizations/${id}/invitations/${email}`);
      const fewOpen = { sql: sql.fewOpen, values: [id, email] };
      const written = await db
        .batch([
          guard(db, fewOpen),
          db.prepare(ADD_USER).bind(email, name === "" ? email : name, nowMs),
          db.prepare(sql.upsert).bind(id, email, given, name, language, hash, nowMs, expiresAt),
          db.prepare(sql.byHand).bind(id, email),
          audit.statement("always", record),
        ])
        .catch(async (thrown: unknown) => {
          if (await holds(db, fewOpen)) throw thrown;
        });
      if (written === undefined) return tooMany();
      const link = oauth.invitationLink(token, url.origin);
      return json(201, { link, expiresAt }, { "cache-control": "no-store" });
    },
  });

const tooMany = () =>
  problem("insufficient_resources", `At most ${INVITATION_LIMITS.open} invitations are open at once.`, {
    headers: { "retry-after": "3600" },
  });
