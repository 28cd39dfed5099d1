import { env } from "cloudflare:workers";
import type { Env } from "../../../src/env.ts";
import { Chance } from "./chance.ts";
import type { FaultPlan } from "./plan.ts";
import { FAULTS_OFF, FAULTS_ON } from "./plan.ts";
import { aborting } from "./objects.ts";
import { repeating } from "./messages.ts";

import platform, * as objects from "../../../src/worker.ts";

/**
 * The platform's Worker with faults inside, only for `npm run soak`: objects abort at random, and queue messages are
 * delivered again. A cron that only the runtime's owner can send switches the faults; no request can.
 */
const chance = new Chance(JSON.parse((env as unknown as FaultyEnv).SOAK_FAULTS) as FaultPlan);

export const TopicLog = aborting("TopicLog aborted", objects.TopicLog, chance);
export const TopicConsumer = aborting("TopicConsumer aborted", objects.TopicConsumer, chance);
export const PushSubscription = aborting("PushSubscription aborted", objects.PushSubscription, chance);
export const LoginAttempts = aborting("LoginAttempts aborted", objects.LoginAttempts, chance);
/** Never called: the soak runs with loopback addresses allowed. */
export const GuessCounter = objects.GuessCounter;
export const { MetricsCollector, MetricsStore, BackupJob, ShardDatabase } = objects;

interface FaultyEnv extends Env {
  /** A `FaultPlan` as JSON. */
  readonly SOAK_FAULTS: string;
}

export default {
  fetch: platform.fetch,
  queue: repeating(platform.queue, chance),
  async scheduled(controller, bindings) {
    const { cron } = controller;
    if (cron === FAULTS_ON || cron === FAULTS_OFF) chance.isOn = cron === FAULTS_ON;
    else await platform.scheduled(controller, bindings);
  },
} satisfies ExportedHandler<Env>;
