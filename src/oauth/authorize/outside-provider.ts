/**
 * A sign-in by a bound provider that leads nowhere: the address is outside its domains, or the place outside its
 * tenants (model/binding.ts). The person learns what to do instead, and goes back to the client from there.
 *
 *   the client wants no page, or its answer by a form ──▶ that answer
 *   else ──▶ 400 page ──▶ the same request with the platform's own form
 *                    └──▶ the client, with the error
 */
import { DEFAULT_PROVIDER } from "../../platform/model/names.ts";
import type { AnyCall } from "../model/call.ts";
import { pageContext, shownName } from "../pages/page.ts";
import type { OutsideProviderView } from "../pages/views/sign-in.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import type { AuthorizeFailure } from "./protocol/failure.ts";
import { ofAddress, toParametersWithoutHint, type AuthorizationRequest } from "./protocol/request.ts";
import { refusedAddress, refusedAnswer } from "./protocol/response.ts";

/** The page. `failure`: the error for the client, which the page holds back. */
export async function outsideProviderPage(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  { kind, user, failure }: Pick<OutsideProviderView, "kind" | "user"> & { readonly failure: AuthorizeFailure },
  call: AnyCall,
): Promise<Response> {
  const answer = refusedAnswer(deps, request, failure, call);
  const back = request.prompt === "none" ? undefined : refusedAddress(deps, request, failure, call);
  if (back === undefined) return answer;
  return deps.pages.outsideProvider({
    ...pageContext(call, request.parameters.get("ui_locales"), request.brand),
    kind,
    user,
    provider: request.provider,
    clientName: shownName(request.client),
    back,
    otherWay: await addressWithProvider(deps, request, DEFAULT_PROVIDER, call),
  });
}

/** The same request again, for another provider. An expected user stays sealed in it. */
export async function addressWithProvider(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  provider: string,
  call: AnyCall,
): Promise<string> {
  const query = new URLSearchParams({
    ...ofAddress(request, await toParametersWithoutHint(deps, request)),
    [deps.names.parameter("id_provider")]: provider,
  });
  return `${deps.pagesBase(call)}/authorize?${query.toString()}`;
}
