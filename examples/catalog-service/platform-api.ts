import type { Settings } from "./settings.ts";

/** An unexpected answer of the platform. The message is for the log, never for callers. */
export class PlatformError extends Error {
  override name = "PlatformError";
  /** Undefined if there was no answer. */
  readonly status: number | undefined;

  constructor(status: number | undefined, message: string) {
    super(message);
    this.status = status;
  }
}

interface Call {
  /** The tenant to act for; undefined: this service. */
  readonly tenant: string | undefined;
  readonly json?: unknown;
  readonly headers?: Record<string, string>;
}

const TIMEOUT_MS = 20_000;
/** Tokens are renewed this early, so that they outlive the request. */
const RENEW_MS = 60_000;

/**
 * Calls the platform as this service's own client, `shelfware.catalog`.
 *
 * To act for a tenant it gets a token for that tenant (`plat.tenant=<tenant>`), which the platform issues while the
 * tenant subscribes to the catalog. So events and files belong to the right tenant, and a bug here cannot reach a
 * tenant that is no customer.
 */
export class PlatformApi {
  readonly #settings: Settings;
  readonly #tokens = new Map<string, { readonly token: Promise<string>; renewMs: number }>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  // --- events

  /** Makes the topic if it is missing. It belongs to this service, whichever tenant an event is about. */
  async ensureTopic(eventType: string): Promise<void> {
    const json = { eventType, description: "A product of a tenant's catalog" };
    await this.#call([201, 409], "POST", "/pubsub/v1/topics", { tenant: undefined, json });
  }

  /** A repeat under the same key, after a lost answer or a crash, publishes nothing twice (for 24 h). */
  async publish(tenant: string, eventType: string, payload: string, key: string): Promise<void> {
    const path = `/pubsub/v1/topics/${this.#settings.clientId}/${eventType}/publish`;
    const headers = { "idempotency-key": key };
    await this.#call([201], "POST", path, { tenant, json: { payload }, headers });
  }

  // --- media

  /** Makes a public file, because a shop's pictures are public. `sizes`: variants to make. */
  async createPicture(tenant: string, contentType: string, sizes: string): Promise<NewPicture> {
    const json = { "Content-Type": contentType };
    const answer = await this.#call([200], "POST", `/media/v2/public/files?${sizes}`, { tenant, json });
    return (await answer.json()) as NewPicture;
  }

  /** The link itself is the permission and may lead to another host, so it gets no token. */
  async uploadPicture({ uploadLink }: NewPicture, contentType: string, bytes: Buffer<ArrayBuffer>): Promise<void> {
    const headers = { "content-type": contentType };
    const answer = await send(uploadLink, { method: "PUT", headers, body: bytes });
    if (answer.status !== 200) throw new PlatformError(answer.status, `the upload: ${await answer.text()}`);
    await answer.body?.cancel();
  }

  /** Gives the file to the tenant and its public address. */
  async commitPicture(tenant: string, { id }: NewPicture, metadata: Record<string, string>): Promise<void> {
    const path = `/media/v2/public/files/${id}/commit?tenant=${tenant}`;
    await this.#call([202], "POST", path, { tenant, json: metadata });
  }

  /** A missing file is fine. */
  async removePicture(tenant: string, file: string): Promise<void> {
    await this.#call([204, 404], "DELETE", `/media/v2/public/files/${file}`, { tenant });
  }

  // --- how

  async #call(expected: readonly number[], method: string, path: string, call: Call): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const token = await this.#tokenFor(call.tenant);
      const headers: Record<string, string> = { ...call.headers, authorization: `Bearer ${token}` };
      if (call.json !== undefined) headers["content-type"] = "application/json";
      const body = call.json === undefined ? null : JSON.stringify(call.json);
      const answer = await send(`${this.#settings.platformUrl}${path}`, { method, headers, body });
      if (expected.includes(answer.status)) return answer;
      const text = await answer.text();
      // The token was revoked early, for example by a new secret: tries once with a new one.
      if (answer.status !== 401 || attempt > 1)
        throw new PlatformError(answer.status, `${method} ${path} answered ${answer.status}: ${text}`);
      this.#tokens.delete(call.tenant ?? "");
    }
  }

  /** Shares one token request among all callers. */
  #tokenFor(tenant: string | undefined): Promise<string> {
    const known = this.#tokens.get(tenant ?? "");
    if (known !== undefined && Date.now() < known.renewMs) return known.token;
    const fetched = this.#fetchToken(tenant);
    const entry = { token: fetched.then(({ token }) => token), renewMs: Date.now() + TIMEOUT_MS };
    this.#tokens.set(tenant ?? "", entry);
    fetched.then(
      ({ livesMs }) => (entry.renewMs = Date.now() + livesMs - RENEW_MS),
      () => this.#tokens.delete(tenant ?? ""),
    );
    return entry.token;
  }

  async #fetchToken(tenant: string | undefined): Promise<{ token: string; livesMs: number }> {
    const { platform, platformUrl, clientId, clientSecret } = this.#settings;
    const scopes = [`${platform}.pubsub_publish`, `${platform}.media_manage`];
    if (tenant !== undefined) scopes.unshift(`${platform}.tenant=${tenant}`);
    const credentials = [clientId, clientSecret].map(encodeURIComponent).join(":");
    const answer = await send(`${platformUrl}/oauth2/v1/token`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
      body: new URLSearchParams({ grant_type: "client_credentials", scope: scopes.join(" ") }),
    });
    if (answer.status !== 200)
      throw new PlatformError(answer.status, `no token for ${tenant ?? clientId}: ${await answer.text()}`);
    const { access_token: token, expires_in: livesSec } = (await answer.json()) as Record<string, unknown>;
    return { token: String(token), livesMs: Number(livesSec) * 1_000 };
  }
}

/** The platform's answer when a file is created. */
export interface NewPicture {
  readonly id: string;
  readonly uploadLink: string;
}

async function send(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...request, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    throw new PlatformError(undefined, `${new URL(address).origin} does not answer: ${String(cause ?? error)}`);
  }
}
