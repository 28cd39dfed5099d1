import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { RequestOpts } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { ORDERS_PATH } from "../../scripts/make-orders.ts";
import { EVENT_TYPE, signIn, type Cast } from "./people.ts";
import type { Session, With } from "./session.ts";

const ONE_BY_ONE = 20;
const BATCH = 70;
const READ = 50;
const METADATA = { schema: "order_v1" };

/** The shop publishes orders. Billing reads them under a lock, commits, and gets every byte in order. */
export async function tellEvents(session: Session, cast: Cast): Promise<void> {
  const orders = readFileSync(ORDERS_PATH, "utf8").split("\n").filter(Boolean);
  const owner = cast.shop.id;

  session.chapter(`The shop publishes ${orders.length} orders`);
  const publisher = await signIn(session, cast.shop);
  const startedMs = Date.now();
  const create = (to: RequestOpts) =>
    api.createTopic({ eventType: EVENT_TYPE, description: "An order was placed" }, to);
  const created = await session.expect(201, create, { token: publisher });
  const { pathname } = new URL(`${session.base}/pubsub/v1/topics/${owner}/${EVENT_TYPE}`);
  session.same("Location is its address", new URL(created.header("location")).pathname, pathname);
  await session.expect(409, create, { token: publisher, note: "a topic is made once" });
  const ids = await publishAll(session, owner, publisher, orders);
  session.same("an id for each order, no two alike", new Set(ids).size, orders.length);

  session.chapter("Billing reads under a lock, and commits");
  const token = await signIn(session, cast.billing, `${session.platform}.pubsub.topic=${owner}.${EVENT_TYPE}`);
  const consumer: Consumer = { session, owner, token };
  const events = [...(await showLock(consumer)), ...(await showExpiry(consumer)), ...(await readRest(consumer))];

  session.same(
    `${orders.length} payloads, byte for byte and in order`,
    events.map((event) => event.payload),
    orders,
  );
  session.same(
    "with the ids that publishing answered",
    events.map((event) => event.id),
    ids,
  );
  const about = ({ tenant, sourceClient, eventType, metadata }: api.Event): unknown => ({
    tenant,
    sourceClient,
    eventType,
    metadata,
  });
  const expected = { tenant: cast.tenant, sourceClient: owner, eventType: EVENT_TYPE, metadata: METADATA };
  session.same(
    "each with tenant, publisher, type and metadata",
    events.map(about),
    events.map(() => expected),
  );
  const slackMs = 60_000;
  session.holds(
    "received just now, by its clock",
    events.every(({ createdAt }) => createdAt >= startedMs - slackMs && createdAt <= Date.now() + slackMs),
  );
}

async function publishAll(session: Session, owner: string, token: string, orders: string[]): Promise<string[]> {
  const ids: string[] = [];
  const event = (payload: string) => ({ payload, metadata: METADATA });
  const publish = async (body: api.NewEvent | api.NewEvent[], more: Pick<With, "note" | "quiet">): Promise<void> => {
    const request = (to: RequestOpts) => api.publishEvents(owner, EVENT_TYPE, body, {}, to);
    ids.push(...(await session.expect(201, request, { token, ...more })).data.ids);
  };
  const startedMs = performance.now();
  for (const order of orders.slice(0, ONE_BY_ONE)) await publish(event(order), { quiet: true });
  const address = `/pubsub/v1/topics/${owner}/${EVENT_TYPE}/publish`;
  session.row("POST", address, 201, performance.now() - startedMs, `${ONE_BY_ONE} requests, one order each`);
  for (let at = ONE_BY_ONE; at < orders.length; at += BATCH) {
    const batch = orders.slice(at, at + BATCH);
    await publish(batch.map(event), { note: `${batch.length} orders in one request` });
  }
  return ids;
}

interface Consumer {
  readonly session: Session;
  readonly owner: string;
  readonly token: string;
}

const read =
  ({ owner }: Consumer, ttlMs?: number) =>
  (to: RequestOpts) =>
    api.readEvents(owner, EVENT_TYPE, { numEvents: READ, ttlMs }, {}, to);

const commit =
  ({ session, owner }: Consumer, batch: api.Batch) =>
  (to: RequestOpts) =>
    api.commitEvents(owner, EVENT_TYPE, { token: session.given("a token of the lock", batch.token) }, {}, to);

async function showLock(consumer: Consumer): Promise<api.Event[]> {
  const { session, token } = consumer;
  const { data: first } = await session.expect(200, read(consumer), { token, note: "locks the topic for billing" });
  session.same("as many events as asked for", first.events.length, READ);

  const locked = await session.expect(409, read(consumer), { token, note: "still locked" });
  session.same("it says why: topic_locked", locked.data.type, "topic_locked");
  session.holds("and when to come again", Number(locked.header("retry-after")) >= 1, locked.headers.get("retry-after"));

  await session.expect(200, commit(consumer, first), { token });
  const again = await session.expect(409, commit(consumer, first), {
    token,
    note: "the answer was lost, so once more",
  });
  session.same("it was done already: already_committed", reasons(again.data), [
    "topic_not_locked",
    "already_committed",
  ]);
  return first.events;
}

/** A consumer dies with a lock: after the lock's time the events are delivered again. */
async function showExpiry(consumer: Consumer): Promise<api.Event[]> {
  const { session, token } = consumer;
  const { data: lost } = await session.expect(200, read(consumer, 1_000), { token, note: "and never commits" });
  await sleep(1_100);
  const late = await session.expect(409, commit(consumer, lost), { token, note: "after a second" });
  session.same("the lock was gone: lock_expired", reasons(late.data), ["topic_not_locked", "lock_expired"]);

  const second = await session.expect(200, read(consumer), { token });
  session.same("the same events come again", second.data.events, lost.events);
  session.same("as their second delivery", second.header(`${session.platform}-delivery-attempt`), "2");
  await session.expect(200, commit(consumer, second.data), { token });
  return lost.events;
}

const reasons = ({ type, details }: api.Error): unknown => [type, details[0]?.type];

async function readRest(consumer: Consumer): Promise<api.Event[]> {
  const { session, owner, token } = consumer;
  const all: api.Event[] = [];
  const atOnce = { numEvents: READ, autoCommit: true };
  const deprecated = await session.expect(200, (to) => api.deprecatedReadEvents(owner, EVENT_TYPE, atOnce, {}, to), {
    token,
    note: "the deprecated service: the same topic",
  });
  session.same("committed at once, so no lock token", deprecated.data.token, undefined);
  session.holds("marked as deprecated", /^@\d+$/.test(deprecated.header("deprecation")));
  all.push(...deprecated.data.events);

  for (;;) {
    const answer = await session.expect([200, 204], read(consumer), { token });
    if (answer.status === 204) break;
    session.holds(`${answer.data.events.length} more`, answer.data.events.length > 0);
    all.push(...answer.data.events);
    await session.expect(200, commit(consumer, answer.data), { token });
  }
  session.holds("204: the topic holds no more", true);
  return all;
}
