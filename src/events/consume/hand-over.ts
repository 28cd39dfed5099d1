import { describeError, type Log } from "../../platform/runtime/log.ts";
import { withSize } from "../../http/request-meter.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import type { Reader } from "../access/reader.ts";
import { WAIT } from "../model/limits.ts";
import type { TopicId } from "../model/topic.ts";
import { consumerOf, type ConsumePorts } from "./stub.ts";
import type { GivenBack } from "./types.ts";
import type { WaitUntil } from "../../platform/runtime/wait-until.ts";

interface Ends {
  /** Called if the client left before it had everything. Undefined: the caller need not know. */
  readonly onLeft: (() => Promise<void>) | undefined;
  readonly onEnd: () => void;
}

/**
 * Sends a batch to a client that waited and may have left meanwhile:
 *
 *   all bytes but the last ones ──▶ the connection is closed: a write fails ──▶ give the batch back, unlock the topic
 *          │ a turn of the event loop
 *   the last two, one by one ────▶ the client has the batch
 *
 * A closed connection answers the first write with a reset and refuses the writes after it. One turn of the event loop
 * is enough for a client on the same machine; for others `request.signal` reports that they left. If a client leaves
 * later, or its proxy took the bytes, the lock stays until it expires. A large batch for a client that did not wait is
 * sent here too, since its memory is reserved until the last byte is sent.
 */
export async function handOver(response: Response, waitUntil: WaitUntil, { onLeft, onEnd }: Ends): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { readable, writable } = new FixedLengthStream(bytes.byteLength);
  const send = async (): Promise<void> => {
    const writer = writable.getWriter();
    try {
      const last = bytes.byteLength - (onLeft === undefined ? 0 : WAIT.probes);
      await writer.write(bytes.subarray(0, last));
      for (let at = last; at < bytes.byteLength; at++) {
        await scheduler.wait(0);
        await writer.write(bytes.subarray(at, at + 1));
      }
      await writer.close();
    } catch {
      await onLeft?.();
    } finally {
      onEnd();
    }
  };
  waitUntil(send());
  return withSize(new Response(readable, response), bytes.byteLength);
}

interface GivePorts extends ConsumePorts {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Releases a batch that its reader did not receive. With `autoCommit` there is no token: its events are lost. True if
 * the events will be read again.
 */
export async function giveBack(
  { directory, consumers, clock, log }: GivePorts,
  id: TopicId,
  reader: Reader,
  token: string | undefined,
): Promise<boolean> {
  if (token === undefined) return false;
  try {
    const outcome = await directory.onActive(id, clock.nowMs(), async (topic): Promise<GivenBack> =>
      consumerOf(consumers, topic, reader.name).giveBack(token),
    );
    if (outcome?.kind === "kept") return false;
    log.info("batch given back", { eventType: id.eventType });
  } catch (thrown) {
    // The lock expires by itself.
    log.warn("batch not given back", { eventType: id.eventType, error: describeError(thrown) });
  }
  return true;
}
