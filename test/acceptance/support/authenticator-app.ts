import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const STEP_MS = 30_000;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** An authenticator app (RFC 6238 with HMAC-SHA-1, 30 s, six digits), written apart from the platform's own. */
export class AuthenticatorApp {
  readonly #key: Buffer;
  #lastStep = 0;

  /** `text`: the key as a page shows it, in base32 (RFC 4648 6), in groups. */
  constructor(text: string) {
    let bits = "";
    for (const sign of text.replaceAll(" ", "")) {
      const value = ALPHABET.indexOf(sign);
      if (value < 0) throw new Error(`no key in base32: ${text}`);
      bits += value.toString(2).padStart(5, "0");
    }
    this.#key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  }

  /**
   * A code that was not given before. It may be of the next 30 s, which the platform takes too, so nobody waits long.
   */
  async next(): Promise<string> {
    const step = Math.max(this.#lastStep + 1, Math.floor(Date.now() / STEP_MS));
    this.#lastStep = step;
    while (step > Math.floor(Date.now() / STEP_MS) + 1) await sleep(200);
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(step));
    const mac = createHmac("sha1", this.#key).update(counter).digest();
    const cut = mac.readUInt32BE(mac[19]! % 16) % 2 ** 31;
    return String(cut % 1_000_000).padStart(6, "0");
  }
}
