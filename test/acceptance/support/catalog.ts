import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyFile, CATALOG, describedPlatform, ensureSecrets } from "../../../examples/walk/described-platform.ts";
import { startProgram, type Program } from "../../../examples/walk/program.ts";
import { ROOT } from "../../../scripts/lib/root.ts";
import { startEdge, type Edge } from "./parties/edge.ts";
import { startPlatform } from "./process/platform.ts";
import { stopGroup } from "./process/program.ts";
import { freePort, newStateDir } from "./process/state.ts";
import { OPERATOR_SECRET } from "./world.ts";

/**
 * The platform behind an edge that the test plays, with `examples/catalog-service/platform.yaml` applied; and the
 * service, which the test starts and kills.
 */
export interface CatalogWorld {
  readonly edge: Edge;
  /** The service's private address. */
  readonly sourceUrl: string;
  /** The public one of its products. */
  readonly products: string;
  readonly databasePath: string;
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** A token by client credentials. */
  token(clientId: string, scope?: string): Promise<string>;
  operate(method: string, path: string, body?: unknown): Promise<Response>;
  /** All that the service printed since its last start. */
  log(): string;
  end(): Promise<void>;
}

const SECRET_OF: Readonly<Record<string, string>> = {
  [CATALOG.client]: "CATALOG_CLIENT_SECRET",
  [CATALOG.searchClient]: "SEARCH_CLIENT_SECRET",
  [CATALOG.shopClient]: "ACME_CLIENT_SECRET",
  [CATALOG.otherShopClient]: "GLOBEX_CLIENT_SECRET",
};

export async function openCatalog(): Promise<CatalogWorld> {
  const directory = mkdtempSync(join(tmpdir(), "plinth-catalog-"));
  const stateDir = newStateDir();
  const edge = await startEdge();
  const platform = await startPlatform({
    STATE_DIR: stateDir,
    OPERATOR_CLIENT_SECRET: OPERATOR_SECRET,
    PUBLIC_URL: edge.origin,
  });
  edge.target(platform.url);
  const servicePort = await freePort();
  const sourceUrl = `http://127.0.0.1:${servicePort}`;
  const { secrets } = ensureSecrets(directory);
  const local = { PATH: process.env["PATH"], HOME: process.env["HOME"], PORT: String(platform.port) };
  const env = { ...local, OPERATOR_CLIENT_SECRET: OPERATOR_SECRET, ...secrets };
  await applyFile(describedPlatform(directory, { sourceUrl, platform: "plat" }), env, false);

  const databasePath = join(directory, "catalog.sqlite");
  let service: Program | undefined;
  const token = async (clientId: string, scope?: string): Promise<string> => {
    const secret = clientId === "plat.operator" ? OPERATOR_SECRET : (secrets[SECRET_OF[clientId] ?? ""] ?? "");
    const answer = await fetch(`${edge.origin}/oauth2/v1/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials", ...(scope !== undefined && { scope }) }),
    });
    const body = (await answer.json()) as { access_token?: string };
    if (body.access_token === undefined) throw new Error(`no token for ${clientId}: ${JSON.stringify(body)}`);
    return body.access_token;
  };
  const kill = async (): Promise<void> => service?.stop("SIGKILL");
  return {
    edge,
    sourceUrl,
    products: `${edge.origin}${CATALOG.proxyPath}/products`,
    databasePath,
    async start() {
      service = await startProgram("examples/catalog-service/main.ts", {
        env: {
          PATH: process.env["PATH"],
          PLATFORM_URL: edge.origin,
          CATALOG_PORT: String(servicePort),
          CATALOG_CLIENT_SECRET: secrets["CATALOG_CLIENT_SECRET"],
          CATALOG_DATABASE: databasePath,
        },
        patienceMs: 30_000,
      });
    },
    kill,
    token,
    async operate(method, path, body) {
      const authorization = `Bearer ${await token("plat.operator")}`;
      return fetch(`${edge.origin}/admin/v1/${path}`, {
        method,
        headers: { authorization, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    },
    log: () => service?.output() ?? "",
    async end() {
      await kill();
      await stopGroup(platform, "SIGKILL");
      await edge.close();
      for (const made of [directory, stateDir]) rmSync(made, { recursive: true, force: true });
    },
  };
}

export const PHOTO_PATH = join(ROOT, "scripts", "data", "photo.jpg");
