import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { localSecret } from "../support/process/state.ts";
import { barriers, settle } from "./looks.ts";
import { photographs } from "./photographs.ts";
import { OPERATOR, storeFile, visit, type Stage } from "./stage.ts";

const OF_SHOP = "/media?tenant=demo&client=demo.shop";

/** The story of photographs that an operator brings, searches, cuts and deletes with proof. */
export function mediaSuite(stage: () => Stage, count: number): void {
  describe("files of a client", () => {
    test("are uploaded many at once, searched, cut and deleted with a report", async () => {
      const page = await stage().open({ path: OF_SHOP });
      const looks = async (what: string) => {
        await settle(page);
        expect(await barriers(page), what).toEqual([]);
        await page.emulateMedia({ colorScheme: "dark" });
        expect(await barriers(page, "colours"), `${what}, dark`).toEqual([]);
        await page.emulateMedia({ colorScheme: "light" });
      };
      await page.getByRole("heading", { name: "No files yet" }).waitFor();
      await page.locator("input[type=file]").setInputFiles(photographs(count, 96, 64));
      await page.getByText(`${count} of ${count} files uploaded`).waitFor();
      await page.getByRole("button", { name: "Clear the list" }).click();
      await page
        .getByRole("row", { name: /harbour-\d\d/ })
        .first()
        .waitFor();
      await looks("a grid of files");

      await page.getByLabel("Field", { exact: true }).fill("name");
      await page.getByLabel("Value", { exact: true }).fill("harbour-07.png");
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await expect.poll(() => page.getByRole("row").count()).toBe(1);
      expect(new URL(page.url()).searchParams.get("q")).toBe("name:harbour-07.png");
      await page.getByRole("radio", { name: "Search as text" }).click();
      await page.getByRole("textbox", { name: /^Search the metadata/ }).fill("name:harbour-08.png");
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await page.getByRole("row", { name: "harbour-08.png" }).waitFor();
      await page.getByRole("textbox", { name: /^Search the metadata/ }).fill("name:harbour-07.png");
      await page.getByRole("button", { name: "Search", exact: true }).click();
      await page.getByRole("row", { name: "harbour-07.png" }).click();
      await page.getByRole("heading", { level: 1, name: "harbour-07.png" }).waitFor();

      await page.getByRole("button", { name: "Add a field" }).click();
      await page.getByLabel("Field", { exact: true }).nth(1).fill("album");
      await page.getByLabel("Value", { exact: true }).nth(1).fill("north sea");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("The metadata is saved.").waitFor();
      await drag(page, [0.2, 0.2], [0.7, 0.6]);
      const [width, height] = [page.getByLabel("Width"), page.getByLabel("Height")];
      expect([await width.inputValue(), await height.inputValue()]).toEqual(["48", "26"]);
      await page.getByRole("button", { name: "Make the variant" }).click();
      await page.getByText("48 × 26 px").waitFor();
      await looks("a file");
      // The same metadata as JSON: what is no object is refused at the field, and a list is kept as it was typed.
      await page.getByRole("radio", { name: "JSON" }).click();
      const json = page.getByRole("textbox", { name: "JSON" });
      const { name, album } = JSON.parse(await json.inputValue()) as Record<string, string>;
      await json.fill("{");
      await page.getByRole("button", { name: "Save" }).click();
      await page.locator(".field-error").waitFor();
      await json.fill(JSON.stringify({ name, album, tags: ["sea"] }));
      await page.getByRole("button", { name: "Save" }).click();
      await expect.poll(() => page.locator(".field-error").count()).toBe(0);
      const id = page.url().split("/").at(-1) ?? "";
      await expect
        .poll(async () => (await stage().operate("GET", `files/${id}`)).json())
        .toMatchObject({ metadataText: expect.stringContaining('sea"]') });
      const file = (await (await stage().operate("GET", `files/${id}`)).json()) as { metadataText: string };
      expect(JSON.parse(file.metadataText)).toEqual({
        name: "harbour-07.png",
        album: "north sea",
        tags: ["sea"],
      });

      await page.getByRole("button", { name: "Delete the file" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Delete the file" }).click();
      await page.getByRole("heading", { level: 1, name: "Report of a deletion" }).waitFor();
      await page.getByText("bytes deleted", { exact: true }).first().waitFor();
      await looks("a report");
      await isMadeForPaper(page);
      expect((await stage().operate("GET", `files/${id}`)).status).toBe(404);
      const rows = (await (await stage().operate("GET", "audit?action=delete file")).json()) as object[];
      expect(rows[0]).toMatchObject({
        actor: `operator ${OPERATOR}`,
        reason: `deletion ${page.url().split("/").at(-1)}`,
      });
    });

    test("that could not be sent are sent again, variants of all are made, and the work is found again", async () => {
      const page = await stage().open({ path: OF_SHOP });
      await page
        .getByRole("row", { name: /harbour-\d\d/ })
        .first()
        .waitFor();
      await page.route("**/media/v2/uploads/**", (route) => route.abort());
      await page.locator("input[type=file]").setInputFiles(photographs(1, 96, 64));
      await page.getByText("There was no answer.").waitFor();
      await page.unroute("**/media/v2/uploads/**");
      await page.getByRole("button", { name: "Try harbour-01.png again" }).click();
      await page.getByText("1 of 1 files uploaded").waitFor();
      // A file whose commit is on its way cannot be cancelled any more. If the commit fails, the file does not stay in
      // the way of others.
      const commits: Route[] = [];
      await page.route("**/files/*/commit", (route) => void commits.push(route));
      await page.locator("input[type=file]").setInputFiles(photographs(3, 96, 64));
      await expect.poll(() => commits.length).toBe(3);
      await page.getByRole("button", { name: "Cancel all" }).click();
      for (const commit of commits) await commit.fulfill({ status: 409, json: { status: 409, type: "conflict" } });
      await page.unroute("**/files/*/commit");
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByRole("button", { name: "Make variants" }).click();
      await page.getByRole("textbox", { name: "Size" }).fill("no size");
      await page.getByRole("button", { name: "Start" }).click();
      await page.getByText("Write width x height").waitFor();
      await page.getByRole("textbox", { name: "Size" }).fill("32x32");
      await page.getByRole("button", { name: "Start" }).click();
      await page.getByText("The variants are being asked for.").waitFor();
      await page.getByRole("link", { name: "Work" }).click();
      await page.getByText(`Images: ${count}. Variants started: ${count}.`).waitFor();
      await page.reload();
      await page.getByText(`Images: ${count}. Variants started: ${count}.`).waitFor();
      await page.getByText("All variants are made.").waitFor();
      await page.getByRole("button", { name: "Compare" }).click();
      await page.getByRole("heading", { level: 1, name: "Comparison" }).waitFor();
      await page.getByText("They agree.").waitFor();
    });

    test("are found from anywhere by the beginning of their names, and by their ids", async () => {
      const page = await stage().open();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").fill("Harbour-09");
      await page.getByRole("option", { name: "harbour-09.png demo.shop" }).click();
      await page.getByRole("heading", { level: 1, name: "harbour-09.png" }).waitFor();
      const id = page.url().split("/").at(-1) ?? "";
      await visit(page, "Signing keys");
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").fill("harbour-99");
      await page.getByText("Nothing has this name.").waitFor();
      await page.getByRole("searchbox").fill(id);
      await page.getByRole("option", { name: id }).click();
      await page.getByRole("heading", { level: 1, name: "harbour-09.png" }).waitFor();
    });

    test("are deleted all at once, with their number first; and others found by the palette", async () => {
      const page = await stage().open({ path: OF_SHOP });
      await page
        .getByRole("row", { name: /harbour-\d\d/ })
        .first()
        .waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").fill("harbour-09.png");
      await page.getByRole("option", { name: "harbour-09.png" }).click();
      await page.getByRole("heading", { level: 1, name: "harbour-09.png" }).waitFor();
      await page.locator(".trail").getByRole("link", { name: "Files" }).click();
      await page.getByRole("row").first().getByRole("checkbox").check({ force: true });
      await page.getByText("1 selected").waitFor();
      await page.getByRole("button", { name: "Delete the selected" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Delete 1 file" }).click();
      await page.getByText("1 file deleted.").waitFor();
      await page.getByRole("button", { name: "Delete all files" }).click();
      await page.getByRole("button", { name: `Delete ${count - 1} files` }).click();
      await page.getByRole("heading", { level: 1, name: "Report of a deletion" }).waitFor();
      await page.getByRole("link", { name: "Deletions" }).click();
      await expect.poll(() => page.getByRole("row").count()).toBe(4);
      await settle(page);
      expect(await barriers(page)).toEqual([]);
    });
  });

  describe("the administrator of an organization", () => {
    test("sees no files of others, by page or by the interface", async () => {
      const client = { tenant: "operators", confidential: true, scopes: [], grantTypes: ["client_credentials"] };
      expect((await stage().operate("PUT", "clients/operators.vault", client)).status).toBeLessThan(300);
      const vault = "operators/files/operators.vault/private";
      const id = await storeFile(stage(), vault, { name: "harbour-vault" }, "secret");
      const page = await stage().open({
        path: "/media",
        user: "ada@demo.example",
        password: localSecret("DEMO_USER_PASSWORD"),
        organization: "demo",
      });
      const asked = page.waitForRequest((request) => request.url().includes("/admin/v1/tenants"));
      await page.getByRole("combobox", { name: "Tenant" }).fill("demo");
      const authorization = (await (await asked).allHeaders())["authorization"] ?? "";
      await page.getByRole("option", { name: /demo/ }).first().waitFor();
      expect(await page.getByRole("option", { name: /operators/ }).count()).toBe(0);
      for (const path of [
        `files/${id}`,
        "tenants/operators/files",
        "files?q=harbour&tenant=operators",
        "tenants/operators/files/operators.vault/private",
      ]) {
        const answer = await fetch(`${stage().url}/admin/v1/${path}`, { headers: { authorization } });
        expect([path, answer.status]).toEqual([path, 404]);
      }
      const named = async (q: string): Promise<readonly string[]> => {
        const answer = await fetch(`${stage().url}/admin/v1/files?q=${q}`, { headers: { authorization } });
        const { files } = (await answer.json()) as { readonly files: readonly { readonly name: string }[] };
        return files.map(({ name }) => name);
      };
      expect(await named("harbour-vault")).toEqual([]);
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").fill("harbour-vault");
      await page.getByText("Nothing has this name.").waitFor();
      await page.keyboard.press("Escape");
      for (const path of [`/media/files/${id}`, "/media?tenant=operators&client=operators.vault"]) {
        await page.goto(`${stage().url}/console${path}`);
        await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
      }
    });
  });
}

/** Paper has the report alone, dark on white whatever the screen shows, and says who printed it. */
async function isMadeForPaper(page: Page): Promise<void> {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  for (const part of [".side", ".top", ".trail", ".page-head .buttons"])
    expect([part, await page.locator(part).first().isVisible()]).toEqual([part, false]);
  const colours = await page.evaluate(`(() => {
    const { backgroundColor, color } = getComputedStyle(document.body);
    return [backgroundColor, color];
  })()`);
  expect(colours).toEqual(["rgb(255, 255, 255)", "rgb(23, 32, 42)"]);
  expect(await page.locator(".on-paper").textContent()).toContain(`by ${OPERATOR}, from http://127.0.0.1:`);
  expect(await barriers(page, "colours"), "on paper").toEqual([]);
  const paper = (await page.pdf({ format: "A4" })).toString("latin1");
  expect(paper.match(/\/Type \/Page\b/g)).toHaveLength(1);
  await page.emulateMedia({ media: null, colorScheme: "light" });
}

/** Draws a frame on the image, from one place to another, as shares of its sides. */
async function drag(page: Page, from: readonly [number, number], to: readonly [number, number]): Promise<void> {
  const canvas = page.locator(".canvas");
  await canvas.locator(".kept").waitFor();
  await canvas.scrollIntoViewIfNeeded();
  const box = (await canvas.boundingBox())!;
  const at = ([x, y]: readonly [number, number]) => [box.x + box.width * x, box.y + box.height * y] as const;
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps: 4 });
  await page.mouse.up();
}
