import { createHmac } from "node:crypto";
import { equalDigests } from "../../platform/secrets/hash.ts";
import type { Random } from "../../platform/runtime/random.ts";

/** One-time codes by time (RFC 6238): HMAC-SHA-1, 30 s, six digits. Every app supports this kind. */
const STEP_MS = 30_000;
const DIGITS = 6;
/** RFC 4226 4: 160 bits. */
const SECRET_BYTES = 20;
/** Clocks differ, and people are slow (RFC 6238 5.2). */
const STEPS_AROUND = [0, -1, 1];

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export const newSecret = (random: Random): string => toBase32(random.bytes(SECRET_BYTES));

/** RFC 4648 6, without padding. */
export function toBase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[parseInt(five.padEnd(5, "0"), 2)]).join("");
}

function fromBase32(text: string): Uint8Array {
  const bits = Array.from(text, (sign) => ALPHABET.indexOf(sign).toString(2).padStart(5, "0")).join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (eight) => parseInt(eight, 2));
}

/** `step`: the number of the 30 s since 1970. */
export function codeAt(secret: string, step: number): string {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const mac = createHmac("sha1", fromBase32(secret)).update(new Uint8Array(counter.buffer)).digest();
  const offset = mac[mac.length - 1]! & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, "0");
}

export const stepAt = (nowMs: number): number => Math.floor(nowMs / STEP_MS);

/** The step of a code that is good now and later than the last used one. */
export function matchingStep(secret: string, code: string, nowMs: number, lastStep: number): number | undefined {
  const steps = STEPS_AROUND.map((away) => stepAt(nowMs) + away);
  return steps.filter((step) => step > lastStep).find((step) => equalDigests(codeAt(secret, step), code));
}

/** The content of the picture: `otpauth://totp/<host>:<address>?…` */
export const enrolmentUri = (secret: string, email: string, host: string): string =>
  `otpauth://totp/${encodeURIComponent(host)}:${encodeURIComponent(email)}?secret=${secret}&issuer=${encodeURIComponent(host)}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`;
