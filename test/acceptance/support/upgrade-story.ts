import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RequestOpts } from "@oazapfts/runtime";
import * as api from "../../../api/plinth.ts";
import { basic, EVENT_TYPE, newName, setUp, signIn, signInOperator, type Cast } from "../../../examples/tour/people.ts";
import { startReceiver, type Receiver } from "../../../examples/tour/receiver.ts";
import type { Session } from "../../../examples/tour/session.ts";
import { cookiesOf, formOf } from "../../../examples/tour/sign-in.ts";
import { ROOT } from "../../../scripts/lib/root.ts";
import type { Upstream } from "./parties/upstream.ts";

/**
 * A story of the whole platform in two halves. `begin` leaves everything half done: a lock is held, a push has failed,
 * an upload is not committed, a person is signed in. `finish` takes it up, perhaps at another version of the platform,
 * and finds all that was begun.
 */
export interface Begun {
  readonly cast: Cast;
  readonly tokens: {
    readonly operator: string;
    readonly shop: string;
    readonly billing: string;
    readonly revoked: string;
  };
  /** The ids of the events, and the lock on the first one. */
  readonly events: readonly string[];
  readonly lock: string;
  /** Where events are pushed to. It fails until the story goes on. */
  readonly receiver: Receiver;
  readonly endpoint: { healthy: boolean };
  readonly signedIn: { readonly cookies: string; readonly access: string; readonly refresh: string };
  readonly stored: string;
  readonly uploaded: string;
}

const PHOTO = readFileSync(join(ROOT, "scripts", "data", "photo.jpg"));
const CLIP = { clip: "64x64" };
const PUSH = "billing";
const REDIRECT = "http://127.0.0.1/callback";
const PATIENCE_MS = 30_000;
const SERVICE = "upgraded";

/** The service that all stories call. Registered before the first one, since other isolates learn of it within 30 s. */
export async function register(session: Session, secret: string, upstream: Upstream): Promise<void> {
  const token = await signInOperator(session, secret);
  upstream.at("/v1/hello", ({ headers }, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ by: headers["plat-client"], self: `${upstream.origin}/v1/hello` }));
  });
  const tenant = "upgraded";
  await session.expect(201, (to) => api.putOrganization(tenant, { name: tenant }, to), { token });
  await session.expect(201, (to) => api.putTenant(tenant, { organization: tenant, name: tenant }, to), { token });
  const service = {
    tenant,
    sourceUrl: `${upstream.origin}/v1`,
    proxyPath: "/upgraded/v1",
    scopes: [],
    essential: true,
  };
  await session.expect(201, (to) => api.putService(SERVICE, { ...service, access: "token" }, to), { token });
}

export async function begin(session: Session, secret: string): Promise<Begun> {
  const operator = await signInOperator(session, secret);
  const cast = await setUp(session, operator, newName());
  const shop = await signIn(session, cast.shop);
  const owner = cast.shop.id;
  const billing = await signIn(session, cast.billing, `${session.platform}.pubsub.topic=${owner}.${EVENT_TYPE}`);

  await session.expect(201, (to) => api.createTopic({ eventType: EVENT_TYPE, description: "" }, to), { token: shop });
  const endpoint = { healthy: false };
  const receiver = await startReceiver((_, response) => void response.writeHead(endpoint.healthy ? 204 : 500).end());
  const push = {
    name: PUSH,
    pushConfig: { endpoint: `${receiver.origin}/push`, basicAuth: { username: "plinth", password: "at the door" } },
  };
  await session.expect(201, (to) => api.createPushSubscription(owner, EVENT_TYPE, push, to), { token: billing });
  const events = [...(await publish(session, cast, shop, "one")), ...(await publish(session, cast, shop, "two"))];
  const read = await session.expect(200, (to) => api.readEvents(owner, EVENT_TYPE, { numEvents: 1 }, {}, to), {
    token: billing,
  });
  await receiver.wait("/push", 1, PATIENCE_MS);

  const type = { "Content-Type": "image/jpeg" };
  const upload = async (): Promise<string> => {
    const { data } = await session.expect(200, (to) => api.createPrivateFile(type, CLIP, to), { token: shop });
    await session.call(200, "PUT", data.uploadLink, { headers: { "content-type": "image/jpeg" }, bytes: PHOTO });
    return data.id;
  };
  const stored = await upload();
  await commit(session, cast, shop, stored, "stored");
  const uploaded = await upload();

  await tryPassword(session, cast, "not the password");
  const signedIn = await signInPerson(session, cast);
  const revoked = await signIn(session, cast.shop);
  const headers = { authorization: basic(cast.shop) };
  await session.expect(200, (to) => api.revokeTokens({ token: revoked }, to), { headers });
  const lock = session.given("a lock", read.data.token);
  const tokens = { operator, shop, billing, revoked };
  return { cast, tokens, events, lock, receiver, endpoint, signedIn, stored, uploaded };
}

