import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import { WAITS } from "../../tools/bench/shards/waits.ts";
import { counting, inRounds } from "../support/counting.ts";
import { expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { tokenFor } from "../support/platform/tokens.ts";

/** Copies of an isolate are old after 5 s without a request, those of clients and tenants after 30 s. */
const OLD_MS = 6_000;

/** Waits for databases, one after the other, of each request of a file's life; what is beside an answer does not count. */
async function waitsOfALife(passes: () => void): Promise<Record<string, number>> {
  const { hold, rounds } = inRounds();
  const { env: counted } = counting(env, hold);
  const app = createApp(createDeps(counted));
  const client = await makeClient();
  const token = await tokenFor(client);
  const list = `/media/v2/files?tenant=${client.tenant}`;
  const found: Record<string, number> = {};
  let isWarm = false;
  const ask = async (operation: string, path: string, init: RequestInit, status: number) => {
    if (isWarm) passes();
    const before = rounds.length;
    const context = createExecutionContext();
    const response = await app.fetch(new Request(new URL(path, ORIGIN), init), counted, context);
    found[operation] = rounds.length - before;
    const kept = response.clone();
    await response.arrayBuffer();
    await waitOnExecutionContext(context);
    expect([operation, kept.status]).toEqual([operation, status]);
    return kept;
  };
  const authorization = `Bearer ${token}`;
  const json = (body: unknown) => ({
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const get = { headers: { authorization }, redirect: "manual" } as const;
  const live = async () => {
    const made = await ask("create a file", "/media/v2/files", json({ "Content-Type": "text/plain" }), 200);
    const { id, uploadLink, commitLink } = await expectJson(made, 200);
    const put = { method: "PUT", body: "x", headers: { "content-type": "text/plain", "content-length": "1" } };
    await ask("upload its bytes", uploadLink as string, put, 200);
    await ask("commit it", commitLink as string, json({}), 202);
    await ask("a page of a list", list, get, 200);
    const link = await ask("link to a private file", `/media/v2/files/${id}`, get, 200);
    const { link: content } = await expectJson(link, 200);
    await ask("its content", content as string, {}, 200);
    await ask("delete a file", `/media/v2/files/${id}`, { method: "DELETE", headers: { authorization } }, 204);
  };
  // Then the isolate knows the keys, the client and where its files lie.
  await live();
  isWarm = true;
  await live();
  return found;
}

afterEach(() => void vi.useRealTimers());

// shows: operator/shards/waits
it("operations on files wait for databases as often as the table of waits says", async () => {
  const fresh = await waitsOfALife(() => {});
  const stale = await waitsOfALife(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + OLD_MS });
  });
  const found = WAITS.map(({ operation }) => [operation, fresh[operation], stale[operation]! - fresh[operation]!]);
  expect(found).toEqual(WAITS.map(({ operation, own, stale: more }) => [operation, own, more]));
});
