import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  commitOperatedFile,
  countWaitingVariants,
  createOperatedFile,
  createOperatedVariants,
  deleteOperatedFile,
  listOperatedErasures,
  listOperatedSubscriptions,
  putClient,
  startComparison,
} from "../../api/plinth.ts";
import { createPlinth } from "../../packages/sdk/src/index.ts";
import { photographs } from "../../test/acceptance/console/photographs.ts";
import { localSecret } from "../../test/acceptance/support/process/state.ts";

const SECRET = "the-secret-of-the-shop-in-the-pictures";
const PICTURES = 14;

/** Addresses of pages, below `/console`. */
export interface Scene {
  readonly topic: string;
  readonly push: string;
  readonly file: string;
  readonly deletion: string;
  readonly comparison: string;
  readonly end: () => void;
}

/** Adds to the demo what the pictures show: orders, an endpoint that fails, photographs, a deletion, a comparison. */
export async function setScene(url: string): Promise<Scene> {
  const clientSecret = localSecret("OPERATOR_CLIENT_SECRET");
  const { operations } = createPlinth({ url, credentials: { clientId: "plat.operator", clientSecret } });

  const scopes = ["plat.pubsub_publish", "plat.pubsub.topic=*"];
  await done(
    putClient(
      "demo.orders",
      { tenant: "demo", confidential: true, grantTypes: ["client_credentials"], scopes, clientSecret: SECRET },
      operations,
    ),
  );
  const shop = createPlinth({ url, credentials: { clientId: "demo.orders", clientSecret: SECRET } });
  const failing = createServer((_, response) => response.writeHead(500).end());
  await new Promise<void>((listening) => failing.listen(0, "127.0.0.1", listening));
  const endpoint = `http://127.0.0.1:${(failing.address() as AddressInfo).port}/orders`;
  await shop.request("POST", "/pubsub/v1/topics", { json: { eventType: "orderPlaced" } });
  const topic = "topics/demo.orders/orderPlaced";
  await shop.request("POST", `/pubsub/v1/${topic}/subscriptions`, {
    json: { name: "warehouse", pushConfig: { endpoint, basicAuth: { username: "shop", password: "a password" } } },
  });
  const orders = Array.from({ length: 12 }, (_, at) => ({ payload: { order: 4700 + at, total: 12.5 * (at + 1) } }));
  await shop.topic("demo.orders", "orderPlaced").publish(orders);
  await shop.request("POST", `/pubsub/v1/${topic}/read`, { json: { autoCommit: true, limit: 5 } });

  const ids: string[] = [];
  for (const { name, buffer } of photographs(PICTURES, 320, 213)) {
    const made = await done(
      createOperatedFile("demo", "demo.shop", "private", { "Content-Type": "image/png" }, {}, operations),
    );
    if (!("uploadLink" in made)) throw new Error("a file was committed without its bytes");
    const headers = { "content-type": "image/png" };
    await fetch(made.uploadLink, { method: "PUT", body: new Uint8Array(buffer), headers });
    await done(commitOperatedFile(made.id, { name, album: "harbour" }, operations));
    await done(createOperatedVariants(made.id, { clip: "320x320" }, operations));
    ids.push(made.id);
  }
  // Waits for all variants, so that every picture shows the same state.
  while ((await done(countWaitingVariants("demo", "demo.shop", "private", operations))).waiting > 0) await sleep(100);
  const [file = "", deleted = ""] = ids;
  await done(deleteOperatedFile(deleted, operations));
  const [push] = await done(listOperatedSubscriptions({ topic: "demo.orders.orderPlaced" }, operations));
  const [deletion] = await done(listOperatedErasures("demo", "demo.shop", {}, operations));
  const comparison = await done(startComparison(operations));
  return {
    topic: `/${topic}`,
    push: `/${topic}/push/${push?.id}`,
    file: `/media/files/${file}`,
    deletion: `/media/erasures/${deletion?.id}`,
    comparison: `/media/comparisons/${comparison.id}`,
    end: () => void failing.close(),
  };
}

type Done<T> = T extends { readonly status: 200 | 201 | 202 | 204; readonly data?: infer D } ? D : never;

async function done<T extends { readonly status: number }>(asked: Promise<T>): Promise<Done<T>> {
  const { status, ...answer } = await asked;
  const { data } = answer as { readonly data?: unknown };
  if (status >= 400) throw new Error(`${status} ${JSON.stringify(data)}`);
  return data as Done<T>;
}
