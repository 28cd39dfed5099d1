import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import { counting, inRounds } from "../support/counting.ts";
import { call, ORIGIN } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { makeServiceWithCustomer } from "../support/platform/services.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { letTimePass } from "../support/frozen-time.ts";

/**
 * Counts how often a request waits for D1, one wait after the other. Far from the database, each takes some 0.3 s.
 *
 * A new isolate knows nothing, and later the keys. Its copy of the revocations is old after 5 s without a request.
 */
const OLD_MS = 6_000;

function newIsolate() {
  const { hold, rounds } = inRounds();
  const { env: counted, tally } = counting(env, hold);
  const app = createApp(createDeps(counted));
  return {
    tally,
    /** The status, and the round trips of each wait. */
    async ask(path: string, token: string, body?: unknown): Promise<readonly [status: number, waits: number[]]> {
      rounds.length = 0;
      const context = createExecutionContext();
      const init = {
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      };
      const response = await app.fetch(new Request(`${ORIGIN}${path}`, init), counted, context);
      const waits = rounds.map((round) => round.length);
      await response.text();
      await waitOnExecutionContext(context);
      return [response.status, waits];
    },
  };
}

const makeTopic = async (owner: TestClient, token: string): Promise<string> => {
  const eventType = unique("type");
  expect((await call("/pubsub/v1/topics", { token, json: { eventType, shards: 1 } })).status).toBe(201);
  return `/pubsub/v1/topics/${owner.clientId}/${eventType}/publish`;
};

afterEach(() => void vi.useRealTimers());

describe("a request through the gateway", () => {
  it("reads keys and services together, and then the tenant", async () => {
    const { path, token } = await makeServiceWithCustomer();
    expect(await newIsolate().ask(path, token)).toEqual([200, [2, 1]]);
  });

  it("reads the tenant together with the revocations if the keys are known", async () => {
    const [known, other] = [await makeServiceWithCustomer(), await makeServiceWithCustomer()];
    const isolate = newIsolate();
    await isolate.ask(known.path, known.token);
    letTimePass(OLD_MS);
    expect(await isolate.ask(other.path, other.token)).toEqual([200, [2]]);
  });
});

/** Two topics of a client, and an isolate that knows none of them yet. */
async function twoTopics() {
  const owner = await makeClient();
  const token = await tokenFor(owner);
  const [known, other] = [await makeTopic(owner, token), await makeTopic(owner, token)];
  return { owner, token, known, other, isolate: newIsolate() };
}

describe("a request for a topic", () => {
  it("reads the topic together with the revocations if the keys are known", async () => {
    const { token, known, other, isolate } = await twoTopics();
    expect(await isolate.ask(known, token, { payload: "first" })).toEqual([201, [1, 1]]);
    letTimePass(OLD_MS);
    expect(await isolate.ask(other, token, { payload: "second" })).toEqual([201, [2]]);
  });

  it("reads nothing but the keys for a token that is forged or gives no right to the topic", async () => {
    const { token, known, other, isolate } = await twoTopics();
    await isolate.ask(known, token, { payload: "first" });
    const [head, claims, signature] = token.split(".");
    const forged = `${head}.${claims}.${signature!.split("").toReversed().join("")}`;
    letTimePass(OLD_MS);
    expect(await isolate.ask(other, forged, { payload: "x" })).toEqual([401, [1]]);
    const stranger = await tokenFor(await makeClient({ scopes: ["plat.pubsub_publish"] }));
    letTimePass(OLD_MS);
    const [status, waits] = await isolate.ask(other, stranger, { payload: "x" });
    expect(status).toBe(404);
    // The stranger's own record says which scopes it is registered for.
    expect(waits.flat().reduce((sum, trips) => sum + trips, 0)).toBeLessThanOrEqual(3);
  });

  it("is refused if the token turns out to be revoked", async () => {
    const { owner, token, known, other, isolate } = await twoTopics();
    await isolate.ask(known, token, { payload: "first" });
    const form = { token, client_id: owner.clientId, client_secret: owner.clientSecret };
    expect((await call("/oauth2/v1/revoke", { form })).status).toBe(200);
    letTimePass(OLD_MS);
    expect(await isolate.ask(other, token, { payload: "second" })).toEqual([401, [2]]);
  });
});
