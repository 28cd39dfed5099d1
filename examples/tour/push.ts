import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { RequestOpts } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { ORDERS_PATH } from "../../scripts/make-orders.ts";
import { TourError } from "./exchange.ts";
import { EVENT_TYPE, signIn, type Cast } from "./people.ts";
import { startReceiver, type Received, type Receiver } from "./receiver.ts";
import type { Session } from "./session.ts";

const PATH = "/orders";
/** The subscription's address. */
const NAME = "billing";
const USERNAME = "plinth-tour";
const PATIENCE_MS = 10_000;

/**
 * Billing gets events pushed to an endpoint of its own, here an HTTP server of the tour. The endpoint fails once, so
 * that the delivery log has an entry. Only if the platform can reach this machine.
 */
export async function tellPush(session: Session, cast: Cast, reachable: boolean): Promise<void> {
  session.chapter("Billing has orders pushed to it");
  if (!reachable) return session.note("left out: this platform calls no endpoint on the machine of the tour");
  let healthy = true;
  const receiver = await startReceiver((_, response) => void response.writeHead(healthy ? 204 : 500).end());
  try {
    const owner = cast.shop.id;
    const token = await signIn(session, cast.billing, `${session.platform}.pubsub.topic=${owner}.${EVENT_TYPE}`);
    const push = await subscribe({ session, owner, token, receiver });
    await showTest(push);

    healthy = false;
    const publisher = await signIn(session, cast.shop);
    const [order = ""] = readFileSync(ORDERS_PATH, "utf8").split("\n");
    const published = await session.expect(
      201,
      (to) => api.publishEvents(owner, EVENT_TYPE, { payload: order }, {}, to),
      { token: publisher, note: "and nobody waits for the endpoint" },
    );
    const [eventId = ""] = published.data.ids;
    await showDelivery(push, eventId, order);
    healthy = true;
    await showRedelivery(push, eventId);

    await session.expect(204, (to) => api.deletePushSubscription(owner, EVENT_TYPE, NAME, to), { token });
    await session.expect(404, (to) => api.getPushSubscription(owner, EVENT_TYPE, NAME, to), { token });
  } finally {
    await receiver.close();
  }
}

interface Scene {
  readonly session: Session;
  /** The topic's address. */
  readonly owner: string;
  readonly token: string;
  readonly receiver: Receiver;
}

interface Push extends Scene {
  readonly secret: string;
  readonly password: string;
}

async function subscribe(scene: Scene): Promise<Push> {
  const { session, owner, token, receiver } = scene;
  const password = `${randomBytes(12).toString("base64url")} für Bücher`;
  const pushConfig = { endpoint: `${receiver.origin}${PATH}`, basicAuth: { username: USERNAME, password } };
  const made = await session.expect(
    201,
    (to) => api.createPushSubscription(owner, EVENT_TYPE, { name: NAME, pushConfig }, to),
    { token, note: "from now on" },
  );
  const { pathname } = new URL(`${session.base}/pubsub/v1/topics/${owner}/${EVENT_TYPE}/subscriptions/${NAME}`);
  session.same("Location is its address", new URL(made.header("location")).pathname, pathname);
  const { signingSecret: secret } = made.data;
  session.holds("a secret to check signatures with, shown once", /^whsec_\S{32,}$/.test(secret));
  const shown = await session.expect(200, (to) => api.getPushSubscription(owner, EVENT_TYPE, NAME, to), { token });
  session.same("the password is never shown again", shown.data.pushConfig.basicAuth.password, "********");
  session.holds("nor is the secret", !("signingSecret" in shown.data));
  return { ...scene, secret, password };
}

async function showTest(push: Push): Promise<void> {
  const { session, owner, token, receiver } = push;
  const tried = await session.expect(200, (to) => api.testPushSubscription(owner, EVENT_TYPE, NAME, to), {
    token,
    note: "an event of no topic",
  });
  session.same("it reaches the endpoint", [tried.data.delivered, tried.data.status], [true, 204]);
  check(push, (await receiver.wait(PATH, 1, PATIENCE_MS))[0]);
}

async function showDelivery(push: Push, eventId: string, order: string): Promise<void> {
  const { session, receiver } = push;
  const request = check(push, (await receiver.wait(PATH, 2, PATIENCE_MS))[1]);
  const event: api.Event = JSON.parse(request.body);
  session.same("the event, its payload byte for byte", [event.id, event.payload], [eventId, order]);
  const { headers } = request;
  session.same("its id in a header too", headers["webhook-id"], eventId);
  session.same("the first attempt", headers[`${session.platform}-delivery-attempt`], "1");

  const failed = await delivery(push, eventId, "pending");
  session.same("it failed", attempts(failed), [{ status: 500, error: "status" }]);
  const again = session.given("a time of the next attempt", failed.nextAttemptAt);
  session.holds("and is tried again 5 s later", again - (failed.attempts[0]?.at ?? again) >= 5_000, failed);
}

async function showRedelivery(push: Push, eventId: string): Promise<void> {
  const { session, owner, token, receiver } = push;
  await session.expect(202, (to) => api.redeliverEvent(owner, EVENT_TYPE, NAME, eventId, to), {
    token,
    note: "or at once",
  });
  const request = check(push, (await receiver.wait(PATH, 3, PATIENCE_MS))[2]);
  session.same("the second attempt", request.headers[`${session.platform}-delivery-attempt`], "2");
  const delivered = await delivery(push, eventId, "delivered");
  session.same("both are in the log", attempts(delivered), [
    { status: 500, error: "status" },
    { status: 204, error: null },
  ]);
}

/** Waits for the log of an event: the endpoint gets the request before the log has its result. */
async function delivery(
  { session, owner, token }: Push,
  eventId: string,
  state: api.Delivery["state"],
): Promise<api.Delivery> {
  const list = (to: RequestOpts) => api.listDeliveries(owner, EVENT_TYPE, NAME, { state }, to);
  const find = (deliveries: readonly api.Delivery[]): api.Delivery | undefined =>
    deliveries.find((one) => one.eventId === eventId && one.attempts.length > 0);
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    if (find((await session.expect(200, list, { token, quiet: true })).data) !== undefined) break;
    await sleep(50);
  }
  const { data } = await session.expect(200, list, { token });
  const found = find(data);
  session.holds("the delivery log knows the event", found !== undefined, data);
  return session.given("the event", found);
}

const attempts = (entry: api.Delivery): unknown[] => entry.attempts.map(({ status, error }) => ({ status, error }));

/** Shows the request without its password. */
function show(session: Session, { method, path, headers }: Received): void {
  session.note(`${method} ${path}, as the endpoint got it`);
  for (const [name, value] of Object.entries({ ...headers, authorization: "Basic …" }))
    if (!/^(host|content-length|cf-.*)$/.test(name)) session.note(`  ${name}: ${value}`);
}

/** Checks that every receiver must make: the caller, and the signature (Standard Webhooks). */
function check({ session, secret, password }: Push, request: Received | undefined): Received {
  if (request === undefined) throw new TourError("a request at the endpoint", "none");
  const { headers, body } = request;
  show(session, request);
  const credentials = Buffer.from(`${USERNAME}:${password}`).toString("base64");
  session.same("the endpoint is called with user and password", headers["authorization"], `Basic ${credentials}`);
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const signature = createHmac("sha256", key).update(signed).digest("base64");
  session.same("what came is signed", headers["webhook-signature"], `v1,${signature}`);
  return request;
}
