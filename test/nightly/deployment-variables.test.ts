import { rmSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { readSettings } from "../../scripts/lib/local/settings.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { npm, stopGroup } from "../acceptance/support/process/program.ts";
import { freePort, newStateDir } from "../acceptance/support/process/state.ts";

const stateDir = newStateDir();
const port = await freePort();
const content = `http://localhost:${port}`;
const variables = {
  PLATFORM: "acme",
  PATH_PREFIX: "/base",
  PUBLIC_URL: "https://plinth.example",
  CONTENT_URL: content,
  SUBJECT: "opaque",
  OPERATOR_CLIENT_SECRET_PREVIOUS: "the-secret-of-the-operator-until-yesterday",
  PORT: String(port),
};
let platform: Platform | undefined;

afterAll(async () => {
  if (platform !== undefined) await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

// shows: oauth/scopes/another-prefix
// shows: platform/deployment-variables/platform
// shows: platform/deployment-variables/path_prefix
// shows: running/commands/deployment-variables
test("the whole tour under another prefix, platform name and origin", async () => {
  platform = await startPlatform({ STATE_DIR: stateDir, ...variables });
  const tour = npm("tour", variables);
  expect(await tour.ended, tour.output()).toBe(0);
  expect(tour.output()).toContain("Everything is as it should be");
  const authorization = `Basic ${btoa(`acme.operator:${variables.OPERATOR_CLIENT_SECRET_PREVIOUS}`)}`;
  const grant = {
    method: "POST",
    headers: { authorization },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  };
  expect((await fetch(`${platform.url}/base/oauth2/v1/token`, grant)).status).toBe(200);
  expect((await fetch(`${platform.url}/oauth2/v1/jwks`)).status).toBe(404);
  expect((await fetch(`${platform.url}/base/oauth2/v1/jwks`)).status).toBe(200);
  for (const [address, status] of [
    [`${platform.url}/base/account`, 200],
    [`${content}/base/account`, 404],
    [`${content}/base/health`, 200],
    [`${content}/base/media/v2/content/0123456789abcdef01234567`, 404],
    [`${platform.url}/base/media/v2/content/0123456789abcdef01234567`, 308],
  ] as const)
    expect([address, (await fetch(address, { redirect: "manual" })).status]).toEqual([address, status]);
  const discovery = await fetch(`${platform.url}/base/oauth2/v1/.well-known/openid-configuration`);
  expect(await discovery.json()).toMatchObject({ issuer: "https://plinth.example/base/oauth2/v1" });
});

test("CONTENT_URL where the platform is would leave no platform there, and is refused", () => {
  const own = { PORT: "8787", CONTENT_URL: "http://127.0.0.1:8787" };
  expect(() => readSettings(own)).toThrow("CONTENT_URL");
  expect(readSettings({ ...own, PORT: "8788" }).config.contentUrl).toBe(own.CONTENT_URL);
  expect(readSettings({ ...own, PUBLIC_URL: own.CONTENT_URL }).config.contentUrl).toBe(own.CONTENT_URL);
});
