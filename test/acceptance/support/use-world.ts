import { readFileSync, rmSync } from "node:fs";
import { afterAll, beforeAll, inject } from "vitest";
import { started, startPlatform, type Platform } from "./process/platform.ts";
import { stopGroup } from "./process/program.ts";
import type { SharedName, SharedPlatform } from "./process/shared-platforms.ts";
import { newStateDir } from "./process/state.ts";
import { makeWorld, openWorld, OPERATOR_SECRET, type World } from "./world.ts";

const START_TIMEOUT_MS = 60_000;

/**
 * Gives the test file a world on a platform that other files use at the same time. Name what you make after the test
 * file, and do not change `ADA`, `BOB`, `EVE` or anything of the whole platform.
 */
export function useSharedWorld(name: SharedName): () => World {
  let world: World | undefined;
  beforeAll(async () => {
    const answer = await fetch(`${inject("sharedPlatforms")}/${name}`);
    if (!answer.ok) throw new Error(await answer.text());
    const { url, pathPrefix, variables, outputPath } = (await answer.json()) as SharedPlatform;
    const output = (): string => readFileSync(outputPath, "utf8");
    started.push({ env: variables, output });
    world = await openWorld({ url, output }, pathPrefix);
  }, START_TIMEOUT_MS);
  return () => opened(world);
}

/** Starts a platform for the test file alone, with these variables, and stops it after the last test. */
export function useWorld(variables: Record<string, string> = {}): () => World {
  const stateDir = newStateDir();
  let platform: Platform | undefined;
  let world: World | undefined;
  beforeAll(async () => {
    platform = await startPlatform({
      ...variables,
      STATE_DIR: stateDir,
      OPERATOR_CLIENT_SECRET: OPERATOR_SECRET,
    });
    world = await makeWorld(platform, variables["PATH_PREFIX"] ?? "");
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    if (platform !== undefined) await stopGroup(platform, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  });
  return () => opened(world);
}

function opened(world: World | undefined): World {
  if (world === undefined) throw new Error("the platform was not started");
  return world;
}
