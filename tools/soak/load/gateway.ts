import type { Reply } from "../world/caller.ts";
import { expectStatus, type Operation, type Stage, type Turn } from "./operation.ts";

/** The longest time for which a breaker opened by a hanging service stays open: its longest pause and a probe. */
const BREAKER_MS = 70_000;
/** If answers take longer than this on a busy machine, the gateway may rightly have given up. */
const BUSY_MS = 10_000;

export interface GatewayLoad {
  readonly operations: readonly Operation[];
  /** Asks until the recovered service is reached. */
  drain(turn: Turn): Promise<void>;
}

/** Requests to the service behind the gateway, which answers its private address and the caller's identity. */
export function gatewayLoad(stage: Stage): GatewayLoad {
  const { world, caller, outside, violations } = stage;
  let asked = 0;
  /** Time of the last answer that took longer; `performance.now()`. */
  let busyMs = Number.NEGATIVE_INFINITY;

  const ask = async ({ dueMs, random }: Turn): Promise<boolean> => {
    const path = `/echo/${++asked}`;
    const headers = { authorization: await world.authorization("shop") };
    const request = { kind: "gateway", method: "GET", path: `${world.proxyPath}${path}`, headers, dueMs };
    const sentMs = performance.now();
    const reply = await caller.once({ ...request, takes503: true }, random);
    if (performance.now() - sentMs > BUSY_MS) busyMs = performance.now();
    if (reply === undefined) return false;
    if (reply.status === 200) return check(path, reply);
    const isFailed = outside.failed.has(`/v1${path}`);
    const isPaused = performance.now() - Math.max(outside.hungMs, busyMs) < BREAKER_MS;
    if (expectStatus(stage, "gateway", reply, [502, 503]))
      violations.expect(
        "the gateway fails only where its service fails",
        isFailed || (reply.status === 503 && isPaused),
        () => `${path}: ${reply.status} ${reply.bytes.toString("utf8", 0, 200)}`,
      );
    return false;
  };

  const check = (path: string, reply: Reply): true => {
    const self = `${world.base}${world.proxyPath}${path}`;
    const shown = `${reply.bytes.toString("utf8")} ${JSON.stringify(reply.headers)}`;
    const isRewritten = reply.body?.self === self && reply.headers.link === `<${self}>; rel="self"`;
    violations.expect("the gateway's answers are rewritten", isRewritten, () => shown);
    violations.expect("no private address is shown", !shown.includes(new URL(world.sourceUrl).host), () => shown);
    const { [`${world.platform}-tenant`]: tenant, [`${world.platform}-client`]: client } = reply.body?.identity ?? {};
    const isKnown = tenant === world.tenants[0] && client === `${world.run}.shop`;
    violations.expect("the service is told who calls", isKnown, () => shown);
    return true;
  };

  return {
    operations: [{ weight: 15, run: async (turn) => void (await ask(turn)) }],
    async drain({ random }) {
      for (const endMs = performance.now() + BREAKER_MS; performance.now() < endMs;) {
        if (await ask({ dueMs: performance.now(), random })) return;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      violations.add("the gateway reaches a service that is well again", world.proxyPath);
    },
  };
}
