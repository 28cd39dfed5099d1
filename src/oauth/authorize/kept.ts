import { err, ok, type Result } from "../../platform/model/result.ts";
import { networkOf } from "../../platform/outside/ip-range.ts";
import type { Caller } from "../clients/authentication.ts";
import type { AnyCall } from "../model/call.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { MAX_CARRIED_CHARS } from "./protocol/request.ts";

/**
 * Sign-ins that a row of the directory keeps before a person is known: devices, pushed requests, and those at a
 * provider. Anybody can cause such rows, so they have limits:
 *
 *   a request                     15 KiB, as a sign-in can carry no more. Sealed, its row takes 24 KB at most
 *   strangers of one network      300 a minute. With the sweep, a row lives for 25 minutes (a device), 22 (a pushed
 *                                 request) or 15 (at a provider). So it is at most 160 MB of the directory's 10 GB
 *   a client that proves itself   10,000 rows at once, so 240 MB at most. Each new row removes 20 that expired, and
 *                                 beyond the limit the client's oldest: a refusal would let strangers who cause rows
 *                                 through the client stop it. At 100 a second, people still have 100 s
 *
 * A client that only names itself has no limit of its own: strangers could end the sign-ins of others.
 */
const MOST_OF_CLIENT = 10_000;

export type KeptDeps = Pick<AuthorizeDeps, "keptLimit">;

/** `wish`: what the client can do about it. Undefined if the request is short enough. */
export const lengthFault = (form: URLSearchParams, wish: string): string | undefined =>
  form.toString().length > MAX_CARRIED_CHARS
    ? `The request is longer than ${MAX_CARRIED_CHARS} characters: ${wish}.`
    : undefined;

/** Counts a stranger's request that is valid; false if its network began too many. */
export const admitsStranger = ({ keptLimit }: KeptDeps, { request }: AnyCall): Promise<boolean> =>
  keptLimit.admits(networkOf(request.headers.get("cf-connecting-ip") ?? ""));

export const TOO_MANY_OF_NETWORK = "Too many sign-ins begin in this network: try again in a minute.";

/** The most rows that the client may have; undefined: no limit of its own. The error: its network began too many. */
export async function mostKept(
  deps: KeptDeps,
  { client, authenticated }: Pick<Caller, "client" | "authenticated">,
  call: AnyCall,
): Promise<Result<number | undefined, OAuthFailure>> {
  if (authenticated) return ok(MOST_OF_CLIENT);
  if (await admitsStranger(deps, call)) return ok(undefined);
  return err(failure("temporarily_unavailable", TOO_MANY_OF_NETWORK, "limit of kept sign-ins", client.id));
}
