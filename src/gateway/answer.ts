import { answerHeaders, OF_THE_BYTES } from "./answer-headers.ts";
import { carryAnswer, takeWhole, WHOLE_BYTES } from "./answer-body.ts";
import { accepts } from "./request-headers.ts";
import { isRewritten, type Rewriter } from "./rewrite.ts";
import type { Names } from "../platform/names.ts";

export interface Asked {
  readonly method: string;
  readonly headers: Headers;
  readonly body: ReadableStream | null;
}

/** What the runtime decodes while a body is read, by these very names. */
const DECODED: readonly string[] = ["gzip", "br"];

/**
 * Whether an answer cannot be passed on: it has a status that there is not, or a body that would have to be rewritten in
 * a coding that nobody asked for and nobody here can read.
 */
export function isUnreadable({ status, headers, webSocket }: Response): boolean {
  if ((status < 200 && webSocket === null) || status > 599) return true;
  const coding = codingOf(headers);
  return isRewritten(headers.get("content-type")) && coding !== undefined && !DECODED.includes(coding);
}

/** Whether the answer is a part, or several, of a body that may have to be rewritten, which takes the whole of it. */
export function isPartOfRewritten({ status, headers }: Response): boolean {
  if (status !== 206) return false;
  const type = headers.get("content-type");
  return isRewritten(type) || /^\s*multipart\/byteranges/i.test(type ?? "");
}

export interface AnswerDeps {
  readonly names: Names;
  readonly rewriter: Rewriter;
  readonly idleMs: number;
  /** To be awaited before the answer goes out to its end. */
  readonly beforeEnd: (() => Promise<void>) | undefined;
  brokeOff(thrown: unknown): void;
}

/** A service's answer as the caller gets it (contract section 6); undefined where a small one did not come whole. */
export async function toAnswer(
  response: Response,
  asked: Asked,
  { names, rewriter, idleMs, beforeEnd, brokeOff }: AnswerDeps,
): Promise<Response | undefined> {
  const { status, headers: given } = response;
  const coding = codingOf(given);
  const rewrites = isRewritten(given.get("content-type"));
  const isDecoded =
    coding !== undefined && DECODED.includes(coding) && !accepts(asked.headers.get("accept-encoding"), coding);
  const isChanged = rewrites || isDecoded;
  const headers = answerHeaders(
    given,
    {
      text: rewriter.text,
      isChanged,
      isWeakened: isChanged || (status === 304 && isKnownAsWeak(given, asked.headers)),
    },
    names,
  );
  // An empty body that is labelled as coded is no mistake worth a broken answer, as decoding it would be.
  const hasNoBody = response.body === null || asked.method === "HEAD" || lengthOf(given) === 0;
  if (response.webSocket !== null) return new Response(null, { status, headers, webSocket: response.webSocket });
  if (hasNoBody || response.body === null) {
    await beforeEnd?.();
    return new Response(null, { status, headers });
  }
  // As it is, coded: read by us it would be decoded, and coded again for the caller.
  if (coding !== undefined && DECODED.includes(coding) && !isChanged) {
    await beforeEnd?.();
    return new Response(response.body, { status, headers });
  }
  // A service that refuses a body and closes the connection under it: the runtime loses what the answer says, but not that.
  const mayBeEmpty = asked.body !== null && status >= 300;
  const scan = rewrites ? rewriter.scan() : undefined;
  const givenBytes = coding === undefined ? lengthOf(given) : undefined;
  if (givenBytes !== undefined && givenBytes <= WHOLE_BYTES) {
    const whole = await takeWhole(response.body, { idleMs, lengthBytes: givenBytes, scan, brokeOff });
    await beforeEnd?.();
    if (whole !== undefined) return new Response(whole, { status, headers });
    if (!mayBeEmpty) return undefined;
    for (const name of OF_THE_BYTES) headers.delete(name);
    return new Response(null, { status, headers });
  }
  const lengthBytes = isChanged ? undefined : lengthOf(given);
  const carried = carryAnswer(response.body, { idleMs, lengthBytes, scan, beforeEnd, mayBeEmpty, brokeOff });
  return new Response(carried, { status, headers });
}

function codingOf(headers: Headers): string | undefined {
  const coding = (headers.get("content-encoding") ?? "").trim();
  return coding === "" || coding.toLowerCase() === "identity" ? undefined : coding;
}

/** The tag of a 304 is as the caller knows it: weak where it named it so and in no other way. */
function isKnownAsWeak(given: Headers, asked: Headers): boolean {
  const tag = given.get("etag");
  const known = (asked.get("if-none-match") ?? "").split(",").map((item) => item.trim());
  return tag !== null && known.includes(`W/${tag}`) && !known.includes(tag);
}

export function lengthOf(headers: Headers): number | undefined {
  const length = headers.get("content-length");
  return length !== null && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
