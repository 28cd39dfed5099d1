import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { ADA, makeClient, type Client } from "../support/world.ts";
import { fieldsOf, isNotFramed, isShown, landed, postForm, signIn, type Stage } from "./stage.ts";

/** The look of an application of somebody else. */
const BRAND = {
  name: "Label Printer",
  accentColor: "#7a1fa2",
  termsUri: "https://printer.example/terms",
  privacyUri: "https://printer.example/privacy",
};

/** A third-party application in the tenant of its users. */
export const makePrinter = (stage: Stage, id: string): Promise<Client> =>
  makeClient(stage.world, id, {
    confidential: false,
    grantTypes: ["authorization_code", "refresh_token"],
    redirectUris: ["http://localhost/landed"],
    displayName: "Label Printer",
    thirdParty: true,
    brand: BRAND,
  });

/** What people allow an application of somebody else, and what nobody can allow in their place. */
export function consentSuite(stage: () => Stage): void {
  let printer: Client;
  beforeAll(async () => {
    printer = await makePrinter(stage(), "printer");
  });
  const link = (more: Record<string, string> = {}): string =>
    stage().link({ client_id: printer.id, scope: "openid plat.media_view", ...more });
  const silently = async (page: Page): Promise<string | null> => {
    await page.goto(link({ prompt: "none" }));
    return (await landed(page)).query.get("error");
  };

  describe("an application of somebody else", () => {
    test("is allowed once, in words, and taken back at the account", async () => {
      const page = await stage().open();
      await page.goto(link());
      await signIn(page, ADA);
      await isShown(page, "Allow access?");
      await page.getByText("see files").waitFor();
      await page.getByRole("link", { name: "Terms" }).waitFor();
      const accent = await page.evaluate(`getComputedStyle(document.querySelector(".submit")).backgroundColor`);
      expect(accent).toBe("rgb(122, 31, 162)");
      await page.getByRole("button", { name: "Deny" }).click();
      expect((await landed(page)).query.get("error")).toBe("access_denied");
      await page.goto(link());
      await page.getByRole("button", { name: "Allow", exact: true }).click();
      expect((await landed(page)).query.get("code")).not.toBeNull();
      expect(await silently(page)).toBeNull();
      await page.goto(link({ scope: "openid plat.media_view plat.media_manage" }));
      await isShown(page, "Allow access?");
      await page.goto(`${stage().world.url}/account`);
      const access = page.getByRole("listitem").filter({ hasText: "printer" });
      await access.getByRole("button").click();
      await page.getByRole("status").waitFor();
      expect(await silently(page)).toBe("consent_required");
    });

    test("is allowed by no frame and no form of another site", async () => {
      const page = await stage().open();
      await page.goto(link());
      await signIn(page, ADA);
      await isShown(page, "Allow access?");
      const fields = await fieldsOf(page);
      await isNotFramed(stage(), page, link());
      // Even the fields of the person's own page are of no use to another site.
      const forged = new URLSearchParams({ ...fields, decision: "allow" });
      await postForm(page, `${stage().world.issuer}/consent?${forged.toString()}`);
      await isShown(page, "This request cannot be completed");
      expect(await silently(page)).toBe("consent_required");
    });
  });
}
