import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createUnregisteredStore, MOST_OF_PERSON } from "../../../src/oauth/unregistered/unregistered-store.ts";
import type { Browser, Visit } from "../../support/browser.ts";
import { call } from "../../support/platform/call.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import {
  addressOf,
  allow,
  follow,
  makeAgent,
  makeService,
  refresh,
  signedIn,
  tokensFor,
  type Agent,
  type AgentService,
} from "./agent.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

/** The rows of clients that nobody registered: who causes them, how many, and when they go. */
const store = createUnregisteredStore(env.DB);

let tenant: string;
let service: AgentService;
let ada: TestUser;
beforeAll(async () => {
  tenant = await makeTenant();
  service = await makeService(tenant);
});
beforeEach(async () => {
  ada = await makeUser({ tenant, home: 0, scopes: [...service.scopes] });
});

const rowsOf = async ({ id }: Agent): Promise<[number, number]> => {
  const count = async (table: "client" | "unregistered_client") =>
    (await env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE id = ?`).bind(id).first<number>("n")) ?? 0;
  return [await count("client"), await count("unregistered_client")];
};
const answerTo = async (browser: Browser, page: Visit, decision: "allow" | "deny"): Promise<URLSearchParams> => {
  const back = await follow(browser, await browser.submit(page, { decision }));
  return new URL(back.location ?? "about:blank").searchParams;
};
/** Brings so many clients at the same time, and returns how many are taken. */
async function bring(person: TestUser, count: number): Promise<number> {
  const one = (id: string) =>
    store.adopt(
      { id, shownName: "x", confidential: false, isKnownAlready: false, metadata: "{}", readAtMs: 1 },
      person.email,
      Date.now(),
    );
  const taken = await Promise.all(Array.from({ length: count }, () => one(`https://${unique("many")}.example/c`)));
  return taken.filter((result) => result === "adopted").length;
}

describe("The row of a client that nobody registered", () => {
  // shows: oauth/unregistered-clients/row
  it("exists from the person's consent on, not from the page on", async () => {
    const agent = await makeAgent();
    const [browser, page] = await signedIn(addressOf(agent, service), ada);
    expect(page.html).toContain("Nobody here has checked");
    expect(await rowsOf(agent)).toEqual([0, 0]);
    expect((await answerTo(browser, page, "deny")).get("error")).toBe("access_denied");
    expect(await rowsOf(agent)).toEqual([0, 0]);
    await allow(browser, await browser.get(addressOf(agent, service)));
    expect(await rowsOf(agent)).toEqual([1, 1]);
  });

  it("is not made by the consent that a page for another client asked for", async () => {
    const [shown, other] = [await makeAgent(), await makeAgent()];
    const [browser, page] = await signedIn(addressOf(shown, service), ada);
    const request = new URL(addressOf(other, service), "https://x.example").searchParams.toString();
    const [form] = page.forms;
    const forged = { ...page, forms: [{ ...form!, fields: { ...form!.fields, request } }] };
    const next = await browser.submit(forged, { decision: "allow" });
    expect(next.html).toContain(other.id);
    expect([await rowsOf(shown), await rowsOf(other)]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe("The clients that one person brings", () => {
  // shows: oauth/unregistered-clients/row
  it("are 100; a client that is there already is for everybody", async () => {
    const bob = await makeUser({ tenant, home: 0, scopes: [...service.scopes] });
    const known = await makeAgent();
    await tokensFor(known, service, bob);
    expect(await bring(ada, MOST_OF_PERSON + 5)).toBe(MOST_OF_PERSON);
    const agent = await makeAgent();
    const [browser, page] = await signedIn(addressOf(agent, service), ada);
    const refused = await answerTo(browser, page, "allow");
    expect(refused.get("error")).toBe("access_denied");
    expect(refused.get("error_description")).toMatch(/too many.*\/account.*operator/);
    expect(await rowsOf(agent)).toEqual([0, 0]);
    await allow(browser, await browser.get(addressOf(known, service)));
    await tokensFor(agent, service, bob);
    await allow(browser, await browser.get(addressOf(agent, service)));
  });
});

describe("A client whose first person is removed", () => {
  it("stays, and has nothing that names the person", async () => {
    const carol = await makeUser({ tenant, scopes: [...service.scopes] });
    const agent = await makeAgent();
    await tokensFor(agent, service, carol);
    const bringer = async () =>
      env.DB.prepare("SELECT brought_by FROM unregistered_client WHERE id = ?").bind(agent.id).first("brought_by");
    expect(await bringer()).toMatch(/^[0-9a-f]{64}$/);
    const token = await tokenFor(OPERATOR);
    expect((await call(`/admin/v1/users/${carol.email}`, { token, method: "DELETE" })).status).toBe(204);
    expect(await rowsOf(agent)).toEqual([1, 1]);
    expect(await bringer()).toBeNull();
  });
});

describe("An adopted client that nobody allows any more", () => {
  const sweep = async (nowMs: number) => {
    while ((await store.deleteUnused(nowMs, 500)) > 0);
  };

  // shows: oauth/unregistered-clients/idle
  it("goes a day after its last use, and its person may bring another", async () => {
    const [kept, left] = [await makeAgent(), await makeAgent()];
    const tokens = await tokensFor(kept, service, ada);
    await tokensFor(left, service, ada);
    await bring(ada, MOST_OF_PERSON);
    await env.DB.prepare("DELETE FROM consent WHERE client = ?").bind(left.id).run();
    await sweep(Date.now() + DAY_MS / 2);
    expect(await rowsOf(left)).toEqual([1, 1]);
    expect(await bring(ada, 1)).toBe(0);
    await sweep(Date.now() + DAY_MS + 60_000);
    expect([await rowsOf(left), await rowsOf(kept)]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect((await refresh(kept, tokens.refresh_token)).status).toBe(200);
    expect(await bring(ada, MOST_OF_PERSON)).toBe(MOST_OF_PERSON - 1);
  });
});
