import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/lib/root.ts";
import { demoToken, post } from "../acceptance/support/demo.ts";
import { listEverything, listTopics } from "../acceptance/support/platform-lists.ts";
import { useRestarted } from "../acceptance/support/restarted.ts";
import { expectToEndBy, startPlatform } from "../acceptance/support/process/platform.ts";
import { npm, stopGroup } from "../acceptance/support/process/program.ts";
import { localSecret, newStateDir } from "../acceptance/support/process/state.ts";

const PHOTO_PATH = join(ROOT, "scripts", "data", "photo.jpg");
const { stateDir, running, start } = useRestarted();

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

describe("npm start", () => {
  // shows: running/commands/npm-start-port-in-use-state-in-use
  test("says so when the port is in use, and ends with 1", async () => {
    const other = newStateDir();
    const second = npm("start", { STATE_DIR: other, PORT: String(running().port) });
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(`Port ${running().port} is in use`);
    rmSync(other, { recursive: true });
  });

  // shows: running/commands/npm-start-port-in-use-state-in-use
  test("says so when the state is in use, and ends with 1", async () => {
    const second = npm("start", { STATE_DIR: stateDir, PORT: "9" });
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain("is in use by another npm start");
  });

  // shows: running/commands/npm-start-kill-9
  test("a kill -9 of all of it loses nothing that was acknowledged; the next start takes under 10 s", async () => {
    const token = await demoToken(running());
    const topic = "/pubsub/v1/topics/demo.shop/survivors";
    expect((await post(running(), "/pubsub/v1/topics", token, { eventType: "survivors" })).status).toBe(201);
    const payloads = Array.from({ length: 50 }, (_, index) => `event ${index}`);
    for (const payload of payloads)
      expect((await post(running(), `${topic}/publish`, token, { payload })).status).toBe(201);
    const read = await post(running(), `${topic}/read`, token, { numEvents: 20 });
    expect(read.status).toBe(200);
    const files = "/media/v2/public/files";
    const file = (await post(running(), files, token, { "Content-Type": "text/plain" })).body;
    const upload = { method: "PUT", headers: { "content-type": "text/plain" }, body: "kept" };
    expect((await fetch(file.uploadLink, upload)).status).toBe(200);
    expect((await post(running(), file.commitLink, token, {})).status).toBe(202);
    const photo = (await post(running(), `${files}?clip=64x64`, token, { "Content-Type": "image/jpeg" })).body;
    const photoUpload = { method: "PUT", headers: { "content-type": "image/jpeg" }, body: readFileSync(PHOTO_PATH) };
    expect((await fetch(photo.uploadLink, photoUpload)).status).toBe(200);
    expect((await post(running(), photo.commitLink, token, {})).status).toBe(202);
    const { port } = running();
    // Again where it took longer: a machine that is busy for a moment says nothing about a start.
    for (let starts = 0; starts === 0 || (running().readyMs > 10_000 && starts < 3); starts++) {
      await stopGroup(running(), "SIGKILL");
      await start({ PORT: String(port) });
    }

    expect(running().readyMs).toBeLessThan(10_000);
    expect((await post(running(), `${topic}/read`, token, {})).body).toMatchObject({
      status: 409,
      type: "topic_locked",
    });
    expect((await post(running(), `${topic}/commit`, token, { token: read.body.token })).status).toBe(200);
    const rest = await post(running(), `${topic}/read`, await demoToken(running()), { numEvents: 100 });
    const events: { payload: string }[] = [...read.body.events, ...rest.body.events];
    expect(events.map(({ payload }) => payload)).toEqual(payloads);
    expect(await (await fetch(`${running().url}${files}/${file.id}`)).text()).toBe("kept");
    const variant = `${running().url}${files}/${photo.id}?clip=64x64`;
    await expect.poll(async () => (await fetch(variant)).status, { timeout: 20_000 }).toBe(200);
  });

  // shows: running/commands/npm-start-ctrl-c
  test("leaves no process after Ctrl-C", async () => {
    await expectToEndBy(running(), "SIGINT", "group");
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
