import { fromUtf8, joinBytes } from "../../platform/text/encoding.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { SMALL_BODY_BYTES, STEP_MS, type BodyMemory } from "./body-memory.ts";
import { problem, type Problem } from "../errors/errors.ts";

/** Deeper nesting is refused before it is parsed: walking such a value would overflow the stack. */
const MAX_JSON_DEPTH = 64;
/** Limits of `drain`: enough for a client's mistake, not for an attack. */
const DRAIN = { maxBytes: 16 * 1024 * 1024, waitMs: 1_000 } as const;

/** Reads a whole body. One byte over the limit is refused without reading on. */
export async function readBytes(
  request: Request,
  maxBytes: number,
  memory?: BodyMemory,
): Promise<Result<Uint8Array<ArrayBuffer>, Problem>> {
  const tooLarge = () => err(problem("bad_payload_size", `The body is larger than ${maxBytes} bytes.`));
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > maxBytes) return tooLarge();
  if ((request.headers.get("content-encoding") ?? "identity").trim().toLowerCase() !== "identity")
    return err(problem("unsupported_request_content_type", "Send the body without a Content-Encoding."));
  // A body with a length cannot be longer. It is read without `request.body`, whose stream costs more than the bytes.
  if (length !== null && Number(length) <= SMALL_BODY_BYTES) {
    const whole = await readWhole(request);
    if (whole === undefined) return err(incomplete());
    return whole.byteLength > maxBytes ? tooLarge() : ok(whole);
  }
  if (request.body === null) return ok(new Uint8Array(0));
  if (memory?.hasRoomFor(Number(length ?? 0)) === false) return err(tooBusy());
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader({ mode: "byob" });
  for (;;) {
    const piece = await readPiece(reader, size > 0);
    if (!piece.ok) return piece;
    const isWhole = piece.value === undefined;
    size += piece.value?.byteLength ?? 0;
    const isHeld = (isWhole ? memory?.holdWhole(size) : memory?.holdComing(size)) ?? true;
    if (size > maxBytes || !isHeld) {
      reader.releaseLock();
      await drain(request.body);
      return size > maxBytes ? tooLarge() : err(tooBusy());
    }
    if (piece.value === undefined) return ok(joinBytes(pieces));
    pieces.push(piece.value);
  }
}

const tooBusy = (): Problem =>
  problem("service_temporarily_unavailable", "Too many large requests are being read. Try again.", {
    headers: { "retry-after": "1" },
  });

/**
 * Reads and discards the rest of a body. Without that, a client that is still sending when the response comes sees a
 * broken pipe and no response. Gives up on a body that is larger or slower than `DRAIN`.
 */
export async function drain(body: ReadableStream<Uint8Array>): Promise<void> {
  if (body.locked) return;
  const reader = body.getReader();
  const sizeOfNext = async (): Promise<number | undefined> => (await reader.read()).value?.byteLength;
  await discard(sizeOfNext, () => reader.cancel());
}

/** The same for a body that has a reader: `sizeOfNext` reads a piece and returns its size, undefined at the end. */
export async function discard(
  sizeOfNext: () => Promise<number | undefined>,
  cancel: () => Promise<void>,
): Promise<void> {
  const timer = setTimeout(() => void cancel().catch(() => undefined), DRAIN.waitMs);
  try {
    for (let size = 0; size < DRAIN.maxBytes;) {
      const next = await sizeOfNext();
      if (next === undefined) return;
      size += next;
    }
    await cancel();
  } catch {
    // The caller disconnected.
  } finally {
    clearTimeout(timer);
  }
}

/** A JSON body: its value, and its text as it was sent (without a byte order mark). */
export interface JsonBody {
  readonly text: string;
  readonly value: unknown;
}

