import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { codeFor } from "../oauth/support/code.ts";
import { makeFlow } from "../oauth/support/flow.ts";
import { signIn } from "../oauth/support/token-requests.ts";
import { answerAt } from "../support/outside.ts";
import { createAuditCopies } from "../../src/admin/audit/copies.ts";
import { createDeps } from "../../src/deps.ts";
import { Browser } from "../support/browser.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { ALL_SCOPES, makeClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { makeApp, visit } from "../support/sign-in.ts";
import { cheapHash, makeUser } from "../support/users.ts";
import { AdminPool } from "./admin-pool.ts";
import { belongings, makeFile, makeTopic, reserve, upload } from "./belongings.ts";
import { HOOK, knownValues, SUBSCRIPTION, type World } from "./known-values.ts";
import type { Operation } from "./operations.ts";
import type { Caller } from "./plan.ts";
import type { Known } from "./known.ts";

/**
 * Things that exist, for the requests to speak of: a client with topics and files, another tenant's client with the
 * same, users with tokens, and a pool of what the operator keeps. What callers live by is never in the pool, and what
 * an operation uses up is made anew before each request (`prepare`).
 */
const NOWHERE = ["000000000000000000000000", "0123456789abcdef01234567", "1x1", "sample"];

/** What a client of another tenant can ask for. */
const STRANGER: Record<string, Record<string, string>> = { consent: { scope: "plat.no_tenant" } };

export class Sandbox {
  readonly #world: World;
  #cookie = "";
  #lock: string | undefined;

  private constructor(world: World) {
    this.#world = world;
  }

  static async make(): Promise<Sandbox> {
    await answerAt(HOOK, { status: 204 });
    const flow = await makeFlow({
      grantTypes: [
        "client_credentials",
        "authorization_code",
        "refresh_token",
        "password",
        "urn:ietf:params:oauth:grant-type:device_code",
      ],
      scopes: ALL_SCOPES,
    });
    const scrap = await makeClient();
    const user = await makeUser({ tenant: flow.tenant });
    return new Sandbox({
      pool: await AdminPool.make(),
      own: await belongings(),
      foreign: await belongings(),
      scrap,
      flow,
      app: await makeApp({ tenant: user.tenant, postLogoutRedirectUris: ["https://app.example/bye"] }),
      user,
      tokens: {
        operator: await tokenFor(OPERATOR),
        weak: await tokenFor(await makeClient({ scopes: [] })),
        user: (await signIn(flow, { authorization: { openid: true } })).access_token,
        scrap: await tokenFor(scrap),
      },
      fresh: {},
      stylesheet: "",
      delivered: "",
      subscriber: "",
      erasure: "",
      cursors: new Map(),
    });
  }

  /** Before the first request of an operation. */
  async begin(operation: Operation): Promise<void> {
    if (operation.template.startsWith("/admin/")) await this.#world.pool.restore();
    if (operation.id === "getAuditCopy")
      await createAuditCopies({ db: env.DB, bucket: env.MEDIA, log: heardLog }).run(Date.now());
    if (operation.template.startsWith("/docs/assets"))
      this.#world.stylesheet = /assets\/([^"]+)"/.exec(await (await call("/docs/errors")).text())?.[1] ?? "";
    if (/subscriptions|subscribers/.test(operation.template)) await this.#subscribe();
    if (operation.template.includes("/deliveries/{eventId}")) await this.#deliver();
    if (operation.id === "getVariantContent") await this.#makeVariant();
    if (/^get(Operated)?Erasure$/.test(operation.id)) await this.#erase();
    if (/backup/.test(operation.template)) await this.#endMoves();
    // Earlier requests may have used up what one address may get.
    if (/^put\w+Invitation$/.test(operation.id))
      await env.DB.exec("DELETE FROM mail_link WHERE purpose = 'invitation'");
  }

