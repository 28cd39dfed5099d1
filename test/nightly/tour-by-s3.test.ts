import { expect, test } from "vitest";
import { npm } from "../acceptance/support/process/program.ts";
import { freePort } from "../acceptance/support/process/state.ts";
import { useWorld } from "../acceptance/support/use-world.ts";
import { OPERATOR_SECRET } from "../acceptance/support/world.ts";

const world = useWorld({
  R2_ACCESS_KEY_ID: "nightly-id",
  R2_SECRET_ACCESS_KEY: "a+nightly/secret=",
  R2_S3_ENDPOINT: `http://127.0.0.1:${await freePort()}/cdn-cgi/local/r2/s3`,
});

// shows: running/commands/npm-run-tour
test("npm run tour uploads by presigned links to S3 as well", async () => {
  const tour = npm("tour", { PORT: new URL(world().url).port, OPERATOR_CLIENT_SECRET: OPERATOR_SECRET });
  expect(await tour.ended, tour.output()).toBe(0);
  expect(tour.output()).toContain("Everything is as it should be");
});
