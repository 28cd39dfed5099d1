import { defineConfig } from "oxlint";

/**
 * The architecture's rules (ARCHITECTURE.md, "Imports"). If two overrides match a file, oxlint replaces a
 * rule's options instead of merging them, so each kind of file has one list of its own.
 */
const SERVICES = ["oauth", "events", "media", "admin", "gateway", "health", "metrics", "tracing", "backup", "restore"];

const upward = {
  regex: String.raw`^(\.\./)+(app|deps|wiring|config|worker|env|schedule|ui)\b`,
  message: "Nothing points upward: take it as a parameter or a port.",
};
const hono = { group: ["hono", "hono/*"], message: "Only http/mount.ts and ui/ see Hono." };
const runtime = {
  group: ["cloudflare:*"],
  message: "Only *.do.ts and worker.ts import cloudflare:workers.",
};
const otherServices = (service: string) => ({
  regex: String.raw`^(\.\./)+(${SERVICES.filter((other) => other !== service).join("|")})/`,
  message: "A service imports platform/, http/ and itself. Declare a port and bind it in wiring/.",
});
/** Two levels up, since a service may have a room of this name. */
const tenantPlaces = { regex: String.raw`^(\.\./){2,}shards/`, message: otherServices("").message };
const onlyPlatform = {
  regex: String.raw`^(\.\./)+(${[...SERVICES, "shards", "app", "deps", "wiring", "config", "worker", "env", "schedule", "place", "ui"].join("|")})\b`,
  message: "http/ knows platform/ only.",
};
const nothingElse = { regex: String.raw`^\.\./\.\./`, message: "platform/ knows nothing else." };
const restricted = (files: string[], patterns: object[]) => ({
  files,
  rules: { "no-restricted-imports": ["error", { patterns }] as ["error", object] },
});

export default defineConfig({
  plugins: ["typescript", "unicorn", "import", "promise", "oxc"],
  categories: { correctness: "error", suspicious: "error" },
  options: { typeAware: true, denyWarnings: true },
  ignorePatterns: [".build", "packages/*/dist", ".state", "api/plinth.ts", "test/upgrade/released"],
  rules: {
    eqeqeq: "error",
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "typescript/no-explicit-any": "error",
    "no-restricted-properties": [
      "error",
      { object: "Date", property: "now", message: "Time comes from platform/runtime/clock.ts." },
      { object: "crypto", property: "getRandomValues", message: "Randomness comes from platform/runtime/random.ts." },
      { object: "crypto", property: "randomUUID", message: "Randomness comes from platform/runtime/random.ts." },
      { object: "Math", property: "random", message: "Randomness comes from platform/runtime/random.ts." },
    ],
    // Off: ports are interfaces with methods; `_` is zod's; types of rows and JSON are asserted at their source.
    "typescript/unbound-method": "off",
    "typescript/no-unsafe-type-assertion": "off",
    "typescript/consistent-return": "off",
    "no-underscore-dangle": "off",
    "unicorn/consistent-function-scoping": "off",
    "unicorn/no-array-sort": "off",
  },
  overrides: [
    {
      // Every test runs. The other rules of the plugin are written for another runner.
      files: ["test/**"],
      plugins: ["jest"],
      rules: {
        "jest/no-disabled-tests": "error",
        "jest/no-focused-tests": "error",
        "jest/valid-expect": "off",
        "jest/no-conditional-expect": "off",
        "jest/expect-expect": "off",
        "jest/no-standalone-expect": "off",
        "jest/require-to-throw-message": "off",
        "jest/valid-title": "off",
      },
    },
    {
      files: [
        "src/platform/runtime/clock.ts",
        "src/platform/runtime/random.ts",
        "test/**",
        "scripts/**",
        "cli/**",
        "tools/**",
        "examples/**",
        "packages/**",
        "console/**",
        "vitest.config.ts",
      ],
      rules: { "no-restricted-properties": "off" },
    },
    {
      files: ["test/**", "scripts/**", "cli/**", "tools/**", "examples/tour/**", "examples/walk/**"],
      rules: { "typescript/no-explicit-any": "off" },
    },
    {
      // Vite takes a stylesheet for a module.
      files: ["console/src/main.tsx", "console/src/components/chart.tsx"],
      rules: { "import/no-unassigned-import": "off" },
    },
    {
      // Callers name the type of an answer.
      files: ["packages/**"],
      rules: { "typescript/no-unnecessary-type-parameters": "off" },
    },
    restricted(["src/platform/**/*.ts"], [nothingElse, hono, runtime]),
    restricted(["src/platform/**/*.do.ts"], [nothingElse, hono]),
    restricted(["src/http/**/*.ts"], [onlyPlatform, hono, runtime]),
    restricted(["src/http/mount.ts"], [onlyPlatform, runtime]),
    ...[...SERVICES, "shards"].flatMap((service) => {
      const others = [upward, otherServices(service), hono, ...(service === "shards" ? [] : [tenantPlaces])];
      return [
        restricted([`src/${service}/**/*.ts`], [...others, runtime]),
        restricted([`src/${service}/**/*.do.ts`], others),
      ];
    }),
  ],
});
