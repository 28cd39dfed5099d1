import { beforeAll, describe, expect, test } from "vitest";
import { startMeddling, type Meddling } from "../acceptance/support/parties/meddling-proxy.ts";
import { plat } from "../acceptance/support/plat-command.ts";
import { listEverything } from "../acceptance/support/platform-lists.ts";
import { newPlatform } from "../acceptance/support/process/new-platform.ts";
import { npm, stopGroup } from "../acceptance/support/process/program.ts";

const platform = newPlatform();
let env: Record<string, string>;
let before: unknown;

beforeAll(async () => {
  env = { PORT: String(platform.port) };
  before = await listEverything(env);
});

/** A tour with this in its way; what it printed. */
async function tourAgainst(meddle: Meddling): Promise<{ code: number | null; output: string }> {
  const proxy = await startMeddling(platform.url, meddle);
  const tour = npm("tour", env, ["--", "--url", proxy.url]);
  const code = await tour.ended;
  proxy.close();
  return { code, output: tour.output() };
}

describe("npm run tour removes what it made", () => {
  // shows: running/commands/npm-run-tour
  test("when a chapter fails, and says why it did", async () => {
    const { code, output } = await tourAgainst((method, path) =>
      method === "POST" && path.startsWith("/media/v2/public/files") ? "refuse" : undefined,
    );
    expect(code).toBe(1);
    expect(output).toMatch(/The tenant tour[0-9a-z]{12} is gone: 3 clients, 1 topic, 1 file/);
    expect(output).toMatch(
      /The tour ends here\.\S*\nexpected: POST \/media\/v2\/public\/files\S* answers 200\n +got: 500/,
    );
    expect(await listEverything(env)).toEqual(before);
  });

  // shows: running/commands/npm-run-tour
  test("when it is stopped", async () => {
    const tour = npm("tour", env);
    await expect.poll(tour.output, { timeout: 30_000 }).toContain("The shop publishes");
    await stopGroup(tour, "SIGINT");
    expect(tour.output()).toContain("It was stopped.");
    expect(tour.output()).not.toContain("Everything is as it should be");
    expect(await listEverything(env)).toEqual(before);
  });

  test("or says what is left when it is stopped where the removal does not end", async () => {
    const proxy = await startMeddling(platform.url, (_, path) =>
      path.includes("/erasures") ? (answer) => answer.replaceAll(/"(deleted|verified)"/g, '"deleting"') : undefined,
    );
    const tour = npm("tour", env, ["--", "--url", proxy.url]);
    await expect
      .poll(tour.output, { timeout: 60_000 })
      .toMatch(/waiting for the bytes of 1 file \S+ \S+ to be deleted/);
    await stopGroup(tour, "SIGINT");
    proxy.close();
    const [, tenant = ""] = /^The tenant (\S+) is left: It was stopped\.$/m.exec(tour.output()) ?? [];
    expect(tour.output()).toContain(`npm run plat -- tenant erase ${tenant} --yes`);
    for (const line of [`tenant erase ${tenant}`, `organization delete ${tenant}`])
      expect((await plat(env, [...line.split(" "), "--yes"])).code).toBe(0);
    expect(await listEverything(env)).toEqual(before);
  });

  // shows: running/commands/npm-run-tour
  test("when its own beginning fails", async () => {
    const { code } = await tourAgainst((method, path) =>
      method === "PUT" && path.endsWith(".billing") ? "refuse" : undefined,
    );
    expect(code).toBe(1);
    expect(await listEverything(env)).toEqual(before);
  });

  test("and nothing else: what has its name already stays as it is", async () => {
    let theirs: unknown;
    const { code, output } = await tourAgainst(async (_, path) => {
      const [, name] = /^\/admin\/v1\/organizations\/(tour\w+)$/.exec(path) ?? [];
      if (name === undefined || theirs !== undefined) return undefined;
      await plat(env, ["organization", "set", name, "--name", "Somebody's"]);
      await plat(env, ["tenant", "set", name, "--organization", name, "--name", "Somebody's"]);
      theirs = await listEverything(env);
      return undefined;
    });
    expect(code).toBe(1);
    expect(output).toMatch(
      /The tour ends here\.\S*\nexpected: GET \/admin\/v1\/organizations\/\S* answers 404\n +got: 200/,
    );
    expect(theirs).not.toEqual(before);
    expect(await listEverything(env)).toEqual(theirs);
    const [, name = ""] = /organizations\/(tour\w+)/.exec(output) ?? [];
    for (const kind of ["tenant", "organization"]) await plat(env, [kind, "delete", name, "--yes"]);
    expect(await listEverything(env)).toEqual(before);
  });

  // shows: running/commands/npm-run-tour-killed
  test("or at a sweep, if it was killed an hour ago, and nothing else", async () => {
    const nameAt = (ms: number): string => `tour${ms.toString(36)}beef`;
    const [old, young] = [nameAt(Date.now() - 3_700_000), nameAt(Date.now())];
    const [alike, customer] = [nameAt(Date.now() - 3_800_000), "tourism"];
    const make = async (name: string, title: string): Promise<void> => {
      await plat(env, ["organization", "set", name, "--name", title]);
      await plat(env, ["tenant", "set", name, "--organization", name, "--name", "Tour"]);
    };
    await make(young, "Tour organization");
    await make(alike, "Somebody's");
    await make(customer, "Tour organization");
    await make(old, "Tour organization");
    const sweep = npm("tour", env, ["--", "--sweep"]);
    expect(await sweep.ended, sweep.output()).toBe(0);
    expect(sweep.output()).toContain(`The tenant ${old} is gone`);
    const ids = async (kind: string): Promise<string[]> =>
      (await plat(env, [kind, "list", "--json"])).json().map(({ id }: { id: string }) => id);
    for (const kind of ["organization", "tenant"]) {
      expect(await ids(kind)).toEqual(expect.arrayContaining([young, alike, customer]));
      expect(await ids(kind)).not.toContain(old);
    }
    for (const name of [young, alike, customer])
      for (const kind of ["tenant", "organization"]) await plat(env, [kind, "delete", name, "--yes"]);
  });

  // shows: running/commands/npm-run-tour
  test("or names what is left, and what removes it", async () => {
    const { code, output } = await tourAgainst((method, path) =>
      method === "DELETE" && path.includes("/admin/v1/tenants/tour") && !path.includes("/subscriptions/")
        ? "refuse"
        : undefined,
    );
    expect(code).toBe(1);
    const [, tenant = ""] = /^The tenant (\S+) is left: Refused by the test\.$/m.exec(output) ?? expect.fail(output);
    expect(output).toContain(`The organization ${tenant} is left: `);
    expect(output).not.toContain("Everything is as it should be");
    for (const [, command = ""] of output.matchAll(/^ {2}npm run plat -- (.*)$/gm)) {
      const { code: removed, err } = await plat(env, [...command.split(" "), "--yes"]);
      expect(removed, err).toBe(0);
    }
    expect(await listEverything(env)).toEqual(before);
  });
});
