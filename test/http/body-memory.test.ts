import { afterEach, describe, expect, it, vi } from "vitest";
import { createBodyMemory, STEP_MS, type BodyMemory } from "../../src/http/input/body-memory.ts";
import { readBytes } from "../../src/http/input/body.ts";
import { systemClock } from "../../src/platform/runtime/clock.ts";
import { isolate, type Isolate } from "../support/isolate.ts";
import { makeClient } from "../support/platform/clients.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

/** Memory for large bodies, which callers send as slowly as they like. */
const MIB = 1024 * 1024;
const KIB = 1024;
const LARGEST = 5 * MIB;

/** A body that comes when the test sends it. */
interface Slow {
  readonly stream: ReadableStream<Uint8Array>;
  send(bytes: number): Promise<void>;
  end(): Promise<void>;
}

function slow(): Slow {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const ignored = (work: Promise<void>) => work.catch(() => undefined);
  return {
    stream: readable,
    send: (bytes) => ignored(writer.write(new Uint8Array(bytes).fill(0x20))),
    end: () => ignored(writer.close()),
  };
}

const held: BodyMemory[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const memory of held.splice(0)) memory.release();
});

/** Reads a body as the pipeline does: what a whole body holds is released after the test, what was refused at once. */
async function read(owner: string, body: ReadableStream<Uint8Array>, length?: number): Promise<string> {
  const memory = createBodyMemory(unique("request"), () => owner, systemClock);
  const headers = new Headers(length === undefined ? [] : [["content-length", String(length)]]);
  const request = new Request("https://x.example", { method: "POST", body, headers });
  const outcome = await readBytes(request, LARGEST, memory);
  if (outcome.ok) held.push(memory);
  else memory.release();
  return outcome.ok ? `${outcome.value.byteLength} bytes` : `${outcome.error.type}: ${outcome.error.message}`;
}

async function readWhole(owner: string, bytes: number): Promise<string> {
  const body = slow();
  const reading = read(owner, body.stream);
  await body.send(bytes);
  await body.end();
  return reading;
}

const BUSY = expect.stringMatching(/^service_temporarily_unavailable: Too many large requests/);

describe("Memory for large bodies", () => {
  async function publisher({ fetch }: Isolate) {
    const client = await makeClient({ scopes: ["plat.pubsub_publish"] });
    const headers = { authorization: `Bearer ${await tokenFor(client)}`, "content-type": "application/json" };
    const made = await fetch("/pubsub/v1/topics", {
      method: "POST",
      headers,
      body: JSON.stringify({ eventType: "a" }),
    });
    expect(made.status).toBe(201);
    const address = `/pubsub/v1/topics/${client.clientId}/a/publish`;
    return (body: BodyInit, more = {}) => fetch(address, { method: "POST", headers: { ...headers, ...more }, body });
  }

  // shows: platform/errors-of-every-service/slow-bodies
  it("is not taken by two slow requests of another tenant that have sent little", async () => {
    const at = isolate();
    const [mallory, victim] = [await publisher(at), await publisher(at)];
    const bodies = [slow(), slow()];
    const answers = bodies.map(({ stream }) => mallory(stream));
    for (const body of bodies) await body.send(600 * KIB);
    const events = JSON.stringify(Array.from({ length: 4 }, () => ({ payload: "x".repeat(200_000) })));
    const published = await victim(events, { "content-length": String(events.length) });
    expect(published.status).toBe(201);
    for (const body of bodies) await body.end();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 400]);
  });

  it("is at most half for one caller, however much it sends", async () => {
    const bodies = Array.from({ length: 7 }, slow);
    const refused: string[] = [];
    const reading = bodies.map(async ({ stream }) => {
      const outcome = await read("mallory", stream);
      if (outcome.startsWith("service")) refused.push(outcome);
      return outcome;
    });
    for (const body of bodies) for (let n = 0; n < 19; n++) await body.send(256 * KIB);
    // Five hold 4.75 MiB each, of 26.
    await vi.waitFor(() => expect(refused).toEqual([BUSY, BUSY]), { timeout: 5_000 });
    expect(await readWhole("mallory", MIB)).toEqual(BUSY);
    expect(await readWhole("victim", LARGEST)).toBe(`${LARGEST} bytes`);
    for (const body of bodies) await body.end();
    // None waits for another one: the last one has the memory of those that were refused.
    expect((await Promise.all(reading)).filter((outcome) => outcome.endsWith("bytes")).length).toBe(1);
  });

  // shows: platform/errors-of-every-service/503-service_temporarily_unavailable
  it("lets one body be read if many callers send theirs at once, and refuses those that it has no room for", async () => {
    const bodies = Array.from({ length: 14 }, slow);
    const reading = bodies.map(({ stream }, n) => read(`caller ${n}`, stream));
    for (let n = 0; n < 20; n++) await Promise.all(bodies.map((body) => body.send(256 * KIB)));
    await Promise.all(bodies.map((body) => body.end()));
    const outcomes = await Promise.all(reading);
    const whole = outcomes.filter((outcome) => outcome === `${LARGEST} bytes`).length;
    expect(whole).toBeGreaterThanOrEqual(1);
    expect(outcomes.filter((outcome) => outcome.startsWith("service")).length).toBe(14 - whole);
    for (const memory of held.splice(0)) memory.release();
    // All of it is free again: two of the largest fit, and no third.
    for (const owner of ["ann", "bob"]) expect(await readWhole(owner, LARGEST)).toBe(`${LARGEST} bytes`);
    expect(await readWhole("eve", LARGEST)).toEqual(BUSY);
    expect(await readWhole("eve", 256 * KIB)).toBe(`${256 * KIB} bytes`);
  });

  it("is asked for before a body comes whose length is known", async () => {
    for (const owner of ["ann", "bob"]) expect(await readWhole(owner, LARGEST)).toBe(`${LARGEST} bytes`);
    const body = slow();
    expect(await read("eve", body.stream, LARGEST)).toEqual(BUSY);
    expect(body.stream.locked).toBe(false);
  });

  it("is released by a body of which 256 KiB take over 30 s", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    const bodies = [slow(), slow()];
    const reading = bodies.map(({ stream }) => read("mallory", stream));
    for (const body of bodies) await body.send(300 * KIB);
    await vi.advanceTimersByTimeAsync(STEP_MS - 1000);
    await bodies[0]!.send(256 * KIB);
    await vi.advanceTimersByTimeAsync(STEP_MS - 1000);
    await bodies[0]!.end();
    expect(await Promise.all(reading)).toEqual([
      `${556 * KIB} bytes`,
      "bad_payload_syntax: The body came too slowly: send 256 KiB in 30 s.",
    ]);
  });
});
