import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";
import { outsideWorld } from "./test/support/outside-world.ts";

/** A project whose tests start platforms. */
const againstPlatforms = (name: string) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    setupFiles: ["test/acceptance/support/log-watch.ts"],
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
          cloudflareTest(async () => ({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              unsafeObservability: false,
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
                // Everything that can be logged; test/support/log-watch.ts shows less.
                LOG_LEVEL: "debug",
                MODEL_SEED: process.env["MODEL_SEED"] ?? "",
                MODEL_PATH: process.env["MODEL_PATH"] ?? "",
                PUSH_SCHEDULES: process.env["PUSH_SCHEDULES"] ?? "",
                EVENTS_SCHEDULES: process.env["EVENTS_SCHEDULES"] ?? "",
                EVENTS_ADVERSARY_SCHEDULES: process.env["EVENTS_ADVERSARY_SCHEDULES"] ?? "",
                MEDIA_SCHEDULES: process.env["MEDIA_SCHEDULES"] ?? "",
                MEDIA_ADVERSARY_SCHEDULES: process.env["MEDIA_ADVERSARY_SCHEDULES"] ?? "",
                RUNS: process.env["RUNS"] ?? "",
                FUZZ_SEED: process.env["FUZZ_SEED"] ?? "",
                FUZZ_RUNS: process.env["FUZZ_RUNS"] ?? "",
                FUZZ_SHARES: process.env["FUZZ_SHARES"] ?? "",
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
          // A runtime runs file after file; what one leaves behind, fresh-start.ts takes away.
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: ["test/acceptance/**", "test/nightly/**"],
          setupFiles: ["test/support/fresh-start.ts", "test/support/log-watch.ts"],
        },
      },
      againstPlatforms("acceptance"),
      againstPlatforms("nightly"),
    ],
  },
});
