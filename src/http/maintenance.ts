import { problem, type Problem } from "./errors/errors.ts";

/** During maintenance, only the operator, health checks and readers of the documents are served. */
export interface Maintenance {
  readonly operatorClientId: string;
}

const SERVED: ReadonlySet<string> = new Set(["admin", "platform"]);

/**
 * The refusal of a request during maintenance (`MAINTENANCE`). A restore of the database, for example, would lose its
 * writes. A request in the operator client's name passes to the OAuth service, which checks the secret.
 */
export function refusedInMaintenance(
  maintenance: Maintenance | undefined,
  service: { readonly name: string } | undefined,
  request: Request,
): Problem | undefined {
  if (maintenance === undefined || (service !== undefined && SERVED.has(service.name))) return undefined;
  if (service?.name === "oauth" && namesOperator(request, maintenance.operatorClientId)) return undefined;
  return problem("service_temporarily_unavailable", "The platform is being maintained. Try again in some minutes.", {
    headers: { "retry-after": "60" },
  });
}

/** True if the request carries the operator client's id, as its user name (RFC 6749 2.3.1). */
function namesOperator(request: Request, operatorClientId: string): boolean {
  const [, encoded = ""] = /^basic +([A-Za-z0-9+/=]{1,1024})$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  try {
    return atob(encoded).startsWith(`${operatorClientId}:`);
  } catch {
    return false;
  }
}
