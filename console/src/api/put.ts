/** The refusal of an upload, with the service's message; empty without an answer. */
export class PutError extends Error {
  override readonly name = "PutError";
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Sends the bytes of a file to its upload link. It sends no token, since the link is the permission. It uses
 * `XMLHttpRequest`, since `fetch` does not tell how much was sent.
 */
export function put(
  link: string,
  file: File,
  contentType: string,
  signal: AbortSignal,
  onSent: (bytes: number) => void,
): Promise<void> {
  return new Promise((done, fail) => {
    if (signal.aborted) return fail(new PutError("aborted"));
    const request = new XMLHttpRequest();
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.upload.addEventListener("progress", ({ loaded }) => onSent(loaded));
    request.addEventListener("load", () =>
      request.status < 300 ? done() : fail(new PutError(messageOf(request.responseText, request.status))),
    );
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

function messageOf(body: string, status: number): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? `HTTP ${status}`;
  } catch {
    return `HTTP ${status}`;
  }
}
