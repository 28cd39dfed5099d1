import { expect, test } from "vitest";
import { openShop } from "./support/pubsub.ts";
import { useWorld } from "./support/world.ts";

/** What a client hears that is still sending when it is refused: the answer, not a broken connection. */
const world = useWorld();
const MIB = 1024 * 1024;

/** A body of so many bytes without a length. */
function stream(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 64 * 1024);
      if (size > 0) controller.enqueue(new Uint8Array(size).fill(0x20));
      else controller.close();
      left -= size;
    },
  });
}

test("a body that is refused for its size, or before it is looked at, gets its answer", async () => {
  const shop = await openShop(world(), "sender");
  const path = await shop.topic("large");
  const publish = `${world().base}/pubsub/v1${path}/publish`;
  const authorization = shop.authorization;
  const statuses: Record<string, number[]> = {};
  const send = async (what: string, address: string, init: RequestInit & { duplex?: "half" }): Promise<void> => {
    const answer = await fetch(address, { method: "POST", ...init });
    const { status } = (await answer.json()) as { status: number };
    (statuses[what] ??= []).push(status);
  };
  for (let round = 0; round < 8; round++) {
    const headers = { authorization, "content-type": "application/json" };
    await send("too large", publish, { headers, body: new Uint8Array(5.3 * MIB).fill(0x20) });
    await send("larger", publish, { headers, body: new Uint8Array(12 * MIB).fill(0x20) });
    await send("in chunks", publish, { headers, body: stream(7 * MIB), duplex: "half" });
    await send("no token", publish, { body: new Uint8Array(4 * MIB) });
    await send("nothing there", `${world().base}/nothing`, { body: new Uint8Array(4 * MIB) });
  }
  const always = (status: number): number[] => Array.from({ length: 8 }, () => status);
  expect(statuses).toEqual({
    "too large": always(413),
    larger: always(413),
    "in chunks": always(413),
    "no token": always(401),
    "nothing there": always(404),
  });
});
