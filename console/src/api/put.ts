import { pause } from "./waits.ts";

/** As the transport of other requests. */
const ATTEMPTS = 3;
const MAX_WAIT_MS = 60_000;

/** The refusal of an upload, with the service's message; empty without an answer. */
export class PutError extends Error {
  override readonly name = "PutError";
  readonly reason: string;
  /** The platform asks for it to be sent again so much later. */
  readonly waitMs: number | undefined;
  constructor(reason: string, waitMs?: number) {
    super(reason);
    this.reason = reason;
    this.waitMs = waitMs;
  }
}

type Put = [link: string, file: File, contentType: string, signal: AbortSignal, onSent: (bytes: number) => void];

/** Sends a file, and waits as other requests do if there are too many. */
export async function put(...given: Put): Promise<void> {
  const [, , , signal] = given;
  for (let attempt = 1; ; attempt++) {
    try {
      return await putOnce(...given);
    } catch (thrown) {
      const waitMs = thrown instanceof PutError ? thrown.waitMs : undefined;
      if (waitMs === undefined || waitMs > MAX_WAIT_MS || attempt >= ATTEMPTS) throw thrown;
      await pause(waitMs, signal);
    }
  }
}

/**
 * Sends the bytes of a file to its upload link. It sends no token, since the link is the permission. It uses
 * `XMLHttpRequest`, since `fetch` does not tell how much was sent.
 */
function putOnce(...[link, file, contentType, signal, onSent]: Put): Promise<void> {
  return new Promise((done, fail) => {
    if (signal.aborted) return fail(new PutError("aborted"));
    const request = new XMLHttpRequest();
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.upload.addEventListener("progress", ({ loaded }) => onSent(loaded));
    request.addEventListener("load", () => (request.status < 300 ? done() : fail(refusalOf(request))));
    request.addEventListener("error", () => fail(new PutError("")));
    request.addEventListener("abort", () => fail(new PutError("aborted")));
    request.open("PUT", link);
    request.setRequestHeader("content-type", contentType);
    request.setRequestHeader("content-disposition", `attachment; filename*=UTF-8''${encodeName(file.name)}`);
    request.send(file);
  });
}

/** Encodes a name by RFC 8187, in which some characters that `encodeURIComponent` leaves have a meaning. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

function refusalOf(request: XMLHttpRequest): PutError {
  const { status, responseText } = request;
  const seconds = request.getResponseHeader("retry-after");
  const isPassing = (status === 429 || status === 503) && seconds !== null;
  return new PutError(messageOf(responseText, status), isPassing ? Number(seconds) * 1_000 : undefined);
}

function messageOf(body: string, status: number): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? `HTTP ${status}`;
  } catch {
    return `HTTP ${status}`;
  }
}
