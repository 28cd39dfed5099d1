import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { makePrinter } from "./consent.ts";
import { ADA, BOB, TENANT, type Client, type User } from "../support/world.ts";
import { signIn, type Stage } from "./stage.ts";

/** The pages as they are laid out and read aloud, in each theme, on the narrowest screen (WCAG 2.2, 1.4.10: 320 px). */
const NARROW = { width: 320, height: 568 };
const PHONE = { width: 360, height: 740 };
const WIDE = { width: 1280, height: 800 };

export function looksSuite(stage: () => Stage): void {
  /**
   * Each page that people can meet, by its heading, in the order in which one browser meets them. `forgetful` asks for
   * a link, of which there are three an hour.
   */
  const pagesOf = (forgetful: User): readonly (readonly [heading: string, go: (page: Page) => Promise<unknown>])[] => [
    ["Sign in", (page) => page.goto(hostedLink())],
    ["Sign in", (page) => signIn(page, { ...forgetful, password: "another" })],
    ["Choose a new password", (page) => page.getByRole("button", { name: "Forgot your password?" }).click()],
    ["Look at your mail", (page) => page.getByRole("button", { name: "Send the link" }).click()],
    ["Mail", (page) => page.goto(`${stage().world.url}/dev/mail`)],
    ["Choose a new password", (page) => page.getByRole("link", { name: /reset/ }).first().click()],
    ["Choose a new password", changeToNothing],
    ["You are invited", openInvitation],
    ["You are invited", acceptByNothing],
    ["This link does not work any more", (page) => page.goto(`${stage().world.issuer}/reset?token=none`)],
    ["Sign in", (page) => page.goto(hostedLink())],
    ["Choose a workspace", (page) => signIn(page, BOB)],
    ["Allow access?", async (page) => page.goto(await printersLink())],
    ["Allow access?", (page) => page.goto(strangersLink())],
    ["Your account", allowTheStranger],
    ["Your account", changeToNothing],
    ["This request cannot be completed", (page) => page.goto(`${stage().world.issuer}/authorize?client_id=nobody`)],
    ["You are signed out", (page) => page.goto(`${stage().world.issuer}/end_session?client_id=${stage().client.id}`)],
    ["Sign in", (page) => page.goto(account())],
    ["Sign in", async (page) => page.goto(await printersLink())],
    ["The platform is running", (page) => page.goto(stage().world.url)],
    ["There is nothing here", (page) => page.goto(`${stage().world.url}/nowhere`)],
    ["Errors of this platform", (page) => page.goto(`${stage().world.url}/docs/errors`)],
  ];
  let printer: Client | undefined;
  /** With a brand. */
  const printersLink = async (): Promise<string> => {
    printer ??= await makePrinter(stage(), "label");
    return stage().link({ client_id: printer.id, scope: "openid profile plat.media_view plat.media_manage" });
  };
  const strangersLink = () => stage().link({ client_id: stage().stranger, scope: "plat.no_tenant openid" });
  /** So that the account shows it too. */
  async function allowTheStranger(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.waitForURL((url) => url.pathname === "/landed");
    await page.goto(account());
    await page.getByRole("heading", { name: stage().stranger }).waitFor();
    await page.getByRole("listitem").filter({ hasText: stage().stranger }).getByRole("button").click();
    await page.getByRole("status").waitFor();
  }
  async function openInvitation(page: Page): Promise<void> {
    const email = `guest${String(Math.random()).slice(2)}@acme.example`;
    await stage().world.put(`tenants/${TENANT}/invitations/${email}`, { roles: [] });
    await page.goto(`${stage().world.url}/dev/mail`);
    await page.locator("section", { hasText: email }).getByRole("link").click();
  }
  const account = () => `${stage().world.url}/account`;
  const hostedLink = () => stage().link({ response_type: "token", client_id: stage().hosted.id });

  describe("every page fits, can be read, and says what it is to those who do not see it", () => {
    test.each([
      { theme: "light", letters: 16, ...NARROW },
      { theme: "dark", letters: 16, ...NARROW },
      { theme: "dark", letters: 16, ...WIDE },
      { theme: "light", letters: 32, ...PHONE },
    ] as const)("$theme, $width px wide, with letters of $letters px", async ({ theme, letters, ...viewport }) => {
      const page = await stage().open({ colorScheme: theme, viewport });
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Page.setFontSizes", { fontSizes: { standard: letters } });
      for (const [heading, go] of pagesOf(letters === 16 ? ADA : BOB)) {
        await go(page);
        await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
        await lookAt(page, heading, theme);
      }
    });
  });
}