/** `changes`: those of the tenant that the audit log shows. Of two versions, the older one shows its own alone. */
export async function finish(session: Session, begun: Begun, changes = 2): Promise<void> {
  const { cast, tokens, events, receiver, endpoint, signedIn, stored, uploaded } = begun;
  const owner = cast.shop.id;
  const { shop, billing, operator } = tokens;

  const info = await session.expect(200, (to) => api.getTokenInfo(shop, {}, to));
  session.same("a token of the other version is one", info.data.clientId, owner);
  await session.expect(200, (to) => api.commitEvents(owner, EVENT_TYPE, { token: begun.lock }, {}, to), {
    token: billing,
  });
  const all = [...events, ...(await publish(session, cast, shop, "three"))];
  const rest = await session.expect(200, (to) => api.readEvents(owner, EVENT_TYPE, { numEvents: 9 }, {}, to), {
    token: billing,
  });
  session.same(
    "reading goes on behind the commit",
    rest.data.events.map(({ id }) => id),
    all.slice(1),
  );
  const lock = session.given("a lock", rest.data.token);
  await session.expect(200, (to) => api.commitEvents(owner, EVENT_TYPE, { token: lock }, {}, to), { token: billing });

  endpoint.healthy = true;
  for (const id of all)
    await session.expect([202, 404], (to) => api.redeliverEvent(owner, EVENT_TYPE, PUSH, id, to), { token: billing });
  const delivered = (to: RequestOpts) => api.listDeliveries(owner, EVENT_TYPE, PUSH, { state: "delivered" }, to);
  await until(session, "every event is pushed", async () => {
    const { data } = await session.expect(200, delivered, { token: billing, quiet: true });
    return all.every((id) => data.some(({ eventId }) => eventId === id));
  });
  await receiver.close();

  await session.expect(302, authorize(cast), { headers: { cookie: signedIn.cookies } });
  const { data: fresh } = await session.expect(200, refresh(cast, signedIn.refresh));
  const user = await session.expect(200, api.getUserInfo, { token: fresh.access_token });
  session.same("the person is the same", user.data.sub, cast.person.email);
  await session.expect(200, api.getUserInfo, { token: signedIn.access });
  await tryPassword(session, cast, "not the password either");
  await signInPerson(session, cast);

  await commit(session, cast, shop, uploaded, "uploaded");
  for (const [title, id] of [
    ["stored", stored],
    ["uploaded", uploaded],
  ] as const) {
    const found = await session.expect(200, (to) => api.listPrivateFiles(cast.tenant, { q: `title:${title}` }, to), {
      token: shop,
    });
    session.same(
      "a query finds it",
      found.data.map((file) => file.id),
      [id],
    );
    const link = await session.expect(200, (to) => api.getPrivateFile(id, {}, to), { token: shop });
    const { bytes } = await session.call(200, "GET", link.data.link);
    session.holds("its bytes are the same", bytes.equals(PHOTO));
  }
  const idsOf = async (q: string): Promise<readonly string[]> => {
    const ask = (to: RequestOpts) => api.listPrivateFiles(cast.tenant, { q, sort: "title:desc" }, to);
    return (await session.expect(200, ask, { token: shop })).data.map((file) => file.id);
  };
  for (const [title, id] of [
    ["stored", stored],
    ["uploaded", uploaded],
  ] as const) {
    const metadata = { title: `changed-${title}`, color: "red" };
    await session.expect(200, (to) => api.replacePrivateMetadata(id, metadata, to), { token: shop });
    session.same("no query finds what was replaced", await idsOf(`title:${title}`), []);
  }
  session.same("a query finds the new metadata, in its order", await idsOf("color:red"), [uploaded, stored]);
  await until(session, "the variants are made", async () => {
    const ask = (id: string) => session.expect([200, 404], (to) => api.getPrivateFile(id, CLIP, to), { token: shop });
    return [await ask(stored), await ask(uploaded)].every(({ status }) => status === 200);
  });
  await session.expect(204, (to) => api.deletePrivateFile(stored, to), { token: shop });
  await session.expect(404, (to) => api.getPrivateFile(stored, {}, to), { token: shop });
  session.same("a query finds what is left", await idsOf("color:red"), [uploaded]);

  const called = await session.call(200, "GET", "/upgraded/v1/hello", { token: shop });
  const told = called.json() as { by: string; self: string };
  session.same("the service learns who calls", told.by, owner);
  session.holds("and its address is rewritten", told.self.endsWith("/upgraded/v1/hello"), told);

  const { tenant } = cast;
  const { data: before } = await session.expect(200, (to) => api.getTenant(tenant, to), { token: operator });
  const renamed = { organization: before.organization, name: "Renamed" };
  await session.expect(200, (to) => api.putTenant(tenant, renamed, to), { token: operator });
  const audit = await session.expect(200, (to) => api.listAudit({ subject: `tenants/${tenant}` }, to), {
    token: operator,
  });
  session.holds("and the changes in the audit log", audit.data.length >= changes, audit.data);
  await until(session, "the revoked token opens nothing", async () => {
    const files = (to: RequestOpts) => api.listPrivateFiles(cast.tenant, {}, to);
    const { status } = await session.expect([200, 401], files, { token: tokens.revoked, quiet: true });
    return status === 401;
  });
  await session.expect(202, (to) => api.deleteTopic(owner, EVENT_TYPE, to), { token: shop });
}

