import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { isolate } from "../support/isolate.ts";
import { makeClient } from "../support/platform/clients.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { page } from "./operate-docs.ts";

/** The columns of the table in the documentation, with their words. */
const COLUMNS = [...page.matchAll(/^\| `((?:index|blob|double)\d)` +\| (.*?) +\|$/gm)].map(([, column, is]) => ({
  column: column!,
  is: is!,
}));

/** Limits of Analytics Engine for a point. */
const MOST = { indexes: 1, indexBytes: 96, blobs: 20, blobBytes: 16 * 1024, doubles: 20 };

// shows: operator/metrics/points
it("Each request is a point of Analytics Engine, with the columns that the documentation names", async () => {
  const points: AnalyticsEngineDataPoint[] = [];
  const bound = env.ANALYTICS!;
  const ANALYTICS = {
    writeDataPoint(point: AnalyticsEngineDataPoint) {
      points.push(point);
      bound.writeDataPoint(point);
    },
  };
  const own = isolate({ ANALYTICS });
  const client = await makeClient();
  const headers = { authorization: `Bearer ${await tokenFor(client)}`, "content-type": "application/json" };
  const body = JSON.stringify({ eventType: "points" });
  const made = await own.fetch("/pubsub/v1/topics", { method: "POST", headers, body });
  expect(made.status).toBe(201);
  const path = new URL(made.headers.get("location")!).pathname;
  const read = await own.fetch(`${path}/read`, {
    method: "POST",
    headers: { ...headers, prefer: "wait=1" },
    body: "{}",
  });
  expect(read.status).toBe(204);
  expect((await own.fetch("/admin/v1/tenants", { headers })).status).toBe(403);
  expect((await own.fetch("/nowhere")).status).toBe(404);

  const told = points.map(({ indexes = [], blobs = [], doubles = [] }) =>
    Object.fromEntries(
      COLUMNS.map(({ column, is }) => {
        const [, kind, number] = /^([a-z]+)(\d)$/.exec(column)!;
        const values = { index: indexes, blob: blobs, double: doubles }[kind as "index" | "blob" | "double"];
        return [is.replace(/[,;].*/, ""), values[Number(number) - 1]];
      }),
    ),
  );
  const ms = expect.any(Number);
  const nothing = { "the tenant": "", "the client": "", "the type of the error": "", "bytes in": 0, "bytes out": 0 };
  const known = { ...nothing, "the tenant": client.tenant, "the client": client.clientId };
  const times = { "ms of the request": ms, "ms of its wait": 0 };
  expect(told).toEqual([
    {
      ...known,
      ...times,
      "the service": "events",
      "the operation": "createTopic",
      "the class of the status": "2xx",
      "the status": 201,
      "bytes in": expect.any(Number),
      "bytes out": expect.any(Number),
    },
    {
      ...known,
      ...times,
      "the service": "events",
      "the operation": "readEvents",
      "the class of the status": "2xx",
      "the status": 204,
      "bytes in": expect.any(Number),
      "ms of its wait": expect.any(Number),
    },
    {
      ...nothing,
      ...times,
      "the tenant": client.tenant,
      "the service": "admin",
      "the operation": "listResources",
      "the class of the status": "4xx",
      "the status": 403,
      "the type of the error": "insufficient_permissions",
    },
    {
      ...nothing,
      ...times,
      "the service": "platform",
      "the operation": "",
      "the class of the status": "4xx",
      "the status": 404,
      "the type of the error": "element_resource_non_existing",
    },
  ]);
  expect(points[1]!.doubles![4]).toBeGreaterThan(500);
  for (const { indexes = [], blobs = [], doubles = [] } of points) {
    // Each column has a row in the table.
    expect(indexes.length + blobs.length + doubles.length).toBe(COLUMNS.length);
    expect([indexes.length, blobs.length <= MOST.blobs, doubles.length <= MOST.doubles]).toEqual([1, true, true]);
    expect(JSON.stringify(indexes[0]).length).toBeLessThanOrEqual(MOST.indexBytes);
    expect(JSON.stringify(blobs).length).toBeLessThanOrEqual(MOST.blobBytes);
    for (const double of doubles) expect(Number.isFinite(double)).toBe(true);
  }
});
