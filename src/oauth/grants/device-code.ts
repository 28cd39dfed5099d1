import { sha256Hex } from "../../platform/secrets/hash.ts";
import { err } from "../../platform/model/result.ts";
import { fromPlaceText } from "../homes/held-token.ts";
import { failure } from "../model/failure.ts";
import { redeemCode } from "./authorization-code.ts";
import { identifyGrantClient, type GrantStep } from "./grant-step.ts";
import { invalidGrant } from "./reauthorize.ts";
import { GRACE_MS } from "./refresh-rotation.ts";

/**
 * A device without a browser gets tokens (RFC 8628). It shows a code, a person types it in a browser and decides there,
 * and the device polls.
 *
 *   POST /device_authorization ──▶ pending ──the person allows──▶ allowed ──the device's poll──▶ tokens
 *                                    │  └─────the person denies──▶ denied
 *                                    └── 10 min: expired. An allowed one lives for 30 s more
 *
 * The page (endpoints/device.ts) continues as a pushed authorization request of the client, so the person signs in,
 * chooses and decides as for every client (authorize/). An allowed device redeems an authorization code that nobody
 * saw, so what ends codes and grants ends it too. For a while a poll gets the tokens again (device-answer.ts).
 *
 * The device's row is in the directory, since its person is unknown at first and no two devices may show the same
 * letters. Its authorization code lies with the session of the person (homes/home.ts) and is written first: the device
 * is allowed only once, and a code that no device has is useless.
 */
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
export const DEVICE_LIFETIME_SEC = 600;
export const POLL_INTERVAL_SEC = 5;

export const deviceCodeGrant: GrantStep = async (deps, request) => {
  const { call, parameters } = request;
  const caller = await identifyGrantClient(deps, request, DEVICE_GRANT);
  if (!caller.ok) return caller;
  const { id } = caller.value.client;
  const refuse = (error: "slow_down" | "authorization_pending" | "expired_token" | "access_denied", text: string) =>
    err(failure(error, text, undefined, id));
  const deviceCode = parameters.get("device_code");
  if (deviceCode === undefined) return err(failure("invalid_request", "device_code is missing.", undefined, id));
  const device = await deps.devices.poll(await sha256Hex(deviceCode), id, call.nowMs);
  if (device === undefined) return err(invalidGrant("the device code is unknown, or of another client", id));
  if (device.state === "denied") return refuse("access_denied", "The person denied the request.");
  // A person may decide in the last second, and an answer may be lost then.
  const endsAtMs = device.expiresAtMs + (device.code === null ? 0 : GRACE_MS);
  if (endsAtMs <= call.nowMs) return refuse("expired_token", "Nobody decided in time: begin again.");
  if (device.code !== null) return redeemCode(deps, request, caller.value, fromPlaceText(device.code), { deviceCode });
  return device.tooSoon === 1
    ? refuse("slow_down", "Wait five seconds longer between two requests from now on.")
    : refuse("authorization_pending", "The person has not decided yet: ask again after the interval.");
};