/** What is wrong with the page that is shown: nothing. */
export async function lookAt(page: Page, name: string, theme: "light" | "dark"): Promise<void> {
  // The page may be read before its stylesheet is there.
  await page.waitForLoadState("load");
  expect(await page.evaluate(LOOK), name).toEqual({ faults: [], dark: theme === "dark" });
}

/** Too short a password, so that the account page says so. */
async function changeToNothing(page: Page): Promise<void> {
  for (const field of await page.locator("input[type=password]").all()) await field.fill("x");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("alert").waitFor();
}

async function acceptByNothing(page: Page): Promise<void> {
  for (const field of await page.locator("input[type=password]").all()) await field.fill("x");
  await page.getByRole("button", { name: "Accept the invitation" }).click();
  await page.getByRole("alert").waitFor();
}

/** Runs in the page: what is wrong with it. */
const LOOK = `(() => {
  const faults = [];
  const demand = (holds, fault) => { if (!holds) faults.push(fault); };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const root = document.documentElement;

  demand(root.scrollWidth <= innerWidth, "scrolls sideways: " + root.scrollWidth);
  demand(/^[a-z]{2}/.test(root.lang), "no language");
  demand(document.title !== "", "no title");
  demand(all("h1").length === 1, "not one heading of level 1");
  demand(all("main").length === 1 && all("header").length === 1, "no landmarks");
  const ids = all("[id]").map(({ id }) => id);
  demand(new Set(ids).size === ids.length, "an id twice");
  for (const attribute of ["aria-describedby", "aria-labelledby", "for"])
    for (const element of all("[" + attribute + "]"))
      demand(ids.includes(element.getAttribute(attribute)), attribute + " leads nowhere");
  demand(all("[tabindex]").every(({ tabIndex }) => tabIndex <= 0), "an order of its own");
  const isSaid = (picture) => picture.role === "img" && picture.ariaLabel !== null;
  demand(all("svg").every((picture) => picture.ariaHidden === "true" || isSaid(picture)), "a picture that is read aloud");
  // Only pages with a form have a script, and it is our own file.
  const scripts = all("script").filter(({ src, text }) => !src.startsWith(location.origin) || text !== "");
  demand(all("form").length === 0 || all("script").length === 1, "no script that sends a form once");
  demand(scripts.length === 0, "a script that is not our file");
  demand(all("iframe, [style]").length === 0 && all("link, img").length === 2, "what does not belong here");

  demand(all("[hidden]").every((element) => element.getClientRects().length === 0), "hidden, and shown");
  for (const field of all("input:not([type=hidden], [hidden])")) {
    demand(field.labels.length === 1, "a field without a label");
    demand(field.autocomplete !== "", "a field that nothing fills in");
    if (field.getAttribute("aria-invalid") === "true")
      demand(document.getElementById(field.getAttribute("aria-describedby")).role === "alert", "a fault that is not said");
  }
  // Links in running text are excepted (2.5.8).
  for (const target of all("button, input:not([type=hidden], [hidden]), summary, a:not(:is(p, dt, dd) a)")) {
    const { width, height } = target.getBoundingClientRect();
    demand(width >= 44 && height >= 44, "too small to touch: " + target.outerHTML);
    demand(target.tagName !== "BUTTON" || target.textContent.trim() !== "", "a button without a name");
  }

  const paths = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (paths.nextNode()) {
    const { currentNode } = paths;
    if (currentNode.parentElement.closest("summary code, h1, h2, button") === null) continue;
    for (const { 0: word, index } of currentNode.data.matchAll(/[{}A-Za-z0-9]+/g)) {
      const range = document.createRange();
      range.setStart(currentNode, index);
      range.setEnd(currentNode, index + word.length);
      demand(range.getClientRects().length <= 1, "broken within a word: " + currentNode.data);
    }
  }
  for (const folded of all("section > p + details, section > h2 + details")) {
    const above = folded.previousElementSibling.getBoundingClientRect().bottom;
    demand(folded.getBoundingClientRect().top - above >= 8, "words touch the line below them: " + folded.textContent);
  }

  const channels = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { parentElement, data } = texts.currentNode;
    if (data.trim() === "") continue;
    const [low, high] = [luminance(getComputedStyle(parentElement).color), luminance(background(parentElement))].sort(
      (a, b) => a - b,
    );
    demand((high + 0.05) / (low + 0.05) >= 4.5, "hard to read: " + data.trim());
  }
  return { faults, dark: luminance(background(document.body)) < 0.2 };
})()`;
