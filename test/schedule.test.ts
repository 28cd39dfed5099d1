import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createDeps } from "../src/deps.ts";
import { isolate, type Isolate } from "./support/isolate.ts";
import { makeClient } from "./support/platform/clients.ts";
import { OPERATOR } from "./support/platform/operator.ts";
import { tokenFor } from "./support/platform/tokens.ts";
import { makeApplication, toClient } from "./support/parties/idp/application.ts";
import { Browser } from "./support/parties/idp/browser.ts";
import { answerToken, claimsFor, sign } from "./support/parties/idp/id-token.ts";
import { makeProvider } from "./support/parties/idp/scripted-provider.ts";
import { comeBack } from "./support/parties/idp/come-back.ts";
import { sendOffUnlinked } from "./support/parties/idp/sent-off.ts";
import { describe, expect, it, vi } from "vitest";
import type { Deps } from "../src/deps.ts";
import { createHeartbeatStore } from "../src/health/heartbeat-store.ts";
import { SWEEPS } from "../src/health/sweeps.ts";
import { runSchedule } from "../src/schedule.ts";
import worker from "../src/worker.ts";

describe("the cron", () => {
  const sweptRooms = (sweep: (name: string) => Promise<void>, logged: object[] = []) => {
    const of = (name: string) => () => sweep(name);
    return {
      oauth: {
        sweep: of("revocations"),
        rotateKeys: of("keys"),
        reseal: of("oauthSeals"),
        tellClients: of("logouts"),
      },
      events: { sweep: of("topics"), wakeSubscriptions: of("subscriptions"), reseal: of("seals") },
      media: { sweep: of("media") },
      audit: { sweep: of("audit") },
      auditCopies: { run: of("copies") },
      outbox: { drain: of("outbox") },
      metrics: { sample: of("usage") },
      shards: { sweep: of("shards") },
      moves: { sweep: of("moves") },
      log: {
        info: () => {},
        warn: () => {},
        error: (event: string, fields: object) => logged.push({ event, ...fields }),
      },
    };
  };
  const rowsOf = async () => new Map((await createHeartbeatStore(env.DB).all()).map((row) => [row.name, row]));

  it("runs each sweep even if others fail, those with the most work last, and fails", async () => {
    const [ran, logged]: [string[], object[]] = [[], []];
    const failing = (name: string) => {
      ran.push(name);
      return Promise.reject(new Error("injected"));
    };
    const deps = { ...createDeps(env), ...sweptRooms(failing, logged) } as unknown as Deps;
    await expect(runSchedule(deps, 0)).rejects.toThrow(
      `failed: ${SWEEPS.map((name) => `${name} (injected)`).join("; ")}`,
    );
    expect(ran).toEqual(SWEEPS);
    expect(ran.slice(-2)).toEqual(["topics", "media"]);
    expect(logged).toHaveLength(SWEEPS.length);
  });

  it("leaves a heartbeat of each sweep: last run, last success, last failure", async () => {
    let nowMs = 1_000;
    const clock = { nowMs: () => nowMs };
    const run = (failing: readonly string[], tookMs: number) => {
      const sweep = async (name: string) => {
        nowMs += tookMs;
        if (failing.includes(name)) throw new Error(`at ${nowMs}`, { cause: new Error("the cause") });
      };
      return runSchedule({ ...createDeps(env), ...sweptRooms(sweep), clock } as unknown as Deps, nowMs);
    };
    await env.DB.exec("DELETE FROM sweep_run");
    await run([], 10);
    const first = await rowsOf();
    expect([...first.keys()].toSorted()).toEqual(SWEEPS.toSorted());
    expect(first.get("media")).toEqual({
      name: "media",
      triedAt: 1_130,
      succeededAt: 1_130,
      failedAt: null,
      error: null,
      durationMs: 10,
    });
    nowMs = 9_000;
    await expect(run(["media"], 0)).rejects.toThrow("failed: media (at 9000 (the cause))");
    expect((await rowsOf()).get("media")).toEqual({
      name: "media",
      triedAt: 9_000,
      succeededAt: 1_130,
      failedAt: 9_000,
      error: "at 9000 (the cause)",
      durationMs: 0,
    });
    nowMs = 20_000;
    await run([], 7);
    const last = await rowsOf();
    expect(last.get("media")).toMatchObject({ triedAt: 20_091, succeededAt: 20_091, failedAt: 9_000, durationMs: 7 });
    // A run that began earlier and ends later takes nothing back.
    await createHeartbeatStore(env.DB).beat({ name: "media", atMs: 15_000, durationMs: 99_000, error: "late" });
    expect((await rowsOf()).get("media")).toEqual({ ...last.get("media"), failedAt: 15_000, error: "late" });
  });

  it("runs every sweep and fails when the database takes no heartbeat", async () => {
    const [ran, logged]: [string[], object[]] = [[], []];
    const beat = () => Promise.reject(new Error("no database"));
    const sweep = async (name: string) => {
      ran.push(name);
      if (name === "keys") throw new Error("no key");
    };
    const deps = { ...createDeps(env), ...sweptRooms(sweep, logged), heartbeats: { beat } } as unknown as Deps;
    await expect(runSchedule(deps, 0)).rejects.toThrow("keys (no key); heartbeat of copies (no database)");
    expect(ran).toEqual(SWEEPS);
    expect(logged).toContainEqual(expect.objectContaining({ event: "heartbeat not written", sweep: "keys" }));
  });

  it("fails the invocation, so that Cloudflare shows it", async () => {
    const scheduled = createScheduledController({ scheduledTime: new Date(), cron: "*/5 * * * *" });
    const broken = {
      ...env,
      DB: {
        prepare: () => {
          throw new Error("broken");
        },
      } as unknown as D1Database,
    };
    const silenced = vi.spyOn(console, "error").mockReturnValue();
    await expect(worker.scheduled(scheduled, broken)).rejects.toThrow("outbox (");
    silenced.mockRestore();
    await worker.scheduled(scheduled, env);
  });
});

