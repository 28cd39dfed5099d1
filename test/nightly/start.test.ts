import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { demoToken, post } from "../acceptance/support/demo.ts";
import { listEverything, listTopics } from "../acceptance/support/platform-lists.ts";
import { useRestarted } from "../acceptance/support/restarted.ts";
import { expectToEndBy, startPlatform } from "../acceptance/support/process/platform.ts";
import { npm } from "../acceptance/support/process/program.ts";
import { localSecret, newStateDir } from "../acceptance/support/process/state.ts";

const { running, start } = useRestarted();

describe("a started platform", () => {
  // shows: running/commands/npm-run-tour
  test("npm run tour finds everything as it should be, and leaves nothing behind", async () => {
    const listAll = async (): Promise<unknown> => ({
      ...(await listEverything({ PORT: String(running().port) })),
      topics: await listTopics(running().url, await demoToken(running())),
    });
    await start();
    const before = await listAll();
    const tour = npm("tour", { PORT: String(running().port) });
    expect(await tour.ended, tour.output()).toBe(0);
    expect(tour.output()).toContain("Everything is as it should be");
    expect(tour.output()).not.toContain("left out");
    expect(tour.output()).toMatch(/The tenant \S+ is gone: 3 clients, 1 topic, 2 files/);
    const publicFiles = tour.output().match(/\/media\/v2\/public\/files\/\w{24}/g) ?? expect.fail(tour.output());
    expect((await fetch(`${running().url}${publicFiles[0]}`, { redirect: "manual" })).status).toBe(404);
    expect(await listAll()).toEqual(before);
  });

  test("the demo's client and user see events of the demo's tenant alone; the tour's tenant subscribed to packages, too", async () => {
    const topic = `${running().url}/pubsub/v1/topics/plat.authorization/subscriptionCreated`;
    const ada = { username: "ada@demo.example", password: localSecret("DEMO_USER_PASSWORD") };
    const ofAda = { grant_type: "password", plat_id_provider: "legacy_idp", ...ada };
    for (const token of [await demoToken(running()), await demoToken(running(), ofAda)]) {
      const headers = { authorization: `Bearer ${token}` };
      const { events } = (await (await fetch(`${topic}/events`, { headers })).json()) as {
        events: { tenant: string }[];
      };
      expect(new Set(events.map(({ tenant }) => tenant))).toEqual(new Set(["demo"]));
      const { body } = await post(running(), `${topic}/read`, token, { numEvents: 1000 });
      expect(new Set(body.events.map((event: { tenant: string }) => event.tenant))).toEqual(new Set(["demo"]));
    }
  });
});

describe("npm start leaves no process", () => {
  // shows: running/commands/npm-start-ctrl-c
  test.for([
    ["when npm alone gets SIGINT", "SIGINT"],
    ["when npm alone gets SIGTERM", "SIGTERM"],
    ["when npm is killed", "SIGKILL"],
  ] as const)("%s", async ([, signal]) => {
    const own = newStateDir();
    await expectToEndBy(await startPlatform({ STATE_DIR: own }), signal, "npm");
    rmSync(own, { recursive: true, force: true });
  });
});
