import { json } from "../../http/route.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { randomSecret, type Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { checkRequest } from "../authorize/protocol/checks.ts";
import { admitsStranger, lengthFault, mostKept, TOO_MANY_OF_NETWORK } from "../authorize/kept.ts";
import { parseRequest } from "../authorize/protocol/parse.ts";
import { keepPushed, newReference } from "../authorize/pushed/pushed.ts";
import { readCredentials } from "../clients/authentication.ts";
import { DEVICE_GRANT, DEVICE_LIFETIME_SEC, POLL_INTERVAL_SEC } from "../grants/device-code.ts";
import { identifyGrantClient, type TokenCall } from "../grants/grant-step.ts";
import type { AnyCall } from "../model/call.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import { parseScopes } from "../model/granted-scopes.ts";
import { deviceParameter, readAuthorizationParameters, readParameters } from "../model/parameters.ts";
import { joinResources } from "../model/resource.ts";
import { redirect, withParameters } from "../model/redirect.ts";
import { pageContext, refusedPage } from "../pages/page.ts";
import type { DeviceView } from "../pages/views/consent.ts";
import { csrfToken, readCookie, recognizeBrowser, verifyCsrfToken, withCookie } from "../sign-in/browser.ts";
import type { GuessGuard } from "../sign-in/guess-guard.ts";
import type { PageEndpointDeps, TokenEndpointDeps } from "./deps.ts";
import { readProof } from "./proof.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";

export type DeviceDeps = TokenEndpointDeps & PageEndpointDeps & { readonly guesses: GuessGuard };

/** Consonants, which form no words, without letters that look alike (RFC 8628 6.1). Eight of these 20 are 34 bits. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LETTERS = 8;
/** Tries to find an unused code. Two devices rarely get the same one. */
const ATTEMPTS = 3;

/**
 * `POST /device_authorization` (RFC 8628 3.1): the codes for a device. The client authenticates as at `/token`. The
 * request is checked as at `/authorize`.
 */
export async function authorizeDevice(deps: DeviceDeps, call: TokenCall): Promise<Response> {
  const made = await makeDevice(deps, call);
  if (!made.ok) return deps.refuse(call, "device authorization", made.error);
  const { deviceCode, userCode } = made.value;
  const page = `${deps.pagesBase(call)}/device`;
  const body = {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: withParameters(page, { query: { user_code: userCode } }),
    expires_in: DEVICE_LIFETIME_SEC,
    interval: POLL_INTERVAL_SEC,
  };
  return json(200, body, { "cache-control": "no-store", pragma: "no-cache" });
}

async function makeDevice(
  deps: DeviceDeps,
  call: TokenCall,
): Promise<Result<{ readonly deviceCode: string; readonly userCode: string }, OAuthFailure>> {
  const parameters = readParameters(call.body, deps.names);
  if (!parameters.ok) return parameters;
  const credentials = readCredentials(call.request, parameters.value);
  if (!credentials.ok) return credentials;
  const scope = parameters.value.get("scope") ?? "";
  const resource = joinResources(call.body.getAll("resource"));
  const proof = await readProof(deps, call);
  if (!proof.ok) return proof;
  const scopes = parseScopes(scope, deps.names);
  if (!scopes.ok) return err(failure("invalid_scope", "The scope is not valid.", scopes.error.reason));
  const request = {
    call,
    parameters: parameters.value,
    credentials: credentials.value,
    scopes: scopes.value,
    resources: [],
    // No DPoP proof is needed here: `/token` requires it. The empty key passes the check for one.
    proofKey: proof.value?.key ?? "",
  };
  const caller = await identifyGrantClient(deps, request, DEVICE_GRANT);
  if (!caller.ok) return caller;
  const { id } = caller.value.client;
  const deviceCode = randomSecret(deps.random);
  const deviceHash = await sha256Hex(deviceCode);
  const begun = { deviceHash, userCode: "", clientId: id, scope, resource };
  const tooLong = lengthFault(formOf(deps, begun), "name fewer scopes and resources");
  if (tooLong !== undefined) return err(failure("invalid_request", tooLong, undefined, id));
  const draft = await parseRequest(deps, asPushed(deps, begun), call);
  const checked = draft.ok ? await checkRequest(deps, draft.value, call) : undefined;
  if (checked?.ok !== true) {
    const { error, description, reason } = checked?.error ?? {
      error: "invalid_request" as const,
      description: "The request is not valid.",
      reason: draft.ok ? "" : draft.error.reason,
    };
    return err(failure(error, description, reason, id));
  }
  const most = await mostKept(deps, caller.value, call);
  if (!most.ok) return most;
  const expiresAtMs = call.nowMs + DEVICE_LIFETIME_SEC * 1000;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const userCode = newUserCode(deps.random);
    const intervalMs = POLL_INTERVAL_SEC * 1000;
    const device = { ...begun, userCode, expiresAtMs, intervalMs, most: most.value };
    if (await deps.devices.add(device, call.nowMs)) return ok({ deviceCode, userCode });
  }
  const text = "There is no code at the moment: try again in a minute.";
  return err(failure("temporarily_unavailable", text, "user codes collide", id));
}

