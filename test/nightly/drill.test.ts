import { rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { localSecret, newStateDir } from "../acceptance/support/process/state.ts";

/**
 * The faults that the pages of the bad day tell of (docs/operate/bad-day), on a platform of `npm run drill`. Each test
 * begins a fault, sees what the page says, ends it, and sees that nothing was lost.
 */
const stateDir = newStateDir();
const TOPIC = "/pubsub/v1/topics/demo.shop/drilled";
let platform: Platform;
let own: string;
let operator: string;

beforeAll(async () => {
  platform = await startPlatform({ STATE_DIR: stateDir }, "drill");
  own = await token("demo.shop", localSecret("DEMO_CLIENT_SECRET"));
  operator = await token("plat.operator", localSecret("OPERATOR_CLIENT_SECRET"));
  expect((await call("POST", "/pubsub/v1/topics", { eventType: "drilled" })).status).toBe(201);
});

afterAll(async () => {
  await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

const askToken = (id: string, secret: string): Promise<Response> =>
  fetch(`${platform.url}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });

async function token(id: string, secret: string): Promise<string> {
  const { access_token: text } = (await (await askToken(id, secret)).json()) as { access_token: string };
  return text;
}

async function call(method: string, path: string, json?: object, as = own): Promise<Response> {
  const headers = { authorization: `Bearer ${as}`, "content-type": "application/json" };
  return fetch(new URL(path, platform.url), { method, headers, ...(json && { body: JSON.stringify(json) }) });
}

const publish = (payload: string): Promise<Response> => call("POST", `${TOPIC}/publish`, { payload });
const drill = async (what: string): Promise<string> =>
  (await fetch(`${platform.url}/drill/${what}?seconds=60`, { method: "POST" })).text();

/** Status and `Retry-After`; the time varies, so that callers do not come together. */
const waits = ({ status, headers }: Response): unknown[] => [status, Number(headers.get("retry-after")) >= 1];

async function stored(): Promise<string[]> {
  const answer = await call("GET", `${TOPIC}/events`);
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  const { events } = JSON.parse(text) as {
    events: { payload: string }[];
  };
  return events.map(({ payload }) => payload);
}

afterEach(async () => void (await drill("off")));

describe("a drill", () => {
  test("of a full database stops changes and no reading, and deep health says why", async () => {
    expect(await drill("database/full")).toMatch(/^database: full\. reads.* work; new topics.* get 503\n$/);
    expect((await publish("while it is full")).status).toBe(201);
    expect((await askToken("demo.shop", localSecret("DEMO_CLIENT_SECRET"))).status).toBe(200);
    expect(waits(await call("POST", "/pubsub/v1/topics", { eventType: "more" }))).toEqual([503, true]);
    expect(waits(await call("PUT", "/admin/v1/organizations/more", { name: "More" }, operator))).toEqual([503, true]);
    const health = await call("GET", "/health/deep", undefined, operator);
    expect([health.status, await health.text()]).toEqual([503, expect.stringContaining("SQLITE_FULL")]);
    expect(await drill("off")).toBe("no fault\n");
    expect((await call("POST", "/pubsub/v1/topics", { eventType: "more" })).status).toBe(201);
  });

  test("of an overloaded database leaves health green, and answers 503 where D1 is asked", async () => {
    await drill("database/overloaded");
    expect((await fetch(`${platform.url}/health`)).status).toBe(200);
    const told = (): Promise<Response> => fetch(`${platform.url}/oauth2/v1/tokeninfo?access_token=${own}`);
    expect(waits(await told())).toEqual([503, true]);
    await drill("off");
    expect((await told()).status).toBe(200);
  });

  test("of other databases that are overloaded stops what lies there, and the operator sees which", async () => {
    const types = Array.from({ length: 12 }, (_, number) => `drilled${number}`);
    for (const eventType of types) await call("POST", "/pubsub/v1/topics", { eventType });
    const subscribe = async (eventType: string): Promise<number> => {
      const pushConfig = { endpoint: "https://shop.example/", basicAuth: { username: "shop", password: "secret" } };
      const path = `/pubsub/v1/topics/demo.shop/${eventType}/subscriptions`;
      return (await call("POST", path, { name: "hook", pushConfig })).status;
    };
    await drill("shards/overloaded");
    const during = await Promise.all(types.map(subscribe));
    // Some topics have their subscriptions in the first database.
    expect(new Set(during)).toEqual(new Set([201, 503]));
    expect((await call("POST", "/pubsub/v1/topics", { eventType: "beside" })).status).toBe(201);
    const shards = (await (await call("GET", "/admin/v1/shards", undefined, operator)).json()) as {
      answerMs: number | null;
    }[];
    expect(shards.map(({ answerMs }) => answerMs === null)).toEqual([false, true, true, true, true]);
    await drill("off");
    const stopped = types.filter((_, at) => during[at] === 503);
    expect(await Promise.all(stopped.map(subscribe))).toEqual(stopped.map(() => 201));
  });

  test("of objects that are reset answers 503, and what was acknowledged is there afterwards", async () => {
    expect((await publish("before")).status).toBe(201);
    await drill("objects/abort");
    expect(waits(await publish("refused"))).toEqual([503, true]);
    expect(waits(await call("GET", "/admin/v1/metrics", undefined, operator))).toEqual([503, true]);
    expect((await askToken("demo.shop", localSecret("DEMO_CLIENT_SECRET"))).status).toBe(200);
    await drill("off");
    expect((await publish("after")).status).toBe(201);
    expect((await stored()).slice(-2)).toEqual(["before", "after"]);
  });

  test("of a bucket that is down answers 503 to an upload, whose link works afterwards", async () => {
    const file = (await (await call("POST", "/media/v2/files", { "Content-Type": "text/plain" })).json()) as {
      uploadLink: string;
      commitLink: string;
    };
    const upload = (): Promise<Response> =>
      fetch(new URL(file.uploadLink, platform.url), {
        method: "PUT",
        headers: { "content-type": "text/plain" },
        body: "bytes",
      });
    await drill("bucket/down");
    expect(waits(await upload())).toEqual([503, true]);
    await drill("off");
    const again = await upload();
    expect([again.status, await again.text()]).toEqual([200, ""]);
    expect((await call("POST", file.commitLink, {})).status).toBe(202);
  });

  test("that there is not is refused with those that there are", async () => {
    const told = await fetch(`${platform.url}/drill/database/burn`, { method: "POST" });
    expect([told.status, await told.text()]).toEqual([404, expect.stringContaining("/drill/objects/abort")]);
  });
});
