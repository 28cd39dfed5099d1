import { randomSecret, type Random } from "../../platform/runtime/random.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import { fromBase64Url, toBase64Url } from "../../platform/text/encoding.ts";

/**
 * A session's cookie, an authorization code or a refresh token, as its holder has it.
 *
 *   of the directory   43 characters: the secret of 256 bits. Also everything from before there were shards.
 *   of another shard   44 characters: the number of the shard in front of the secret, as a byte; then `~` and the
 *                      sealed address of its person
 *
 * The number leads to the row. The address lets the person be read before the row, so that reading and using it is one
 * round trip (grants/refresh-token.ts, grants/authorization-code.ts), or beside it (sign-in/session-homes.ts). A sealed
 * text has dots, which mark an access token, so they are `~` here. If its key is not configured any more, only the
 * number counts.
 */
export interface HeldToken extends TokenPlace {
  readonly text: string;
}

/** Where its row is. */
export interface TokenPlace {
  /** SHA-256 of the text, in hex: the key of its row. */
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
    /** A new one in this shard. */
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

    /** Anybody can send any text: one that was never made belongs to no row of the directory. */
    async read(text: string): Promise<HeldToken> {
      const hash = await sha256Hex(text);
      const front = text.length > MAX_CHARS ? undefined : OF_SHARD.exec(text)?.[0];
      const shard = front === undefined ? 0 : (fromBase64Url(front)?.[0] ?? 0);
      if (front === undefined || shard === 0) return { text, hash, shard: 0, email: undefined };
      const email = await sealer.open(text.slice(front.length + 1).replaceAll("~", "."), context(front));
      if (shard < shards) return { text, hash, shard, email };
      // While a shard is added, an isolate may be older than the token.
      if (email !== undefined) throw new StoreUnavailable(`shard ${shard} is not bound`);
      return { text, hash, shard: 0, email: undefined };
    },
  };
}

/** The text has the form of one. */
export const looksHeld = (text: string): boolean =>
  text.length <= MAX_CHARS && (/^[\w-]{44}(~[\w-]+){3}$/.test(text) || fromBase64Url(text)?.length === SECRET_BYTES);

/** The 256 bits that only its holder has. */
export function secretOf({ text, shard }: HeldToken): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64Url(shard === 0 ? text : OF_SHARD.exec(text)![0]);
  if (bytes === undefined) throw new Error("a stored refresh token is always base64url");
  return shard === 0 ? bytes : bytes.slice(1);
}

/** The place as a text, to be kept in the directory. */
export const toPlaceText = ({ hash, shard, email = "" }: TokenPlace): string =>
  shard === 0 ? hash : `${hash} ${shard} ${email}`;

export function fromPlaceText(text: string): TokenPlace {
  const [hash = "", shard = "0", email = ""] = text.split(" ");
  return { hash, shard: Number(shard), email: email === "" ? undefined : email };
}
