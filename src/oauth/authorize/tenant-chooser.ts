import type { AnyCall } from "../model/call.ts";
import { pageContext } from "../pages/page.ts";
import type { Membership, UserRecord } from "../users/user-store.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { refused } from "./failure.ts";
import { toParameters, formTargets, type AuthorizationRequest } from "./request.ts";
import { refusedAnswer } from "./response.ts";

/** What HTML and forms do not carry unchanged (HTML 4.10.21.4). */
const CHANGED_BY_FORMS = /[\0\r\n]/;

/**
 * The page on which the user says for which tenant the tokens are to be (implicit flow, several tenants, none named).
 * What is chosen is the same request again with a scope that names the tenant; a client could send that itself, so
 * nothing hangs on who sends it.
 */
export async function chooseTenant(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  user: UserRecord,
  tenants: readonly Pick<Membership, "id" | "name">[],
  call: AnyCall,
): Promise<Response> {
  const { parameters, client } = request;
  const { names } = deps;
  // The user did sign in as the client wants; the choice must not ask for it again.
  const { scope, prompt: _prompt, max_age: _maxAge, ...hidden } = await toParameters(deps, request);
  if (Object.values(hidden).some((value) => CHANGED_BY_FORMS.test(value))) {
    const failure = refused("invalid_request", "A parameter has line breaks or NUL, which no form would give back.");
    return refusedAnswer(deps, request, failure, call);
  }
  return deps.pages.chooseTenant({
    ...pageContext(call, parameters.get("ui_locales")),
    action: `${deps.pagesOf(call)}/authorize`,
    hidden,
    clientName: client.name,
    user: user.email,
    tenants: tenants.map(({ id, name }) => ({
      id,
      name,
      value: `${scope ?? ""} ${names.scope(`tenant=${id}`)}`.trim(),
    })),
    formTargets: formTargets(request),
  });
}
