import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Browser, landed, toInit } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { makePerson, tokenOf } from "../../support/parties/operators.ts";
import { call, ORIGIN } from "../../support/platform/call.ts";
import { meddled } from "../../support/meddling.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, signInThrough } from "../../support/sign-in.ts";
import { makeUser } from "../../support/users.ts";
import { browserAt, choose, linkIn, mailPlatform, untilDone, type MailPlatform } from "./mail-platform.ts";

/** Invitations: from the operator's request to the member's first sign-in. */
const PASSWORD = "a quite new password";

let at: MailPlatform;
let operator: string;
let tenant: string;
let role: string;
let grace: string;

beforeEach(async () => {
  at = mailPlatform();
  operator = await tokenFor(OPERATOR);
  tenant = await makeTenant();
  role = unique("role");
  grace = `${unique("grace")}@acme.example`;
  await put(`roles/${role}`, { scopes: ["plat.media_view"] });
});

const request = (method: string, path: string, token = operator, body?: unknown): Promise<Response> =>
  at.platform.fetch(`/admin/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const invite = (email = grace, { place = `tenants/${tenant}`, token = operator, more = {} } = {}): Promise<Response> =>
  request("PUT", `${place}/invitations/${email}`, token, { roles: [role], ...more });
async function rolesOf(email: string, place = `tenants/${tenant}`): Promise<string[] | undefined> {
  const answer = await request("GET", `${place}/members/${email}`);
  return answer.status === 404 ? undefined : (await answer.json<{ roles: string[] }>()).roles;
}

describe("an invitation", () => {
  it("makes a new person a member with a password of their own, and proves the address", async () => {
    const sent = await invite(grace, { more: { name: "Grace" } });
    expect(sent.status).toBe(201);
    const { createdAt, expiresAt } = await sent.clone().json<{ createdAt: number; expiresAt: number }>();
    expect(expiresAt - createdAt).toBe(7 * 86_400_000);
    expect(await sent.json()).toMatchObject({ tenant, email: grace, roles: [role], name: "Grace", mailed: true });
    expect(at.mails.map(({ to }) => to)).toEqual([grace]);
    expect(await rolesOf(grace)).toBeUndefined();
    const browser = at.browser();
    const page = await browser.get(linkIn(at.mails[0]), "cross-site");
    expect(page.html).toContain(grace);
    expect(await rolesOf(grace)).toBeUndefined();
    const done = await choose(browser, page, PASSWORD);
    expect([done.status, done.html.includes("password is not set")]).toEqual([200, false]);
    expect(await rolesOf(grace)).toEqual([role]);
    const app = await makeApp({ tenant });
    const code = landed(await signInThrough(at.browser(), app, { email: grace, password: PASSWORD, tenant }));
    expect(code.query.has("code")).toBe(true);
    const user = await request("GET", `users/${grace}`);
    expect(await user.json()).toMatchObject({ name: "Grace", hasPassword: true, emailVerified: true });
  });

  it("needs no password of a person who has one, and leaves it and other roles as they are", async () => {
    const known = await makeUser({ tenant });
    const held = (await rolesOf(known.email))!;
    await invite(known.email);
    const browser = at.browser();
    const page = await browser.get(linkIn(at.mails[0]));
    expect(page.html).not.toContain("new_password");
    const stolen = { ...page.forms[0]!.fields, new_password: PASSWORD, repeated_password: PASSWORD };
    expect((await browser.post(page.forms[0]!.action, stolen)).status).toBe(200);
    expect(new Set(await rolesOf(known.email))).toEqual(new Set([...held, role]));
    const app = await makeApp({ tenant });
    expect(landed(await signInThrough(at.browser(), app, known)).query.has("code")).toBe(true);
  });

  it("leads into an organization too, in the person's language", async () => {
    const { organization } = await (await request("GET", `tenants/${tenant}`)).json<{ organization: string }>();
    const place = `organizations/${organization}`;
    await invite(grace, { place, more: { language: "de-CH" } });
    expect(at.mails[0]!.html).toContain('lang="de"');
    const browser = at.browser();
    const page = await browser.get(linkIn(at.mails[0]));
    expect(page.headers.get("content-language")).toBe("de");
    await choose(browser, page, PASSWORD);
    expect(await rolesOf(grace, place)).toEqual([role]);
  });

  // shows: asvs/v6-authentication/6.4.1
  it("makes a member if the page says so, and only then, whenever the database fails", async () => {
    await invite(grace);
    const browser = at.browser();
    const page = await browser.get(linkIn(at.mails[0]));
    await untilDone(
      (there) => choose(browserAt(there, browser), page, PASSWORD),
      async () => (await rolesOf(grace)) !== undefined,
    );
  });

  it("works once, whoever has the link", async () => {
    await invite();
    const [browser, other] = [at.browser(), at.browser()];
    const [page, elsewhere] = [await browser.get(linkIn(at.mails[0])), await other.get(linkIn(at.mails[0]))];
    expect((await choose(browser, page, PASSWORD)).status).toBe(200);
    expect((await choose(other, elsewhere, "the password of a thief")).status).toBe(400);
    expect((await other.get(linkIn(at.mails[0]))).status).toBe(400);
    const app = await makeApp({ tenant });
    expect(landed(await signInThrough(at.browser(), app, { email: grace, password: PASSWORD, tenant })).at).toBe(
      app.redirectUri,
    );
  });

  it("works for one of two who accept at once", async () => {
    await invite();
    const browsers = [at.browser(), at.browser()];
    const answers = await Promise.all(
      browsers.map(async (one, n) => choose(one, await one.get(linkIn(at.mails[0])), `${PASSWORD} ${n}`)),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
  });

  it("makes a member of a person who got a password meanwhile, and keeps that password", async () => {
    const second = await makeTenant();
    await invite();
    await invite(grace, { place: `tenants/${second}` });
    const browser = at.browser();
    const [one, other] = [await browser.get(linkIn(at.mails[0])), await browser.get(linkIn(at.mails[1]))];
    expect((await choose(browser, one, PASSWORD)).status).toBe(200);
    const again = await choose(browser, other, "a password that comes too late");
    expect([again.status, again.html.includes("new_password")]).toEqual([200, false]);
    expect(again.html).toContain("Your new password is not set");
    expect(await rolesOf(grace, `tenants/${second}`)).toEqual([role]);
    const app = await makeApp({ tenant });
    expect(
      landed(await signInThrough(at.browser(), app, { email: grace, password: PASSWORD, tenant })).query.has("code"),
    ).toBe(true);
  });

  it("asks to try again if the person's ways to sign in change each time", async () => {
    await invite();
    await put(`users/${grace}`, {});
    const changes: unknown[] = [];
    const { browser, state } = meddled(
      async () =>
        changes.push(
          await env.DB.prepare(`UPDATE user SET password_hash = iif(password_hash IS NULL, 'x', NULL) WHERE email = ?`)
            .bind(grace)
            .run(),
        ),
      [6],
    );
    const page = await browser.get(linkIn(at.mails[0]));
    state.armed = true;
    const refused = await choose(browser, page, PASSWORD);
    expect([refused.status, changes.length]).toEqual([400, 3]);
    expect(refused.html).toContain("out of date");
    expect(await rolesOf(grace)).toBeUndefined();
    state.armed = false;
    expect((await choose(browser, refused, PASSWORD)).status).toBe(200);
    expect(await rolesOf(grace)).toEqual([role]);
  });

  it("says that a typed password is not set if the operator sets one at that moment", async () => {
    await invite();
    const { browser, state } = meddled(async () => {
      state.armed = false;
      await put(`users/${grace}`, { password: PASSWORD });
    }, [6]);
    const page = await browser.get(linkIn(at.mails[0]));
    state.armed = true;
    const done = await choose(browser, page, "a password that comes too late");
    expect([done.status, state.armed]).toEqual([200, false]);
    expect(done.html).toContain("Your new password is not set");
    expect(await rolesOf(grace)).toEqual([role]);
    const app = await makeApp({ tenant });
    const signedIn = await signInThrough(at.browser(), app, { email: grace, password: PASSWORD, tenant });
    expect(landed(signedIn).query.has("code")).toBe(true);
  });

  // shows: asvs/v6-authentication/6.4.1
  it("is void after a week, once withdrawn, replaced, or for a disabled person", async () => {
    const opens = async (mail: number): Promise<number> => (await at.browser().get(linkIn(at.mails[mail]))).status;
    await invite();
    expect((await invite()).status).toBe(200);
    expect([await opens(0), await opens(1)]).toEqual([400, 200]);
    await put(`users/${grace}`, { disabled: true });
    expect(await opens(1)).toBe(400);
    await put(`users/${grace}`, { disabled: false });
    expect(await opens(1)).toBe(200);
    vi.useFakeTimers({ now: Date.now() + 7 * 86_400_000 + 1_000, toFake: ["Date"] });
    expect(await opens(1)).toBe(400);
    vi.useRealTimers();
    expect((await request("DELETE", `tenants/${tenant}/invitations/${grace}`)).status).toBe(204);
    expect(await opens(1)).toBe(400);
    expect((await request("DELETE", `tenants/${tenant}/invitations/${grace}`)).status).toBe(404);
  });

  it("is accepted by a page of ours alone", async () => {
    await invite();
    const browser = at.browser();
    const page = await browser.get(linkIn(at.mails[0]));
    const { action, fields } = page.forms[0]!;
    const form = { ...fields, new_password: PASSWORD, repeated_password: PASSWORD };
    expect((await browser.post(action, form, "cross-site")).status).toBe(400);
    expect((await at.browser().post(action, form)).status).toBe(400);
    for (const weak of ["short", "password1", `${grace.split("@")[0]}1`])
      expect((await choose(browser, page, weak)).status).toBe(400);
    expect((await choose(browser, page, PASSWORD, "something else")).status).toBe(400);
    expect(await rolesOf(grace)).toBeUndefined();
    expect((await choose(browser, page, PASSWORD)).status).toBe(200);
  });

  it("leads to the deployment's own host, whatever Host says", async () => {
    const headers = { authorization: `Bearer ${operator}`, "content-type": "application/json", host: "evil.example" };
    const body = JSON.stringify({ roles: [] });
    const address = `https://evil.example/admin/v1/tenants/${tenant}/invitations/${grace}`;
    await at.platform.fetch(address, { method: "PUT", headers, body });
    expect(at.mails.map(linkIn)).toEqual([expect.stringMatching(`^${ORIGIN}/`)]);
  });
});

