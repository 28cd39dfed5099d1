import { setTimeout as wait } from "node:timers/promises";
import * as oauth from "oauth4webapi";
import { UserError } from "../../scripts/lib/user-error.ts";
import { clean } from "../terminal/values.ts";
import { REQUEST, type Discovered } from "./discover.ts";
import { readTokens, refusedBy, type Tokens } from "./sign-in.ts";

/**
 * A sign-in on another device (RFC 8628), for a machine without a browser, such as one behind `ssh`:
 *
 *   code ──shown here──▶ the person types it in any browser and decides ──▶ tokens, at the next poll
 */
export interface DeviceSignIn {
  readonly discovered: Discovered;
  readonly clientId: string;
  readonly scope: string;
  /** Shows the person where to type which code. */
  show(page: { readonly address: string; readonly code: string }): void;
  /** What an operator runs if the platform does not know the client. */
  readonly enable: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

const DEFAULT_INTERVAL_SEC = 5;
const SLOWER_SEC = 5;

export async function signInByDevice(wanted: DeviceSignIn): Promise<Tokens> {
  const { discovered, clientId, scope, show, enable, signal } = wanted;
  const { server } = discovered;
  const client: oauth.Client = { client_id: clientId };
  const begun = await oauth.deviceAuthorizationRequest(server, client, oauth.None(), { scope }, REQUEST);
  const device = await oauth.processDeviceAuthorizationResponse(server, client, begun).catch((error: unknown) => {
    if (error instanceof oauth.WWWAuthenticateChallengeError)
      throw new UserError(`The platform knows no client ${clientId} without a secret. An operator makes it: ${enable}`);
    return refusedBy(error);
  });
  // The text is the platform's, and nothing in it may steer the terminal.
  show({ address: clean(device.verification_uri), code: clean(device.user_code) });
  let intervalSec = device.interval ?? DEFAULT_INTERVAL_SEC;
  for (;;) {
    await wait(intervalSec * 1_000, undefined, { signal }).catch(() => signal.throwIfAborted());
    const answer = await oauth.deviceCodeGrantRequest(server, client, oauth.None(), device.device_code, REQUEST);
    try {
      return readTokens(await oauth.processDeviceCodeResponse(server, client, answer));
    } catch (error) {
      const code = error instanceof oauth.ResponseBodyError ? error.error : "";
      if (code === "slow_down") intervalSec += SLOWER_SEC;
      else if (code !== "authorization_pending") refusedBy(error);
    }
  }
}
