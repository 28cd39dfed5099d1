import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { TopicDirectory } from "../../../src/events/access/topic-directory.ts";
import { changePassword, makeCredentials, openCredentials } from "../../../src/events/push/record/credentials.ts";
import { SUBSCRIPTION } from "../../../src/events/model/limits.ts";
import type { PushPorts } from "../../../src/events/push/types.ts";
import { resealSubscriptions, wakeSubscriptions } from "../../../src/events/subscriptions/sweep.ts";
import { createLog } from "../../../src/platform/runtime/log.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createSealer } from "../../../src/platform/secrets/seal.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { makeTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { playedApp, playedObjects } from "../support/push/played-objects.ts";
import { fill, objectNamesOf, recordsOf } from "../support/push/push-records.ts";
import { directoryStore as store } from "../support/push/push-store.ts";
import { body, bodyWith, PASSWORD } from "../support/push/subscription-body.ts";
import { subscriptionsOf } from "../support/push/subscriptions-of.ts";
import { registeredClient } from "../support/registered-client.ts";
import { sealer } from "../../support/sealer.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";
import { itAtNight } from "../../support/model-runs.ts";

const app = playedApp();
const key = (id: string, byte: number) => ({ id, bytes: new Uint8Array(32).fill(byte) });
const [OLD, NEW] = [key("t1", 7), key("t2", 8)];

beforeEach(async () => void (await env.DB.prepare(`DELETE FROM push_subscription`).run()));

function portsOf(played: ReturnType<typeof playedObjects>, changes: Partial<PushPorts> = {}) {
  const lines: object[] = [];
  const line = (event: string, fields: object) => lines.push({ event, ...fields });
  const log = { ...createLog("error"), info: line, error: line };
  return {
    lines,
    push: { store, sealer, random: systemRandom, log, ...changes } as PushPorts,
    pushSubscriptions: played.binding,
    directory: new TopicDirectory(async () => undefined, ownIsolate),
  };
}

async function someTopic() {
  const topic = await makeTopic(app, { owner: await registeredClient() });
  return { topic, record: (await objectsOf(topic)).record, ...subscriptionsOf(app, topic) };
}

describe("waking", () => {
  /** A run that begins at this id. */
  const wakeFrom = async (hex: string, played = playedObjects()) => {
    const ports = portsOf(played, { random: { bytes: () => Uint8Array.fromHex(hex.repeat(16)) } });
    const failed = await wakeSubscriptions(ports).then(
      () => "",
      (thrown: Error) => thrown.message,
    );
    return { names: played.asked("wake"), lines: ports.lines, failed };
  };

  it("wakes active subscriptions by their own names, each once, wherever it starts", async () => {
    const { record, create } = await someTopic();
    for (const name of ["one", "two", "three", "four"]) await create(body({ name }));
    const [disabled] = await recordsOf(record);
    await store.disable(disabled!.id, 1, 0);
    const names = (await objectNamesOf(record)).filter((name) => !name.endsWith(disabled!.id));
    for (const hex of ["00", "3c", "80", "c3", "ff"])
      expect((await wakeFrom(hex)).names.toSorted(undefined)).toEqual(names.toSorted(undefined));
  });

  itAtNight("wakes a limited number in a run, and all of them in time, those at the edges too", async () => {
    const { record } = await someTopic();
    await fill(record, "many", 600);
    const woken = new Set<string>();
    for (const hex of ["00", "20", "40", "60", "80", "a0", "c0", "e0", "ff"]) {
      const { names } = await wakeFrom(hex);
      expect(names).toHaveLength(SUBSCRIPTION.wokenASweep);
      expect(new Set(names).size).toBe(SUBSCRIPTION.wokenASweep);
      for (const name of names) woken.add(name);
    }
    expect(woken).toEqual(new Set(await objectNamesOf(record)));
  });

  it("wakes the others when some fail, and logs each failure", async () => {
    const { record, create } = await someTopic();
    for (const name of ["one", "two", "three"]) await create(body({ name }));
    const [first] = await objectNamesOf(record);
    const played = playedObjects({
      wake: (name) => (name === first ? "awake" : Promise.reject(new Error(`${name} is out of reach`))),
    });
    const { names, lines, failed: told } = await wakeFrom("00", played);
    expect(names).toHaveLength(3);
    const failed = names.filter((name) => name !== first);
    expect(lines).toHaveLength(2);
    for (const name of failed)
      expect(lines).toContainEqual({
        event: "push subscription not woken",
        push: name.split("/").at(-1),
        error: expect.stringContaining(`${name} is out of reach`),
      });
    for (const name of failed) expect(told).toContain(`${name} is out of reach`);
  });

  it("does nothing if there are none", async () => {
    expect(await wakeFrom("00")).toEqual({ names: [], lines: [], failed: "" });
  });
});

describe("sealing anew", () => {
  const both = createSealer([NEW, OLD], systemRandom);
  const onlyNew = createSealer([NEW], systemRandom);

  it("continues until everything is sealed under the current key, so that the other one can go", async () => {
    const { record, create } = await someTopic();
    const secrets = new Map<string, string>();
    for (let at = 0; at < 53; at++) {
      const made = await (await create(body({ name: `name${at}` }))).json<any>();
      secrets.set(made.name, made.signingSecret);
    }
    const ports = portsOf(playedObjects(), { sealer: both });
    for (const left of [3, 0, 0]) {
      await resealSubscriptions(ports);
      expect(await store.sealedOtherwise("t2", 100)).toHaveLength(left);
    }
    expect(ports.lines).toEqual([
      { event: "push credentials sealed anew", count: 50, failed: 0 },
      { event: "push credentials sealed anew", count: 3, failed: 0 },
    ]);
    for (const stored of await recordsOf(record)) {
      expect(stored).toMatchObject({ sealKey: "t2", version: 1 });
      const signingSecret = secrets.get(stored.name);
      expect(await openCredentials(onlyNew, stored)).toEqual({ password: PASSWORD, signingSecret });
      await expect(openCredentials(sealer, stored)).rejects.toThrow("do not open");
    }
  });

  it("keeps credentials that are changed meanwhile", async () => {
    const { record, create, put } = await someTopic();
    await create();
    const slow = {
      ...store,
      sealedOtherwise: async (...given: Parameters<typeof store.sealedOtherwise>) => {
        const found = await store.sealedOtherwise(...given);
        expect((await put(bodyWith({}, { password: "newer" }))).status).toBe(200);
        return found;
      },
    };
    await resealSubscriptions(portsOf(playedObjects(), { sealer: both, store: slow }));
    const [stored] = await recordsOf(record);
    expect(stored!.sealKey).toBe("t1");
    expect((await openCredentials(both, stored!)).password).toBe("newer");
    await resealSubscriptions(portsOf(playedObjects(), { sealer: both }));
    const [after] = await recordsOf(record);
    expect((await openCredentials(onlyNew, after!)).password).toBe("newer");
  });

  it("reseals the others if one does not open, and logs only the id of that one", async () => {
    const { record, create } = await someTopic();
    await create();
    await create(body({ name: "broken" }));
    const broken = (await recordsOf(record)).find(({ name }) => name === "broken")!;
    await store.reseal(broken, `${broken.credentials}A`, "t1");
    const ports = portsOf(playedObjects(), { sealer: both });
    await resealSubscriptions(ports);
    expect(ports.lines).toEqual([
      {
        event: "push credentials not sealed anew",
        push: broken.id,
        error: expect.stringContaining(`the credentials of push subscription ${broken.id} do not open`),
      },
      { event: "push credentials sealed anew", count: 1, failed: 1 },
    ]);
    expect((await store.sealedOtherwise("t2", 10)).map(({ id }) => id)).toEqual([broken.id]);
  });

  it("starts elsewhere each time, so that credentials that do not open hold up no others", async () => {
    const { record } = await someTopic();
    await fill(record, "broken", 60);
    const { record: other, create } = await someTopic();
    await create();
    const ports = portsOf(playedObjects(), { sealer: both });
    const sound = async () => (await recordsOf(other))[0]!.sealKey;
    for (let run = 0; run < 30 && (await sound()) !== "t2"; run++) await resealSubscriptions(ports);
    expect(await sound()).toBe("t2");
  });

  it("calls D1 once when there is nothing to do", async () => {
    const reseal = vi.fn();
    const ports = portsOf(playedObjects(), { store: { ...store, reseal } });
    await resealSubscriptions(ports);
    expect(reseal).not.toHaveBeenCalled();
    expect(ports.lines).toEqual([]);
  });
});

describe("credentials", () => {
  // shows: events/push-subscriptions/password
  it("open only in their own row", async () => {
    const made = await makeCredentials({ sealer, random: systemRandom }, "one", PASSWORD);
    const { credentials } = made.sealed;
    expect(credentials).not.toContain(PASSWORD);
    expect(await openCredentials(sealer, { id: "one", credentials })).toEqual({
      password: PASSWORD,
      signingSecret: made.signingSecret,
    });
    await expect(openCredentials(sealer, { id: "two", credentials })).rejects.toThrow("do not open");
    await expect(changePassword(sealer, { id: "two", credentials })).rejects.toThrow("do not open");
  });

  it("include a signing secret that nobody else has and that a new password keeps", async () => {
    const [one, two] = await Promise.all([1, 2].map(() => makeCredentials({ sealer, random: systemRandom }, "x", "p")));
    expect(one!.signingSecret).not.toBe(two!.signingSecret);
    const { credentials } = await changePassword(sealer, { id: "x", ...one!.sealed }, "q");
    const opened = await openCredentials(sealer, { id: "x", credentials });
    expect(opened).toEqual({ password: "q", signingSecret: one!.signingSecret });
  });

  it("deliver nothing when moved by hand to another subscription; an update reports it and changes nothing", async () => {
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const { create, put, record } = await someTopic();
    await create();
    await create(body({ name: "other" }));
    const records = await recordsOf(record);
    const [one, two] = ["orders", "other"].map((name) => records.find((stored) => stored.name === name));
    await store.reseal(one!, two!.credentials, "t1");
    const before = await recordsOf(record);
    for (const password of ["********", "new"]) {
      const problem = await expectProblem(await put(bodyWith({}, { password })), 409, "conflict_resource");
      expect(faults(problem)).toEqual(["credentials_unreadable"]);
      expect(problem.message).toContain("create the subscription again");
    }
    expect(await recordsOf(record)).toEqual(before);
    expect(errors.mock.calls.join()).toContain(one!.id);
    expect(errors.mock.calls.join()).not.toContain(two!.credentials);
    errors.mockRestore();
  });
});
