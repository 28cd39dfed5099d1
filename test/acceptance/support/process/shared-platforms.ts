import { once } from "node:events";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { makeWorld, OPERATOR_SECRET } from "../world.ts";
import { startPlatform, type Platform } from "./platform.ts";
import { stopGroup } from "./program.ts";
import { newStateDir } from "./state.ts";

export const GATEWAY_TIMEOUT_MS = 1_500;

/**
 * Platforms that several test files share, because a start takes seconds. This file runs in vitest's own process, once
 * for a run:
 *
 *   a test file asks for a platform by its name ──▶ the first time: started, and filled with the world ──▶ its address
 *   the run ends ──▶ all of them are stopped
 *
 * Files that share a platform run at the same time. Each uses names of its own for what it makes, and changes nothing
 * that another one relies on.
 */
const VARIABLES = {
  /** For everybody who needs nothing special. Its short timeout is for tests of the gateway. */
  plain: { GATEWAY_TIMEOUT_MS: String(GATEWAY_TIMEOUT_MS) },
  /** Has a path prefix, and accepts clients that register themselves. */
  based: { PATH_PREFIX: "/base", UNREGISTERED_CLIENTS: "registration" },
} as const satisfies Record<string, Record<string, string>>;

export type SharedName = keyof typeof VARIABLES;

/** The answer to a test file. */
export interface SharedPlatform {
  readonly url: string;
  readonly pathPrefix: string;
  /** The platform was started with these variables. */
  readonly variables: Record<string, string>;
  /** The file to which its output goes. */
  readonly outputPath: string;
}

interface Running {
  readonly platform: Platform;
  readonly shared: SharedPlatform;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The address to ask for a shared platform: `{address}/{name}`. */
    sharedPlatforms: string;
  }
}

/** Vitest calls this before the first test of a run, and what it returns after the last one. */
export default async function share({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "plinth-shared-"));
  const running = new Map<SharedName, Promise<Running>>();

  async function start(name: SharedName): Promise<Running> {
    const stateDir = newStateDir();
    const variables: Record<string, string> = { ...VARIABLES[name], OPERATOR_CLIENT_SECRET: OPERATOR_SECRET };
    const outputPath = join(folder, name);
    writeFileSync(outputPath, "");
    const platform = await startPlatform({ ...variables, STATE_DIR: stateDir });
    writeFileSync(outputPath, platform.output());
    for (const stream of [platform.child.stdout, platform.child.stderr])
      stream?.on("data", (text: string) => appendFileSync(outputPath, text));
    const pathPrefix = variables["PATH_PREFIX"] ?? "";
    await makeWorld(platform, pathPrefix);
    const { url } = platform;
    return { platform, shared: { url, pathPrefix, variables: { ...variables, STATE_DIR: stateDir }, outputPath } };
  }

  const server = createServer((request, response) => {
    const name = (request.url ?? "").slice(1) as SharedName;
    if (!running.has(name)) running.set(name, start(name));
    running.get(name)!.then(
      ({ shared }) => response.end(JSON.stringify(shared)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  provide("sharedPlatforms", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);

  return async () => {
    server.close();
    for (const one of await Promise.allSettled(running.values())) {
      if (one.status === "rejected") continue;
      await stopGroup(one.value.platform, "SIGKILL");
      rmSync(one.value.shared.variables["STATE_DIR"]!, { recursive: true, force: true });
    }
    rmSync(folder, { recursive: true, force: true });
  };
}
