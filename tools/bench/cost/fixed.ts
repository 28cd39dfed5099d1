import { LOGS_BY_GB, STORAGE, PLAN, PRICES } from "./prices.ts";
import type { Study, Table } from "../lib/study.ts";
import { billOfAMonth, largestShare, totalOf } from "./bill.ts";
import { Meter, QUEUE_QUIET_MS } from "./meter.ts";
import { openPlatform } from "../lib/platform.ts";
import { COUNTED } from "./study.ts";
import { countsTable, money } from "./tables.ts";

/** Runs of the cron in 30 days, one every five minutes. */
const CRONS_A_MONTH = (30 * 24 * 60) / 5;
const CRON_MS = 5 * 60_000;

/** The price of a platform without visitors. */
export const fixedStudy: Study = {
  id: "fixed",
  label: "A platform at rest",
  async run(context) {
    const server = await context.serverOf(COUNTED);
    await openPlatform(server);
    const meter = new Meter(server, context);
    const cron = async (): Promise<void> => {
      await meter.advance(CRON_MS);
      await server.ask({ cronAtMs: meter.nowMs() });
    };
    context.progress("a run of the cron");
    await cron();
    const runs = context.rounds * 2;
    const counts = await meter.count(
      runs,
      async () => {
        for (let run = 0; run < runs; run++) await cron();
      },
      QUEUE_QUIET_MS,
    );
    const share = largestShare(counts, CRONS_A_MONTH);
    const month = totalOf(billOfAMonth(counts, CRONS_A_MONTH));
    return {
      tables: [
        countsTable("a run of the cron that finds nothing to do", [{ label: "one", counts }]),
        {
          head: ["a month", "US$"],
          rows: [
            ["the plan", money(PLAN.usd)],
            [
              `${CRONS_A_MONTH.toLocaleString("en")} runs of the cron, at most ${(share.part * 100).toFixed(2)} % of what ` +
                `the plan includes (${PRICES[share.what].unit})`,
              money(month),
            ],
            ["objects that nobody calls: duration", money(0)],
            ...STORAGE.map(({ unit, usdPerGbMonth, includedGb }) => [
              `a GB stored in ${unit}, beyond ${includedGb}`,
              String(usdPerGbMonth),
            ]),
            [`a GB of logs from ${LOGS_BY_GB.from} on, beyond 50`, String(LOGS_BY_GB.usdPerGb)],
            [`a GB of logs kept for a month, beyond 12`, String(LOGS_BY_GB.usdPerGbMonth)],
          ],
        },
        pricesTable(),
      ],
      marks: [],
    };
  },
};

const pricesTable = (): Table => ({
  head: ["prices", "US$ a million", "included a month"],
  rows: Object.values(PRICES).map(({ unit, usdPerMillion, includedAMonth }) => [
    unit,
    String(usdPerMillion),
    includedAMonth.toLocaleString("en"),
  ]),
});
