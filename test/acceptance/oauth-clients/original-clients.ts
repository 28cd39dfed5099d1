import { describe, expect, test } from "vitest";
import { makeClient, type World } from "../support/world.ts";

/**
 * yaas-nodejs-client-sdk and node-red-contrib-yaas, written for this API: what they send, in their order. They ask for
 * one topic's scope and nothing else, then create the topic and publish to it.
 */
export function originalClientsSuite(world: () => World): void {
  describe("the clients that were written for this API", () => {
    test("ask for the scope of a topic of their own, create it, publish, read and commit", async () => {
      const eventType = "yaasjs_1448355661000";
      const { id, secret } = await makeClient(world(), "original", {
        grantTypes: ["client_credentials"],
        scopes: [`plat.pubsub.topic=acme.original.${eventType}`],
      });
      const getToken = async (): Promise<string> => {
        const form = new URLSearchParams({
          grant_type: "client_credentials",
          scope: `plat.pubsub.topic=${id}.${eventType}`,
          client_id: id,
          client_secret: secret,
        });
        const answer = await fetch(`${world().issuer}/token`, { method: "POST", body: form });
        expect(answer.status).toBe(200);
        return ((await answer.json()) as { access_token: string }).access_token;
      };
      let token = await getToken();
      const post = async (path: string, body: object): Promise<{ status: number; body: any }> => {
        const answer = await fetch(`${world().base}/pubsub/v1/topics${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        const text = await answer.text();
        return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
      };
      const read = (type: string, autoCommit: boolean) =>
        post(`/${id}/${type}/read`, { numEvents: 1, ttlMs: 4000, autoCommit });

      expect(await post("", { eventType })).toEqual({ status: 201, body: undefined });
      expect((await post("", { eventType })).status).toBe(409);
      const published = await post(`/${id}/${eventType}/publish`, { payload: JSON.stringify("PAYLOAD") });
      expect(published.status).toBe(201);
      expect((await read("WR0NG_3V3N77YP3", false)).status).toBe(404);
      const first = await read(eventType, false);
      expect(first).toMatchObject({ status: 200, body: { events: [{ eventType, payload: '"PAYLOAD"' }] } });
      // The node that commits gets a token of its own for it.
      token = await getToken();
      expect((await post(`/${id}/${eventType}/commit`, { token: first.body.token })).status).toBe(200);
      expect((await read(eventType, true)).status).toBe(204);
    });
  });
}
