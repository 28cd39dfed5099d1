import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Request } from "playwright-core";
import { describe, expect, test } from "vitest";
import { Authenticator } from "../support/virtual-authenticator.ts";
import { AuthenticatorApp } from "../support/authenticator-app.ts";
import { localSecret } from "../support/process/state.ts";
import { barriers } from "./looks.ts";
import { goByPalette, makeTopic, OPERATOR, storeFile, visit, type Stage } from "./stage.ts";

/** An operator finds what needs attention, and mends it. */
export function tendSuite(stage: () => Stage): void {
  describe("an operator", () => {
    test("gives a tenant its brand, and learns at the field that nobody could read a colour", async () => {
      const page = await stage().open({ path: "/tenants/demo" });
      const card = page.locator("section", { has: page.getByRole("heading", { level: 2, name: "Brand" }) });
      await card.getByText("Sign-in pages and mails have the platform's look.").waitFor();
      await card.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Name in the head of pages").fill("Demo & Sons");
      const color = page.getByLabel("Colour of buttons and links");
      await color.fill("#ffcc00");
      await page.getByText("contrast 1.4:1").waitFor();
      await page.getByRole("button", { name: "Save" }).click();
      const error = page.locator(".field", { has: color }).locator(".field-error");
      await error.waitFor();
      expect(await error.textContent()).toContain("It needs 4.5:1 (WCAG AA).");
      await color.fill("#7a1fa2");
      await page.getByRole("button", { name: "Save" }).click();
      // The form shows the name before it is stored.
      await page.getByRole("button", { name: "Save" }).waitFor({ state: "hidden" });
      await card.getByText("Demo & Sons").first().waitFor();
      const stored = (await (await stage().operate("GET", "tenants/demo")).json()) as { brand: object };
      expect(stored.brand).toMatchObject({ name: "Demo & Sons", accentColor: "#7a1fa2" });
      const plain = { organization: "demo", name: "Demo shop", brand: {} };
      expect((await stage().operate("PUT", "tenants/demo", plain)).status).toBe(200);
    });

    test("goes to the page of an address at once, signed in by the platform's own session", async () => {
      const page = await stage().open({ path: "/tenants/demo" });
      await page.getByRole("heading", { level: 1, name: "Demo shop" }).waitFor();
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "Demo shop" }).waitFor();
      expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage])")).not.toMatch(/eyJ|token|verifier/);
      await page.goto(`${stage().url}/console/tenants/nobody`);
      await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
    });

    test("finds a failing endpoint on the overview, and sends its dead letters again when it is mended", async () => {
      const { topic, token } = await makeTopic(stage());
      let status = 410;
      const heard: string[] = [];
      const endpoint = createServer((request, response) => {
        heard.push(request.method ?? "");
        response.writeHead(status).end();
      });
      await new Promise<void>((listening) => endpoint.listen(0, "127.0.0.1", listening));
      try {
        const { port } = endpoint.address() as AddressInfo;
        const path = `${stage().url}/pubsub/v1/topics/${topic}`;
        const post = async (at: string, body: unknown) =>
          fetch(`${path}/${at}`, {
            method: "POST",
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            body: JSON.stringify(body),
          });
        const pushConfig = {
          endpoint: `http://127.0.0.1:${port}/`,
          basicAuth: { username: "u", password: "a password" },
        };
        const made = await post("subscriptions", { name: "to-shop", pushConfig });
        expect(made.status, await made.clone().text()).toBe(201);
        expect((await post("publish", { payload: "an order" })).status).toBe(201);
        const items = async () =>
          ((await (await stage().operate("GET", "attention")).json()) as { items: any[] }).items;
        await expect
          .poll(async () => (await items()).map(({ kind }) => kind), { timeout: 20_000 })
          .toContain("push_stopped");
        const page = await stage().open();
        const line = page.locator(".attention li", { hasText: "to-shop" });
        await line.getByRole("link").click();
        await page.getByRole("heading", { level: 1, name: "to-shop" }).waitFor();
        status = 204;
        await page.getByRole("button", { name: "Send a test" }).click();
        await page.getByText(/The endpoint took the test/).waitFor();
        const update = await fetch(`${path}/subscriptions/to-shop`, {
          method: "PUT",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ pushConfig }),
        });
        expect(update.status).toBe(200);
        await page.getByRole("button", { name: "Send dead letters again" }).click();
        await page.getByRole("alertdialog").getByRole("button", { name: "Send dead letters again" }).click();
        await page.getByText(/^\d+ dead letters? (is|are) sent again\.$/).waitFor();
        await expect.poll(async () => (await items()).filter(({ name }) => name === "to-shop")).toEqual([]);
      } finally {
        endpoint.close();
      }
    });

    test("publishes an event by hand, and moves a cursor after a look at what is read again", async () => {
      const { topic, token } = await makeTopic(stage());
      const read = async () =>
        fetch(`${stage().url}/pubsub/v1/topics/${topic}/read`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ autoCommit: true }),
        });
      const page = await stage().open({ path: `/topics/${topic}` });
      await page.getByRole("button", { name: "Publish an event" }).click();
      await page.getByLabel("Payload").fill('{"order": "4711"}');
      await page.getByRole("dialog").getByRole("button", { name: "Publish an event" }).click();
      await page.getByText(/^Published as/).waitFor();
      // A look and a search move no cursor, and the address has the search.
      await page.keyboard.press("Escape");
      await page.getByLabel(/^Search/).fill("nothing like it");
      await page.getByRole("button", { name: "Look", exact: true }).click();
      await page.getByText("Looked at 1 event: none matches.").waitFor();
      await page.getByLabel(/^Search/).fill("order");
      await page.getByRole("button", { name: "Look", exact: true }).click();
      await page.getByRole("button", { name: /"order": "4711"/ }).click();
      await page.getByRole("dialog").getByText('"4711"').first().waitFor();
      await page.keyboard.press("Escape");
      expect(new URL(page.url()).searchParams.get("contains")).toBe("order");
      expect(await (await read()).json()).toMatchObject({ events: [{ payload: '{"order": "4711"}' }] });
      expect((await read()).status).toBe(204);
      await page.reload();
      await page.getByRole("button", { name: /^Move the cursor of/ }).click();
      await page.getByText("It reads 1 event again.").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Move cursor" }).click();
      await page.getByText(/^The cursor of .* is moved/).waitFor();
      expect(await (await read()).json()).toMatchObject({ events: [{ payload: '{"order": "4711"}' }] });
    });

    test("finds a person who is locked out, by search and by the overview, and unlocks the account", async () => {
      const email = "locked@demo.example";
      const password = "a password of the locked person";
      await stage().operate("PUT", `users/${email}`, { name: "Lotte Locked", password });
      await stage().operate("PUT", `tenants/demo/members/${email}`, { roles: [] });
      const door = await stage().open();
      await door.getByRole("button", { name: /^Your account/ }).click();
      await door.getByRole("button", { name: "Sign out" }).click();
      await door.getByRole("button", { name: "Sign in", exact: true }).click();
      for (let tries = 0; tries < 15; tries++) {
        await door.getByLabel("E-mail address").fill(email);
        await door.getByLabel("Password").fill(`wrong ${tries}`);
        await door.getByRole("button", { name: "Sign in" }).click();
        await door.getByRole("alert").waitFor();
      }
      const page = await stage().open();
      await page.locator(".attention li", { hasText: email }).getByRole("link").waitFor();
      await visit(page, "People");
      await page.getByRole("searchbox", { name: "Find by address or name" }).fill("lotte");
      // Until the search has an answer, the rows of the whole list stay.
      await expect.poll(() => page.locator(".table [role=row]").count()).toBe(2);
      await page.getByRole("row", { name: /locked@demo.example/ }).click();
      await page.getByRole("heading", { level: 1, name: "Lotte Locked" }).waitFor();
      await page.getByRole("button", { name: "Unlock" }).click();
      const confirm = page.getByRole("alertdialog").getByRole("button", { name: "Unlock" });
      if (await confirm.isVisible()) await confirm.click();
      await expect
        .poll(async () => {
          const answer = await stage().operate("GET", "attention");
          const { items } = (await answer.json()) as { items: { subject: string }[] };
          return items.filter(({ subject }) => subject === email);
        })
        .toEqual([]);
    });

    test("shows where a person is signed in, ends one session, and changes picture and language", async () => {
      const email = "seen@demo.example";
      const password = "a password of the seen person";
      await stage().operate("PUT", `users/${email}`, { name: "Sina Seen", password });
      await stage().operate("PUT", `tenants/demo/members/${email}`, { roles: [] });
      const page = await stage().open({ path: `/people/${email}` });
      await page.getByText("The person is signed in nowhere.").waitFor();
      const own = await page.context().browser()!.newPage();
      await own.goto(`${stage().url}/account`);
      await own.getByLabel("E-mail address").fill(email);
      await own.getByLabel("Password").fill(password);
      await own.getByRole("button", { name: "Sign in", exact: true }).click();
      await own.getByRole("heading", { level: 1, name: "Your account" }).waitFor();

      await page.reload();
      const card = page.locator("section", { has: page.getByRole("heading", { level: 2, name: "Signed in" }) });
      await card.getByText(/^signed in .* · last used /).waitFor();
      expect(await barriers(page)).toEqual([]);
      await card.getByRole("button", { name: /^Sign out: Chrome/ }).click();
      const dialog = page.getByRole("alertdialog", { name: /^Sign out: Chrome/ });
      await dialog.getByRole("button", { name: "Sign out", exact: true }).click();
      await card.getByText("The person is signed in nowhere.").waitFor();
      await own.reload();
      await own.getByLabel("Password").waitFor();

      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Picture").fill("http://people.example/sina.jpg");
      await page.getByLabel("Language").fill("en_GB");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("must be https", { exact: false }).waitFor();
      await page.getByText("must be a language tag", { exact: false }).waitFor();
      await page.getByLabel("Picture").fill("https://people.example/sina.jpg");
      await page.getByLabel("Language").fill("en-gb");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("link", { name: "https://people.example/sina.jpg" }).waitFor();
      await page.getByText("British English (en-GB)").waitFor();
      const kept = { picture: "https://people.example/sina.jpg", locale: "en-GB" };
      expect(await (await stage().operate("GET", `users/${email}`)).json()).toMatchObject(kept);
    });

    test("takes away the authenticator app and the passkey that a person has lost", async () => {
      const email = "lost@demo.example";
      const password = "a password of who loses things";
      await stage().operate("PUT", `users/${email}`, { name: "Lara Lost", password });
      await stage().operate("PUT", `tenants/demo/members/${email}`, { roles: [] });
      // Passkeys need a host with a name.
      const account = `${stage().url.replace("127.0.0.1", "localhost")}/account`;
      const own = await (await stage().open()).context().browser()!.newPage();
      await Authenticator.plugIn(own);
      await own.goto(account);
      await own.getByLabel("E-mail address").fill(email);
      await own.getByLabel("Password").fill(password);
      await own.getByRole("button", { name: "Sign in", exact: true }).click();
      await own.getByRole("button", { name: "Add a passkey" }).click();
      await own.getByLabel("Name of the passkey").fill("Old laptop");
      await own.getByRole("button", { name: "Create the passkey" }).click();
      await own.getByText("The passkey is added.").waitFor();
      await own.getByRole("button", { name: "Set up two-step sign-in" }).click();
      const app = new AuthenticatorApp((await own.locator("code.key").textContent()) ?? "");
      await own.getByLabel("Password").fill(password);
      await own.getByLabel("The code that the app shows").fill(await app.next());
      await own.getByRole("button", { name: "Turn on" }).click();
      await own.getByRole("heading", { level: 1, name: "Keep your recovery codes" }).waitFor();

      const page = await stage().open({ path: `/people/${email}` });
      const card = page.locator("section", {
        has: page.getByRole("heading", { level: 2, name: "Second factor and passkeys" }),
      });
      for (const name of [/authenticator app of/, /passkey "Old laptop"/]) {
        await card.getByRole("button", { name }).click();
        const dialog = page.getByRole("alertdialog", { name: /^Remove the/ });
        await dialog.getByText(/make sure who asks/).waitFor();
        expect(await barriers(page)).toEqual([]);
        await dialog.getByRole("button", { name: "Remove", exact: true }).click();
        await dialog.waitFor({ state: "detached" });
      }
      await card.getByText("None: the person signs in by the password alone").waitFor();
      expect(await (await stage().operate("GET", `users/${email}/passkeys`)).json()).toEqual([]);
      const rows = (await (await stage().operate("GET", `audit?subject=users/${email}`)).json()) as any[];
      expect(
        rows.filter(({ action }) => action.startsWith("remove")).map(({ actor, action }) => [actor, action]),
      ).toEqual([
        [`operator ${OPERATOR}`, "remove passkey"],
        [`operator ${OPERATOR}`, "remove second factor"],
      ]);
      const again = await own.context().browser()!.newPage();
      await again.goto(account);
      await again.getByLabel("E-mail address").fill(email);
      await again.getByLabel("Password").fill(password);
      await again.getByRole("button", { name: "Sign in", exact: true }).click();
      await again.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
      await Promise.all([own.context().close(), again.context().close()]);
    });

    test("finds records of each kind in the palette", async () => {
      const { topic } = await makeTopic(stage());
      const [owner = "", eventType = ""] = topic.split("/");
      const page = await stage().open();
      await page.getByRole("heading", { level: 1 }).waitFor();
      for (const [typed, option, heading] of [
        ["demo sh", /Demo shop/, "Demo shop"],
        ["demo.web", /demo\.web/, "demo.web"],
        ["ADA@demo", /ada@demo.example/, "Ada"],
        ["organization-", /organization-admin/, "organization-admin"],
        ["operators", /Operators/, "Operators"],
        [owner, new RegExp(`${eventType}.*${owner}`), eventType],
        [topic, new RegExp(`${eventType}.*${owner}`), eventType],
      ] as const) {
        await page.keyboard.press("Control+k");
        await page.getByRole("searchbox").waitFor();
        await page.keyboard.type(typed);
        await page.getByRole("option", { name: option }).first().click();
        await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      }
    });

    test("asks why by a client alone, or by a person alone", async () => {
      const page = await stage().open({ path: "/explain" });
      const ask = () => page.getByRole("button", { name: "Explain" }).click();
      await page.getByLabel("Client", { exact: true }).fill("demo.shop");
      await ask();
      await page.getByText("A token would be issued").waitFor();
      expect(new URL(page.url()).search).toBe("?client=demo.shop");
      await page.getByLabel("Client", { exact: true }).fill("");
      await page.getByLabel("Person", { exact: true }).fill("nobody@demo.example");
      await ask();
      await page.getByText("No token would be issued").waitFor();
      expect(new URL(page.url()).searchParams.get("client")).toBe(null);
      await page.evaluate("history.back()");
      await page.getByText("A token would be issued").waitFor();
      expect(await page.getByLabel("Client", { exact: true }).inputValue()).toBe("demo.shop");
    });

    test("sees that topics of one tenant alone are shown, and gets all", async () => {
      const { topic } = await makeTopic(stage());
      const page = await stage().open({ path: "/topics?tenant=operators" });
      await page.getByText("Only topics of the tenant operators are shown.").waitFor();
      await page.getByRole("link", { name: "Show all" }).click();
      await page.locator("[role=row]", { hasText: topic.split("/")[0] ?? "" }).waitFor();
      expect(new URL(page.url()).search).toBe("");
    });

    test("takes the conditions of a search of files away again", async () => {
      await storeFile(stage(), "demo/files/demo.shop/private", { name: "to be found" }, "a file");
      const page = await stage().open({ path: "/media?tenant=demo&client=demo.shop&q=name:nothing" });
      const none = page.getByText("No file matches");
      const search = () => page.getByRole("button", { name: "Search", exact: true }).click();
      await none.waitFor();
      await page.getByRole("button", { name: "Remove the condition name" }).click();
      await search();
      await page.getByRole("row", { name: "to be found" }).first().waitFor();
      await page.goto(`${stage().url}/console/media?tenant=demo&client=demo.shop&q=name:nothing`);
      await none.waitFor();
      await page.getByRole("radio", { name: "Search as text" }).click();
      await page.getByRole("textbox", { name: /^Search the metadata/ }).fill("");
      await search();
      await page.getByRole("row", { name: "to be found" }).first().waitFor();
    });

    test("loses no letter that is typed while a search begins", async () => {
      const page = await stage().open({ path: "/tenants" });
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Emulation.setCPUThrottlingRate", { rate: 6 });
      const search = page.getByRole("searchbox");
      // As slow as the pause after which a search begins.
      for (const delay of [190, 195, 200, 205]) {
        await search.fill("");
        await expect.poll(() => page.url()).not.toContain("?");
        await search.pressSequentially("abcdefghij", { delay });
        await expect.poll(() => page.url()).toContain("q=abcdefghij");
        expect(await search.inputValue()).toBe("abcdefghij");
      }
      await devtools.send("Emulation.setCPUThrottlingRate", { rate: 1 });
      await visit(page, "People");
      await page.evaluate("history.back()");
      await expect.poll(() => search.inputValue()).toBe("abcdefghij");
      await visit(page, "Tenants");
      await expect.poll(() => search.inputValue()).toBe("");
    });

    test("hears how much a search has found, without leaving its field", async () => {
      const page = await stage().open({ path: "/tenants" });
      const told = page.getByRole("main").getByRole("status");
      const search = page.getByRole("searchbox");
      await search.fill("demo");
      await told.getByText("1 row", { exact: true }).waitFor({ state: "attached" });
      await search.fill("zzz");
      await told.getByText("Nothing found", { exact: true }).waitFor({ state: "attached" });
      await search.fill("");
      await told.getByText(/^\d+ rows$/).waitFor({ state: "attached" });
    });

    test("asks once for what is typed, and gives up what nobody waits for any more", async () => {
      const page = await stage().open({ path: "/topics" });
      const asked: string[] = [];
      const given: string[] = [];
      const noting = (into: string[]) => (request: Request) => {
        const { pathname, searchParams } = new URL(request.url());
        const typed = searchParams.get("q") ?? searchParams.get("subject");
        if (pathname.startsWith("/admin/v1/") && typed !== null) into.push(`${pathname.slice(10)} ${typed}`);
      };
      page.on("request", noting(asked));
      page.on("requestfailed", noting(given));
      await page.getByLabel("Name begins with").pressSequentially("demo.none", { delay: 40 });
      await page.getByText("Nothing begins with “demo.none”.").waitFor();
      expect(asked.splice(0)).toEqual(["topics demo.none"]);
      await visit(page, "Audit log");
      await page.getByLabel("Subject begins with").pressSequentially("clients/none", { delay: 40 });
      await page.getByText("Nothing like that happened").waitFor();
      expect(asked.splice(0)).toEqual(["audit clients/none"]);
      await visit(page, "Files");
      await page.getByRole("combobox", { name: "Tenant" }).pressSequentially("operat", { delay: 40 });
      await expect.poll(() => asked).toContain("tenants operat");
      expect(asked.splice(0).filter((one) => one.startsWith("tenants "))).toEqual(["tenants operat"]);
      await page.keyboard.press("Escape");

      await visit(page, "Services and packages");
      await page.route("**/admin/v1/**", async (route) => {
        if (!route.request().url().includes("q=ope")) await route.continue();
      });
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").fill("ope");
      await expect.poll(() => asked.length).toBe(5);
      await page.getByRole("searchbox").fill("demo sh");
      await page.getByRole("option", { name: /Demo shop/ }).waitFor();
      expect(given.toSorted()).toEqual(asked.filter((one) => one.endsWith(" ope")).toSorted());
    });

    test("says in the palette what could not be searched, and does not say that there is nothing", async () => {
      const page = await stage().open();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.route("**/admin/v1/users?**", (route) => route.abort());
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").fill("ada@");
      await page.getByText("The platform did not answer. There may be more.").waitFor();
      expect(await page.getByText("Nothing has this name.").count()).toBe(0);
    });

    test("finds a topic in the list by its name, written either way, and is told when there is none", async () => {
      const { topic } = await makeTopic(stage());
      const page = await stage().open({ path: "/topics" });
      const filter = page.getByLabel("Name begins with");
      const row = page.locator("[role=row]", { hasText: topic.split("/")[0] ?? "" });
      for (const typed of [topic, topic.replace("/", "."), ` ${topic.slice(0, -2)}`]) {
        await filter.fill("demo.nothing");
        await page.getByText("Nothing begins with “demo.nothing”.").waitFor();
        await filter.fill(typed);
        await row.waitFor();
      }
      // No topic's name has a space or begins with a dot.
      for (const typed of ["two words", ".x", `${topic}/x`]) {
        await filter.fill(typed);
        await page.getByText(`Nothing begins with “${typed}”.`).waitFor();
      }
    });

    test("finds roles among many by a part of their name or of a scope, and by a pattern", async () => {
      for (let at = 0; at < 40; at++) {
        const scopes = at === 7 ? ["bills.read", "orders.*"] : ["bills.read"];
        expect((await stage().operate("PUT", `roles/clerk-${at}`, { scopes })).status).toBe(201);
      }
      const page = await stage().open({ path: "/roles" });
      const rows = page.getByRole("row").filter({ has: page.getByRole("rowheader") });
      const search = page.getByRole("searchbox", { name: "Find by name or scope" });
      await search.fill("CLERK-3");
      await expect.poll(() => rows.count()).toBe(11);
      await search.fill("rders.vi");
      await page.getByText("No role has “rders.vi” in its name or scopes.").waitFor();
      await search.fill("orders.view");
      await page.getByText("orders.*, bills.read").waitFor();
      expect(new URL(page.url()).search).toBe("?q=orders.view");
      await page.getByRole("rowheader", { name: "clerk-7", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "clerk-7" }).waitFor();
    });

    test("finds a page by the keyboard alone", async () => {
      const page = await stage().open();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await goByPalette(page, "Signing", "Signing keys");
    });

    test("signs in again in a window when the session has ended, and the form goes on", async () => {
      const page = await stage().open();
      await visit(page, "Organizations");
      await page.getByRole("link", { name: "New organization" }).click();
      await page.getByLabel("Id", { exact: true }).fill("east");
      await page.getByLabel("Name", { exact: true }).fill("East");
      expect((await stage().operate("POST", `users/${OPERATOR}/revoke`)).status).toBe(204);
      await expect
        .poll(
          async () => {
            const asked = page.waitForResponse((answer) => answer.url().includes("/admin/v1/organizations"));
            await page
              .getByRole("button", { name: "Create" })
              .click({ timeout: 2_000 })
              .catch(() => undefined);
            return (await asked).status();
          },
          { timeout: 20_000, interval: 500 },
        )
        .toBe(401);
      const dialog = page.getByRole("alertdialog");
      await dialog.waitFor();
      const opened = page.waitForEvent("popup");
      await dialog.getByRole("button", { name: "Sign in again" }).click();
      const popup = await opened;
      await popup.getByLabel("E-mail address").fill(OPERATOR);
      await popup.getByLabel("Password").fill(localSecret("DEMO_OPERATOR_PASSWORD"));
      await popup.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { level: 1, name: "East" }).waitFor();
    });

    test("sees why a scope is not granted", async () => {
      const page = await stage().open({ path: "/explain?client=demo.web&user=ada@demo.example&scope=plat.nothing" });
      await page.getByRole("heading", { name: "No token would be issued" }).waitFor();
      expect(await page.locator(".decision .no").count()).toBeGreaterThan(0);
    });
  });
}
