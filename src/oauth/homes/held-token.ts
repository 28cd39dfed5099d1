import { randomSecret, type Random } from "../../platform/runtime/random.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import { fromBase64Url, toBase64Url } from "../../platform/text/encoding.ts";

/**
 * A session's cookie, an authorization code or a refresh token, as its holder has it.
 *
 *   row in the directory   43 characters: the secret of 256 bits
 *   row in another shard   44 characters: a byte with the number of the shard, then the secret; then `~` and the sealed
 *                          address of the person
 *
 * The number leads to the row. The address lets the server read the person before the row, so that reading and using
 * the row is one round trip (grants/refresh-token.ts, grants/authorization-code.ts), or at the same time
 * (sign-in/session-homes.ts). A sealed text has dots, which would make this look like an access token, so they are `~`
 * here. If the seal key is not configured any more, the address is unknown and the number still leads to the row.
 */
export interface HeldToken extends TokenPlace {
  readonly text: string;
}

/** The place of the token's row. */
export interface TokenPlace {
  /** The key of the row: SHA-256 of the text, in hex. */
  readonly hash: string;
  readonly shard: number;
  /** The address of the person; undefined if only the row says that. */
  readonly email: string | undefined;
}

export type HeldKind = "session" | "code" | "refresh token";

const OF_SHARD = /^[\w-]{44}(?=~)/;
const SECRET_BYTES = 32;
/** More than the sealed form of the longest address. */
const MAX_CHARS = 2_048;

export type HeldTokens = ReturnType<typeof createHeldTokens>;

export function createHeldTokens(sealer: Sealer, random: Random, shards: number, kind: HeldKind) {
  const context = (front: string): string => `person of the ${kind} ${front}`;

  return {
    /** Makes a token whose row will be in this shard. */
    async make(email: string, shard: number): Promise<HeldToken> {
      if (shard === 0) {
        const text = randomSecret(random);
        return { text, hash: await sha256Hex(text), shard, email: undefined };
      }
      const front = toBase64Url(Uint8Array.of(shard, ...random.bytes(SECRET_BYTES)));
      const sealed = await sealer.seal(email, context(front));
      const text = `${front}~${sealed.replaceAll(".", "~")}`;
      return { text, hash: await sha256Hex(text), shard, email };
    },

    /** Reads any text that a client sent. A text that was never issued gets the directory, which has no row for it. */
    async read(text: string): Promise<HeldToken> {
      const hash = await sha256Hex(text);
      const front = text.length > MAX_CHARS ? undefined : OF_SHARD.exec(text)?.[0];
      const shard = front === undefined ? 0 : (fromBase64Url(front)?.[0] ?? 0);
      if (front === undefined || shard === 0) return { text, hash, shard: 0, email: undefined };
      const email = await sealer.open(text.slice(front.length + 1).replaceAll("~", "."), context(front));
      if (shard < shards) return { text, hash, shard, email };
      // While a shard is being added, an old isolate may see a token of the new shard.
      if (email !== undefined) throw new StoreUnavailable(`shard ${shard} is not bound`);
      return { text, hash, shard: 0, email: undefined };
    },
  };
}

/** The text has the form of such a token. */
export const looksHeld = (text: string): boolean =>
  text.length <= MAX_CHARS && (/^[\w-]{44}(~[\w-]+){3}$/.test(text) || fromBase64Url(text)?.length === SECRET_BYTES);

/** The 256 bits that only the holder knows. */
export function secretOf({ text, shard }: HeldToken): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64Url(shard === 0 ? text : OF_SHARD.exec(text)![0]);
  if (bytes === undefined) throw new Error("a token that has a row is always base64url");
  return shard === 0 ? bytes : bytes.slice(1);
}

/** The place as a text, as the directory stores it. */
export const toPlaceText = ({ hash, shard, email = "" }: TokenPlace): string =>
  shard === 0 ? hash : `${hash} ${shard} ${email}`;

export function fromPlaceText(text: string): TokenPlace {
  const [hash = "", shard = "0", email = ""] = text.split(" ");
  return { hash, shard: Number(shard), email: email === "" ? undefined : email };
}
