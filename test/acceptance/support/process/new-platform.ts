import { rmSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";
import { startPlatform, type Platform } from "./platform.ts";
import { stopGroup } from "./program.ts";
import { newStateDir } from "./state.ts";

/** Starts a platform with an empty database before the tests of the file or block, and removes it after them. */
export function newPlatform(): Pick<Platform, "url" | "port"> & { readonly stateDir: string } {
  const stateDir = newStateDir();
  let running: Platform;
  beforeAll(async () => void (running = await startPlatform({ STATE_DIR: stateDir })));
  afterAll(async () => {
    await stopGroup(running, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  });
  return {
    stateDir,
    get url() {
      return running.url;
    },
    get port() {
      return running.port;
    },
  };
}
