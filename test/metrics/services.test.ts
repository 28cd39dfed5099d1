import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { runSchedule } from "../../src/schedule.ts";
import { makeFile, makeTopic } from "../fuzz/belongings.ts";
import { isolate } from "../support/isolate.ts";
import { answerAt, answerJson } from "../support/outside.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { metricOf, readMetrics } from "./metrics-support.ts";
import { itAtNight } from "../support/model-runs.ts";

/** The counts of each service, by tenant. */
describe("The OAuth service counts", () => {
  it("tokens by grant for their tenant, and refused requests by error", async () => {
    const client = await makeClient();
    const refused = await metricOf("tokens_refused oauth invalid_client");
    for (let n = 0; n < 3; n++) await tokenFor(client);
    const form = { grant_type: "client_credentials" };
    const wrong = basic({ ...client, clientSecret: "wrong" });
    expect((await call("/oauth2/v1/token", { form, headers: { authorization: wrong } })).status).toBe(401);
    expect(await metricOf("tokens_issued oauth client_credentials", client.tenant)).toBe(3);
    expect(await metricOf("requests oauth 2xx", client.tenant)).toBe(3);
    expect((await metricOf("tokens_refused oauth invalid_client")) - refused).toBe(1);
  });
});

describe("The events service counts", () => {
  it("events in and out, a repeated publish once, their bytes, and how far readers are behind", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const { path } = await makeTopic(token);
    const json = Array.from({ length: 5 }, (_, n) => ({ payload: String(n) }));
    for (let n = 0; n < 2; n++)
      await expectJson(await call(`${path}/publish`, { token, json, headers: { "idempotency-key": "once" } }), 201);
    await expectJson(await call(`${path}/publish`, { token, json: { payload: "x" } }), 201);
    const read = await call(`${path}/read`, { token, json: { numEvents: 2, autoCommit: true } });
    const text = await read.text();
    expect(JSON.parse(text).events).toHaveLength(2);
    await call(`${path}/read`, { token, json: { numEvents: 10, autoCommit: true } });
    expect((await call(`${path}/read`, { token, json: {} })).status).toBe(204);
    const of = (name: string) => metricOf(`${name} events`, client.tenant);
    expect([await of("events_published"), await of("events_read"), await of("consumer_lag")]).toEqual([6, 6, 6]);
    expect(await of("sent_bytes")).toBeGreaterThan(text.length);
    expect(await of("received_bytes")).toBeGreaterThan(JSON.stringify(json).length);
  });

  itAtNight("the wait of a read in a series of its own, not as the time of its request", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const { path } = await makeTopic(token);
    const answer = await call(`${path}/read`, { token, json: {}, headers: { prefer: "wait=2" } });
    expect(answer.status).toBe(204);
    expect((await call(`${path}/read`, { token, json: {} })).status).toBe(204);
    const query = `?step=hour&metric=request_time,wait_time&service=events&tenant=${client.tenant}`;
    const { series } = await readMetrics(query);
    const slowest = (name: string): number =>
      Math.max(...series.find(({ metric }: any) => metric === name).p99.map((ms: number | null) => ms ?? 0));
    const count = (name: string): number =>
      series.find(({ metric }: any) => metric === name).values.reduce((sum: number, value: number) => sum + value, 0);
    expect(count("wait_time")).toBe(1);
    expect(slowest("wait_time")).toBeGreaterThan(1_000);
    expect(slowest("request_time")).toBeLessThanOrEqual(1_000);
  });

  it("attempts to push, by outcome", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const { path } = await makeTopic(token);
    const endpoint = `https://${unique("hook-")}.example.com/in`;
    await answerAt(endpoint, { status: 200 });
    const subscription = { name: "hook", pushConfig: { endpoint, basicAuth: { username: "u", password: "p" } } };
    await expectJson(await call(`${path}/subscriptions`, { token, json: subscription }), 201);
    await call(`${path}/publish`, { token, json: [{ payload: "1" }, { payload: "2" }] });
    await expect
      .poll(() => metricOf("events_pushed events delivered", client.tenant), { timeout: 20_000, interval: 200 })
      .toBe(2);
  });
});

describe("The media service counts", () => {
  it("bytes of committed files and of content for the file's tenant, and the variants made", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const id = await makeFile(token, "public/files", "picture");
    const content = await call(`/media/v2/content/${id}`);
    const { byteLength } = await content.arrayBuffer();
    await call(`/media/v2/content/${id}`);
    expect(await metricOf("sent_bytes media", client.tenant)).toBeGreaterThanOrEqual(2 * byteLength);
    expect(await metricOf("received_bytes media", client.tenant)).toBeGreaterThanOrEqual(byteLength);
    const before = await metricOf("jobs media done");
    await call(`/media/v2/public/files/${id}/variants?clip=8x8`, { method: "POST", token });
    await expect
      .poll(() => metricOf("variants_made media made", client.tenant), { timeout: 20_000, interval: 200 })
      .toBe(1);
    expect(await metricOf("jobs media done")).toBeGreaterThan(before);
  });
});

