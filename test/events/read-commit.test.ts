import { describe, expect, it } from "vitest";
import { eventsApp, makeTopic, payloads } from "./events-app.ts";

const app = eventsApp();

describe("read and commit", () => {
  it("goes", async () => {
    const topic = await makeTopic(app);
    await topic.put([{ payload: "a" }, { payload: "b" }, { payload: "c" }]);
    const first = await topic.read({ numEvents: 2 });
    expect(payloads(first)).toEqual(["a", "b"]);
    expect((await topic.read()).status).toBe(409);
    expect((await topic.commit(first.token)).status).toBe(200);
    expect(payloads(await topic.read())).toEqual(["c"]);
  });
});
