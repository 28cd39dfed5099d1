import { startEndpoint } from "../events/endpoint.ts";
import { BATCH, batchOf, PAYLOAD } from "../events/payload.ts";
import { call } from "../lib/exchange.ts";
import { QUEUE_QUIET_MS, type Meter } from "./meter.ts";
import { type Client, type Platform } from "../lib/platform.ts";
import type { Row } from "./tables.ts";

/** Events of 512 bytes on topics of one shard. */
export async function publishRows(platform: Platform, meter: Meter, repetitions: number): Promise<Row[]> {
  const owner = await platform.client("owner", ["pubsub_publish"]);
  const topicOf = await topics(platform, owner);
  const orders = await topicOf("published");
  const rows: Row[] = [];
  for (const events of [1, BATCH]) {
    const step = await publishing(orders, owner, events);
    rows.push(await meter.measure({ label: `publish ${events}`, repetitions, step }));
  }
  const end = retire(meter, () => publishing(orders, owner, 1));
  const withLater: Row[] = [];
  for (const [at, events] of [1, BATCH].entries()) {
    const begin = () => publishing(orders, owner, events);
    withLater.push({ ...rows[at]!, later: await meter.deletedLater({ repetitions, begin, end }) });
  }
  return withLater;
}

/** Longer than events and deliveries are kept. */
const RETIRED_MS = 8 * 24 * 60 * 60_000;

/** Moves the clock past the retention, then publishes once more: the call makes the object set its alarm again. */
const retire = (meter: Meter, publish: () => Promise<() => Promise<unknown>>) => async (): Promise<void> => {
  await meter.advance(RETIRED_MS);
  await (
    await publish()
  )();
};

export async function consumeRows(platform: Platform, meter: Meter, repetitions: number): Promise<Row[]> {
  const owner = await platform.client("owner", ["pubsub_publish"]);
  const reader = await platform.client("reader", ["pubsub.topic=*"]);
  const topicOf = await topics(platform, owner);
  const rows: Row[] = [];
  for (const events of [1, BATCH]) {
    const topic = await topicOf(`consumed-${events}`);
    const fill = await publishing(topic, owner, BATCH);
    for (let there = 0; there <= repetitions * events; there += BATCH) await fill();
    const headers = await reader.authorize();
    const step = async (): Promise<void> => {
      const read = await call("POST", `${topic}/read`, { headers, json: { numEvents: events } });
      await call("POST", `${topic}/commit`, { headers, json: { token: read.json().token } });
    };
    rows.push(await meter.measure({ label: `read and commit ${events}`, repetitions, step }));
  }
  return rows;
}

/** Publishes to a topic with one push subscription. A publish counts as done when all of it was delivered. */
export async function pushRows(platform: Platform, meter: Meter, repetitions: number): Promise<Row[]> {
  const owner = await platform.client("owner", ["pubsub_publish"]);
  const topic = await (await topics(platform, owner))("pushed");
  const endpoint = await startEndpoint();
  const rows: Row[] = [];
  try {
    const { pushConfig } = endpoint;
    const headers = await owner.authorize();
    await call("POST", `${topic}/subscriptions`, { status: 201, headers, json: { name: "endpoint", pushConfig } });
    const pushing = async (events: number) => {
      const publish = await publishing(topic, owner, events);
      return async (): Promise<void> => {
        const before = endpoint.received();
        await publish();
        await endpoint.receive(before + events);
      };
    };
    const few = Math.ceil(repetitions / 5);
    for (const events of [1, BATCH]) {
      const label = `publish ${events}, pushed to one endpoint`;
      rows.push(await meter.measure({ label, repetitions: few, step: await pushing(events) }));
    }
    const end = retire(meter, () => pushing(1));
    for (const [at, events] of [1, BATCH].entries()) {
      const later = await meter.deletedLater({
        repetitions: few,
        begin: () => pushing(events),
        end,
        quietMs: QUEUE_QUIET_MS,
      });
      rows[at] = { ...rows[at]!, later };
    }
  } finally {
    endpoint.close();
  }
  return rows;
}

/** Makes topics and returns their addresses. */
export async function topics({ base }: Platform, owner: Client): Promise<(eventType: string) => Promise<string>> {
  const headers = await owner.authorize();
  return async (eventType) => {
    await call("POST", `${base}/pubsub/v1/topics`, { status: 201, headers, json: { eventType } });
    return `${base}/pubsub/v1/topics/${owner.id}/${eventType}`;
  };
}

export async function publishing(topic: string, owner: Client, events: number): Promise<() => Promise<unknown>> {
  const headers = await owner.authorize();
  const json = events === 1 ? { payload: PAYLOAD } : batchOf(events, { payload: PAYLOAD });
  return () => call("POST", `${topic}/publish`, { status: 201, headers, json });
}
