/** The refusal of an upload: the service's words, or none if nothing answered. */
export class PutError extends Error {
  override readonly name = "PutError";
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Sends the bytes of a file to its upload link, which is the permission: no token goes there. `fetch` tells nothing of
 * how much was sent, so this is the browser's older request.
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

/** RFC 8187: `encodeURIComponent` leaves some characters that have a meaning there. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

function messageOf(body: string, status: number): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? `HTTP ${status}`;
  } catch {
    return `HTTP ${status}`;
  }
}
