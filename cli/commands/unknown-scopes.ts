import { listServices } from "../../api/plinth.ts";
import { scopesOverlap } from "../../src/platform/model/scope-pattern.ts";
import { allRows, type OperatorClient } from "../client/admin-client.ts";
import type { Io } from "../terminal/io.ts";
import { didYouMean } from "../terminal/nearest.ts";
import { clean } from "../terminal/values.ts";

/**
 * Tells of scopes that no service offers. They are stored all the same, because the service may be registered later.
 * Until then nobody gets them. The change is made by then, so a list that cannot be read (operators of an organization
 * may not see all services) leaves the warning out.
 */
export async function warnOfUnknownScopes(
  client: OperatorClient,
  scopes: readonly string[],
  io: Pick<Io, "err" | "paintErr">,
): Promise<void> {
  const services = await allRows((page) => listServices(page, client.opts)).catch(() => undefined);
  if (services === undefined) return;
  const offered = services.flatMap((service) => service.scopes);
  for (const scope of scopes.filter((one) => !offered.some((known) => scopesOverlap(known, one))))
    io.err(
      `${io.paintErr.yellow("!")} No service has the scope ${clean(scope)}, so nobody gets it.${didYouMean(scope, offered)}\n`,
    );
}
