import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test, vi } from "vitest";
import { createSession, type Session } from "../../examples/tour/session.ts";
import { twoVersions, type Platform, type TwoVersions, type Version } from "../acceptance/support/two-versions.ts";
import { begin, finish, register, type Begun } from "../acceptance/support/upgrade-story.ts";
import { startUpstream, type Upstream } from "../acceptance/support/parties/upstream.ts";

/**
 * An upgrade and the way back, with the Worker of the last release (scripts/release.ts) and today's before the same
 * objects. The steps are those of a deployment: migrate, Workers first, objects later.
 */
const folder = mkdtempSync(join(tmpdir(), "plinth-upgrade-"));
let versions: TwoVersions;
let platform: Platform;
let upstream: Upstream;
const begun: Begun[] = [];

const at = (version: Version): Session => createSession(platform.url[version], "", "plat", true);
const beginAt = async (version: Version): Promise<Begun> => {
  const story = await begin(at(version), versions.secret);
  begun.push(story);
  return story;
};

beforeAll(async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  versions = await twoVersions(folder);
  upstream = await startUpstream();
  platform = await versions.start("released");
});
afterAll(async () => {
  await platform?.stop();
  await upstream?.close();
  for (const { receiver } of begun) await receiver.close().catch(() => {});
  rmSync(folder, { recursive: true, force: true });
});

describe("An upgrade from the last release", () => {
  let early: Begun;
  let late: Begun;

  test("begins at a platform of that release", async () => {
    await register(at("released"), versions.secret, upstream);
    early = await beginAt("released");
  });

  test("leaves the released Worker whole on today's tables", async () => {
    await platform.migrate();
    await finish(at("released"), await beginAt("released"));
  });

  test("lets today's Worker and the released one share objects of released code", async () => {
    const forth = async () => finish(at("today"), await beginAt("released"));
    const back = async () => finish(at("released"), await beginAt("today"), 1);
    await Promise.all([forth(), back()]);
  });

  test("goes on with everything that the release had begun, once objects run today's code", async () => {
    await platform.stop();
    platform = await versions.start("today");
    await finish(at("today"), early);
  });

  test("lets the released Worker, where it still answers, use objects of today's code", async () => {
    await finish(at("released"), await beginAt("released"));
    late = await beginAt("today");
  });

  test("can be taken back: the release goes on with everything that today's code had begun", async () => {
    await platform.stop();
    platform = await versions.start("released");
    await finish(at("released"), late, 1);
  });
});