async function publish(session: Session, { shop }: Cast, token: string, payload: string): Promise<readonly string[]> {
  const ask = (to: RequestOpts) => api.publishEvents(shop.id, EVENT_TYPE, { payload }, { idempotencyKey: payload }, to);
  const { data } = await session.expect(201, ask, { token });
  const again = await session.expect(201, ask, { token });
  session.same("a repeated publish stores nothing", again.data.ids, data.ids);
  return data.ids;
}

const commit = (session: Session, { tenant }: Cast, token: string, id: string, title: string) =>
  session.expect(202, (to) => api.commitPrivateFile(id, { title }, { tenant }, to), { token });

const verifier = randomBytes(32).toString("base64url");
const authorize =
  ({ web, tenant }: Cast) =>
  (to: RequestOpts) =>
    api.authorize(
      "code",
      web,
      {
        redirectUri: REDIRECT,
        scope: `openid plat.tenant=${tenant} plat.media_view`,
        state: "state",
        codeChallenge: createHash("sha256").update(verifier).digest("base64url"),
        codeChallengeMethod: "S256",
      },
      to,
    );

async function sendForm(session: Session, cast: Cast, status: number, password: string) {
  const page = await session.expect(200, authorize(cast));
  const cookie = cookiesOf(page);
  const { action, fields } = formOf(page.data ?? "");
  const form = { ...fields, email: cast.person.email, password };
  const answer = await session.call(status, "POST", action, { headers: { cookie }, form });
  return { answer, cookies: `${cookie}; ${cookiesOf(answer)}` };
}

const tryPassword = (session: Session, cast: Cast, password: string) => sendForm(session, cast, 400, password);

async function signInPerson(session: Session, cast: Cast): Promise<Begun["signedIn"]> {
  const { answer, cookies } = await sendForm(session, cast, 303, cast.person.password);
  const code = new URL(answer.header("location")).searchParams.get("code") ?? "";
  const ask = {
    grant_type: "authorization_code" as const,
    redirect_uri: REDIRECT,
    client_id: cast.web,
    code,
    code_verifier: verifier,
  };
  const { data } = await session.expect(200, (to) => api.getToken(ask, {}, to));
  return { cookies, access: data.access_token, refresh: session.given("a refresh token", data.refresh_token) };
}

const refresh =
  ({ web }: Cast, token: string) =>
  (to: RequestOpts) =>
    api.getToken({ grant_type: "refresh_token", client_id: web, refresh_token: token }, {}, to);

async function until(session: Session, what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await holds()); await sleep(100))
    if (Date.now() > deadline) session.holds(what, false, "not in time");
  session.holds(what, true);
}
