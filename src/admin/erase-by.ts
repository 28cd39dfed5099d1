import type { Principal } from "../http/callers/auth.ts";
import { isProblem } from "../http/errors/errors.ts";
import type { Call, Route } from "../http/route.ts";

/**
 * Removes the resource that a row of the audit log names, such as `users/ada@acme.example`, by the route that removed
 * it then. So the same rules hold, its dependent rows are removed too, and the audit log gets a row.
 */
export const eraseBy =
  (routes: readonly Route[]) =>
  async (
    subject: string,
    call: Call<unknown, unknown, unknown, Principal>,
    madeUntilMs: number,
  ): Promise<"erased" | "absent" | "made_since" | "other" | { readonly refused: string }> => {
    const found = matching(routes, subject, "deleteResource");
    const shown = matching(routes, subject, "readResource");
    if (found === undefined || shown === undefined) return "other";
    const asked = { ...call, params: found.params };
    const there = await shown.route.handle(asked);
    if (isProblem(there)) return there.type === ABSENT ? "absent" : { refused: there.message };
    const { createdAt } = (await there.json()) as { readonly createdAt?: number };
    if (createdAt !== undefined && createdAt > madeUntilMs) return "made_since";
    const answer = await found.route.handle(asked);
    if (!isProblem(answer)) return "erased";
    return answer.type === ABSENT ? "absent" : { refused: answer.message };
  };

const ABSENT = "element_resource_non_existing";

/** Finds the route of an operation at a resource, with the parameters in its address. */
function matching(routes: readonly Route[], subject: string, operation: Route["operation"]) {
  const parts = subject.split("/");
  for (const route of routes) {
    if (route.operation !== operation) continue;
    const names = route.path.slice(1).split("/");
    if (names.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = names.every((name, at) => {
      if (!name.startsWith("{")) return name === parts[at];
      params[name.slice(1, -1)] = parts[at] ?? "";
      return true;
    });
    const parsed = fits ? route.params?.safeParse(params) : undefined;
    if (parsed?.success === true) return { route, params: parsed.data };
  }
  return undefined;
}
