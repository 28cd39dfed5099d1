import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { counting } from "../support/counting.ts";
import { encodePng, gradient } from "../support/images.ts";
import { mediaApp, START_MS } from "./support/media-app.ts";
import { principal } from "./support/principal.ts";
import { stored } from "./support/stored-file.ts";
import { DAY_MS } from "../../src/platform/runtime/clock.ts";

/** These tests count what D1 and R2 bill, including rows of indexes. */
const PICTURE = await encodePng(gradient(8, 8));
const METADATA = { order: "o-4711", color: "red", price: 129.9 };

it("a file is deleted with 12 rows, and proven gone with two rows and three calls of R2", async () => {
  const { env: bindings, tally, reset } = counting(env);
  const app = mediaApp({ db: bindings.DB, bucket: bindings.MEDIA });
  const as = principal();
  // The first deletion creates the requester's row. Another file keeps the key set.
  await stored(app, PICTURE, { as, metadata: METADATA });
  const files = [
    await stored(app, PICTURE, { as, metadata: METADATA }),
    await stored(app, PICTURE, { as, metadata: METADATA }),
  ];
  const costs: unknown[] = [];
  for (const { path } of files) {
    reset();
    expect((await app.call(path, { as, method: "DELETE" })).status).toBe(204);
    await app.settle();
    costs.push([tally.d1RoundTrips, tally.d1RowsWritten, tally.r2Operations]);
  }
  expect(costs.slice(1)).toEqual([[3, 12, { delete: 1 }]]);
  reset();
  await app.media.sweep(START_MS + DAY_MS);
  expect([tally.d1RowsWritten, tally.r2Operations]).toEqual([2 * 2, { head: 2 * 3 }]);
});
