import { listServices } from "../../api/plinth.ts";
import { OIDC_SCOPES } from "../../src/platform/model/oidc-scopes.ts";
import { scopesOverlap } from "../../src/platform/model/scope-pattern.ts";
import { allRows, type OperatorClient } from "../client/admin-client.ts";
import type { Io } from "../terminal/io.ts";
import { didYouMean } from "../terminal/nearest.ts";
import { clean } from "../terminal/values.ts";

/**
 * Warns of scopes that no service offers. The platform stores them, because the service may be registered later, but
 * until then nobody gets them. This runs after the change was made, so it stays silent if the services cannot be listed
 * (operators of an organization may not see all of them).
 */
export async function warnOfUnknownScopes(
  client: OperatorClient,
  scopes: readonly string[],
  io: Pick<Io, "err" | "paintErr">,
): Promise<void> {
  const services = await allRows((page) => listServices(page, client.opts)).catch(() => undefined);
  if (services === undefined) return;
  const offered = services.flatMap((service) => service.scopes);
  for (const scope of scopes.filter((one) => !offered.some((known) => scopesOverlap(known, one)))) {
    const what = isForAnybody(scope)
      ? `${clean(scope)} has no effect here: any request may ask for it.`
      : `No service has the scope ${clean(scope)}, so nobody gets it.${didYouMean(scope, offered)}`;
    io.err(`${io.paintErr.yellow("!")} ${what}\n`);
  }
}

/** `openid` and the like, and the place of a token, such as `plat.tenant=demo`. */
const isForAnybody = (scope: string): boolean =>
  OIDC_SCOPES.includes(scope) || /^[^.]+\.(?:tenant=|org=|no_tenant$)/.test(scope);
