import { PushSubscriptionObject } from "./events/push/push-subscription.do.ts";
import { createApp } from "./app.ts";
import { createDeps, type Deps } from "./deps.ts";
import type { Env } from "./env.ts";
import type { App } from "./http/mount.ts";
import { runSchedule } from "./schedule.ts";

export { TopicConsumer } from "./events/consume/topic-consumer.do.ts";
export { GuessCounter } from "./oauth/sign-in/guess-counter.do.ts";
export { LoginAttempts } from "./oauth/sign-in/login-attempts.do.ts";
export { TopicLog } from "./events/log/topic-log.do.ts";

/** Gets its dependencies from deps.ts: to deliver, it checks the client's rights and opens a sealed password. */
export class PushSubscription extends PushSubscriptionObject {
  constructor(context: DurableObjectState, env: Env) {
    super(context, env, start(env).deps.push);
  }
}

/** Made at the first event of an isolate and kept: bindings and variables do not change while it lives. */
let running: { readonly env: Env; readonly deps: Deps; readonly app: App } | undefined;

function start(env: Env): { readonly deps: Deps; readonly app: App } {
  if (running?.env.DB === env.DB) return running;
  const deps = createDeps(env);
  running = { env, deps, app: createApp(deps) };
  return running;
}

export default {
  fetch: (request, env, context) => start(env).app.fetch(request, env, context),
  queue: (batch, env) => start(env).deps.media.consume(batch),
  scheduled: (controller, env) => runSchedule(start(env).deps, controller.scheduledTime),
} satisfies ExportedHandler<Env>;