/** The JSON of a body; undefined if there is no body. */
export async function readJson(
  request: Request,
  maxBytes: number,
  memory?: BodyMemory,
): Promise<Result<JsonBody | undefined, Problem>> {
  const bytes = await readBytes(request, maxBytes, memory);
  if (!bytes.ok) return bytes;
  if (bytes.value.byteLength === 0) return ok(undefined);
  if (!isJson(request.headers.get("content-type")))
    return err(problem("unsupported_request_content_type", "Send the body as application/json."));
  const text = fromUtf8(bytes.value);
  if (text === undefined) return err(problem("bad_payload_syntax", "The body is not valid UTF-8."));
  if (nestingOf(text) > MAX_JSON_DEPTH)
    return err(problem("bad_payload_syntax", `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`));
  try {
    return ok({ text, value: JSON.parse(text) as unknown });
  } catch {
    return err(problem("bad_payload_syntax", "The body is not well-formed JSON."));
  }
}

/** The parts of a multipart form. */
export async function readMultipart(
  request: Request,
  maxBytes: number,
  memory?: BodyMemory,
): Promise<Result<FormData, Problem>> {
  const bytes = await readBytes(request, maxBytes, memory);
  if (!bytes.ok) return bytes;
  const headers = { "content-type": request.headers.get("content-type") ?? "" };
  try {
    return ok(await new Response(bytes.value, { headers }).formData());
  } catch {
    return err(problem("bad_payload_syntax", "The body is not a well-formed multipart form."));
  }
}

/** The fields of a form body, repeats kept; no body is an empty form. */
export async function readForm(
  request: Request,
  maxBytes: number,
  memory?: BodyMemory,
): Promise<Result<URLSearchParams, Problem>> {
  const bytes = await readBytes(request, maxBytes, memory);
  if (!bytes.ok) return bytes;
  if (bytes.value.byteLength === 0) return ok(new URLSearchParams());
  if (mediaType(request.headers.get("content-type")) !== "application/x-www-form-urlencoded")
    return err(problem("unsupported_request_content_type", "Send the body as application/x-www-form-urlencoded."));
  const text = fromUtf8(bytes.value);
  if (text === undefined) return err(problem("bad_payload_syntax", "The body is not valid UTF-8."));
  return ok(new URLSearchParams(text));
}

/** `Text/HTML; charset=x` → `text/html` */
export const mediaType = (contentType: string | null): string =>
  (contentType ?? "").split(";")[0]!.trim().toLowerCase();

/** True for a type of JSON, and without a type. False for another charset, since JSON is UTF-8 (RFC 8259 8.1). */
export function isJson(contentType: string | null): boolean {
  const type = mediaType(contentType);
  const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  if (!/^utf-?8$/i.test(charset)) return false;
  return type === "" || type === "application/json" || type.endsWith("+json");
}

/** The deepest nesting of brackets outside strings. */
function nestingOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '"') at = endOfString(json, at);
    else if (char === "[" || char === "{") deepest = Math.max(deepest, ++depth);
    else if (char === "]" || char === "}") depth -= 1;
  }
  return deepest;
}

function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}

const incomplete = (): Problem => problem("bad_payload_syntax", "The body ended before it was complete.");

const tooSlow = (): Problem =>
  problem("bad_payload_syntax", `The body came too slowly: send 256 KiB in ${STEP_MS / 1000} s.`);

/** The whole body; undefined if the caller disconnected before its end. */
async function readWhole(request: Request): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await request.arrayBuffer());
  } catch {
    return undefined;
  }
}

/** The next 256 KiB, or the rest; undefined at the end. `isLimited`: in a limited time, since the body holds memory. */
async function readPiece(
  reader: ReadableStreamBYOBReader,
  isLimited: boolean,
): Promise<Result<Uint8Array | undefined, Problem>> {
  const reading = reader.readAtLeast(SMALL_BODY_BYTES, new Uint8Array(SMALL_BODY_BYTES));
  let isLate = false;
  const giveUp = (): void => {
    isLate = true;
    reader.cancel().catch(() => undefined);
  };
  const timer = isLimited ? setTimeout(giveUp, STEP_MS) : undefined;
  try {
    const { value } = await reading;
    if (isLate) return err(tooSlow());
    return ok(value === undefined || value.byteLength === 0 ? undefined : value);
  } catch {
    return err(isLate ? tooSlow() : incomplete());
  } finally {
    clearTimeout(timer);
  }
}
