import * as z from "zod/mini";
import { conflict, noSuch } from "../../../http/errors/errors.ts";
import { defineRoute, json, type Route } from "../../../http/route.ts";
import { sha256Hex } from "../../../platform/secrets/hash.ts";
import { randomSecret, type Random } from "../../../platform/runtime/random.ts";
import { rowBy } from "../../../platform/ports/audit.ts";
import { identifier } from "../../model/fields.ts";
import { guard, holds, ownsClient, tenantOperator } from "../shared/within-organization.ts";
import { builtInRefusal } from "../../model/rules.ts";
import { isBuiltIn } from "./client-body.ts";
import type { OAuthPort } from "../../model/ports.ts";
import type { ResourceDeps } from "../shared/resource.ts";
import { DAY_MS } from "../../../platform/runtime/clock.ts";

/** The old secret works for another day, so that the instances of a client can change one by one. */
const OVERLAP_MS = DAY_MS;

/** SQL: ends a secret that is already expiring, so at most two secrets are valid. */
const DROP_EXPIRING = `DELETE FROM client_secret WHERE client = ?1 AND expires_at IS NOT NULL`;
const EXPIRE_CURRENT = `UPDATE client_secret SET expires_at = ?2 WHERE client = ?1`;
/** SQL: adds the secret. The current record of the client decides whether it is a secret to send or to sign with. */
const ADD = `
  INSERT INTO client_secret (client, digest, created_at, sealed)
  SELECT id, iif(auth_method = '', ?2, ?4), ?3, iif(auth_method = '', NULL, ?5)
  FROM client WHERE id = ?1 AND confidential = 1 AND auth_method IN ('', 'client_secret_jwt')`;
const EXISTS = `SELECT 1 FROM client WHERE id = ?1`;

interface Deps extends Omit<ResourceDeps, "oauth"> {
  readonly random: Random;
  readonly oauth: Pick<OAuthPort, "sealClientSecret">;
}

export const clientSecretRoute = (deps: Deps): Route =>
  defineRoute({
    method: "POST",
    path: "/clients/{clientId}/secret",
    summary: "Give the client a new secret; the old one works for 24 h",
    operation: "makeClientSecret",
    params: z.object({ clientId: identifier }),
    handle: async (call) => {
      const { clientId } = call.params;
      const { nowMs } = call;
      const { db } = deps;
      const by = tenantOperator(call.principal, deps.names, "run");
      const condition = by && ownsClient(clientId, by.organization);
      if (condition !== undefined && !(await holds(db, condition))) return noSuch("client");
      if (isBuiltIn(clientId, deps)) return builtInRefusal("client", clientId);
      const clientSecret = randomSecret(deps.random);
      const toSignWith = await deps.oauth.sealClientSecret(clientId, clientSecret);
      const expiresAt = nowMs + OVERLAP_MS;
      const reason = `the one before works until ${new Date(expiresAt).toISOString()}`;
      const record = rowBy(call, "rotate secret", `clients/${clientId}`, reason);
      const rotation = [
        db.prepare(DROP_EXPIRING).bind(clientId),
        db.prepare(EXPIRE_CURRENT).bind(clientId, expiresAt),
        db.prepare(ADD).bind(clientId, await sha256Hex(clientSecret), nowMs, toSignWith.digest, toSignWith.sealed),
        deps.audit.statement("if changed", { ...record, changed: ["clientSecret"] }),
        ...(condition === undefined ? [] : [guard(db, condition)]),
      ];
      try {
        const results = await db.batch(rotation);
        if (results[2]?.meta.changes !== 1)
          return (await db.prepare(EXISTS).bind(clientId).first()) === null ? noSuch("client") : publicClient(clientId);
      } finally {
        // A write that failed may have been stored.
        deps.recordsChanged();
      }
      return json(201, { clientId, clientSecret, previousExpiresAt: expiresAt }, { "cache-control": "no-store" });
    },
  });

const publicClient = (clientId: string) =>
  conflict(
    "not_confidential",
    "",
    `The client ${clientId} has no secret: it is not confidential, or signs with private keys. A PUT that changes that shows its first one.`,
  );
