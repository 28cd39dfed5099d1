import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { plat } from "../acceptance/support/plat-command.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { npm, stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

const stateDir = newStateDir();
const SCOPES = "--scope plat.pubsub_publish --scope plat.pubsub.topic=*";
let platform: Platform;
let app: Record<string, string>;

beforeAll(async () => {
  platform = await startPlatform({ STATE_DIR: stateDir });
  const line = `client set demo.stop --tenant demo --confidential --grant-type client_credentials ${SCOPES} --json`;
  const made = await plat({ PORT: String(platform.port) }, line.split(" "));
  expect(made.code, made.err).toBe(0);
  app = {
    PLINTH_URL: platform.url,
    PLINTH_CLIENT_ID: "demo.stop",
    PLINTH_CLIENT_SECRET: (made.json() as { clientSecret: string }).clientSecret,
  };
  expect((await plat(app, ["topic", "create", "orders"])).code).toBe(0);
  expect((await plat(app, ["topic", "publish", "orders", "first"])).code).toBe(0);
}, 120_000);

afterAll(async () => {
  await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

async function consumers(): Promise<unknown> {
  const { out } = await plat(app, ["token"]);
  const answer = await fetch(`${platform.url}/pubsub/v1/topics/demo.stop/orders/consumers`, {
    headers: { authorization: `Bearer ${out.trim()}` },
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

/** A terminal sends it to npm, which passes it on, and to npm's child: it arrives several times. */
test("one Ctrl-C ends topic tail in order, through npm too", async () => {
  const before = await consumers();
  const tail = npm("plat", app, ["--", "topic", "tail", "orders", "--from", "oldest"]);
  await vi.waitUntil(() => tail.output().includes("first"), { timeout: 30_000 });
  expect(await consumers()).not.toEqual(before);
  await stopGroup(tail, "SIGINT");
  expect(await tail.ended, tail.output()).toBe(0);
  expect(await consumers()).toEqual(before);
});

test("a tail that was killed leaves a cursor, which can be listed and removed", async () => {
  const tail = npm("plat", app, ["--", "topic", "tail", "orders", "--from", "oldest"]);
  await vi.waitUntil(() => tail.output().includes("first"), { timeout: 30_000 });
  await stopGroup(tail, "SIGKILL");
  const listed = await plat(app, ["topic", "consumers", "orders", "--json"]);
  const [{ name }] = listed.json() as [{ name: string }];
  expect(name).toMatch(/^tail-[0-9a-f]{8}$/);
  expect((await plat(app, ["topic", "remove-consumer", "orders", name])).code).toBe(2);
  expect(await plat(app, ["topic", "remove-consumer", "orders", name, "--yes"])).toMatchObject({ code: 0 });
  // A name that was mistyped must not look like one that was removed.
  expect(await plat(app, ["topic", "remove-consumer", "orders", name, "--yes"])).toMatchObject({
    code: 1,
    err: expect.stringContaining(`has no cursor ${name} of yours`),
  });
  expect((await plat(app, ["topic", "consumers", "orders"])).err).toBe("There are no named cursors.\n");
  const seek = async () => (await plat(app, ["topic", "seek", "orders", "newest", "--consumer", name, "--yes"])).err;
  expect(await seek()).toMatch(`The new cursor ${name} of `);
  expect(await seek()).toMatch(`The cursor ${name} of `);
  await plat(app, ["topic", "remove-consumer", "orders", name, "--yes"]);
});

test("Ctrl-C ends listen while the server does not answer, and the event is posted again", async () => {
  const posted: string[] = [];
  const server = createServer((request, response) => {
    posted.push(String(request.headers["webhook-id"]));
    request.resume();
    if (posted.length > 1) response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const listen = () => npm("plat", app, ["--", "listen", "orders", "--forward-to", to, "--from", "oldest"]);
  const first = listen();
  await vi.waitUntil(() => posted.length === 1, { timeout: 30_000 });
  const stoppedMs = performance.now();
  await stopGroup(first, "SIGINT");
  expect(await first.ended, first.output()).toBe(0);
  expect(performance.now() - stoppedMs).toBeLessThan(8_000);
  expect(first.output()).toContain("stopped");
  const second = listen();
  await vi.waitUntil(() => posted.length > 1, { timeout: 30_000 });
  await stopGroup(second, "SIGINT");
  expect(posted[1]).toBe(posted[0]);
  server.closeAllConnections();
  server.close();
});