describe("rotation of the seal keys", () => {
  const newKey = `t2:${btoa(String.fromCodePoint(...new Uint8Array(32).fill(9)))}`;
  /** A token from another isolate: one without the signing key cannot issue any. */
  const keys = async (own: Isolate): Promise<any[]> =>
    (
      await own.fetch("/admin/v1/seal-keys", { headers: { authorization: `Bearer ${await tokenFor(OPERATOR)}` } })
    ).json();

  it("keeps everything working with a new key in front, the cron's resealing and without the old key", async () => {
    const trusted = { linking: "verified_email", domains: ["example.org"] };
    const [application, provider] = [await makeApplication(), await makeProvider(trusted)];
    const client = await makeClient();
    const before = await tokenFor(client);
    const both = { ...env, SEAL_KEYS: `${newKey},${env.SEAL_KEYS}` };
    const [sealing, opening, ...none] = await keys(isolate(both));
    expect(none).toEqual([]);
    expect(sealing).toMatchObject({ id: "t2", use: "seals", mayGo: false });
    expect(opening).toMatchObject({ id: "t1", use: "opens", identityProviders: expect.any(Number), mayGo: false });
    expect(opening.identityProviders).toBeGreaterThan(0);
    expect(opening.signingKeys).toBeGreaterThan(0);
    expect((await keys(isolate({ ...env, SEAL_KEYS: newKey }))).map(({ id, use }) => [id, use])).toContainEqual([
      "t1",
      "missing",
    ]);

    const deps = createDeps(both);
    for (let run = 0; run < 5; run++) await runSchedule(deps, Date.now());
    expect(await keys(isolate(both))).toEqual([
      {
        id: "t2",
        use: "seals",
        identityProviders: opening.identityProviders,
        signingKeys: expect.any(Number),
        pushSubscriptions: 0,
        secondFactors: 0,
        clientSecrets: 0,
        mayGo: false,
      },
      {
        id: "t1",
        use: "opens",
        identityProviders: 0,
        signingKeys: 0,
        pushSubscriptions: 0,
        secondFactors: 0,
        clientSecrets: 0,
        mayGo: true,
      },
    ]);

    const dropped = isolate({ ...env, SEAL_KEYS: newKey });
    const after = await (await dropped.token(client)).json<{ access_token: string }>();
    for (const token of [before, after.access_token])
      expect((await dropped.fetch(`/oauth2/v1/tokeninfo?access_token=${token}`)).status).toBe(200);
    const sent = await sendOffUnlinked(application, provider, new Browser(dropped));
    await answerToken(provider, await sign(claimsFor(application, provider, sent), provider.signer));
    expect(toClient(await comeBack(provider, sent))).toHaveProperty("code");
  });
});
