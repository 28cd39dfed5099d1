import { problem, type Problem } from "../../http/errors/errors.ts";
import { LIMITS } from "./limits.ts";

export const bodyTooLarge = (): Problem =>
  problem("bad_payload_size", `The body is larger than ${LIMITS.requestBodyBytes} bytes.`);

export const serviceUnavailable = (name: string, retryAfterSec: number, reason: string): Problem =>
  unavailable(`The service ${name} does not answer at the moment.`, retryAfterSec, reason);

export const unavailable = (message: string, retryAfterSec: number, reason: string): Problem =>
  problem("service_temporarily_unavailable", message, {
    headers: { "retry-after": String(Math.max(1, retryAfterSec)) },
    reason,
  });