describe("operators", () => {
  it("send at most five mails a day to an address", async () => {
    const statuses = [];
    for (let n = 0; n < 6; n++) statuses.push((await invite()).status);
    expect(statuses).toEqual([201, 200, 200, 200, 200, 429]);
    expect(at.mails.length).toBe(5);
    vi.useFakeTimers({ now: Date.now() + 86_500_000, toFake: ["Date"] });
    const again = await invite(grace, { token: await tokenFor(OPERATOR) });
    vi.useRealTimers();
    expect(again.status).toBe(200);
  });

  it("send at most 1,000 mails a day for an organization and its tenants, though they delete the invitations", async () => {
    const person = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(person);
    const places = [`tenants/${person.tenant}`, `organizations/${person.organization}`];
    const withdrawn = async (place: string) => {
      const email = `${unique("grace")}@acme.example`;
      const { status } = await invite(email, { place, token, more: { roles: [] } });
      await request("DELETE", `${place}/invitations/${email}`, token);
      return status;
    };
    expect(await withdrawn(places[0]!)).toBe(201);
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 998)
       INSERT INTO mail_link SELECT i || token_hash, purpose, email, browser_hash, network_hash, request, created_at, expires_at, NULL
       FROM n, mail_link WHERE network_hash = ?`,
    )
      .bind(`organization ${person.organization}`)
      .run();
    expect(await withdrawn(places[1]!)).toBe(201);
    for (const place of places) expect(await withdrawn(place)).toBe(429);
    expect((await invite()).status).toBe(201);
  });

  it("learn that a mail was not taken, and send it again", async () => {
    const failing = { send: () => Promise.reject(new Error("no quota")) } as unknown as SendEmail;
    const own = mailPlatform({ MAIL: failing });
    const path = `/admin/v1/tenants/${tenant}/invitations/${grace}`;
    const headers = { authorization: `Bearer ${operator}`, "content-type": "application/json" };
    const body = JSON.stringify({ roles: [] });
    const failed = await own.platform.fetch(path, { method: "PUT", headers, body });
    expect([failed.status, (await failed.json<{ mailed: boolean }>()).mailed]).toEqual([201, false]);
    expect(await (await invite()).json()).toMatchObject({ mailed: true });
  });

  it("see what is open, and the audit log says who invited and who came", async () => {
    await invite();
    const open = async () =>
      (await (await request("GET", `tenants/${tenant}/invitations`)).json<{ email: string }[]>()).map(
        ({ email }) => email,
      );
    expect(await open()).toEqual([grace]);
    const browser = at.browser();
    await choose(browser, await browser.get(linkIn(at.mails[0])), PASSWORD);
    expect(await open()).toEqual([]);
    const rows = async (subject: string) =>
      (await (await request("GET", `audit?subject=${subject}`)).json<{ action: string; actor: string }[]>()).map(
        ({ action, actor }) => [action, actor],
      );
    expect(await rows(`tenants/${tenant}/invitations/${grace}`)).toEqual([["put", OPERATOR.clientId]]);
    expect(await rows(`tenants/${tenant}/members/${grace}`)).toEqual([["accept invitation", `user ${grace}`]]);
  });

  it("leave a row with each mail, which names the link and does not show it", async () => {
    for (let n = 0; n < 2; n++) await invite();
    const audit = await request("GET", `audit?subject=tenants/${tenant}/invitations/${grace}`);
    const [again, first] = await audit.json<{ changes: object[] }[]>();
    expect(again!.changes).toEqual([{ field: "link" }]);
    expect(first!.changes).toContainEqual({ field: "link" });
  });

  it("name roles and places that exist", async () => {
    expect((await invite(grace, { place: "tenants/nowhere" })).status).toBe(404);
    expect((await invite(grace, { more: { roles: ["no such role"] } })).status).toBe(400);
    expect((await invite(grace, { more: { roles: ["no-such-role"] } })).status).toBe(400);
    expect((await invite("no address")).status).toBe(400);
    expect(at.mails).toEqual([]);
  });
});

describe("people who run one organization", () => {
  it("invite anybody into it, with no role beyond their own, and learn nothing about others", async () => {
    const person = await makePerson(["plat.admin_tenant", "plat.media_view"]);
    const token = await tokenOf(person);
    const place = `tenants/${person.tenant}`;
    const known = await makeUser();
    const answers = [];
    for (const email of [known.email, grace]) {
      const answer = await invite(email, { place, token });
      const shown = (await answer.text()).replaceAll(email, "EMAIL").replaceAll(/\d{13}/g, "TIME");
      answers.push(`${answer.status} ${shown}`);
    }
    expect(answers[0]).toMatch(/^201 /);
    expect(answers[1]).toBe(answers[0]);
    expect((await invite(grace, { place: `organizations/${person.organization}`, token })).status).toBe(201);
    expect((await invite(grace, { token })).status).toBe(403);
    await put(`roles/${role}-more`, { scopes: ["plat.media_admin"] });
    expect((await invite(grace, { place, token, more: { roles: [`${role}-more`] } })).status).toBe(403);
    expect((await request("DELETE", `tenants/${tenant}/invitations/${grace}`, token)).status).toBe(404);
    expect((await request("DELETE", `${place}/invitations/${grace}`, token)).status).toBe(204);
    expect((await request("GET", `${place}/invitations`, token)).status).toBe(200);
    expect((await request("GET", `tenants/${tenant}/invitations`, token)).status).toBe(404);
  });
});

describe("a platform that sends no mail", () => {
  it("has no invitations by mail, and a page for links that are handed over", async () => {
    const without = mailPlatform({ MAIL_FROM: "" });
    const headers = { authorization: `Bearer ${operator}` };
    const answer = await without.platform.fetch(`/admin/v1/tenants/${tenant}/invitations`, { headers });
    expect(answer.status).toBe(404);
    expect((await without.browser().get(`${ORIGIN}/oauth2/v1/invitation?token=x`)).status).toBe(400);
    expect((await without.browser().get(`${ORIGIN}/oauth2/v1/reset?token=x`)).status).toBe(404);
    expect((await call(`/admin/v1/tenants/${tenant}/invitations`, { token: operator })).status).toBe(200);
  });
});

describe("expired invitations", () => {
  it("are deleted by the sweep", async () => {
    await invite();
    const { createDeps } = await import("../../../src/deps.ts");
    await createDeps(env).oauth.sweep(Date.now() + 8 * 86_400_000);
    expect(await (await request("GET", `tenants/${tenant}/invitations`)).json()).toEqual([]);
  });

  it("leave no account behind that only they made, once all of them have ended", async () => {
    const { createDeps } = await import("../../../src/deps.ts");
    const days = async (count: number) => createDeps(env).oauth.sweep(Date.now() + count * 86_400_000);
    const person = (name: string) => `${unique(name)}@acme.example`;
    const [withdrawn, again, handed, kept, joined] = ["wi", "ag", "ha", "ke", "jo"].map(person);
    const known = await makeUser();
    for (const email of [withdrawn, again, kept, joined, known.email]) await invite(email);
    const handOver = `organizations/${tenant}-org/invitations/${handed}/link`;
    expect((await request("POST", handOver, operator, { roles: [] })).status).toBe(201);
    for (const email of [withdrawn, kept]) await request("DELETE", `tenants/${tenant}/invitations/${email}`);
    await put(`users/${kept}`, {});
    await put(`tenants/${tenant}/members/${joined}`, { roles: [] });
    vi.useFakeTimers({ now: Date.now() + 5 * 86_400_000, toFake: ["Date"] });
    await invite(again, { token: await tokenFor(OPERATOR) });
    vi.useRealTimers();
    const left = async () => {
      const all = [withdrawn, again, handed, kept, joined, known.email];
      const found = await Promise.all(
        all.map(async (email) => (await request("GET", `users/${email}`)).status === 200),
      );
      return all.filter((_, index) => found[index]);
    };
    await days(6);
    expect(await left()).toEqual([withdrawn, again, kept, joined, known.email]);
    await days(8);
    expect(await left()).toEqual([again, kept, joined, known.email]);
    await days(13);
    expect(await left()).toEqual([kept, joined, known.email]);
  });
});

describe("the open invitations of an organization", () => {
  it.each([
    ["by mail", "PUT", ""],
    ["by a link that an operator hands over", "POST", "/link"],
  ])("%s are at most 500, however many are made at once", async (_, method, path) => {
    const organization = `${tenant}-org`;
    const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 498)`;
    const open = unique("open");
    await env.DB.batch([
      env.DB.prepare(`${numbers} INSERT INTO user (email, name, created_at) SELECT i || ?1, '', 0 FROM n`).bind(open),
      env.DB.prepare(
        `${numbers} INSERT INTO organization_invitation
           (organization, email, roles, name, language, token_hash, created_at, expires_at)
         SELECT ?2, i || ?1, '[]', '', '', i || ?1, 0, ?3 FROM n`,
      ).bind(open, organization, Date.now() + 86_400_000),
    ]);
    const make = (email: string) =>
      request(method, `organizations/${organization}/invitations/${email}${path}`, operator, { roles: [role] });
    const people = Array.from({ length: 6 }, () => `${unique("grace")}@acme.example`);
    const answers = await Promise.all(people.map(make));
    expect(answers.filter(({ status }) => status === 201).length).toBe(2);
    const [refused] = answers.filter(({ status }) => status === 429);
    expect(await refused!.json()).toMatchObject({ type: "insufficient_resources" });
    expect(refused!.headers.get("retry-after")).toBe("3600");
    const count = env.DB.prepare("SELECT count(*) AS n FROM organization_invitation WHERE organization = ?");
    expect(await count.bind(organization).first("n")).toBe(500);
    // Another link for somebody who is invited already adds none.
    const invited = people[answers.findIndex(({ status }) => status === 201)]!;
    expect((await make(invited)).ok).toBe(true);
  });
});