/** `XXXX-XXXX`. Bytes of 240 and more are skipped, so every letter is equally likely. */
function newUserCode(random: Random): string {
  const letters: string[] = [];
  while (letters.length < CODE_LETTERS)
    for (const byte of random.bytes(16)) if (byte < 240) letters.push(LETTERS[byte % LETTERS.length]!);
  const code = letters.slice(0, CODE_LETTERS).join("");
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** The typed code in the form of stored ones: only its letters, in upper case, with a dash after the fourth. */
const normalized = (typed: string): string => {
  const letters = typed.toUpperCase().replaceAll(/[^A-Z]/g, "");
  return `${letters.slice(0, 4)}-${letters.slice(4, 2 * CODE_LETTERS)}`;
};

interface Device {
  readonly deviceHash: string;
  readonly userCode: string;
  readonly clientId: string;
  readonly scope: string;
  readonly resource: string;
}

/** The device's authorization request, as the parameters of a form. */
const formOf = ({ names }: Pick<DeviceDeps, "names">, { deviceHash, userCode, clientId, scope, resource }: Device) =>
  new URLSearchParams({
    client_id: clientId,
    response_type: "code",
    ...(scope === "" ? {} : { scope }),
    ...(resource === "" ? {} : { resource }),
    [deviceParameter(names)]: `${deviceHash} ${userCode}`,
  });

const asPushed = (deps: DeviceDeps, device: Device) => ({
  ...readAuthorizationParameters(formOf(deps, device), deps.names),
  pushed: device.deviceHash,
});

/** `GET /device`: asks for the code. `/authorize` returns here with the decision, and the page shows it. */
export async function showDevice(deps: DeviceDeps, call: AnyCall): Promise<Response> {
  const { searchParams } = call.url;
  if (searchParams.has("error")) return devicePage(deps, call, { kind: "denied", userCode: "" });
  if (searchParams.has("allowed")) return devicePage(deps, call, { kind: "allowed", userCode: "" });
  return devicePage(deps, call, { kind: "ask", userCode: (searchParams.get("user_code") ?? "").slice(0, 20) });
}

/**
 * `POST /device`: the form with the code. Wrong codes count for the network, as wrong passwords do.
 *
 *   sent from another site ──▶ 400 page
 *   made for another browser ──▶ 400, the page again
 *   unknown, expired or decided code ──▶ 400, the page again
 *   any code, after too many wrong ones from the network ──▶ 400, the page again
 *   too many sign-ins begin in the network ──▶ 400 page
 *   known code ──▶ 303 to `/authorize`, where the person signs in and decides
 */
export async function enterUserCode(deps: DeviceDeps, call: FormCall): Promise<Response> {
  const form = readForm(deps, call, "device");
  if (!form.ok) return form.error;
  const userCode = normalized(form.value.get("user_code") ?? "");
  if (!(await verifyCsrfToken(deps, readCookie(call, "browser", deps.names), form.value.get("csrf"))))
    return devicePage(deps, call, { kind: "ask", userCode, fault: "stale" });
  const guess = await deps.guesses.begin({ request: call.request, account: `device ${userCode}`, password: userCode });
  if (!guess.admitted) return devicePage(deps, call, { kind: "ask", userCode, fault: "blocked" });
  const device = await deps.devices.find(userCode, call.nowMs);
  call.waitUntil(guess.settle(device === undefined));
  if (device === undefined) {
    deps.noteRefusal(call, "device", { error: "invalid_request", reason: "the user code is unknown", actor: "" });
    return devicePage(deps, call, { kind: "ask", userCode, fault: "wrong" });
  }
  const refuse = (detail: string) =>
    refusedPage(deps, call, "device", { detail, reason: detail, clientId: device.clientId });
  if (!(await admitsStranger(deps, call))) return refuse(TOO_MANY_OF_NETWORK);
  const { requestUri, hash } = await newReference(deps.random);
  const request = formOf(deps, { ...device, userCode });
  const pushed = { hash, clientId: device.clientId, form: request, most: undefined };
  if (!(await keepPushed(deps, pushed, call.nowMs))) return refuse("The client has just been removed.");
  const query = { client_id: device.clientId, request_uri: requestUri };
  return redirect(303, withParameters(`${deps.pagesBase(call)}/authorize`, { query }));
}

async function devicePage(
  deps: DeviceDeps,
  call: AnyCall,
  view: Pick<DeviceView, "kind" | "userCode"> & Partial<Pick<DeviceView, "fault">>,
): Promise<Response> {
  const browser = recognizeBrowser(deps, call);
  const page = deps.pages.device({
    ...pageContext(call, call.url.searchParams.get("ui_locales") ?? undefined),
    fault: undefined,
    ...view,
    status: view.fault === undefined ? 200 : 400,
    action: `${deps.pagesBase(call)}/device`,
    hidden: { csrf: await csrfToken(deps, browser.key) },
    formTargets: [],
  });
  return withCookie(page, browser.cookie);
}
