import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { BUNDLE_BUDGET_GZIP_BYTES } from "../../scripts/lib/bundle.ts";
import { makeOrders, ORDERS_PATH } from "../../scripts/make-orders.ts";
import { freePort, npm } from "./support/platform-process.ts";

describe("npm run deploy", () => {
  test("--dry-run bundles offline and prints the size", async () => {
    const deploy = npm("deploy", {}, ["--", "--dry-run"]);
    expect(await deploy.ended, deploy.output()).toBe(0);
    const budget = (BUNDLE_BUDGET_GZIP_BYTES / 1024).toFixed(1);
    expect(deploy.output()).toMatch(
      new RegExp(`^\\d+\\.\\d KiB, gzip \\d+\\.\\d KiB \\(budget ${budget} KiB\\)$`, "m"),
    );
  });

  for (const url of ["", "http://plain.example", "https://host.example/path"]) {
    test(`refuses PUBLIC_URL=${url}`, async () => {
      const deploy = npm("deploy", { PUBLIC_URL: url });
      expect(await deploy.ended).toBe(1);
      expect(deploy.output()).toContain("Set PUBLIC_URL=https://<host> first");
    });
  }
});

test("npm run tour says what to do when nothing listens", async () => {
  const tour = npm("tour", { PORT: String(await freePort()) });
  expect(await tour.ended).toBe(1);
  expect(tour.output()).toContain("Start it first: npm start");
});

test("the orders are those that the script makes", () => {
  expect(readFileSync(ORDERS_PATH, "utf8")).toBe(`${makeOrders().join("\n")}\n`);
});
