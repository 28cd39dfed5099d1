import type { AnswerMemory } from "../../http/input/body-memory.ts";
import type { Problem } from "../../http/errors/errors.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import type { Log } from "../../platform/runtime/log.ts";
import type { Result } from "../../platform/model/result.ts";
import type { Reader } from "../access/reader.ts";
import { logOf } from "../log/client.ts";
import type { Failure } from "../model/failure.ts";
import { WAIT } from "../model/limits.ts";
import { addressOf, shardFor, shardsOf, type TopicAddress, type TopicId } from "../model/topic.ts";
import { bytesFor, read, type ReadAnswer, type ReadBody } from "./read.ts";
import type { ConsumePorts } from "./stub.ts";

export interface WaitPorts extends ConsumePorts {
  readonly clock: Clock;
  readonly log: Log;
}

/** How a request waits. */
export interface Waiting {
  readonly ms: number;
  readonly key: string | null;
  /** Checks the caller's token before each further read, since it may have been revoked. */
  readonly checkToken: () => Promise<Problem | undefined>;
  /** Called after each pause with its length, which is not work. */
  readonly waited: (ms: number) => void;
  /** Reserved only during a read, and for its batch. */
  readonly memory: AnswerMemory;
  /** Aborts when the client has left, if the runtime notices it. */
  readonly left: AbortSignal;
}

/**
 * A read that waits for its first event (`Prefer: wait=20`):
 *
 *   read ──batch, refusal, a shard that fails──▶ answer
 *    ▲ └──nothing──▶ wait at the log of each shard for later events (log/waiting-readers.ts)
 *    │                │
 *    └──a new event, a lost connection, or the time is over (then the last read)
 *
 * The Worker waits while the objects hibernate. A new event may belong to another tenant, or a parallel read may take
 * it, so each round lasts longer than the one before. The wait ends if the client leaves (hand-over.ts).
 */
export async function readWaiting(
  ports: WaitPorts,
  id: TopicId,
  reader: Reader,
  body: ReadBody,
  { ms, key, checkToken, waited, memory, left }: Waiting,
): Promise<Result<ReadAnswer, Failure | Problem>> {
  const { clock } = ports;
  const endMs = clock.nowMs() + ms;
  for (let rounds = 0; ; rounds++) {
    const nowMs = clock.nowMs();
    const answer = await read(ports, id, reader, { body, key, maxChars: memory.reserve(bytesFor(body)) }, nowMs);
    if (!answer.ok || answer.value.kind === "batch" || answer.value.more) return answer;
    memory.release();
    const { upTo } = answer.value;
    const leftMs = endMs - clock.nowMs();
    if (leftMs <= 0 || upTo === undefined || left.aborted) return answer;
    const topic = await ports.directory.onActive(id, nowMs, async (active) => addressOf(active));
    if (topic === undefined) continue;
    const roundMs = Math.min(WAIT.minRoundMs * 2 ** rounds, WAIT.maxRoundMs);
    const pausedMs = clock.nowMs();
    const round = scheduler.wait(Math.min(roundMs, leftMs), { signal: left }).catch(() => undefined);
    await Promise.all([untilMore(ports, topic, reader, { upTo, ms: leftMs, left }), round]);
    waited(Math.max(clock.nowMs() - pausedMs, 0));
    if (left.aborted) return answer;
    const refused = await checkToken();
    if (refused !== undefined) return { ok: false, error: refused };
  }
}

/** Resolves when a shard has a new event, a log cannot be asked, the time is over, or the client has left. */
async function untilMore(
  { logs, log }: WaitPorts,
  topic: TopicAddress,
  { onlyTenant }: Reader,
  { upTo, ms, left }: Pick<Waiting, "ms" | "left"> & { readonly upTo: readonly number[] },
): Promise<void> {
  const shards = onlyTenant === undefined ? shardsOf(topic) : [shardFor(onlyTenant, topic.shards)];
  const sockets: WebSocket[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let isOver = false;
  const timer = setTimeout(resolve, ms);
  const leave = (): void => resolve();
  left.addEventListener("abort", leave);
  // A signal that has aborted already fires no event.
  if (left.aborted) leave();
  const waitAt = async (shard: number): Promise<void> => {
    try {
      const address = `https://log/news?after=${Math.max(0, upTo[shard] ?? 0)}`;
      const { webSocket } = await logOf(logs, topic, shard).fetch(address, { headers: { upgrade: "websocket" } });
      if (webSocket === null) return resolve();
      webSocket.addEventListener("close", () => resolve());
      webSocket.addEventListener("error", () => resolve());
      webSocket.accept();
      if (isOver) webSocket.close();
      else sockets.push(webSocket);
    } catch (thrown) {
      log.warn("topic log failed", { eventType: topic.eventType, shard, error: String(thrown) });
      resolve();
    }
  };
  for (const shard of shards) void waitAt(shard);
  await promise;
  isOver = true;
  clearTimeout(timer);
  left.removeEventListener("abort", leave);
  for (const socket of sockets) socket.close();
}
