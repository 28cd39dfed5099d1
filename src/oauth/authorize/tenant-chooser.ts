import type { AnyCall } from "../model/call.ts";
import { pageContext, shownName } from "../pages/page.ts";
import type { Membership } from "../users/user-store.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { refused } from "./protocol/failure.ts";
import type { Identity } from "./identify.ts";
import { toParametersAfterSignIn, formTargets, type AuthorizationRequest } from "./protocol/request.ts";
import { refusedAnswer } from "./protocol/response.ts";

/** HTML and forms do not carry these characters unchanged (HTML 4.10.21.4). */
const CHANGED_BY_FORMS = /[\0\r\n]/;

/**
 * The page on which the user chooses the tenant of the tokens, if several fit and none is named: in the implicit flow,
 * or with `tenant_choice=true`. The form sends the same request with a scope that names the tenant. A client could send
 * that itself, so the form needs no token.
 */
export async function chooseTenant(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  { user, sid }: Pick<Identity, "user" | "sid">,
  tenants: readonly Pick<Membership, "id" | "name">[],
  call: AnyCall,
): Promise<Response> {
  const { parameters, client } = request;
  const { names } = deps;
  // The user has signed in as the client wants, so the choice must not ask for a sign-in again.
  const { scope, ...hidden } = await toParametersAfterSignIn(deps, request, sid);
  if (Object.values(hidden).some((value) => CHANGED_BY_FORMS.test(value))) {
    const failure = refused(
      "invalid_request",
      "A parameter contains line breaks or NUL characters, which a form cannot carry.",
    );
    return refusedAnswer(deps, request, failure, call);
  }
  return deps.pages.chooseTenant({
    ...pageContext(call, parameters.get("ui_locales"), request.brand),
    action: `${deps.pagesBase(call)}/authorize`,
    hidden,
    clientName: shownName(client),
    logoUri: client.logoUri,
    user: user.email,
    tenants: tenants.map(({ id, name }) => ({
      id,
      name,
      value: `${scope ?? ""} ${names.scope(`tenant=${id}`)}`.trim(),
    })),
    formTargets: formTargets(request),
  });
}
