import { globSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { storeFile, useConsole, visit, type Stage } from "../acceptance/console/stage.ts";

/**
 * Lists of the console with as many rows as a large platform has. The rows are written into the database by hand; the
 * console reads them page by page from the platform.
 */
const stage = useConsole();
const ROWS = 100_000;
/** 100,000 rows that were all parts of the document's model would need gigabytes. */
const MOST_HEAP_BYTES = 600_000_000;

test("a list of 100,000 people is scrolled to its end, and back", { timeout: 600_000 }, async () => {
  write(
    stage(),
    "SELECT 1 FROM user WHERE email = 'ada@demo.example'",
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
     INSERT INTO user (email, name, created_at) SELECT printf('person%06d@demo.example', i), 'Person ' || i, 1 FROM n`,
  );
  const page = await stage().open();
  await visit(page, "People");
  const row = (at: number) => page.getByRole("row", { name: `person${String(at).padStart(6, "0")}@demo.example` });
  await row(1).waitFor();
  await scrollToEnd(page, ".table", () => row(ROWS).isVisible());
  expect(await row(1).count()).toBe(0);
  // The head, the demo's people who come before "person", and these.
  const index = Number(await row(ROWS).getAttribute("aria-rowindex"));
  expect(index).toBeGreaterThan(ROWS + 1);
  expect(await page.locator(".table").getAttribute("aria-rowcount")).toBe(String(index));
  expect(await page.locator(".table [role=row]").count()).toBeLessThan(60);

  // Far away in one step, as by the scroll bar, and by the keyboard from there.
  await page.evaluate(`document.querySelector(".table").scrollTop = 48 * 50000`);
  const middle = page.locator(".table [role=row][aria-rowindex='50010']");
  await middle.waitFor();
  const name = (await middle.getByRole("rowheader").textContent()) ?? "";
  expect(name).toMatch(/^person050\d{3}@/);
  await middle.focus();
  for (let times = 0; times < 150; times++) await page.keyboard.press("ArrowDown");
  expect(await page.evaluate(`document.activeElement.getAttribute("aria-rowindex")`)).toBe("50160");
  // A wheel moves the list away from the row that has the focus, and it stays where it is.
  await page.mouse.move(640, 500);
  for (let times = 0; times < 40; times++) await page.mouse.wheel(0, 2_000);
  await page.waitForTimeout(500);
  const top = Number(await page.evaluate(`document.querySelector(".table").scrollTop`));
  await page.waitForTimeout(500);
  expect(Number(await page.evaluate(`document.querySelector(".table").scrollTop`))).toBe(top);
  expect(top / 48).toBeGreaterThan(51_000);
  await page.evaluate(`document.querySelector(".table").scrollTop = 0`);
  await row(1).waitFor();
  expect(await heapBytes(page)).toBeLessThan(MOST_HEAP_BYTES);
});

test("a grid of 100,000 files is scrolled to its end, and back", { timeout: 600_000 }, async () => {
  const id = await storeFile(stage(), "demo/files/demo.shop/private", { name: "first" }, "a document");
  copyFile(stage(), id);
  const page = await stage().open({ path: "/media?tenant=demo&client=demo.shop" });
  const tile = (name: string) => page.getByRole("row", { name, exact: true });
  await tile("copy 1").waitFor();
  await scrollToEnd(page, ".file-grid", () => tile(`copy ${ROWS}`).isVisible());
  expect(await tile("copy 1").count()).toBe(0);
  expect(await tile(`copy ${ROWS}`).getAttribute("aria-rowindex")).toBe(String(ROWS + 1));
  expect(await page.locator(".file-grid [role=row]").count()).toBeLessThan(120);
  await page.evaluate(
    `(() => { const grid = document.querySelector(".file-grid"); grid.scrollTop = grid.scrollHeight / 2; })()`,
  );
  await expect
    .poll(async () => Number(await page.locator(".file-grid [role=row]").first().getAttribute("aria-rowindex")))
    .toBeGreaterThan(ROWS / 2 - 200);
  await page.evaluate(`document.querySelector(".file-grid").scrollTop = 0`);
  await tile("copy 1").waitFor();
  expect(await heapBytes(page)).toBeLessThan(MOST_HEAP_BYTES);
});

async function scrollToEnd(page: Page, list: string, isThere: () => Promise<boolean>): Promise<void> {
  while (!(await isThere())) {
    await page.evaluate(`(() => {
      const list = document.querySelector(${JSON.stringify(list)});
      list.scrollTop = list.scrollHeight;
    })()`);
    await page.waitForTimeout(10);
  }
}

const heapBytes = async (page: Page): Promise<number> =>
  Number(await page.evaluate("(globalThis.gc?.(), performance.memory.usedJSHeapSize)"));

/** As many copies of a file as the list is long, behind it. */
function copyFile(at: Stage, id: string): void {
  const where = `SELECT 1 FROM file WHERE id = '${id}'`;
  const columns = (write(at, where, "PRAGMA table_info(file)") as { readonly name: string }[])
    .map(({ name }) => name)
    .filter((name) => name !== "id" && name !== "metadata");
  const tail = "ffff000000";
  write(
    at,
    where,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
     INSERT INTO file (id, metadata, ${columns.join()})
     SELECT substr(id, 1, length(id) - ${tail.length}) || printf('ffff%06d', i), json_object('name', 'copy ' || i), ${columns.join()}
     FROM file, n WHERE id = '${id}'`,
  );
}

/** Runs a statement beside the platform, in the one of its databases where the question has a row. */
function write({ stateDir }: Stage, where: string, sql: string): unknown[] {
  for (const path of globSync(`${stateDir}/d1/miniflare-D1DatabaseObject/*.sqlite`)) {
    const database = new DatabaseSync(path);
    try {
      database.exec("PRAGMA busy_timeout = 10000");
      const isPlatform = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'file'").get() !== undefined;
      if (isPlatform && database.prepare(where).get() !== undefined) return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }
  throw new Error(`no database has it: ${where}`);
}
