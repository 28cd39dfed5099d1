import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { applyMigrations } from "../../scripts/lib/local/database.ts";
import { DEMO, loadDemo } from "../../scripts/lib/local/demo.ts";
import { freePort } from "../../scripts/lib/local/free-port.ts";
import { serve } from "../../scripts/lib/local/server.ts";
import { readSettings } from "../../scripts/lib/local/settings.ts";
import type { CorpusImage } from "./images.ts";

/** An empty platform of its own. */
export interface CorporaPlatform {
  /** Stores the image and waits until no variant is pending. */
  makeVariants(image: CorpusImage, query: string): Promise<MadeVariant[]>;
  stop(): Promise<void>;
}

export interface MadeVariant {
  readonly type: "clip" | "crop";
  readonly size: string;
  readonly state: "ready" | "failed" | "pending";
  readonly width: number;
  readonly height: number;
  readonly reason?: string;
  /** The bytes of the variant; present if it is ready. */
  readonly bytes: Buffer | undefined;
}

/** Longer than all attempts of a job together. */
const PATIENCE_MS = 120_000;

export async function startCorporaPlatform(): Promise<CorporaPlatform> {
  const stateDir = mkdtempSync(join(tmpdir(), "plinth-corpora-"));
  const settings = readSettings({
    ...process.env,
    PORT: String(await freePort("127.0.0.1")),
    STATE_DIR: stateDir,
    LOG_LEVEL: "error",
  });
  const server = await serve(settings);
  await applyMigrations(await server.getD1Database("DB"));
  const origin = `http://${settings.host}:${settings.port}`;
  await loadDemo(origin, settings);
  const base = `${origin}${settings.config.pathPrefix}`;

  const ask = async (method: string, address: string, init: RequestInit = {}, status = 200): Promise<Buffer> => {
    const response = await fetch(address, { method, ...init });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.status !== status)
      throw new Error(
        `${method} ${new URL(address).pathname}: ${response.status} ${bytes.toString("utf8").slice(0, 300)}`,
      );
    return bytes;
  };
  const parsed = async (answer: Promise<Buffer>): Promise<any> => JSON.parse((await answer).toString("utf8"));
  const grant = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: DEMO.client,
    client_secret: settings.demoClientSecret,
  });
  const { access_token: token } = await parsed(ask("POST", `${base}/oauth2/v1/token`, { body: grant }));
  const authorization = `Bearer ${token}`;
  const files = `${base}/media/v2/files`;

  const settled = async (id: string): Promise<any[]> => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const list = await parsed(ask("GET", `${files}/${id}/variants`, { headers: { authorization } }));
      if (list.every(({ state }: any) => state !== "pending") || performance.now() > deadline) return list;
      await sleep(200);
    }
  };

  return {
    async makeVariants({ contentType, bytes }, query) {
      const json = { authorization, "content-type": "application/json" };
      const body = JSON.stringify({ "Content-Type": contentType });
      const { id, uploadLink, commitLink } = await parsed(ask("POST", `${files}?${query}`, { headers: json, body }));
      await ask("PUT", uploadLink, { headers: { "content-type": contentType }, body: bytes });
      await ask("POST", commitLink, { headers: { authorization } }, 202);
      return Promise.all(
        (await settled(id)).map(async (variant) => {
          if (variant.state !== "ready") return { ...variant, bytes: undefined };
          const address = `${files}/${id}?${variant.type}=${variant.size}`;
          const { link } = await parsed(ask("GET", address, { headers: { authorization } }));
          return { ...variant, bytes: await ask("GET", link) };
        }),
      );
    },
    async stop() {
      await server.dispose();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
