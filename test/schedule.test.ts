import { env } from "cloudflare:workers";
import { createDeps } from "../src/deps.ts";
import { isolate, type Isolate } from "./support/isolate.ts";
import { makeClient, OPERATOR, tokenFor } from "./support/platform.ts";
import {
  answerToken,
  Browser,
  claimsFor,
  comeBack,
  makeApplication,
  makeProvider,
  sendOffUnlinked,
  sign,
  toClient,
} from "./support/scripted-provider.ts";
import { describe, expect, it } from "vitest";
import type { Deps } from "../src/deps.ts";
import { runSchedule } from "../src/schedule.ts";

it("runs each sweep even if others fail, those with the most work last", async () => {
  const ran: string[] = [];
  const failing = (name: string) => ({
    sweep: () => {
      ran.push(name);
      return Promise.reject(new Error("injected"));
    },
  });
  const errors: unknown[] = [];
  const log = { info: () => {}, warn: () => {}, error: (_: string, fields: object) => errors.push(fields) };
  const oauth = { ...failing("oauth"), rotateKeys: failing("keys").sweep, reseal: failing("oauth seals").sweep };
  const events = {
    ...failing("events"),
    wakeSubscriptions: failing("subscriptions").sweep,
    reseal: failing("seals").sweep,
  };
  const outbox = { drain: failing("outbox").sweep };
  const auditCopies = { run: failing("copies").sweep };
  const rooms = { events, media: failing("media"), audit: failing("audit"), auditCopies, oauth, outbox, log };
  await runSchedule(rooms as unknown as Deps, 0);
  expect(ran.toSorted()).toEqual([
    "audit",
    "copies",
    "events",
    "keys",
    "media",
    "oauth",
    "oauth seals",
    "outbox",
    "seals",
    "subscriptions",
  ]);
  expect(ran.slice(-2)).toEqual(["events", "media"]);
  expect(errors).toHaveLength(10);
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
        mayGo: false,
      },
      { id: "t1", use: "opens", identityProviders: 0, signingKeys: 0, pushSubscriptions: 0, mayGo: true },
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
