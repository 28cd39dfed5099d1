import { sha256Hex } from "../../../platform/secrets/hash.ts";
import type { Names } from "../../../platform/model/names.ts";
import { randomSecret, type Random } from "../../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../../platform/model/result.ts";
import type { Sealer } from "../../../platform/secrets/seal.ts";
import type { AnyCall } from "../../model/call.ts";
import {
  continuedParameter,
  expectedUserParameter,
  readAuthorizationParameters,
  type AuthorizationParameters,
} from "../../model/parameters.ts";
import { sidOfCookie, type SessionDeps } from "../../sign-in/sessions.ts";
import type { PushedRecord, PushedStore } from "./pushed-store.ts";
import { MINUTE_MS } from "../../../platform/runtime/clock.ts";

/**
 * Pushed authorization requests (RFC 9126): the client sends the parameters itself, and the browser brings a reference.
 *
 *   pushed ──a browser comes with the reference──▶ begun ──the client gets its answer──▶ taken
 *     └── 90 s: expired                              └── 15 min: expired
 *
 * - The reference is 256 random bits, for the client that pushed. Only client and reference come from the browser: the
 *   forms of the pages carry them, and each step opens the stored parameters again.
 * - Loading a page again is not a second use. The request is used up by its answer, so a step that failed can be
 *   repeated.
 */
export const PUSHED_LIFETIME_SEC = 90;
/** Leaves people time to sign in. */
const BEGUN_LIFETIME_MS = 15 * MINUTE_MS;
const PREFIX = "urn:ietf:params:oauth:request_uri:";
/** Parameters that pages and providers show or pass on. Values that the browser sends for them have no effect. */
const SHOWN = ["scope", "prompt", "max_age", "login_hint", "ui_locales", "display"] as const;

export interface PushedDeps {
  readonly names: Names;
  readonly sealer: Sealer;
  readonly pushedRequests: PushedStore;
}

/** A new reference. */
export async function newReference(random: Random): Promise<{ readonly requestUri: string; readonly hash: string }> {
  const reference = randomSecret(random);
  return { requestUri: PREFIX + reference, hash: await sha256Hex(reference) };
}

interface NewPushed extends Pick<PushedRecord, "clientId" | "most"> {
  readonly hash: string;
  readonly form: URLSearchParams;
}

/** Keeps the checked parameters. Returns false if the client has too many of them, or has just been removed. */
export async function keepPushed(
  { sealer, pushedRequests }: PushedDeps,
  { hash, clientId, form, most }: NewPushed,
  nowMs: number,
): Promise<boolean> {
  const expiresAtMs = nowMs + PUSHED_LIFETIME_SEC * 1000;
  const sealed = await sealer.seal(form.toString(), sealContext(hash));
  return pushedRequests.add({ requestHash: hash, clientId, sealed, expiresAtMs, most }, nowMs);
}

/**
 * The parameters behind the reference, or those that were sent if there is none. The error says what is wrong. `over`:
 * the person took too long, or sent the last form again, so the person can begin again.
 */
export async function openPushed(
  deps: PushedDeps & Pick<SessionDeps, "sessions">,
  sent: AuthorizationParameters,
  call: AnyCall,
): Promise<Result<AuthorizationParameters, { readonly kind: "request" | "over"; readonly detail: string }>> {
  const requestUri = sent.get("request_uri");
  if (requestUri?.startsWith(PREFIX) !== true) return ok(sent);
  const clientId = sent.get("client_id");
  if (clientId === undefined || sent.repeated.some((name) => name === "client_id" || name === "request_uri"))
    return err({ kind: "request", detail: "request_uri needs one client_id." });
  const hash = await sha256Hex(requestUri.slice(PREFIX.length));
  const sealed = await deps.pushedRequests.begin(hash, clientId, call.nowMs, call.nowMs + BEGUN_LIFETIME_MS);
  const text = sealed === undefined ? undefined : await deps.sealer.open(sealed, sealContext(hash));
  if (text === undefined) return err({ kind: "over", detail: "request_uri is unknown, was used, or has expired." });
  const pushed = readAuthorizationParameters(new URLSearchParams(text), deps.names);
  return ok(join(deps.names, { sent, pushed, hash, prompt: await readContinued(deps, sent, hash, call) }));
}

/**
 * The marker of a form whose person has signed in as the request wants: it asks for no further sign-in. The marker
 * counts in the session of that sign-in only, so it spares nobody else theirs.
 */
export const continuedMarker = ({ sealer }: Pick<PushedDeps, "sealer">, of: Continued): Promise<string> =>
  sealer.seal(continuedText(of), CONTINUED);

interface Continued {
  readonly hash: string;
  readonly sid: string;
  /** The client wants consent each time, and it is not given yet. */
  readonly asksConsent: boolean;
}

/** The `prompt` that is left of a request that goes on; undefined if it does not. */
async function readContinued(
  deps: Pick<PushedDeps, "names" | "sealer"> & Pick<SessionDeps, "sessions">,
  sent: AuthorizationParameters,
  hash: string,
  call: AnyCall,
): Promise<"" | "consent" | undefined> {
  const marker = sent.get(continuedParameter(deps.names));
  if (marker === undefined) return undefined;
  const [text, sid] = [await deps.sealer.open(marker, CONTINUED), await sidOfCookie(deps, call)];
  if (text === undefined || sid === undefined) return undefined;
  if (text === continuedText({ hash, sid, asksConsent: true })) return "consent";
  return text === continuedText({ hash, sid, asksConsent: false }) ? "" : undefined;
}

const continuedText = ({ hash, sid, asksConsent }: Continued): string =>
  [hash, sid, ...(asksConsent ? ["consent"] : [])].join(" ");

/** The pushed parameters, with what the person chose on the way: a tenant, or an identity provider. */
function join(
  names: Names,
  {
    sent,
    pushed,
    hash,
    prompt,
  }: {
    readonly sent: AuthorizationParameters;
    readonly pushed: AuthorizationParameters;
    readonly hash: string;
    /** Undefined: the request goes on from no sign-in. */
    readonly prompt: "" | "consent" | undefined;
  },
): AuthorizationParameters {
  const provider = names.parameter("id_provider");
  const own: readonly string[] = [expectedUserParameter(names), continuedParameter(names)];
  const get = (name: string): string | undefined => {
    if (name === "request_uri") return undefined;
    if (prompt !== undefined && name === "max_age") return undefined;
    if (prompt !== undefined && name === "prompt") return prompt || undefined;
    if (own.includes(name)) return sent.get(name);
    const value = pushed.get(name);
    if (name === provider) return value ?? sent.get(name);
    if (name === "scope") return withChosenTenant(names, value ?? "", sent.get(name)) || undefined;
    return value;
  };
  return {
    get,
    repeated: [],
    pushed: hash,
    entries: () =>
      ["client_id", ...SHOWN, provider, ...own]
        .map((name) => [name, get(name) ?? ""] as const)
        .concat([["request_uri", sent.get("request_uri") ?? ""]])
        .filter(([, value]) => value !== ""),
  };
}

/** A scope that names a tenant may be added where none is named: the chooser does that. */
function withChosenTenant(names: Names, scope: string, sent = ""): string {
  const place = names.scope("tenant=");
  const added = sent.startsWith(scope) ? sent.slice(scope.length).trim() : "";
  return added.startsWith(place) && !added.includes(" ") ? `${scope} ${added}`.trim() : scope;
}

const CONTINUED = "continued request";
/** Text that is sealed for one request opens for no other. */
const sealContext = (hash: string): string => `pushed request:${hash}`;
