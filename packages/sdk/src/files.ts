import { ConflictError, NotFoundError, errorOf, noAnswer, type PlinthError } from "./errors.ts";
import { segment, type Transport } from "./transport.ts";
import { backoffMs, timeLimit, wait } from "./wait.ts";

export interface StoredFile {
  readonly id: string;
  readonly "Content-Type": string;
  readonly size: number;
  readonly etag: string;
  readonly fileName: string | null;
  readonly tenant: string;
  /** `client` and `shared` are only in a list of shared files. */
  readonly client?: string;
  readonly shared?: "tenant";
  readonly createdAt: number;
  readonly committedAt: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly variants: readonly Variant[];
  /** A public file's address, which needs no token. */
  readonly link?: string;
}

export interface Variant {
  readonly type: "clip" | "crop";
  readonly size: string;
  /** Width and height in pixels; null until the variant is made. */
  readonly width: number | null;
  readonly height: number | null;
  readonly bytes: number | null;
  readonly etag: string | null;
  readonly state: "pending" | "ready" | "failed";
  /** Why it failed. */
  readonly reason?: string;
  /** The address of the variant, if it is ready and the file is public. */
  readonly link?: string;
}

/** Sizes such as `320x240`. `clip` fits into the size, `crop` fills it. */
export interface Sizes {
  readonly clip?: string | readonly string[];
  readonly crop?: string | readonly string[];
}

export interface LinkOptions extends Sizes {
  /** Leads to the original as long as there is no such variant. */
  readonly fallback?: boolean;
  readonly signal?: AbortSignal;
}

export interface UploadOptions extends Sizes {
  /** The type of the bytes. Default: the type of a `Blob`, else `application/octet-stream`. */
  readonly contentType?: string;
  /** The name for downloads. Default: the name of a `File`. */
  readonly fileName?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The tenant that the file belongs to; the token's own by default. */
  readonly tenant?: string;
  /** Lets other clients of the tenant read the file, and change it with `media_admin`. This cannot be undone. */
  readonly shared?: "tenant";
  readonly onProgress?: (progress: { readonly sentBytes: number; readonly totalBytes: number }) => void;
  readonly signal?: AbortSignal;
}

export interface UploadedFile {
  readonly id: string;
  readonly link: string;
}

export interface Search {
  /** The files that clients of the tenant share, in place of one's own. */
  readonly shared?: "tenant";
  /** With `shared`: the client whose files these are. The other conditions need it. */
  readonly client?: string;
  /** The tenant of the files; the token's own by default. */
  readonly tenant?: string;
  /** Pairs `key:value` that all match: `album:summer tags:sea`. */
  readonly q?: string;
  readonly contentType?: string | readonly string[];
  /** Attributes with a direction: `title:desc`. */
  readonly sort?: string | readonly string[];
  readonly signal?: AbortSignal;
}

export type Content = Blob | ArrayBuffer | ArrayBufferView | string;

export type Files = ReturnType<typeof createFiles>;

const LINK_ATTEMPTS = 4;
/** The longest pause. After a longer `Retry-After`, the error goes to the caller. */
const MAX_WAIT_MS = 60_000;
/** The longest time for which a failed upload tries to remove its file. */
const ABANDON_MS = 2_000;
/** The longest wait for variants. */
const READY_MAX_MS = 60_000;

/**
 * Files of one visibility: `plinth.files` are private, `plinth.publicFiles` can be fetched by anybody. Both belong to
 * the client, not to the person who uses it.
 */
