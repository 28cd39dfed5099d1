/**
 * Adds the base64 and hex methods of ES2026. The service's code uses them, and Node has them from 25 on. Import this
 * module before that code.
 */
interface Encodes {
  toBase64?(options?: { alphabet?: string; omitPadding?: boolean }): string;
  toHex?(): string;
}
const bytes = Uint8Array.prototype as Encodes;

bytes.toBase64 ??= function (this: Uint8Array, { alphabet, omitPadding } = {}) {
  const text = Buffer.from(this).toString(alphabet === "base64url" ? "base64url" : "base64");
  return alphabet === "base64url" && omitPadding !== true ? text.padEnd(Math.ceil(text.length / 4) * 4, "=") : text;
};
bytes.toHex ??= function (this: Uint8Array) {
  return Buffer.from(this).toString("hex");
};