  /** Before each request. */
  async prepare({ id, method, template }: Operation): Promise<void> {
    this.#world.fresh = {};
    if (method === "DELETE" && /subscribers|push-subscriptions/.test(template)) await this.#subscribe();
    if (/^\/admin\/v1\/(files|erasures)\/|^\/admin\/v1\/tenants\/\{tenant\}\/files/.test(template))
      await this.#prepareMedia(id);
    else if (template.startsWith("/admin/"))
      this.#world.fresh = method === "DELETE" ? await this.#world.pool.victim(template) : {};
    else if (template.startsWith("/media/")) await this.#prepareMedia(id);
    else if (template.startsWith("/oauth2/")) await this.#prepareOauth(id);
    else if (template.startsWith("/account")) await this.#prepareAccount(id);
    else await this.#prepareTopic(id);
  }

  async #prepareTopic(id: string): Promise<void> {
    const { topic, token } = this.#world.own;
    const send = (path: string, json: unknown) => call(`${topic.path}/${path}`, { token, json });
    if (/deleteTopic/i.test(id)) this.#world.fresh = { eventType: (await makeTopic(token)).eventType };
    if (/deletePush/i.test(id)) await this.#subscribe();
    if (/readEvents/i.test(id)) await send("publish", { payload: "x" });
    if (!/commitEvents|extendLock|releaseEvents|seekCursor/i.test(id)) return;
    await send("publish", { payload: "x" });
    await this.#unlock();
    if (/seek/i.test(id)) return;
    const read = await send("read", { numEvents: 2 });
    if (read.status !== 200) return;
    const batch = await read.json<any>();
    this.#lock = batch.token;
    this.#world.fresh = { token: batch.token, commitThrough: batch.events[0].id };
  }

  async #unlock(): Promise<void> {
    const { topic, token } = this.#world.own;
    const released = this.#lock;
    this.#lock = undefined;
    if (released !== undefined) await call(`${topic.path}/release`, { token, json: { token: released } });
  }

  async #subscribe(): Promise<void> {
    const { topic, token } = this.#world.own;
    const pushConfig = { endpoint: HOOK, basicAuth: { username: "fuzz", password: "a password of the endpoint" } };
    const body = { name: SUBSCRIPTION, pushConfig };
    const made = await call(`${topic.path}/subscriptions`, { token, json: body });
    if (made.status === 409)
      await call(`${topic.path}/subscriptions/${SUBSCRIPTION}`, { token, method: "PUT", json: body });
    const listed = await call(`${topic.path}/subscribers?pageSize=1000`, { token });
    const found = (await expectJson<any[]>(listed, 200)).find(({ name }) => name === SUBSCRIPTION);
    this.#world.subscriber = found.id;
  }

  /** An event that the subscription had. */
  async #deliver(): Promise<void> {
    const { topic, token } = this.#world.own;
    await call(`${topic.path}/publish`, { token, json: { payload: "x" } });
    await vi.waitFor(async () => {
      const listed = await call(`${topic.path}/subscriptions/${SUBSCRIPTION}/deliveries?pageSize=1`, { token });
      const [first] = await expectJson<any[]>(listed, 200);
      this.#world.delivered = first.eventId;
    }, 10_000);
  }

  /** No backup begins while a tenant moves. */
  async #endMoves(): Promise<void> {
    const { moves } = createDeps(env);
    await vi.waitFor(async () => {
      await env.DB.exec("UPDATE tenant_move SET due_at = 1 WHERE due_at > 0");
      await moves.sweep();
      expect(await moves.underWay()).toEqual([]);
    }, 10_000);
  }

  async #makeVariant(): Promise<void> {
    const { publicFile, token } = this.#world.own;
    await call(`/media/v2/public/files/${publicFile}/variants?clip=4x4`, { token, method: "POST" });
    await vi.waitFor(
      async () => {
        const content = await call(`/media/v2/content/${publicFile}/clip-4x4`);
        await content.arrayBuffer();
        expect(content.status).toBe(200);
      },
      { timeout: 15_000, interval: 100 },
    );
  }

  async #erase(): Promise<void> {
    const { client, token } = this.#world.own;
    const fileId = await makeFile(token, "files", "text");
    await call(`/media/v2/files/${fileId}`, { token, method: "DELETE" });
    const listed = await call(`/media/v2/erasures?tenant=${client.tenant}&pageSize=1`, { token });
    this.#world.erasure = (await expectJson<any[]>(listed, 200))[0]?.id;
  }

  async #prepareMedia(id: string): Promise<void> {
    const { token } = this.#world.own;
    const place = id.includes("Public") ? "public/files" : "files";
    if (/^delete(Private|Public|Operated)Files$/.test(id)) await makeFile(this.#world.tokens.scrap, place, "text");
    else if (/^delete(Private|Public|Operated)File$/.test(id))
      this.#world.fresh = { fileId: (await reserve(token, place)).id };
    else if (id.startsWith("commit")) this.#world.fresh = { fileId: (await upload(token, place, "text")).id };
    else if (id === "uploadFile") {
      const { id: fileId, uploadLink } = await reserve(token, place);
      this.#world.fresh = { fileId, ...Object.fromEntries(new URL(uploadLink).searchParams) };
    } else if (id === "getContent") {
      const { link } = await expectJson(await call(`/media/v2/files/${this.#world.own.privateFile}`, { token }), 200);
      this.#world.fresh = { fileId: this.#world.own.privateFile, ...Object.fromEntries(new URL(link).searchParams) };
    } else if (id === "getVariantContent")
      this.#world.fresh = { fileId: this.#world.own.publicFile, variant: "clip-4x4" };
  }

  async #prepareOauth(id: string): Promise<void> {
    const flow = this.#world.flow;
    if (/revoke|introspect|TokenInfo/i.test(id))
      this.#world.fresh = { token: await tokenFor({ ...flow.client, clientSecret: flow.client.clientSecret! }) };
    if (/TokenInfo/.test(id)) this.#world.fresh["access_token"] = this.#world.fresh["token"]!;
    if (/refreshToken/i.test(id)) {
      // What is deleted takes its access token along.
      this.#world.tokens.user = (await signIn(flow, { authorization: { openid: true } })).access_token;
      const listed = await call("/oauth2/v1/refreshtokens?pageSize=1", { token: this.#world.tokens.user });
      const [first] = await expectJson<any[]>(listed, 200);
      if (first !== undefined) this.#world.fresh = { id: first.id };
    }
    if (id === "getToken") {
      const tokens = await signIn(flow);
      this.#world.fresh = { code: await codeFor(flow), refresh_token: tokens.refresh_token };
    }
    if (id === "enterDeviceCode") await this.#prepareDevice();
    if (["getToken", "signIn", "consent"].includes(id)) await this.#restoreUser();
    if (id !== "signIn" && id !== "consent") return;
    const browser = new Browser();
    const { app, user } = this.#world;
    let page = await visit(browser, id === "consent" ? await makeApp() : app, STRANGER[id] ?? {});
    if (id === "consent") page = await browser.submit(page, { email: user.email, password: user.password });
    const { request = "", csrf = "", asked = "" } = page.forms[0]?.fields ?? {};
    this.#world.fresh = { request, csrf, asked };
    this.#keep(browser);
  }

  /** A device that waits, and a browser before the page for its code. */
  async #prepareDevice(): Promise<void> {
    const { clientId, clientSecret } = this.#world.flow.client;
    const form = { client_id: clientId, client_secret: clientSecret!, scope: "openid" };
    const { user_code } = await expectJson(await call("/oauth2/v1/device_authorization", { form }), 200);
    const browser = new Browser();
    const page = await browser.get(`${ORIGIN}/oauth2/v1/device`);
    this.#world.fresh = { user_code, csrf: page.forms[0]?.fields["csrf"] ?? "" };
    this.#keep(browser);
  }

  /** A browser before the page, signed in but for the form that signs in. */
  async #prepareAccount(id: string): Promise<void> {
    await this.#restoreUser();
    const browser = new Browser();
    let page = await browser.get(`${ORIGIN}/account`);
    if (id !== "signInToAccount") {
      const { email, password } = this.#world.user;
      await browser.submit(page, { email, password });
      page = await browser.get(`${ORIGIN}/account`);
    }
    this.#world.fresh = { csrf: page.forms[0]?.fields["csrf"] ?? "" };
    this.#keep(browser);
  }

  /** With the password and without a block. */
  async #restoreUser(): Promise<void> {
    const { email, password } = this.#world.user;
    await env.DB.prepare("UPDATE user SET password_hash = ?1 WHERE email = ?2").bind(cheapHash(password), email).run();
    await call(`/admin/v1/users/${email}/unlock`, { method: "POST", token: this.#world.tokens.operator });
  }

  #keep({ cookies }: Browser): void {
    this.#cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** The value of `Authorization`, undefined where there is none. */
  authorization({ id, template }: Operation, caller: Caller, hasClientId: boolean): string | undefined {
    const ofClient = /deletePrivateFiles|deletePublicFiles/.test(id) ? this.#world.tokens.scrap : this.#world.own.token;
    switch (caller) {
      case "right":
        if (template.startsWith("/admin/") || template === "/health/deep")
          return `Bearer ${this.#world.tokens.operator}`;
        if (/userinfo|refreshtokens/.test(template)) return `Bearer ${this.#world.tokens.user}`;
        if (!template.startsWith("/oauth2/")) return `Bearer ${ofClient}`;
        return hasClientId || /\/authorize|sign-in|consent|link-identity|callback|session/.test(template)
          ? undefined
          : this.#basic();
      case "client":
        return `Bearer ${ofClient}`;
      case "foreign":
        return `Bearer ${this.#world.foreign.token}`;
      case "operator":
      case "user":
      case "weak":
        return `Bearer ${this.#world.tokens[caller]}`;
      case "broken":
        return `Bearer ${this.#world.own.token.slice(0, -4)}AAAA`;
      case "nobody":
        return undefined;
    }
  }

  #basic(): string {
    const { clientId, clientSecret } = this.#world.flow.client;
    return `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret!)}`)}`;
  }

  /** Of a page that was shown before. */
  cookie({ id, template }: Operation): string {
    return ["signIn", "consent", "enterDeviceCode"].includes(id) || template.startsWith("/account") ? this.#cookie : "";
  }

  /** What a request says for a `Known`. */
  value(operation: Operation, { known, which }: Known): string {
    const values = this.#valuesOf(operation, known);
    const all = [...values, ...NOWHERE];
    return all[which % all.length]!;
  }

  #valuesOf(operation: Operation, name: string): readonly string[] {
    const fresh = this.#world.fresh[name];
    const others = knownValues(operation, name, this.#world);
    return fresh === undefined ? others : [fresh, ...others];
  }

  /** What an answer brought that later requests may speak of, and what it left that would be in their way. */
  async after(operation: Operation, response: Response): Promise<void> {
    const cursor = /[?&]cursor=([^&>]+)/.exec(response.headers.get("link") ?? "")?.[1];
    if (cursor !== undefined) this.#world.cursors.set(operation.id, decodeURIComponent(cursor));
    if (!response.ok || !response.headers.get("content-type")?.startsWith("application/json")) return;
    if (/readEvents|lookAt|publishEvents|listDeliveries|createPush/i.test(operation.id)) {
      const answer = await response.clone().json<any>();
      const event = answer.events?.[0]?.id ?? answer[0]?.id ?? answer[0]?.eventId ?? answer[0];
      if (typeof event === "string") this.#world.cursors.set("event", event);
      if (/readEvents/i.test(operation.id) && typeof answer.token === "string") {
        this.#lock = answer.token;
        await this.#unlock();
      }
      if (/createPush/i.test(operation.id) && answer.name !== undefined)
        await call(`${this.#world.own.topic.path}/subscriptions/${answer.name}`, {
          method: "DELETE",
          token: this.#world.own.token,
        });
    }
  }
}
