import { UserError } from "../../scripts/lib/user-error.ts";

/** The part of Cloudflare's API that a deployment needs. Bundling and uploading are left to wrangler. */
export interface Cloudflare {
  readonly accountId: string;
  /** Takes paths below the account. */
  readonly account: Api;
  readonly root: Api;
  /** The account, with the header that makes buckets of a jurisdiction visible. */
  within(jurisdiction: string | undefined): Api;
}

export interface Api {
  /** The result; undefined if the answer is 404. Every other failure throws, so that absence is never guessed. */
  find<T>(path: string): Promise<T | undefined>;
  /** All pages. */
  list<T>(path: string): Promise<T[]>;
  send<T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T>;
}

export class CloudflareError extends UserError {
  override name = "CloudflareError";
  /** Error codes of Cloudflare. */
  readonly codes: readonly number[];
  constructor(message: string, codes: readonly number[]) {
    super(message);
    this.codes = codes;
  }
}

interface Envelope {
  readonly success: boolean;
  readonly errors?: readonly { readonly code: number; readonly message: string }[];
  readonly result: unknown;
  readonly result_info?: { readonly total_pages?: number; readonly total_count?: number; readonly cursor?: string };
}

const TIMEOUT_MS = 60_000;
const PER_PAGE = 100;
/** Statuses after which a call is repeated. Each of our calls may be sent twice. */
const BUSY = new Set([429, 502, 503, 504]);
const ATTEMPTS = 4;

export function createCloudflare(options: {
  readonly baseUrl: string;
  readonly token: string;
  readonly accountId: string;
  readonly pause?: (timeMs: number) => Promise<unknown>;
}): Cloudflare {
  const {
    baseUrl,
    token,
    accountId,
    pause = (timeMs) => new Promise((resolve) => setTimeout(resolve, timeMs)),
  } = options;

  async function call(
    method: string,
    path: string,
    body?: unknown,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Envelope | undefined> {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...more },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).catch((error: unknown) => {
        throw new UserError(`Cloudflare's API does not answer (${method} ${path}): ${String(error)}`);
      });
      if (BUSY.has(response.status) && attempt < ATTEMPTS) {
        await response.body?.cancel();
        await pause(500 * 2 ** attempt);
        continue;
      }
      const envelope = (await response.json().catch(() => undefined)) as Envelope | undefined;
      if (response.ok && envelope?.success === true) return envelope;
      if (response.status === 404 && method === "GET") return undefined;
      const errors = envelope?.errors ?? [];
      const said = errors.map(({ code, message }) => `${message} (${code})`).join("; ") || `status ${response.status}`;
      throw new CloudflareError(
        `Cloudflare refuses ${method} ${path}: ${said}`,
        errors.map(({ code }) => code),
      );
    }
  }

  const below = (base: string, headers?: Readonly<Record<string, string>>): Api => ({
    async find<T>(path: string) {
      return (await call("GET", base + path, undefined, headers))?.result as T | undefined;
    },
    async list<T>(path: string) {
      const found: T[] = [];
      for (let page = 1; ; page++) {
        const separator = path.includes("?") ? "&" : "?";
        const url = `${base}${path}${separator}per_page=${PER_PAGE}&page=${page}`;
        const answer = await call("GET", url, undefined, headers);
        const items = itemsOf(answer?.result) as T[];
        found.push(...items);
        const pages = answer?.result_info?.total_pages;
        if (pages === undefined ? items.length < PER_PAGE : page >= pages) return found;
      }
    },
    async send<T>(method: string, path: string, body?: unknown) {
      return (await call(method, base + path, body, headers))!.result as T;
    },
  });
  const base = `/accounts/${accountId}`;
  return {
    accountId,
    account: below(base),
    root: below(""),
    within: (jurisdiction) => below(base, jurisdiction === undefined ? {} : { "cf-r2-jurisdiction": jurisdiction }),
  };
}

/** The rows of a list. Most lists are the result itself; some are an array in it. */
const itemsOf = (result: unknown): unknown[] =>
  Array.isArray(result) ? result : (Object.values(result ?? {}).find((value) => Array.isArray(value)) ?? []);
