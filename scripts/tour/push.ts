import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ORDERS_PATH } from "../make-orders.ts";
import { EVENT_TYPE, signIn, type Cast } from "./people.ts";
import { startReceiver, type Received, type Receiver } from "./receiver.ts";
import { TourError, type Session } from "./session.ts";

const PATH = "/orders";
const USERNAME = "plinth-tour";
const PATIENCE_MS = 10_000;

/**
 * Billing does not ask any more, it is told: a subscription with an endpoint of its own, here an HTTP server of the tour.
 * The endpoint fails once, so the delivery log has something to tell. Only where the platform can reach this machine.
 */
export async function tellPush(session: Session, cast: Cast, reachable: boolean): Promise<void> {
  session.chapter("Billing has orders pushed to it");
  if (!reachable) return session.note("left out: this platform calls no endpoint on the machine of the tour");
  let healthy = true;
  const receiver = await startReceiver((_, response) => void response.writeHead(healthy ? 204 : 500).end());
  try {
    const topic = `/pubsub/v1/topics/${cast.shop.id}/${EVENT_TYPE}`;
    const token = await signIn(session, cast.billing, `${session.platform}.pubsub.topic=${cast.shop.id}.${EVENT_TYPE}`);
    const push = await subscribe({ session, topic, token, receiver });
    await showTest(push);

    healthy = false;
    const publisher = await signIn(session, cast.shop);
    const [order = ""] = readFileSync(ORDERS_PATH, "utf8").split("\n");
    const published = { token: publisher, json: { payload: order }, note: "and nobody waits for the endpoint" };
    const eventId = (await session.call(201, "POST", `${topic}/publish`, published)).json().ids[0] as string;
    await showDelivery(push, eventId, order);
    healthy = true;
    await showRedelivery(push, eventId);

    await session.call(204, "DELETE", push.subscription, { token });
    await session.call(404, "GET", push.subscription, { token });
  } finally {
    await receiver.close();
  }
}

interface Scene {
  readonly session: Session;
  readonly topic: string;
  readonly token: string;
  readonly receiver: Receiver;
}

interface Push extends Scene {
  readonly subscription: string;
  readonly secret: string;
  readonly password: string;
}

async function subscribe(scene: Scene): Promise<Push> {
  const { session, topic, token, receiver } = scene;
  const password = `${randomBytes(12).toString("base64url")} für Bücher`;
  const pushConfig = { endpoint: `${receiver.origin}${PATH}`, basicAuth: { username: USERNAME, password } };
  const made = await session.call(201, "POST", `${topic}/subscriptions`, {
    token,
    json: { name: "billing", pushConfig },
    note: "from now on",
  });
  const subscription = `${topic}/subscriptions/billing`;
  session.same("its address", new URL(made.header("location")).pathname, new URL(session.base + subscription).pathname);
  const { signingSecret } = made.json();
  session.holds("a secret to check signatures with, shown once", /^whsec_\S{32,}$/.test(signingSecret));
  const shown = (await session.call(200, "GET", subscription, { token })).json();
  session.same(
    "the password is never shown again, nor is the secret",
    [shown.pushConfig.basicAuth.password, shown.signingSecret],
    ["********", undefined],
  );
  return { ...scene, subscription, secret: signingSecret as string, password };
}

async function showTest(push: Push): Promise<void> {
  const { session, subscription, token, receiver } = push;
  const tried = (
    await session.call(200, "POST", `${subscription}/test`, { token, note: "an event of no topic" })
  ).json();
  session.same("it reaches the endpoint", [tried.delivered, tried.status], [true, 204]);
  check(push, (await receiver.wait(PATH, 1, PATIENCE_MS))[0]);
}

async function showDelivery(push: Push, eventId: string, order: string): Promise<void> {
  const { session, receiver } = push;
  const request = check(push, (await receiver.wait(PATH, 2, PATIENCE_MS))[1]);
  const event = JSON.parse(request.body);
  session.same("the event, its payload byte for byte", [event.id, event.payload], [eventId, order]);
  const { headers } = request;
  session.same("its id in a header too", headers["webhook-id"], eventId);
  session.same("the first attempt", headers[`${session.platform}-delivery-attempt`], "1");

  const failed = await delivery(push, eventId, "pending");
  session.same("it failed", attempts(failed), [{ status: 500, error: "status" }]);
  session.holds("and is tried again 5 s later", failed.nextAttemptAt - failed.attempts[0].at >= 5_000, failed);
}

async function showRedelivery(push: Push, eventId: string): Promise<void> {
  const { session, subscription, token, receiver } = push;
  await session.call(202, "POST", `${subscription}/deliveries/${eventId}/redeliver`, { token, note: "or at once" });
  const request = check(push, (await receiver.wait(PATH, 3, PATIENCE_MS))[2]);
  session.same("the second attempt", request.headers[`${session.platform}-delivery-attempt`], "2");
  const delivered = await delivery(push, eventId, "delivered");
  session.same("both are in the log", attempts(delivered), [
    { status: 500, error: "status" },
    { status: 204, error: null },
  ]);
}

/** What the log says of an event. The endpoint sees a request a moment before the log knows how it went. */
async function delivery({ session, subscription, token }: Push, eventId: string, state: string): Promise<any> {
  const address = `${subscription}/deliveries?state=${state}`;
  const isThere = ({ eventId: id, attempts: made }: any): boolean => id === eventId && made.length > 0;
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    if ((await session.call(200, "GET", address, { token, quiet: true })).json().some(isThere)) break;
    await sleep(50);
  }
  const deliveries: any[] = (await session.call(200, "GET", address, { token })).json();
  session.holds("the delivery log knows the event", deliveries.some(isThere), deliveries);
  return deliveries.find(isThere);
}

const attempts = (entry: { attempts: { status: number | null; error: string | null }[] }): unknown[] =>
  entry.attempts.map(({ status, error }) => ({ status, error }));

/** What came to the endpoint; its password stays out of the terminal. */
function show(session: Session, { method, path, headers }: Received): void {
  session.note(`${method} ${path}, as the endpoint got it`);
  for (const [name, value] of Object.entries({ ...headers, authorization: "Basic …" }))
    if (!/^(host|content-length|cf-.*)$/.test(name)) session.note(`  ${name}: ${value}`);
}

/** What every receiver has to check: who calls, and that nobody changed what the platform signed (Standard Webhooks). */
function check({ session, secret, password }: Push, request: Received | undefined): Received {
  if (request === undefined) throw new TourError("expected: a request at the endpoint\n     got: none");
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