describe("A file in one request", () => {
  it("counts its bytes once", async () => {
    const client = await makeClient();
    const token = await tokenFor(client);
    const headers = { "content-type": "text/plain", "content-length": "5" };
    await expectJson(
      await call("/media/v2/files", { token, method: "POST", body: new TextEncoder().encode("hello"), headers }),
      202,
    );
    expect(await metricOf("received_bytes media", client.tenant)).toBe(5);
  });
});

describe("The gateway counts", () => {
  it("requests and bytes for the caller's tenant, those of unknown length too", async () => {
    const name = unique("svc-");
    const tenant = await makeTenant({ subscribed: false });
    const source = `https://${name}.example.com/v1`;
    const proxyPath = `/${name}/v1`;
    await put(`services/${name}`, {
      sourceUrl: source,
      proxyPath,
      scopes: [],
      essential: false,
      tenant,
      access: "token",
    });
    const token = await tokenFor(await makeClient({ tenant, scopes: [] }));
    await answerJson(`${source}/`, { some: "answer" });
    const text = await (await call(`${proxyPath}/`, { token })).text();
    expect(await metricOf("requests gateway 2xx", tenant)).toBe(1);
    expect(await metricOf("sent_bytes gateway", tenant)).toBe(text.length);

    // An error of the service is an answer. A range that nobody requested is a failure, and so is half a body.
    await answerAt(`${source}/`, [
      { status: 500 },
      { status: 206, headers: { "content-range": "bytes 0-0/1" }, body: "x" },
      { headers: { "content-length": "10" }, body: "x" },
    ]);
    expect((await call(`${proxyPath}/`, { token })).status).toBe(500);
    expect(await metricOf(`service_failures gateway ${name}`)).toBe(0);
    expect((await call(`${proxyPath}/`, { token })).status).toBe(503);
    expect(await metricOf(`service_failures gateway ${name}`)).toBe(1);
    // A refusal and a failure count as the gateway's, not as an address that nothing answers.
    expect(await metricOf("requests gateway 5xx", tenant)).toBe(2);
    const refused = () => metricOf("refusals gateway insufficient_credentials");
    const before = await refused();
    expect((await call(`${proxyPath}/`)).status).toBe(401);
    expect(await refused()).toBe(before + 1);
    const unanswered = () => metricOf("requests platform 4xx");
    const nowhere = await unanswered();
    expect((await call(`/${name}/nowhere`)).status).toBe(404);
    expect(await unanswered()).toBe(nowhere + 1);
    vi.spyOn(console, "warn").mockReturnValue();
    const impatient = isolate({ GATEWAY_TIMEOUT_MS: "500" });
    const broken = await impatient.fetch(`${proxyPath}/`, { headers: { authorization: `Bearer ${token}` } });
    expect([broken.status, await broken.text()]).toEqual([503, expect.stringContaining(name)]);
    await expect.poll(() => metricOf(`service_failures gateway ${name}`)).toBe(2);
  });

  itAtNight("an answer that a service breaks off, once, and none that its client leaves or may lose", async () => {
    const name = unique("svc-");
    const source = `https://${name}.example.com/v1`;
    const proxyPath = `/${name}/v1`;
    const tenant = await makeTenant({ subscribed: false });
    await put(`services/${name}`, {
      sourceUrl: source,
      proxyPath,
      scopes: [],
      essential: true,
      tenant,
      access: "public",
    });
    vi.spyOn(console, "warn").mockReturnValue();
    const impatient = isolate({ GATEWAY_TIMEOUT_MS: "500" });
    const heads: Record<string, string>[] = [
      {},
      { "content-type": "application/json" },
      { "content-length": "100000" },
    ];
    for (const headers of heads) {
      await answerAt(`${source}/`, { headers, hangs: "in the body" });
      const begun = await impatient.fetch(`${proxyPath}/`);
      expect(begun.status).toBe(200);
      await expect(begun.text()).rejects.toThrow();
    }
    await answerAt(`${source}/`, { hangs: "in the body" });
    await (await impatient.fetch(`${proxyPath}/`)).body!.cancel();
    // A refusal that closes the connection is an answer without its body.
    await answerAt(`${source}/`, { status: 400, headers: { "content-length": "10" }, body: "x" });
    expect((await impatient.fetch(`${proxyPath}/`, { method: "POST", body: "x" })).status).toBe(400);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    // An isolate sends its counts before it reads any.
    const operator = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    await expectJson(await impatient.fetch("/admin/v1/metrics?metric=job_age", { headers: operator }), 200);
    expect(await metricOf(`service_failures gateway ${name}`)).toBe(3);
  });
});

describe("The cron counts", () => {
  it("each sweep that fails", async () => {
    const before = await metricOf("sweeps_failed platform topics");
    const deps = createDeps(env);
    const fails = () => Promise.reject(new Error("injected"));
    const said = vi.spyOn(console, "error").mockReturnValue();
    await runSchedule({ ...deps, events: { ...deps.events, sweep: fails } }, Date.now()).catch(() => undefined);
    expect(said.mock.calls.join()).toContain("injected");
    said.mockRestore();
    deps.meter.flushBeside(() => {});
    await expect.poll(async () => (await metricOf("sweeps_failed platform topics")) - before).toBe(1);
  });
});
