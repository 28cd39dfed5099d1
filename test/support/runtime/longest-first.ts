import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The longest files start first, so that none of them runs alone at the end while the other cores are idle. */
const LONG = [
  "nightly/quickstarts",
  "nightly/plat-apply",
  "nightly/deploy",
  "nightly/plat-erase",
  "nightly/tour",
  "nightly/soak",
  "nightly/example",
  "nightly/events-crash",
  "nightly/gateway-stream",
  "nightly/bench-media",
  "nightly/readme",
  "nightly/bench-cost",
  "nightly/bench-events",
  "nightly/bench-gateway",
  "nightly/bench-oauth",
  "acceptance/start",
  "acceptance/browser",
  // These need no platform, and run while the first one starts.
  "acceptance/openapi",
  "acceptance/plat-apply-rules",
  "acceptance/plat-client",
  "acceptance/plat",
  "acceptance/console",
  "acceptance/gateway",
  "acceptance/push",
  "acceptance/negative",
  "acceptance/scripts",
  "acceptance/sdk",
  "acceptance/federation",
  "acceptance/oauth-clients",
  "backup/backup",
  "fuzz/fuzz",
  "oauth/federation/provider-answers",
  "oauth/homes/crash",
  "http/rights",
  "events/push/push-subscription",
  "oauth/account/account",
  "media/uploads/upload",
  "events/push/delivery",
  "http/fuzz",
  "media/sweep",
  "events/consume/faults",
  "media/files/usage",
  "media/shards/owner-changes",
  "media/moves/moves",
  "events/log/notifier",
];

/** Sorts the test files. If several run at once, the next file starts when one has ended. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at === -1 ? LONG.length : at;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}
