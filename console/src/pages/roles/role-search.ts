import { listRoles, type Role } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { readAll } from "../../api/lists.ts";
import { queryClient } from "../../api/queries.ts";
import { configNow } from "../../session/config.ts";

/** Roles with this text in their name or scopes, or with a pattern that covers it. The service cannot search them. */
export async function findRoles(q = ""): Promise<readonly Role[]> {
  const roles = await queryClient.fetchQuery({
    queryKey: ["roles", { all: true }],
    queryFn: () => readAll<Role>((page) => listRoles(page, operations)),
  });
  return roles.flatMap((role) => found(role, q.toLowerCase()));
}

/** The role with the scopes that match first; nothing if neither they nor its name match. */
function found(role: Role, q: string): Role[] {
  const { name, scopes } = role;
  const matching = scopes.filter((scope) => scope.toLowerCase().includes(q) || covers(scope, q));
  if (matching.length === 0 && !name.toLowerCase().includes(q)) return [];
  return [{ ...role, scopes: [...matching, ...scopes.filter((scope) => !matching.includes(scope))] }];
}

/** No pattern covers the scopes of operators. */
const covers = (scope: string, q: string): boolean =>
  scope.endsWith("*") &&
  q.startsWith(scope.slice(0, -1).toLowerCase()) &&
  !q.startsWith(`${configNow().platform}.admin`);