export function createFiles(
  transport: Transport,
  fetch: typeof globalThis.fetch,
  visibility: "private" | "public",
  ownTenant: () => Promise<string | undefined>,
  timeoutMs: number,
) {
  const base = visibility === "public" ? "/media/v2/public/files" : "/media/v2/files";
  const at = (id: string): string => `${base}/${segment("id of a file", id)}`;

  /** Removes a file whose id nobody gets to know. If this fails, one that is not committed is removed after a day. */
  const abandon = async (id: string): Promise<void> => {
    await transport.send("DELETE", at(id), { signal: AbortSignal.timeout(ABANDON_MS) }).catch(() => undefined);
  };

  const files = {
    /**
     * Stores bytes in three steps: create, send, commit. A step whose answer was lost is repeated and stores nothing
     * twice. An upload that fails or is aborted leaves no file, so that none takes up the tenant's quota.
     */
    async upload(content: Content, options: UploadOptions = {}): Promise<UploadedFile> {
      const { metadata = {}, tenant, shared, clip, crop, onProgress, signal } = options;
      const blob = content instanceof Blob ? content : new Blob([bytesIn(content)]);
      const contentType = options.contentType ?? (blob.type || "application/octet-stream");
      const created = await transport.json<{ id: string; uploadLink: string; commitLink: string }>("POST", base, {
        query: { clip: listOf(clip), crop: listOf(crop) },
        json: { "Content-Type": contentType },
        // May be repeated, since a file without an upload is removed after a day.
        repeatable: true,
        signal,
      });
      const fileName = options.fileName ?? ("name" in blob && typeof blob.name === "string" ? blob.name : undefined);
      try {
        await put(fetch, created.uploadLink, blob, headersOf(contentType, fileName), onProgress, signal);
        return await transport.json<UploadedFile>("POST", `${at(created.id)}/commit`, {
          query: { tenant, shared },
          json: metadata,
          repeatable: true,
          signal,
        });
      } catch (thrown) {
        await abandon(created.id);
        throw thrown;
      }
    },

    /** An address of the bytes or of a variant. A private one works for 15 minutes. */
    async link(id: string, { clip, crop, fallback, signal }: LinkOptions = {}): Promise<string> {
      const query = { clip: listOf(clip), crop: listOf(crop), fallback };
      const { status, headers, body, address } = await transport.send("GET", at(id), { query, signal });
      if (status === 302) return headers.get("location")!;
      // A page may follow a redirect, but is not told where it leads; its status is 0 then.
      if (status === 0) return (await follow(fetch, address, { method: "HEAD" }, timeoutMs, signal)).url;
      return (body as { link: string }).link;
    },

    /**
     * The bytes, as an answer of `fetch` whose body may still be on its way. `headers`: for example a `Range`, or
     * `If-None-Match`, whose answer may be a 304.
     */
    async download(
      id: string,
      options: Sizes & { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
    ): Promise<Response> {
      const { headers = {}, signal } = options;
      return follow(fetch, await files.link(id, options), { headers }, timeoutMs, signal);
    },

    /** Every file that matches, page by page as they are needed. */
    async *list(search: Search = {}): AsyncGenerator<StoredFile, void, undefined> {
      const { contentType, sort, q, shared, client, signal } = search;
      const tenant = search.tenant ?? (await ownTenant());
      const query = {
        tenant,
        shared,
        client,
        q,
        "content-type": listOf(contentType),
        sort: listOf(sort),
        pageSize: 100,
      };
      yield* transport.pages<StoredFile>(base, { query, signal });
    },

    metadata: async <T = Record<string, unknown>>(id: string): Promise<T> =>
      transport.json("GET", `${at(id)}/metadata`),

    /** Replaces the metadata as a whole. */
    setMetadata: async <T extends object>(id: string, metadata: T): Promise<T> =>
      transport.json("PUT", `${at(id)}/metadata`, { json: metadata }),

    /** Removes the file and its variants. Returns the address of the report that proves it; a missing one is fine. */
    async delete(id: string): Promise<string | undefined> {
      try {
        return (await transport.send("DELETE", at(id))).headers.get("location") ?? undefined;
      } catch (thrown) {
        if (thrown instanceof NotFoundError) return undefined;
        throw thrown;
      }
    },

    /** Counts the files that `deleteAll` would remove. */
    async count(which: Pick<Search, "tenant" | "q">): Promise<{ files: number; bytes: number }> {
      const { tenant, q } = checked(which);
      return transport.json("DELETE", base, { query: { tenant: tenant ?? (await ownTenant()), q, dryRun: true } });
    },

    /**
     * Removes the files that match `q`, of the token's own tenant by default. Without `q`, name the tenant: all of its
     * files go. Returns the address of the report.
     */
    async deleteAll(which: Pick<Search, "tenant" | "q">): Promise<string | undefined> {
      const { tenant, q } = checked(which);
      return (
        (
          await transport.send("DELETE", base, {
            query: { tenant: tenant ?? (q === undefined ? undefined : await ownTenant()), q },
          })
        ).headers.get("location") ?? undefined
      );
    },

    variants: async (id: string): Promise<readonly Variant[]> => transport.json("GET", `${at(id)}/variants`),

    /** Requests variants and waits until each is ready or has failed; after a minute, some may still be pending. */
    async makeVariants(id: string, sizes: Sizes, signal?: AbortSignal): Promise<readonly Variant[]> {
      const query = { clip: listOf(sizes.clip), crop: listOf(sizes.crop) };
      let variants = await transport.json<readonly Variant[]>("POST", `${at(id)}/variants`, {
        query,
        repeatable: true,
        signal,
      });
      for (let waitedMs = 0, round = 0; variants.some(({ state }) => state === "pending"); round++) {
        const pauseMs = Math.min(2_000, 100 * 1.5 ** round);
        waitedMs += pauseMs;
        if (waitedMs > READY_MAX_MS) break;
        await wait(pauseMs, signal);
        variants = await files.variants(id);
      }
      return variants;
    },
  };
  return files;
}

/** Throws for what would widen a deletion unseen: a name that is not known, or a `q` that was forgotten. */
function checked(which: Pick<Search, "tenant" | "q"> = {}): Pick<Search, "tenant" | "q"> {
  for (const [name, value] of Object.entries(which)) {
    if (name !== "tenant" && name !== "q") throw new TypeError(`${name} is unknown here: give tenant and q.`);
    if (name === "q" && value === undefined) throw new TypeError("q is undefined. To mean all files, leave it out.");
  }
  return which;
}

/** Throws for anything else, such as a stream: a `Blob` would store its name. */
function bytesIn(content: Exclude<Content, Blob>): string | ArrayBuffer {
  if (typeof content === "string" || content instanceof ArrayBuffer || ArrayBuffer.isView(content))
    return content as string | ArrayBuffer;
  throw new TypeError("Give a Blob, bytes or a text. A stream cannot be sent again: read it first.");
}

/**
 * Sends bytes to an upload link. It sends no token: the link itself is the permission, and may lead to another host.
 */
async function put(
  fetch: typeof globalThis.fetch,
  link: string,
  blob: Blob,
  headers: Record<string, string>,
  onProgress: UploadOptions["onProgress"],
  signal: AbortSignal | undefined,
): Promise<void> {
  const report = (sentBytes: number): void => onProgress?.({ sentBytes, totalBytes: blob.size });
  for (let attempt = 1; ; attempt++) {
    report(0);
    const answer = await (
      onProgress !== undefined && XMLHttpRequest !== undefined
        ? putByXhr(link, blob, headers, report, signal)
        : fetch(link, { method: "PUT", headers, body: blob, ...(signal !== undefined && { signal }) })
    ).catch((thrown: unknown) => {
      if (signal?.aborted === true) throw thrown;
      return noAnswer(thrown, "The upload got no answer.");
    });
    if (answer instanceof Response && answer.ok) {
      await answer.body?.cancel();
      report(blob.size);
      return;
    }
    const error = answer instanceof Response ? await errorOf(answer) : answer;
    // An earlier attempt, whose answer was lost, has stored the bytes, or is still storing them.
    const isBehind = attempt > 1 && error instanceof ConflictError;
    if (isBehind && error.has("already_uploaded")) return report(blob.size);
    await pauseAfter(error, attempt, signal, isBehind && error.has("upload_changed"));
  }
}

/**
 * Follows a link to bytes, which may take longer than `timeoutMs`. It sends no token: the link itself is the permission,
 * and may lead to another host.
 */
async function follow(
  fetch: typeof globalThis.fetch,
  link: string,
  init: RequestInit,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const limit = timeLimit(timeoutMs, signal);
    let error: PlinthError;
    try {
      const answer = await fetch(link, { ...init, signal: limit.signal });
      if (answer.ok || answer.status === 304) return answer;
      error = await errorOf(answer);
    } catch (thrown) {
      if (signal?.aborted === true) throw thrown;
      error = noAnswer(thrown, "The download got no answer.");
    } finally {
      limit.end();
    }
    await pauseAfter(error, attempt, signal);
  }
}

