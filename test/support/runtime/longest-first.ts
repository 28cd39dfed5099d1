import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The longest files start first, so that none of them runs alone at the end while the other cores are idle. */
const LONG = [
  "nightly/quickstarts",
  "nightly/plat-apply",
  "acceptance/console",
  "acceptance/start",
  "nightly/deploy",
  "nightly/plat-erase",
  "nightly/tour",
  "nightly/soak",
  "nightly/example",
  "nightly/events-crash",
  "nightly/gateway-stream",
  "acceptance/browser",
  "acceptance/gateway",
  "acceptance/push",
  "acceptance/plat",
  "acceptance/sdk",
  "acceptance/negative",
  "acceptance/script-help",
  "acceptance/scripts",
  "acceptance/oauth-clients",
  "acceptance/bench",
  "nightly/bench-media",
  "nightly/readme",
  "nightly/bench-cost",
  "nightly/bench-events",
  "nightly/bench-gateway",
  "nightly/bench-oauth",
  "backup/backup",
  "http/rights",
  "fuzz/fuzz",
  "ui/pages",
  "events/push/delivery",
  "oauth/homes/crash",
  "admin/audit",
  "media/files/usage",
  "media/shards/owner-changes",
  "events/consume/model",
  "events/push/push-subscription",
  "oauth/federation/provider-answers",
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
