import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "../../scripts/lib/user-error.ts";

/** The part of an answer that a check reads. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends a request to the platform: a path below its origin, and the options of `fetch`. */
export type Ask = (
  path: string,
  options?: { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
) => Promise<Answer>;

const WAIT_MS = 10 * 60_000;
const PAUSE_MS = 5_000;
const TIMEOUT_MS = 15_000;
const DNS_OVER_HTTPS = "https://cloudflare-dns.com/dns-query";

/**
 * Asks a platform at its own address. Cloudflare's resolver looks the name up, instead of this machine's: that one may
 * have been asked before the name existed, and would remember its absence for half an hour.
 */
export const askHost =
  (publicUrl: string): Ask =>
  async (path, { method = "GET", headers = {}, body } = {}) => {
    const { hostname } = new URL(publicUrl);
    const address = await addressOf(hostname);
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const call = request({
      host: address,
      servername: hostname,
      method,
      path,
      headers: { ...headers, ...length, host: hostname },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    call.end(body);
    const [response] = (await once(call, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
  };

/** Asks the platform at another address: behind a proxy, or before its name leads there. */
export const askAt =
  (origin: string): Ask =>
  async (path, options = {}) => {
    const response = await fetch(new URL(path, origin), {
      ...options,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
  };

/** The address of a name; the name itself if Cloudflare's resolver does not answer or does not know it. */
async function addressOf(name: string): Promise<string> {
  try {
    const url = `${DNS_OVER_HTTPS}?name=${encodeURIComponent(name)}&type=A`;
    const response = await fetch(url, {
      headers: { accept: "application/dns-json" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { Answer: records = [] } = (await response.json()) as { Answer?: { type: number; data: string }[] };
    return records.find(({ type }) => type === 1)?.data ?? name;
  } catch {
    return name;
  }
}

/** Waits for the platform. A new custom domain gets its DNS record and certificate within seconds to minutes. */
export async function waitUntilReachable(ask: Ask, say: (line: string) => void, waitMs = WAIT_MS): Promise<void> {
  const deadline = Date.now() + waitMs;
  let told = "";
  for (;;) {
    const state: string = await ask("/health").then(
      ({ status }) => (status === 200 ? "ready" : `it answers ${status}`),
      (error: Error) => error.message,
    );
    if (state === "ready") return;
    if (Date.now() > deadline)
      throw new UserError(
        `It is deployed, and its address does not work after ${Math.round(waitMs / 60_000)} minutes: ${state}.\n` +
          "A certificate may take longer. Ask again: npm run deploy -- <name> smoke",
      );
    if (state !== told) say(`wait for DNS and certificate (${state})`);
    told = state;
    await sleep(Math.min(PAUSE_MS, waitMs));
  }
}