/** Waits until a link may be followed again. Throws the error if that is of no use. */
async function pauseAfter(
  error: PlinthError,
  attempt: number,
  signal: AbortSignal | undefined,
  isPassing = false,
): Promise<void> {
  const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs(attempt, 500, 10_000));
  const passes = isPassing || error.status === 0 || error.status === 429 || error.status >= 500;
  if (!passes || attempt >= LINK_ATTEMPTS || waitMs > MAX_WAIT_MS) throw error;
  await wait(waitMs, signal);
}

/** The part of `XMLHttpRequest` that is used here. Runtimes other than browsers do not have its types. */
interface XhrLike {
  readonly upload: { addEventListener(type: "progress", listen: (event: { readonly loaded: number }) => void): void };
  readonly status: number;
  readonly responseText: string;
  open(method: string, address: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  addEventListener(type: "loadend", listen: () => void): void;
  send(body: Blob): void;
  abort(): void;
}

const { XMLHttpRequest } = globalThis as { readonly XMLHttpRequest?: new () => XhrLike };

/** Sends bytes with `XMLHttpRequest`, since `fetch` does not tell a page how much was sent. */
function putByXhr(
  link: string,
  blob: Blob,
  headers: Record<string, string>,
  report: (sentBytes: number) => void,
  signal: AbortSignal | undefined,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const request = new XMLHttpRequest!();
    const abort = (): void => request.abort();
    signal?.addEventListener("abort", abort, { once: true });
    request.open("PUT", link);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", ({ loaded }) => report(Math.min(loaded, blob.size)));
    request.addEventListener("loadend", () => {
      signal?.removeEventListener("abort", abort);
      if (signal?.aborted === true) return reject(signal.reason as Error);
      if (request.status === 0) return reject(new TypeError("The connection was lost."));
      const retryAfter = request.getResponseHeader("retry-after");
      const answered = new Headers(retryAfter === null ? {} : { "retry-after": retryAfter });
      resolve(new Response(request.responseText || null, { status: request.status, headers: answered }));
    });
    request.send(blob);
  });
}

function headersOf(contentType: string, fileName: string | undefined): Record<string, string> {
  if (fileName === undefined) return { "content-type": contentType };
  // RFC 8187 encodes any name in ASCII.
  const encoded = encodeURIComponent(fileName.replace(/\p{Surrogate}/gu, "\ufffd")).replace(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`,
  );
  return { "content-type": contentType, "content-disposition": `attachment; filename*=UTF-8''${encoded}` };
}

const listOf = (value: string | readonly string[] | undefined): readonly string[] | undefined =>
  typeof value === "string" ? [value] : value;