describe("a link that an operator hands over", () => {
  const organization = () => `${tenant}-org`;
  const linkOn = async (platform: Pick<MailPlatform["platform"], "fetch">, body: object = { roles: [role] }) =>
    platform.fetch(`/admin/v1/organizations/${organization()}/invitations/${grace}/link`, {
      method: "POST",
      headers: { authorization: `Bearer ${operator}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const nobodyMails = () => {
    const platform = isolate({ PUBLIC_URL: ORIGIN });
    return { platform, browser: new Browser({ send: (address, init) => platform.fetch(address, toInit(init)) }) };
  };

  // shows: operator/resources/invitation-link
  // shows: asvs/v6-authentication/6.4.1
  it("makes a member with a password where no mail is sent, works once, and proves no address", async () => {
    const { platform, browser } = nobodyMails();
    const void1 = await (await linkOn(platform)).json<{ link: string }>();
    const made = await linkOn(platform);
    expect([made.status, made.headers.get("cache-control")]).toEqual([201, "no-store"]);
    const { link, expiresAt } = await made.json<{ link: string; expiresAt: number }>();
    expect(Math.abs(expiresAt - Date.now() - 86_400_000)).toBeLessThan(60_000);
    expect((await browser.get(void1.link)).status).toBe(400);
    const page = await browser.get(link);
    expect(page.html).toContain(grace);
    expect((await choose(browser, page, "short")).status).toBe(400);
    expect((await choose(browser, await browser.get(link), PASSWORD)).status).toBe(200);
    expect(await rolesOf(grace, `organizations/${organization()}`)).toEqual([role]);
    expect((await browser.get(link)).status).toBe(400);
    const user = await (await request("GET", `users/${grace}`)).json<any>();
    expect(user).toMatchObject({ hasPassword: true });
    expect(user.emailVerified).toBeUndefined();
    const rows = await (await request("GET", `audit?subject=organizations/${organization()}`)).json<any[]>();
    expect(rows.slice(0, 3).map(({ action, reason = "" }) => [action, reason])).toEqual([
      ["accept invitation", "by a link from an operator"],
      ["make invitation link", ""],
      ["make invitation link", ""],
    ]);
  });

  // shows: asvs/v6-authentication/6.4.1
  it("ends after a day, and an invitation by mail after it proves the address", async () => {
    const { platform, browser } = nobodyMails();
    const { link } = await (await linkOn(platform)).json<{ link: string }>();
    await env.DB.prepare("UPDATE organization_invitation SET expires_at = ?2 WHERE email = ?1")
      .bind(grace, Date.now() - 1)
      .run();
    expect((await browser.get(link)).status).toBe(400);
    await request("PUT", `organizations/${organization()}/invitations/${grace}`, operator, { roles: [role] });
    const mailed = at.browser();
    expect((await choose(mailed, await mailed.get(linkIn(at.mails[0])), PASSWORD)).status).toBe(200);
    expect(await (await request("GET", `users/${grace}`)).json()).toMatchObject({ emailVerified: true });
  });

  it("is made for a known organization and known roles, by who runs the whole platform alone", async () => {
    const { platform } = nobodyMails();
    expect((await linkOn(platform, { roles: ["nosuch"] })).status).toBe(400);
    const boss = await makePerson(["plat.admin_tenant"]);
    const path = `organizations/${boss.organization}/invitations/${grace}/link`;
    expect((await request("POST", path, await tokenOf(boss), { roles: [] })).status).toBe(403);
    expect(
      (await request("POST", `organizations/nosuch/invitations/${grace}/link`, operator, { roles: [] })).status,
    ).toBe(404);
  });
});
