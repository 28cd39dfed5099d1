import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ORDERS_PATH } from "../make-orders.ts";
import { EVENT_TYPE, signIn, type Cast } from "./people.ts";
import type { Session } from "./session.ts";

const ONE_BY_ONE = 20;
const BATCH = 70;
const READ = 50;
const METADATA = { schema: "order_v1" };

interface Event {
  readonly id: string;
  readonly createdAt: number;
  readonly tenant: string;
  readonly sourceClient: string;
  readonly eventType: string;
  readonly payload: string;
  readonly metadata?: Record<string, string>;
}

/** The shop publishes orders; billing reads them under a lock, commits, and gets every byte, in order. */
export async function tellEvents(session: Session, cast: Cast): Promise<void> {
  const orders = readFileSync(ORDERS_PATH, "utf8").split("\n").filter(Boolean);
  const topic = `/pubsub/v1/topics/${cast.shop.id}/${EVENT_TYPE}`;

  session.chapter(`The shop publishes ${orders.length} orders`);
  const publisher = await signIn(session, cast.shop);
  const startedMs = Date.now();
  const created = await session.call(201, "POST", "/pubsub/v1/topics", {
    token: publisher,
    json: { eventType: EVENT_TYPE, description: "An order was placed" },
  });
  session.same("its address", new URL(created.header("location")).pathname, new URL(session.base + topic).pathname);
  await session.call(409, "POST", "/pubsub/v1/topics", {
    token: publisher,
    json: { eventType: EVENT_TYPE },
    note: "a topic is made once",
  });
  const ids = await publishAll(session, `${topic}/publish`, publisher, orders);
  session.same("an id for each order, no two alike", new Set(ids).size, orders.length);

  session.chapter("Billing reads under a lock, and commits");
  const token = await signIn(session, cast.billing, `${session.platform}.pubsub.topic=${cast.shop.id}.${EVENT_TYPE}`);
  const consumer: Consumer = { session, topic, token };
  const read: Event[] = [];
  read.push(...(await showLock(consumer)));
  read.push(...(await showExpiry(consumer)));
  read.push(...(await readRest(consumer)));

  session.same(
    `${orders.length} payloads, byte for byte and in order`,
    read.map((event) => event.payload),
    orders,
  );
  session.same(
    "with the ids that publishing answered",
    read.map((event) => event.id),
    ids,
  );
  const about = ({ tenant, sourceClient, eventType, metadata }: Event): unknown => ({
    tenant,
    sourceClient,
    eventType,
    metadata,
  });
  const expected = { tenant: cast.tenant, sourceClient: cast.shop.id, eventType: EVENT_TYPE, metadata: METADATA };
  session.same(
    "each with tenant, publisher, type and metadata",
    read.map(about),
    read.map(() => expected),
  );
  const slackMs = 60_000;
  session.holds(
    "received just now, by its clock",
    read.every(({ createdAt }) => createdAt >= startedMs - slackMs && createdAt <= Date.now() + slackMs),
  );
}

async function publishAll(session: Session, address: string, token: string, orders: string[]): Promise<string[]> {
  const ids: string[] = [];
  const event = (payload: string): unknown => ({ payload, metadata: METADATA });
  const startedMs = performance.now();
  for (const order of orders.slice(0, ONE_BY_ONE))
    ids.push(...(await session.call(201, "POST", address, { token, json: event(order), quiet: true })).json().ids);
  session.row("POST", address, 201, performance.now() - startedMs, `${ONE_BY_ONE} requests, one order each`);
  for (let at = ONE_BY_ONE; at < orders.length; at += BATCH) {
    const batch = orders.slice(at, at + BATCH);
    const answer = await session.call(201, "POST", address, {
      token,
      json: batch.map(event),
      note: `${batch.length} orders in one request`,
    });
    ids.push(...answer.json().ids);
  }
  return ids;
}

interface Consumer {
  readonly session: Session;
  readonly topic: string;
  readonly token: string;
}

const post = ({ session, topic, token }: Consumer, status: number, verb: string, json: unknown, note?: string) =>
  session.call(status, "POST", `${topic}/${verb}`, { token, json, note });

async function showLock(consumer: Consumer): Promise<Event[]> {
  const { session } = consumer;
  const first = (await post(consumer, 200, "read", { numEvents: READ }, "locks the topic for billing")).json();
  session.same("as many events as asked for", first.events.length, READ);

  const locked = await post(consumer, 409, "read", { numEvents: READ }, "still locked");
  session.same("it says why", locked.json().type, "topic_locked");
  session.holds("and when to come again", Number(locked.header("retry-after")) >= 1, locked.headers.get("retry-after"));

  await post(consumer, 200, "commit", { token: first.token });
  const again = (
    await post(consumer, 409, "commit", { token: first.token }, "the answer was lost, so once more")
  ).json();
  session.same("it was done already", [again.type, again.details[0].type], ["topic_not_locked", "already_committed"]);
  return first.events as Event[];
}

/** A consumer that dies with a lock in hand: after the lock's time the events come again. */
async function showExpiry(consumer: Consumer): Promise<Event[]> {
  const { session } = consumer;
  const lost = (await post(consumer, 200, "read", { numEvents: READ, ttlMs: 1_000 }, "and never commits")).json();
  await sleep(1_100);
  const late = (await post(consumer, 409, "commit", { token: lost.token }, "after a second")).json();
  session.same("the lock was gone", [late.type, late.details[0].type], ["topic_not_locked", "lock_expired"]);

  const second = await post(consumer, 200, "read", { numEvents: READ });
  const { events, token } = second.json();
  session.same("the same events come again", events, lost.events);
  session.same("as their second delivery", second.header(`${session.platform}-delivery-attempt`), "2");
  await post(consumer, 200, "commit", { token });
  return events as Event[];
}

async function readRest(consumer: Consumer): Promise<Event[]> {
  const { session, topic, token } = consumer;
  const all: Event[] = [];
  const deprecated = await session.call(200, "POST", `${topic.replace("/pubsub/", "/events/")}/read`, {
    token,
    json: { numEvents: READ, autoCommit: true },
    note: "the deprecated service: the same topic",
  });
  const { events, token: none } = deprecated.json();
  session.same("committed at once, so no lock token", none, undefined);
  session.holds("marked as deprecated", /^@\d+$/.test(deprecated.header("deprecation")));
  all.push(...(events as Event[]));

  for (;;) {
    const answer = await session.ask("POST", `${topic}/read`, { token, json: { numEvents: READ } });
    if (answer.status === 204) break;
    session.holds(`${answer.json().events.length} more`, answer.status === 200, answer.json());
    all.push(...(answer.json().events as Event[]));
    await post(consumer, 200, "commit", { token: answer.json().token });
  }
  session.holds("204: the topic holds no more", true);
  return all;
}
