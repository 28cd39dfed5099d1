import { isRecent } from "../factors/factors.ts";
import { makeOffer, type Offer } from "../factors/set-up.ts";
import type { AnyCall } from "../model/call.ts";
import { askForPasskey } from "../passkeys/check.ts";
import { pageContext, shownName } from "../pages/page.ts";
import type { CodeFault } from "../pages/views/factors.ts";
import { csrfToken } from "../sign-in/browser.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { refused } from "./protocol/failure.ts";
import { prefilledEmail, type IdentifiedRequest } from "./identify.ts";
import { promptSignIn } from "./prompt.ts";
import { formTargets, toTextAfterSignIn } from "./protocol/request.ts";
import { refusedAnswer } from "./protocol/response.ts";

/** `reason`: why the page is shown, for the log. The others are the result of the form before, and what it showed. */
export interface Shown {
  readonly reason: string;
  readonly fault?: CodeFault | undefined;
  readonly offer?: Offer | undefined;
}

/**
 * The page that asks for the second factor, a code or a passkey; somebody who has neither sets up an app there. Only a
 * recent sign-in may do that, and a user known by an ID token hint alone signs in first.
 */
export async function promptSecondFactor(
  deps: AuthorizeDeps,
  { request, identity }: IdentifiedRequest,
  { reason, fault, offer }: Shown,
  call: AnyCall,
): Promise<Response> {
  const { client, prompt, parameters } = request;
  const { user, from } = identity;
  if (prompt === "none") return refusedAnswer(deps, request, refused("login_required", TWO_NEEDED, reason), call);
  const asks = user.hasSecondFactor || user.hasPasskey;
  if (from === "hint" || (!asks && !isRecent(identity, call)))
    return promptSignIn(deps, request, { email: prefilledEmail(request, user.email), reason }, call);
  const page = {
    ...pageContext(call, parameters.get("ui_locales"), request.brand),
    status: fault === undefined ? 200 : 400,
    action: `${deps.pagesBase(call)}/second-factor`,
    user: user.email,
    clientName: shownName(client),
    logoUri: client.logoUri,
    formTargets: formTargets(request),
  } as const;
  const hidden = {
    request: await toTextAfterSignIn(deps, request, identity.sid),
    csrf: await csrfToken(deps, codeFormKey(identity.sid)),
  };
  if (asks)
    return deps.pages.secondFactor({
      ...page,
      fault,
      hidden,
      asksCode: user.hasSecondFactor,
      passkey: user.hasPasskey
        ? await askForPasskey(deps, call, "second factor", codeFormKey(identity.sid), user.email)
        : undefined,
    });
  if (fault === "passkey") throw new Error("a page without passkeys has no such fault");
  const shown = offer ?? (await makeOffer(deps, call, identity));
  return deps.pages.setUpSecondFactor({
    ...page,
    fault,
    hidden: { ...hidden, offer: shown.sealed },
    account: undefined,
    asksPassword: false,
    secret: shown.secret,
    uri: shown.uri,
  });
}

const TWO_NEEDED = "The user has to show a second factor.";

/** Binds the form to the sign-in. */
export const codeFormKey = (sid: string): string => `second factor ${sid}`;
