import { withSize } from "../../http/request-meter.ts";
import type { Names } from "../../platform/model/names.ts";
import { acceptsCoding, contentLength, isPlatformCookie, type ReceivedHeaders } from "../model/headers.ts";
import type { Watchdog } from "../model/watchdog.ts";
import { isRewritten, type Rewriter } from "../rewrite/rewriter.ts";
import { confineCookie, sandboxHeaders, type ServicePaths } from "./isolation.ts";
import { readWhole, relayResponseBody, WHOLE_BYTES } from "./response-body.ts";
import { BYTE_HEADERS, isByteRange, responseHeaders } from "./response-headers.ts";

/** The request that a service responds to. */
export interface RequestSent {
  readonly method: string;
  readonly headers: ReceivedHeaders;
  readonly hasBody: boolean;
}

/** A service's response. */
export interface ServiceResponse {
  readonly response: Response;
  /** Aborts the call if the service takes too long. */
  readonly deadline: Watchdog;
  readonly headers: ReceivedHeaders;
  /** Content coding of the body, if any. */
  readonly coding: string | undefined;
  /** True if the body has a content type that is rewritten. */
  readonly rewrites: boolean;
}

export function readResponse(response: Response, deadline: Watchdog, headers: ReceivedHeaders): ServiceResponse {
  const coding = (headers.get("content-encoding") ?? "").trim();
  return {
    response,
    deadline,
    headers,
    coding: coding === "" || coding.toLowerCase() === "identity" ? undefined : coding,
    rewrites: isRewritten(headers.get("content-type")),
  };
}

/** Codings that the runtime decodes when a body is read, spelled exactly so. */
const DECODED: readonly string[] = ["gzip", "br"];

/**
 * True if a response cannot be passed on. Either its status is not valid, or its body must be rewritten and cannot be:
 * the runtime does not decode its coding, or it is a byte range, which would no longer match its `Content-Range`. A 206
 * that names no bytes is not a byte range.
 */
export function isUnusable({ response: { status, webSocket }, headers, coding, rewrites }: ServiceResponse): boolean {
  if ((status < 200 && webSocket === null) || status > 599) return true;
  const isPart = status === 206 && isByteRange(headers.get("content-range") ?? "");
  return rewrites && (isPart || (coding !== undefined && !DECODED.includes(coding)));
}

/** True if a range request got bytes of a body that may have to be rewritten: rewriting needs the whole body. */
export function isRangeOfRewritten({ status, headers }: Response): boolean {
  if (status !== 206 || !isByteRange(headers.get("content-range") ?? "bytes")) return false;
  const type = headers.get("content-type") ?? "";
  return isRewritten(type) || /^\s*multipart\/byteranges/i.test(type);
}

export interface ResponseDeps {
  readonly names: Names;
  readonly rewriter: Rewriter;
  /** Undefined for a trusted service. */
  readonly isolation: ServicePaths | undefined;
  readonly idleMs: number;
  /** The caller's end for the service's WebSocket. */
  relayWebSocket(socket: WebSocket): WebSocket;
  /** Awaited before the end of the response is sent. */
  readonly beforeEnd: (() => Promise<void>) | undefined;
  /** Called once if the body did not arrive whole. `isUseful`: the response is passed on without a body. */
  onBroken(thrown: unknown, isUseful: boolean): void;
  /** Called after a body of unknown length was passed on, with its size. */
  onPassedOn(sizeBytes: number): void;
}

/** A service's response as the caller gets it; undefined if a small body did not arrive whole. */
export async function toResponse(
  { names, rewriter, isolation, idleMs, relayWebSocket, beforeEnd, onBroken, onPassedOn }: ResponseDeps,
  { response, deadline, headers: received, coding, rewrites }: ServiceResponse,
  request: RequestSent,
): Promise<Response | undefined> {
  const { status, webSocket } = response;
  const isDecoded =
    coding !== undefined && DECODED.includes(coding) && !acceptsCoding(request.headers.get("accept-encoding"), coding);
  const isChanged = rewrites || isDecoded;
  const weakensETag = isChanged || (status === 304 && isKnownWeak(received, request.headers));
  const extra = isolation === undefined ? {} : sandboxHeaders(status, received);
  const headers = responseHeaders(received, { header: rewriter.header, isChanged, weakensETag, extra }, names);
  const respond = (body: BodyInit | null): Response => {
    const made = new Response(body, { status, headers, webSocket: webSocket && relayWebSocket(webSocket) });
    if (body instanceof Uint8Array) withSize(made, body.length);
    if (received.has("set-cookie"))
      for (const cookie of response.headers.getSetCookie()) {
        const confined = isolation === undefined ? cookie : confineCookie(cookie, isolation);
        if (confined !== undefined && !isPlatformCookie(confined, names)) made.headers.append("set-cookie", confined);
      }
    return made;
  };
  if (webSocket !== null) return respond(null);
  const declaredBytes = contentLength(received);
  // Decoding an empty body with a content coding would fail, so pass it on as empty.
  const hasNoBody = request.method === "HEAD" || WITHOUT_BODY.has(status) || declaredBytes === 0;
  // A service may refuse a request's body and close the connection. The runtime then loses the response's body, but not
  // its headers.
  const mayBeEmpty = request.hasBody && status >= 300;
  const scan = rewrites ? rewriter.scan() : undefined;
  if (!hasNoBody && coding === undefined && declaredBytes !== undefined && declaredBytes <= WHOLE_BYTES) {
    const whole = await readWhole(response, declaredBytes, { deadline, scan, mayBeEmpty, onBroken });
    await beforeEnd?.();
    if (whole !== undefined) return respond(whole);
    if (!mayBeEmpty) return undefined;
    for (const name of BYTE_HEADERS) delete headers[name];
    return respond(null);
  }
  if (hasNoBody || response.body === null) {
    await beforeEnd?.();
    return respond(null);
  }
  // Pass a coded body on without reading it: the runtime would decode it and encode it again for the caller.
  if (coding !== undefined && DECODED.includes(coding) && !isChanged) {
    await beforeEnd?.();
    return respond(response.body);
  }
  const lengthBytes = isChanged ? undefined : declaredBytes;
  const relay = { idleMs, lengthBytes, scan, beforeEnd, mayBeEmpty, onBroken, onPassedOn };
  return respond(relayResponseBody(response.body, relay));
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** True if the caller knows the entity tag of a 304 only as a weak one, so that it must get a weak one back. */
function isKnownWeak(received: ReceivedHeaders, requestHeaders: ReceivedHeaders): boolean {
  const tag = received.get("etag");
  const known = (requestHeaders.get("if-none-match") ?? "").split(",").map((item) => item.trim());
  return tag !== undefined && known.includes(`W/${tag}`) && !known.includes(tag);
}
