import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Mail } from "../../../src/platform/ports/mail.ts";
import { authorizeAddress, Browser, landed, toInit } from "../../support/browser.ts";
import { directoryWith } from "../../support/directory.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { everywhere } from "../../support/shards.ts";
import { makeApp, redeemed, requestFor, signInThrough, tokenAt, visit, type TestApp } from "../../support/sign-in.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";
import { isLiving } from "../support/answers.ts";

const NEW = "a quite different password";

interface Ending {
  readonly user: TestUser;
  readonly app: TestApp;
  readonly platform: Isolate;
  readonly browser: Browser;
  readonly mails: readonly Mail[];
}

const operate = async ({ platform, user }: Ending, method: string, more = "", json?: object): Promise<void> => {
  const { status } = await platform.fetch(`/admin/v1/users/${user.email}${more}`, {
    method,
    headers: { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" },
    ...(json && { body: JSON.stringify(json) }),
  });
  expect(Math.floor(status / 100)).toBe(2);
};

interface Kind {
  /** The person signs in by this one afterwards; else by the old one. */
  readonly password?: string;
  /** The transaction that ends the sign-ins also removes them. */
  readonly isOne?: true;
  end(ending: Ending): Promise<unknown>;
  /** Is called before the person signs in again. */
  again?(user: TestUser): Promise<unknown>;
}

/** Each ends all sign-ins of a person. */
const ENDINGS: Readonly<Record<string, Kind>> = {
  "a reset password": {
    password: NEW,
    async end({ user, app, browser, mails }) {
      const page = await browser.get(authorizeAddress(requestFor(app, { prompt: "login" })));
      const asked = await browser.follow(
        await browser.post(`${ORIGIN}/oauth2/v1/forgot`, { ...page.forms[0]!.fields, email: user.email }),
      );
      await browser.submit(asked, { email: user.email });
      const form = await browser.get(/https?:\S+/.exec(mails[0]!.text)![0], "cross-site");
      await browser.submit(form, { new_password: NEW, repeated_password: NEW });
    },
  },
  "another password": {
    password: NEW,
    async end({ user, browser }) {
      const account = await browser.get(`${ORIGIN}/account`);
      const form = account.forms.find(({ action }) => action.endsWith("/password"))!;
      const passwords = { password: user.password, new_password: NEW, repeated_password: NEW };
      await browser.post(form.action, { ...form.fields, ...passwords });
    },
  },
  "an operator's password": {
    password: NEW,
    isOne: true,
    end: (ending) => operate(ending, "PUT", "", { name: "A", password: NEW }),
  },
  "a revocation": { isOne: true, end: (ending) => operate(ending, "POST", "/revoke") },
  "a removal": {
    password: NEW,
    isOne: true,
    end: (ending) => operate(ending, "DELETE"),
    async again({ email, tenant }) {
      await put(`users/${email}`, { name: "A", password: NEW });
      await join(email, tenant);
    },
  },
};

describe.each(Object.keys(ENDINGS))("%s", (kind) => {
  const { password, isOne, end, again } = ENDINGS[kind]!;
  const cases = [0, 1].flatMap((home) => [false, true].map((isMany) => ({ home, isMany })));
  it.each(cases)("ends what began before, and nothing that begins while that is removed: %o", async (the) => {
    const user = await makeUser({ home: the.home });
    const app = await makeApp({ tenant: user.tenant, thirdParty: true });
    const enter = async (browser: Browser, by: TestUser) => {
      const page = await signInThrough(browser, app, by);
      return redeemed(app, page.location === undefined ? await browser.submit(page, { decision: "allow" }) : page);
    };
    // The steps of the removal, each in its transaction; `isMany`: as if the first had not removed everything.
    let step = -1;
    let isNext = false;
    let begun: Awaited<ReturnType<typeof enter>> | undefined;
    const later = new Browser();
    const enterAgain = async () => {
      if (begun !== undefined) return;
      await again?.(user);
      begun = await enter(later, { ...user, password: password ?? user.password });
    };
    const DB = directoryWith({
      prepare(sql: string) {
        if (step >= 0 && sql.includes("DELETE FROM session WHERE email")) isNext = true;
        return env.DB.prepare(sql);
      },
      async batch(statements: D1PreparedStatement[]) {
        const isStep = isNext;
        isNext = false;
        if (isStep && isOne !== true) await enterAgain();
        const results = await env.DB.batch(statements);
        if (isStep && isOne === true) await enterAgain();
        if (!isStep || !the.isMany || step++ > 0) return results;
        return results.map((one) => ({ ...one, meta: { ...one.meta, changes: 5_000 } }));
      },
    });
    const mails: Mail[] = [];
    const MAIL = { send: async (mail: Mail) => ({ messageId: String(mails.push(mail)) }) } as unknown as SendEmail;
    const platform = isolate({ DB, MAIL, MAIL_FROM: "A <a@acme.example>", PUBLIC_URL: ORIGIN });
    const browser = new Browser({ send: (address, init) => platform.fetch(address, toInit(init)) });
    const before = await enter(browser, user);
    const widen = "UPDATE consent SET scopes = json_insert(scopes, '$[#]', 'of an intruder') WHERE email = ?";
    await env.DB.prepare(widen).bind(user.email).run();
    step = 0;
    await end({ user, app, platform, browser, mails });

    expect((await tokenAt(app, { grant_type: "refresh_token", refresh_token: before.refresh_token })).status).toBe(400);
    expect(await isLiving(before.access_token)).toBe(false);
    expect(await isLiving(begun!.access_token)).toBe(true);
    const refreshed = await tokenAt(app, { grant_type: "refresh_token", refresh_token: begun!.refresh_token });
    expect(refreshed.status).toBe(200);
    // The session and the consent are there too, without what was allowed before.
    expect(landed(await visit(later, app)).query.get("code")).not.toBeNull();
    const scopes = await env.DB.prepare("SELECT scopes FROM consent WHERE email = ?").bind(user.email).first("scopes");
    expect(scopes).not.toContain("of an intruder");
    const grants = "SELECT count(*) AS n FROM refresh_grant WHERE email = ?";
    expect(await everywhere.prepare(grants).bind(user.email).first("n")).toBe(1);
  });
});
