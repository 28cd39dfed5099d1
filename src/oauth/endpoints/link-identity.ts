import { sha256Hex } from "../../platform/secrets/hash.ts";
import { enterAccount, refuseAccountSignIn } from "../account/sign-in.ts";
import { readRequest } from "../authorize/authorize.ts";
import { formTargets, isExpectedUser } from "../authorize/protocol/request.ts";
import { refuseUnexpectedUser, resumeSignIn, refuseSignIn } from "../authorize/resume.ts";
import { readClientRequest } from "../federation/begin.ts";
import { link, type Unlinked } from "../federation/linking.ts";
import { FOR_ACCOUNT } from "../federation/pending.ts";
import type { AnyCall } from "../model/call.ts";
import { BY_PASSWORD } from "../model/methods.ts";
import { readParameters } from "../model/parameters.ts";
import { pageContext, refusedPage, shownName } from "../pages/page.ts";
import type { ConfirmLinkView } from "../pages/views/sign-in.ts";
import { isCrossSite, recognizeBrowser, readCookie, withCookie, CROSS_SITE_FORM } from "../sign-in/browser.ts";
import { rememberDevice, signInByPassword } from "../sign-in/device.ts";
import type { PageEndpointDeps } from "./deps.ts";

/**
 * `POST /link-identity`: the form by which a user confirms, with their password, that the account at a provider is
 * theirs.
 *
 *   sent from another site ──▶ 400 page
 *   made for another browser, or ten minutes old ──▶ 400 page: the sign-in is over
 *   wrong password, or the account is blocked ──▶ 400, the page again; counts towards the block
 *   the account or the provider changed meanwhile ──▶ the error, for the client or on the account page's sign-in
 *   right password ──▶ linked; a new session; the response of `/authorize` to the same request, or the account page
 *
 * The form carries the provider's statement, sealed for this browser, so nobody else can send or change it.
 */
export interface PendingLink extends Unlinked {
  readonly provenAtMs: number | undefined;
  /** As in PendingSignIn (federation/pending.ts). */
  readonly request: string;
}

const ACTION = "link identity";
/** Our choice: time to find the password. */
const LIFETIME_MS = 600_000;

export async function confirmPage(
  deps: PageEndpointDeps,
  call: AnyCall,
  pending: PendingLink,
  fault: ConfirmLinkView["fault"],
): Promise<Response> {
  const clientRequest = readClientRequest(deps, pending.request);
  const context = await linkPageContext(deps, call, pending);
  if (context instanceof Response) return context;
  const browser = recognizeBrowser(deps, call);
  const page = deps.pages.confirmLink({
    ...pageContext(call, clientRequest.get("ui_locales") ?? call.url.searchParams.get("ui_locales") ?? undefined),
    ...context,
    status: fault === undefined ? 200 : 400,
    action: `${deps.pagesBase(call)}/link-identity`,
    hidden: { vouched: await deps.sealer.seal(JSON.stringify(pending), await sealPurpose(browser.key)) },
    email: pending.email,
    provider: pending.provider,
    fault,
  });
  return withCookie(page, browser.cookie);
}

export async function confirmLink(
  deps: PageEndpointDeps,
  call: AnyCall & { readonly body: URLSearchParams },
): Promise<Response> {
  const refusePage = (kind: "request" | "over", detail: string, reason = detail): Response =>
    refusedPage(deps, call, ACTION, { kind, detail, reason, clientId: "" });
  if (isCrossSite(call)) return refusePage("request", CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  if (!form.ok) return refusePage("request", form.error.description, form.error.reason);
  const pending = await open(deps, form.value.get("vouched") ?? "", call);
  if (pending === undefined) return refusePage("over", "", "the form is too old, or was not made for this browser");
  const { email, request, provider, provenAtMs } = pending;
  const signedIn = await signInByPassword(deps, email, form.value.get("password") ?? "", call);
  if (signedIn.kind !== "ok") return confirmPage(deps, call, pending, signedIn.kind);

  const linked = await link(deps, pending, "password", call);
  const newSignIn = { email, provider, provenAtMs, methods: BY_PASSWORD };
  if (!linked.ok)
    return request === FOR_ACCOUNT
      ? refuseAccountSignIn(deps, call, linked.error)
      : refuseSignIn(deps, call, { request, failure: linked.error });
  const response =
    request === FOR_ACCOUNT
      ? await enterAccount(deps, call, newSignIn)
      : await resumeSignIn(deps, call, { newSignIn, request });
  return rememberDevice(deps, call, response, signedIn);
}

/** Returns the client that the user signs in to, or a response if the request is invalid or expects another user. */
async function linkPageContext(
  deps: PageEndpointDeps,
  call: AnyCall,
  { request, email }: PendingLink,
): Promise<Pick<ConfirmLinkView, "brand" | "clientName" | "formTargets"> | Response> {
  if (request === FOR_ACCOUNT) return { clientName: "", formTargets: [] };
  const checked = await readRequest(deps, call, new URLSearchParams(request));
  if (!checked.ok) return checked.error;
  if (!isExpectedUser(checked.value, email)) return refuseUnexpectedUser(deps, checked.value, email, call);
  const { brand, client } = checked.value;
  return { brand, clientName: shownName(client), formTargets: formTargets(checked.value) };
}

async function open(deps: PageEndpointDeps, vouched: string, call: AnyCall): Promise<PendingLink | undefined> {
  const key = readCookie(call, "browser", deps.names);
  if (key === undefined) return undefined;
  const opened = await deps.sealer.open(vouched, await sealPurpose(key));
  if (opened === undefined) return undefined;
  const pending = JSON.parse(opened) as PendingLink;
  return call.nowMs - pending.vouchedAtMs < LIFETIME_MS ? pending : undefined;
}

/** Text that is sealed for one browser opens in no other. */
const sealPurpose = async (browserKey: string): Promise<string> => `link identity:${await sha256Hex(browserKey)}`;
