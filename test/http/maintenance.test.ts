import { createExecutionContext, createMessageBatch, createScheduledController, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../src/media/model/limits.ts";
import worker from "../../src/worker.ts";
import { mediaApp } from "../media/support/media-app.ts";
import { principal } from "../media/support/principal.ts";
import { stored } from "../media/support/stored-file.ts";
import { encodePng, gradient } from "../support/images.ts";
import { isolate } from "../support/isolate.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { basic } from "../support/platform/tokens.ts";

/** A platform with the variable MAINTENANCE: only the operator is served, and cron and queue rest. */
const resting = isolate({ MAINTENANCE: "true" });
const grant = (authorization: string) => ({
  method: "POST",
  headers: { authorization },
  body: new URLSearchParams({ grant_type: "client_credentials" }),
});

describe("a platform under maintenance", () => {
  it.each([
    ["POST", "/oauth2/v1/token"],
    ["GET", "/oauth2/v1/authorize"],
    ["GET", "/account"],
    ["GET", "/pubsub/v1/topics"],
    ["POST", "/media/v2/files"],
    ["GET", "/media/v2/content/0123456789abcdef01234567"],
    ["GET", "/some/service"],
  ])("answers 503 to %s %s", async (method, path) => {
    const answer = await resting.fetch(path, { method });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(60);
  });

  it.each(["/health", "/", "/docs", "/openapi.json"])("serves %s", async (path) => {
    expect((await resting.fetch(path)).status).toBe(200);
  });

  it("gives a working token to the operator, and no token to others", async () => {
    const answer = await resting.fetch("/oauth2/v1/token", grant(basic(OPERATOR)));
    expect(answer.status).toBe(200);
    const { access_token: token } = (await answer.json()) as { access_token: string };
    const headers = { authorization: `Bearer ${token}` };
    expect((await resting.fetch("/admin/v1/tenants", { headers })).status).toBe(200);
    expect((await resting.fetch("/oauth2/v1/token", grant(basic(await makeClient())))).status).toBe(503);
    const forged = basic({ ...OPERATOR, clientSecret: "wrong" });
    expect((await resting.fetch("/oauth2/v1/token", grant(forged))).status).toBe(401);
  });

  it("leaves the work of messages to the sweeps afterwards, however long it lasts, and that of the cron for later", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const own = { ...env, MAINTENANCE: "true" };
    const app = mediaApp();
    const as = principal();
    const { path } = await stored(app, await encodePng(gradient(8, 8)), { as, query: "?clip=4x4" });
    const [body] = app.jobs.splice(0);
    for (const queue of ["plinth-media-jobs", "plinth-media-jobs-dead"]) {
      const batch = createMessageBatch(queue, [{ id: "1", timestamp: new Date(), attempts: 1, body }]);
      await worker.queue(batch, { ...own, DB: new Proxy(env.DB, {}) });
      // A message that is delivered again would use up an attempt.
      expect(await getQueueResult(batch, createExecutionContext())).toMatchObject({ ackAll: true });
    }
    await app.media.sweep(app.clock.nowMs + LIMITS.variantResendMs);
    await app.consume();
    expect(await (await app.call(`${path}/variants`, { as })).json()).toMatchObject([{ state: "ready" }]);
    const before = await env.DB.prepare(`SELECT max(tried_at) AS at FROM sweep_run`).first();
    await worker.scheduled(createScheduledController({ cron: "*/5 * * * *" }), { ...own, DB: new Proxy(env.DB, {}) });
    expect(await env.DB.prepare(`SELECT max(tried_at) AS at FROM sweep_run`).first()).toEqual(before);
  });
});
