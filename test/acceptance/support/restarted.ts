import { rmSync } from "node:fs";
import { afterAll, expect } from "vitest";
import { startPlatform, type Platform } from "./process/platform.ts";
import { stopGroup } from "./process/program.ts";
import { newStateDir } from "./process/state.ts";

/** One state for the test file, and the platform that was started over it last. */
export function useRestarted() {
  const stateDir = newStateDir();
  let platform: Platform | undefined;
  afterAll(async () => {
    if (platform !== undefined) await stopGroup(platform, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  });
  return {
    stateDir,
    running: (): Platform => platform ?? expect.fail("the platform was not started"),
    start: async (env: Record<string, string> = {}): Promise<Platform> =>
      (platform = await startPlatform({ ...env, STATE_DIR: stateDir })),
  };
}
