import { once } from "node:events";
import { get, request, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { useSharedWorld } from "./support/use-world.ts";
import { makeClient } from "./support/world.ts";

/** Public content as it goes over the wire, where a length that is missing or wrong shows. */
const world = useSharedWorld("plain");
const SIZE = 300_000;
const BYTES = Buffer.from(Uint8Array.from({ length: SIZE }, (_, index) => (index * 7) % 251));

/** The address of a new public file. */
async function storeFile(): Promise<{ content: string; remove: () => Promise<Response> }> {
  const { base, issuer } = world();
  const client = await makeClient(world(), "content", { grantTypes: ["client_credentials"] });
  const token = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const { access_token: bearer } = (await token.json()) as Record<string, string>;
  const authorization = `Bearer ${bearer}`;
  const files = `${base}/media/v2/public/files`;
  const created = await fetch(files, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ "Content-Type": "text/plain" }),
  });
  const { id, uploadLink, commitLink } = (await created.json()) as Record<string, string>;
  const put = await fetch(uploadLink!, { method: "PUT", headers: { "content-type": "text/plain" }, body: BYTES });
  expect(put.status).toBe(200);
  const committed = await fetch(commitLink!, { method: "POST", headers: { authorization } });
  expect(committed.status).toBe(202);
  const found = await fetch(`${files}/${id}`, { redirect: "manual" });
  return {
    content: found.headers.get("location")!,
    remove: () => fetch(`${files}/${id}`, { method: "DELETE", headers: { authorization } }),
  };
}

async function ask(address: string, headers: Record<string, string> = {}, method = "GET") {
  const asked = request(address, { method, headers }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await buffer(answer) };
}

test("content from R2 and from the edge: whole, in parts, HEAD, all with their length; gone with the file", async () => {
  const { content, remove } = await storeFile();
  const whole = async (from: "R2" | "the edge") => {
    const answer = await ask(content);
    expect([answer.status, answer.headers["content-length"], answer.headers["transfer-encoding"]]).toEqual([
      200,
      String(SIZE),
      undefined,
    ]);
    expect(answer.body.equals(BYTES)).toBe(true);
    expect("age" in answer.headers).toBe(from === "the edge");
  };
  const parts = async () => {
    const part = await ask(content, { range: "bytes=1000-200999" });
    expect([part.status, part.headers["content-length"], part.headers["content-range"]]).toEqual([
      206,
      "200000",
      `bytes 1000-200999/${SIZE}`,
    ]);
    expect(part.body.equals(BYTES.subarray(1000, 201_000))).toBe(true);
    const several = await ask(content, { range: "bytes=0-99999,-5" });
    expect([several.status, several.headers["content-length"]]).toEqual([206, String(several.body.length)]);
    expect(several.body.includes(BYTES.subarray(0, 100_000))).toBe(true);
    const head = await ask(content, {}, "HEAD");
    expect([head.status, head.headers["content-length"], head.body.length]).toEqual([200, String(SIZE), 0]);
  };
  await parts();
  await whole("R2");
  await expect.poll(async () => (await ask(content, {}, "HEAD")).headers["age"]).toBeDefined();
  await whole("the edge");
  await parts();
  // A reader that breaks off does no harm to the next one.
  const broken = get(content);
  const [answer] = (await once(broken, "response")) as [IncomingMessage];
  answer.destroy();
  await whole("the edge");
  expect((await remove()).status).toBe(204);
  expect((await ask(content)).status).toBe(404);
  expect((await ask(content, { range: "bytes=0-1" })).status).toBe(404);
});
