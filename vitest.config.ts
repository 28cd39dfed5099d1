import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/runtime/longest-first.ts";
import { sourceTexts } from "./test/support/runtime/source-texts.ts";
import { outsideWorld } from "./test/support/runtime/outside-world.ts";

/** How long the searches of the tests are, and what repeats one: docs/contributing/testing.md. */
const searchSettings = Object.fromEntries(
  [
    "MODEL_SEED",
    "MODEL_PATH",
    "PUSH_SCHEDULES",
    "EVENTS_SCHEDULES",
    "EVENTS_ADVERSARY_SCHEDULES",
    "MEDIA_SCHEDULES",
    "MEDIA_ADVERSARY_SCHEDULES",
    "RUNS",
    "FUZZ_SEED",
    "FUZZ_RUNS",
    "FUZZ_SHARES",
  ].map((name) => [name, process.env[name] ?? ""]),
);
const isSearch = Object.values(searchSettings).some((setting) => setting !== "");

/**
 * Tests are of four shards, the last one in an object. `SHARDS=objects`: the directory alone is in D1. `SHARDS=own`: the
 * tenants of the media tests have objects of their own.
 */
const isInObjects = process.env["SHARDS"] === "objects";
const databases: Readonly<Record<string, string>> = isInObjects ? {} : { SHARD_01: "shard-01", SHARD_02: "shard-02" };
const objectShards = isInObjects ? "1:auto 2:auto 3:auto" : "3:auto";

/** A project whose tests start platforms. */
const againstPlatforms = (name: string) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    globalSetup: "test/acceptance/support/process/shared-platforms.ts",
    setupFiles: ["test/acceptance/support/log-watch.ts", "test/support/runtime/fixed-seeds.ts"],
    provide: { isSearch: isSearch || name === "nightly" },
    testTimeout: 120_000,
    // Some start a platform, on a machine that may be busy.
    hookTimeout: 60_000,
  },
});

/**
 * Three projects: `worker` runs inside the Workers runtime with real Durable Objects, D1, R2, Queues and Images, and a
 * world outside that the tests play; `acceptance` runs in Node and speaks HTTP to a platform that it starts with
 * `npm start`. `nightly` is more of the second kind, too slow for every change: `npm run nightly`.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins: [
          sourceTexts(),
          cloudflareTest(async () => ({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              unsafeObservability: false,
              d1Databases: databases,
              outboundService: outsideWorld,
              // Takes points and keeps none; a deployment binds it only if it is wanted.
              analyticsEngineDatasets: { ANALYTICS: { dataset: "plinth" } },
              email: { send_email: [{ name: "MAIL" }] },
              bindings: {
                MAIL_FROM: "Plinth <no-reply@plinth.test>",
                // Each sign-in of a test is from a new browser.
                MAIL_NOTICES: "",
                TEST_MIGRATIONS: await readD1Migrations("migrations"),
                ALLOW_LOOPBACK: "true",
                PASSWORD_GRANT_WITHOUT_CLIENT: "true",
                // Everything that can be logged; test/support/runtime/log-watch.ts shows less.
                LOG_LEVEL: "debug",
                OBJECT_SHARDS: objectShards,
                TENANT_OBJECTS: process.env["SHARDS"] === "own" ? "new:auto" : "asked:auto",
                ...searchSettings,
                OPERATOR_CLIENT_SECRET: "an-operator-secret-for-tests-only",
                SEAL_KEYS: `t1:${Buffer.alloc(32, 7).toString("base64")}`,
              },
            },
          })),
        ],
        test: {
          name: "worker",
          // Passwords are hashed for real, on a machine that may be busy.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // `expect.poll` waits for what is due soon.
          expect: { poll: { timeout: 20_000 } },
          // A runtime runs file after file; what one leaves behind, fresh-start.ts takes away.
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: ["test/acceptance/**", "test/nightly/**"],
          setupFiles: [
            "test/support/runtime/fresh-start.ts",
            "test/support/runtime/log-watch.ts",
            "test/support/runtime/fixed-seeds.ts",
          ],
          provide: { isSearch },
        },
      },
      againstPlatforms("acceptance"),
      againstPlatforms("nightly"),
    ],
  },
});
