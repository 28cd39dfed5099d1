import { answerHeaders, isOfBytes, OF_THE_BYTES } from "./response-headers.ts";
import { ownCookie, sandboxOf, type Apart } from "./isolation.ts";
import { carryAnswer, takeWhole, WHOLE_BYTES } from "./response-body.ts";
import { isPlatformCookie, lengthOf, type GivenHeaders } from "../model/headers.ts";
import { accepts } from "../forward/request-headers.ts";
import { isRewritten, type Rewriter } from "../rewrite/rewriter.ts";
import type { Watchdog } from "../model/watchdog.ts";
import type { Names } from "../../platform/names.ts";

export interface Asked {
  readonly method: string;
  readonly headers: GivenHeaders;
  readonly hasBody: boolean;
}

/** What a service answered. */
export interface Answered {
  readonly response: Response;
  /** Breaks the call off where the service is waited for too long. */
  readonly patience: Watchdog;
  readonly headers: GivenHeaders;
  /** Of its body; undefined where that is what it is. */
  readonly coding: string | undefined;
  /** Its body is of a type that is rewritten. */
  readonly rewrites: boolean;
}

export function readAnswer(response: Response, patience: Watchdog, headers: GivenHeaders): Answered {
  const coding = (headers.get("content-encoding") ?? "").trim();
  return {
    response,
    patience,
    headers,
    coding: coding === "" || coding.toLowerCase() === "identity" ? undefined : coding,
    rewrites: isRewritten(headers.get("content-type")),
  };
}

/** What the runtime decodes while a body is read, by these very names. */
const DECODED: readonly string[] = ["gzip", "br"];

/**
 * Whether an answer cannot be passed on: it has a status that there is not, or a body that would have to be rewritten and
 * is in a coding that nobody asked for and nobody here can read, or is a part that nobody asked for: rewritten, it is not
 * the bytes that its `Content-Range` says, and no caller can tell what it is without. A 206 that names no bytes is none.
 */
export function isUnreadable({ response: { status, webSocket }, headers, coding, rewrites }: Answered): boolean {
  if ((status < 200 && webSocket === null) || status > 599) return true;
  const isPart = status === 206 && isOfBytes(headers.get("content-range") ?? "");
  return rewrites && (isPart || (coding !== undefined && !DECODED.includes(coding)));
}

/**
 * Whether the answer to a request for a part is one, or several, of the bytes of a body that may have to be rewritten, which
 * takes the whole of it.
 */
export function isPartOfRewritten({ status, headers }: Response): boolean {
  if (status !== 206 || !isOfBytes(headers.get("content-range") ?? "bytes")) return false;
  const type = headers.get("content-type") ?? "";
  return isRewritten(type) || /^\s*multipart\/byteranges/i.test(type);
}

export interface AnswerDeps {
  readonly names: Names;
  readonly rewriter: Rewriter;
  /** Undefined for a trusted service. */
  readonly apart: Apart | undefined;
  readonly idleMs: number;
  /** What the caller gets of the service's WebSocket. */
  carryWebSocket(socket: WebSocket): WebSocket;
  /** To be awaited before the answer goes out to its end. */
  readonly beforeEnd: (() => Promise<void>) | undefined;
  brokeOff(thrown: unknown): void;
}

/** A service's answer as the caller gets it (contract section 6); undefined where a small one did not come whole. */
export async function toAnswer(
  { response, patience, headers: given, coding, rewrites }: Answered,
  asked: Asked,
  { names, rewriter, apart, idleMs, carryWebSocket, beforeEnd, brokeOff }: AnswerDeps,
): Promise<Response | undefined> {
  const { status, webSocket } = response;
  const isDecoded =
    coding !== undefined && DECODED.includes(coding) && !accepts(asked.headers.get("accept-encoding"), coding);
  const isChanged = rewrites || isDecoded;
  const isWeakened = isChanged || (status === 304 && isKnownAsWeak(given, asked.headers));
  const more = apart === undefined ? {} : sandboxOf(status, given);
  const headers = answerHeaders(given, { header: rewriter.header, isChanged, isWeakened, more }, names);
  const answer = (body: BodyInit | null): Response => {
    const made = new Response(body, { status, headers, webSocket: webSocket && carryWebSocket(webSocket) });
    if (given.has("set-cookie"))
      for (const cookie of response.headers.getSetCookie()) {
        const own = apart === undefined ? cookie : ownCookie(cookie, apart);
        if (own !== undefined && !isPlatformCookie(own, names)) made.headers.append("set-cookie", own);
      }
    return made;
  };
  if (webSocket !== null) return answer(null);
  const givenBytes = lengthOf(given);
  // An empty body that is labelled as coded is no mistake worth a broken answer, as decoding it would be.
  const hasNoBody = asked.method === "HEAD" || WITHOUT_BODY.has(status) || givenBytes === 0;
  // A service that refuses a body and closes the connection under it: the runtime loses what the answer says, but not that.
  const mayBeEmpty = asked.hasBody && status >= 300;
  const scan = rewrites ? rewriter.scan() : undefined;
  if (!hasNoBody && coding === undefined && givenBytes !== undefined && givenBytes <= WHOLE_BYTES) {
    const whole = await takeWhole(response, givenBytes, { patience, scan, brokeOff });
    await beforeEnd?.();
    if (whole !== undefined) return answer(whole);
    if (!mayBeEmpty) return undefined;
    for (const name of OF_THE_BYTES) delete headers[name];
    return answer(null);
  }
  if (hasNoBody || response.body === null) {
    await beforeEnd?.();
    return answer(null);
  }
  // As it is, coded: read by us it would be decoded, and coded again for the caller.
  if (coding !== undefined && DECODED.includes(coding) && !isChanged) {
    await beforeEnd?.();
    return answer(response.body);
  }
  const lengthBytes = isChanged ? undefined : givenBytes;
  return answer(carryAnswer(response.body, { idleMs, lengthBytes, scan, beforeEnd, mayBeEmpty, brokeOff }));
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** The tag of a 304 is as the caller knows it: weak where it named it so and in no other way. */
function isKnownAsWeak(given: GivenHeaders, asked: GivenHeaders): boolean {
  const tag = given.get("etag");
  const known = (asked.get("if-none-match") ?? "").split(",").map((item) => item.trim());
  return tag !== undefined && known.includes(`W/${tag}`) && !known.includes(tag);
}
