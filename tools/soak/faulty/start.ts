import { setTimeout as sleep } from "node:timers/promises";
import { runPlatform } from "../../../scripts/lib/local/run-platform.ts";
import { runCron } from "../../../scripts/lib/local/server.ts";
import { readSettings } from "../../../scripts/lib/local/settings.ts";
import { createRandom } from "../lib/random.ts";
import type { FaultPlan } from "./plan.ts";
import { FAULTS_OFF, FAULTS_ON, faultLine } from "./plan.ts";

/**
 * `npm start` with the faulty Worker. The soak starts this program and sends a boolean to switch faults on or off,
 * which is sent back when it is done. While faults are on, crons run twice at the same time now and then.
 */
const CRONS_PAUSE_MS = 8_000;

const plan = process.env["SOAK_FAULTS"] ?? "";
const random = createRandom((JSON.parse(plan) as FaultPlan).seed);
const server = await runPlatform({ other: { main: "tools/soak/faulty/worker.ts", vars: { SOAK_FAULTS: plan } } });
const { crons } = readSettings(process.env);
const faults = { areOn: false };

process.on("message", (wanted: boolean) => {
  faults.areOn = wanted;
  void runCron(server, wanted ? FAULTS_ON : FAULTS_OFF).then(() => process.send?.(wanted));
  if (wanted) void runCronsTwice();
});

async function runCronsTwice(): Promise<void> {
  for (; faults.areOn; await sleep(CRONS_PAUSE_MS * random.share())) {
    // A cron fails where one of the faults meets a sweep; the next one repeats what was left undone.
    await Promise.allSettled([...crons, ...crons].map((cron) => runCron(server, cron)));
    console.log(faultLine({ fault: "crons run twice at once", way: "" }));
  }
}
