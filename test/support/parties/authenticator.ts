import { encodeCBOR } from "@levischuck/tiny-cbor";
import { fromBase64Url, joinBytes, toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { sha256 } from "../../../src/platform/secrets/hash.ts";
import type { Visit } from "../browser.ts";

/** A deviation of a browser and its authenticator from the rules. */
export interface Deviation {
  /** The origin of the page. */
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly flags?: number;
  readonly count?: number;
  readonly userHandle?: string;
  /** Another key that signs. */
  readonly key?: CryptoKeyPair;
}

/** The fields of a page's form. */
export interface Answer extends Record<string, string> {
  readonly challenge: string;
  readonly credential: string;
}

type Alg = -7 | -8 | -257;

const PRESENT = 0x01;
const VERIFIED = 0x04;
const MAY_BE_BACKED_UP = 0x08;
const BACKED_UP = 0x10;
const CREDENTIAL = 0x40;
/** A synced passkey of a verified person. */
export const SYNCED = PRESENT | VERIFIED | MAY_BE_BACKED_UP | BACKED_UP;
/** A passkey that stays on its device. */
export const BOUND = PRESENT | VERIFIED;

const GENERATE = {
  [-7]: { name: "ECDSA", namedCurve: "P-256" },
  [-8]: { name: "Ed25519" },
  [-257]: {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  },
} as const;
const SIGN = {
  [-7]: { name: "ECDSA", hash: "SHA-256" },
  [-8]: { name: "Ed25519" },
  [-257]: { name: "RSASSA-PKCS1-v1_5" },
} as const;

export const makeKeys = async (alg: Alg): Promise<CryptoKeyPair> =>
  (await crypto.subtle.generateKey(GENERATE[alg], true, ["sign", "verify"])) as CryptoKeyPair;

/** A passkey in software. It reads the request of a page, and answers as the page's script would. */
export class Passkey {
  readonly id = toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
  readonly keys: CryptoKeyPair;
  userHandle = "";
  count = 0;
  readonly #alg: Alg;
  readonly #flags: number;

  constructor(keys: CryptoKeyPair, alg: Alg, flags: number) {
    this.keys = keys;
    this.#alg = alg;
    this.#flags = flags;
  }

  static async make({ alg = -7, flags = SYNCED }: { alg?: Alg; flags?: number } = {}): Promise<Passkey> {
    return new Passkey(await makeKeys(alg), alg, flags);
  }

  /** Answers a page that makes a passkey. */
  async register(page: Visit, { id = this.id, ...deviation }: Deviation & { id?: string } = {}): Promise<Answer> {
    const { challenge, rpId, user } = askedBy(page);
    this.userHandle = user?.id ?? "";
    const client = clientData("webauthn.create", { challenge, rpId, ...deviation });
    const rawId = fromBase64Url(this.id)!;
    const length = new Uint8Array([rawId.length >> 8, rawId.length & 0xff]);
    const credential = joinBytes([new Uint8Array(16), length, rawId, encodeCBOR(await this.#coseKey())]);
    const data = await this.#data(deviation.rpId ?? rpId, (deviation.flags ?? this.#flags) | CREDENTIAL, deviation);
    const object = new Map<string, any>([
      ["fmt", "none"],
      ["attStmt", new Map()],
      ["authData", joinBytes([data, credential])],
    ]);
    const answer = {
      id,
      clientData: toBase64Url(client),
      attestation: toBase64Url(encodeCBOR(object)),
      transports: ["internal", "hybrid"],
    };
    return { challenge, credential: JSON.stringify(answer) };
  }

  /** Answers a page that asks for a passkey. */
  async answer(page: Visit, deviation: Deviation = {}): Promise<Answer> {
    const { challenge, rpId } = askedBy(page);
    const client = clientData("webauthn.get", { challenge, rpId, ...deviation });
    const data = await this.#data(deviation.rpId ?? rpId, deviation.flags ?? this.#flags, deviation);
    const signed = joinBytes([data, await sha256(client)]);
    const { privateKey } = deviation.key ?? this.keys;
    const signature = new Uint8Array(await crypto.subtle.sign(SIGN[this.#alg], privateKey, signed));
    const answer = {
      id: this.id,
      clientData: toBase64Url(client),
      authenticatorData: toBase64Url(data),
      signature: toBase64Url(this.#alg === -7 ? toDer(signature) : signature),
      userHandle: deviation.userHandle ?? this.userHandle,
    };
    return { challenge, credential: JSON.stringify(answer) };
  }

  async #data(rpId: string, flags: number, { count = this.count }: Deviation): Promise<Uint8Array<ArrayBuffer>> {
    const counter = new DataView(new ArrayBuffer(4));
    counter.setUint32(0, count);
    return joinBytes([await sha256(rpId), new Uint8Array([flags]), new Uint8Array(counter.buffer)]);
  }

  async #coseKey(): Promise<Map<number, any>> {
    const { x, y, n, e } = (await crypto.subtle.exportKey("jwk", this.keys.publicKey)) as JsonWebKey;
    const bytes = (text = ""): Uint8Array => fromBase64Url(text)!;
    if (this.#alg === -7)
      return new Map<number, any>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x)],
        [-3, bytes(y)],
      ]);
    if (this.#alg === -8)
      return new Map<number, any>([
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, bytes(x)],
      ]);
    return new Map<number, any>([
      [1, 3],
      [3, -257],
      [-1, bytes(n)],
      [-2, bytes(e)],
    ]);
  }
}

interface PageOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allow?: readonly { readonly id: string }[];
  readonly user?: { readonly id: string; readonly name: string };
  readonly known?: readonly string[];
}

/** Removes the challenges from a page, because they are always new. */
export const withoutChallenges = (html: string): string =>
  html.replaceAll(/(challenge(?:&quot;:&quot;|" value="))[\w-]+/g, "$1");

/** Returns the options that the page's button has for the script. */
function askedBy({ status, html }: Visit): PageOptions {
  const text = /data-passkey="([^"]*)"/.exec(html)?.[1];
  if (text === undefined) throw new Error(`expected a page with passkeys, got ${status} ${html}`);
  return JSON.parse(text.replaceAll("&quot;", '"').replaceAll("&amp;", "&")) as PageOptions;
}

function clientData(
  type: string,
  { challenge, rpId, ...deviation }: Deviation & { challenge: string; rpId: string },
): Uint8Array<ArrayBuffer> {
  const { origin = `https://${rpId}`, crossOrigin = false } = deviation;
  return utf8(JSON.stringify({ type: deviation.type ?? type, challenge, origin, crossOrigin }));
}

/** Encodes two numbers in DER: without leading zeros, and positive. */
function toDer(raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const numbers = [raw.slice(0, 32), raw.slice(32)].map((number) => {
    const from = number.findIndex((byte) => byte !== 0);
    const digits = number.slice(from);
    const body = digits[0]! >= 0x80 ? joinBytes([new Uint8Array([0]), digits]) : digits;
    return joinBytes([new Uint8Array([0x02, body.length]), body]);
  });
  const body = joinBytes(numbers);
  return joinBytes([new Uint8Array([0x30, body.length]), body]);
}
