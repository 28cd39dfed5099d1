import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../../scripts/lib/root.ts";
import { SHELL } from "../support/platform-process.ts";
import { ADA, makeClient, OPERATOR_SECRET, TENANT, type Client } from "../support/world.ts";
import { signIn, type Stage } from "./stage.ts";

/**
 * `plinth` as `npm pack` makes it, run by Node outside the checkout, against the stage's platform. The browser that it
 * opens is a program that writes the address down; Chromium goes there.
 */
const run = promisify(execFile);

export function commandLineSuite(stage: () => Stage): void {
  const folder = mkdtempSync(join(tmpdir(), "plinth-cli-"));
  const installed = join(folder, "package");
  const work = join(folder, "work");
  const config = join(folder, "config");
  // Temporary folders may be for data alone.
  const programs = join(ROOT, "node_modules", ".cache");
  const browser = join(programs, `browser-${process.pid}`);
  const opened = join(folder, "opened");
  let app: Client;

  beforeAll(async () => {
    const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], {
      cwd: join(ROOT, "packages", "cli"),
    });
    const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf("[")));
    await run("tar", ["xzf", join(folder, filename), "-C", folder]);
    mkdirSync(work);
    mkdirSync(programs, { recursive: true });
    writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`, {
      mode: 0o700,
    });
    const scopes = ["plat.pubsub_publish", "plat.media_view", "plat.media_manage", "plat.media_admin"];
    app = await makeClient(stage().world, "cli-app", { scopes, grantTypes: ["client_credentials"] });
    const operator = await plinth(["tenant", "enable-login", TENANT], { OPERATOR_CLIENT_SECRET: OPERATOR_SECRET });
    expect(operator.err).toContain(`plinth login --tenant ${TENANT}`);
    await stage().world.put("roles/tenant-operator", { scopes: ["plat.admin_tenant"] });
    await stage().world.put(`organizations/group/members/${ADA.email}`, { roles: ["tenant-operator"] });
  }, 60_000);
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(browser, { force: true });
  });

  interface Done {
    readonly code: number | null;
    readonly out: string;
    readonly err: string;
    json(): any;
  }

  function start(args: readonly string[], env: Record<string, string> = {}, input?: string) {
    const child = spawn(process.execPath, [join(installed, "bin", "plinth.mjs"), ...args], {
      cwd: work,
      env: { ...SHELL, PLINTH_URL: stage().world.base, PLINTH_CONFIG_DIR: config, BROWSER: browser, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    child.stdin.end(input ?? "");
    const ended = once(child, "close").then(([code]): Done => ({ code, out, err, json: () => JSON.parse(out) }));
    return { child, ended, out: () => out, err: () => err };
  }
  const plinth = (args: readonly string[], env?: Record<string, string>, input?: string): Promise<Done> =>
    start(args, env, input).ended;
  const asApp = async (args: readonly string[], input?: string): Promise<Done> => {
    const done = await plinth(args, { PLINTH_CLIENT_ID: app.id, PLINTH_CLIENT_SECRET: app.secret }, input);
    expect(done.code, `${args.join(" ")}\n${done.err}`).toBe(0);
    return done;
  };

  /** Signs ADA in by Chromium; resolves with what the command said. */
  async function login(args: readonly string[]): Promise<Done> {
    rmSync(opened, { force: true });
    const page = await stage().open();
    const { ended } = start(["login", "--tenant", TENANT, ...args]);
    await expect.poll(() => existsSync(opened), { timeout: 20_000 }).toBe(true);
    await page.goto(readFileSync(opened, "utf8"));
    await signIn(page, ADA);
    await page.getByRole("heading", { name: "You are signed in" }).waitFor();
    return ended;
  }
  const tokenInfo = async (token: string): Promise<number> =>
    (await fetch(`${stage().world.issuer}/tokeninfo?access_token=${token.trim()}`)).status;

  describe("the packed command line", () => {
    test("has no dependency, and the licences of what is in it", () => {
      const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
      expect(manifest).toMatchObject({ name: "plinth", bin: { plinth: "bin/plinth.mjs" } });
      expect(manifest.dependencies).toBeUndefined();
      expect(readdirSync(installed).toSorted()).toEqual(["README.md", "bin", "dist", "package.json"]);
      const notices = readFileSync(join(installed, "dist", "notices.txt"), "utf8");
      for (const name of ["commander", "oauth4webapi", "yaml", "mrmime"])
        expect(notices).toMatch(new RegExp(`^${name} \\d`, "m"));
    });

    test("says what to do when nobody is known, and exits with 2", async () => {
      const { code, out, err } = await plinth(["topic", "list"]);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toContain("plinth init");
      expect(err).toContain("plinth login");
    });

    test("signs in by the browser, tells who it is, renews its token, and signs out", async () => {
      const done = await login([]);
      expect(done).toMatchObject({ code: 0, out: "", err: expect.stringContaining(`${ADA.email} is signed in`) });
      expect((await plinth(["whoami", "--json"])).json()).toMatchObject({
        kind: "person",
        user: ADA.email,
        client: `${TENANT}.cli`,
        tenant: TENANT,
        scopes: expect.arrayContaining(["plat.media_view", "plat.media_manage"]),
      });

      const [name = ""] = readdirSync(join(config, "sessions"));
      const file = join(config, "sessions", name);
      expect([config, join(config, "sessions"), file].map((path) => statSync(path).mode & 0o077)).toEqual([0, 0, 0]);
      const first = await plinth(["token"]);
      expect(await tokenInfo(first.out)).toBe(200);
      expect((await plinth(["token"])).out).toBe(first.out);
      const narrow = (await plinth(["token", "--scope", "plat.media_view"])).out;
      const claims = JSON.parse(Buffer.from(narrow.split(".")[1] ?? "", "base64url").toString());
      expect(claims.scope.split(" ")).toEqual([`plat.tenant=${TENANT}`, "plat.media_view"]);

      // The kept token is near its end: two programs renew it at once, and both go on.
      const session = JSON.parse(readFileSync(file, "utf8"));
      writeFileSync(file, JSON.stringify({ ...session, expiresAtMs: Date.now() }));
      const renewed = await Promise.all([plinth(["token"]), plinth(["token"])]);
      for (const { code, out } of renewed) expect([code, await tokenInfo(out)]).toEqual([0, 200]);
      expect(renewed.map(({ out }) => out)).not.toContain(first.out);
      expect((await plinth(["whoami"])).code).toBe(0);

      const last = (await plinth(["token"])).out;
      expect(await plinth(["logout"])).toMatchObject({ code: 0, err: expect.stringContaining("is signed out") });
      expect(readdirSync(join(config, "sessions"))).toEqual([]);
      expect(await tokenInfo(last)).toBe(400);
      expect(await plinth(["whoami"])).toMatchObject({ code: 2, err: expect.stringContaining("plinth login") });
    });

    test("keeps no token that others can read", async () => {
      await login([]);
      const [name = ""] = readdirSync(join(config, "sessions"));
      chmodSync(join(config, "sessions", name), 0o644);
      expect(await plinth(["token"])).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringContaining("Others could read"),
      });
      expect((await plinth(["logout"])).code).toBe(0);
    });

    test("runs the tenants of an organization as the person who signed in for it", async () => {
      expect((await login(["--organization", "group"])).code).toBe(0);
      const { code, out } = await plinth(["client", "list", "--json"]);
      expect(code).toBe(0);
      expect(JSON.parse(out).map(({ clientId }: { clientId: string }) => clientId)).toContain(app.id);
      const refused = await plinth(["signing-key", "list"]);
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("(403)") });
      expect((await plinth(["logout"])).code).toBe(0);
    });

    test("says why the platform refused a sign-in", async () => {
      rmSync(opened, { force: true });
      const { ended } = start(["login", "--tenant", TENANT, "--scope", "plat.nothing"]);
      await expect.poll(() => existsSync(opened), { timeout: 20_000 }).toBe(true);
      const page = await stage().open();
      await page.goto(readFileSync(opened, "utf8"));
      await signIn(page, ADA);
      await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
      expect(await ended).toMatchObject({ code: 1, err: expect.stringContaining("plat.nothing") });
    });

    test("makes a topic, publishes, follows, exports and moves the cursor", async () => {
      await asApp(["topic", "create", "paid", "--description", "a test"]);
      expect((await asApp(["topic", "create", "paid"])).err).toContain("there already");
      const one = await asApp(["topic", "publish", "paid", '{"order":1}', "--metadata", "schema=v1"]);
      const more = await asApp(["topic", "publish", "paid", "--lines"], "two\n\nthree\n");
      const ids = [one, more].flatMap(({ out }) => out.trim().split("\n"));
      expect(ids).toHaveLength(3);
      const { out } = await asApp(["topic", "export", "paid"]);
      const events = out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(events.map(({ id, payload }) => ({ id, payload }))).toEqual(
        ['{"order":1}', "two", "three"].map((payload, at) => ({ id: ids[at], payload })),
      );
      expect(events[0].metadata).toEqual({ schema: "v1" });
      await asApp(["topic", "export", "paid", "--out", "paid.ndjson"]);
      expect(readFileSync(join(work, "paid.ndjson"), "utf8")).toBe(out);

      const credentials = { PLINTH_CLIENT_ID: app.id, PLINTH_CLIENT_SECRET: app.secret };
      const tail = start(["topic", "tail", "paid", "--from", "oldest", "--count", "4", "--json"], credentials);
      await expect.poll(() => tail.out().split("\n").length, { timeout: 20_000 }).toBe(4);
      await asApp(["topic", "publish", "paid", "four"]);
      const followed = (await tail.ended).out.trim().split("\n");
      expect(followed.map((line) => JSON.parse(line).payload)).toEqual(['{"order":1}', "two", "three", "four"]);
      expect((await asApp(["topic", "show", "paid", "--json"])).json()).toMatchObject({ storedEvents: 4, lag: 4 });
      const unsure = await plinth(["topic", "seek", "paid", "newest"], credentials);
      expect(unsure).toMatchObject({ code: 2, err: expect.stringContaining("--yes") });
      await asApp(["topic", "seek", "paid", "newest", "--yes"]);
      expect((await asApp(["topic", "show", "paid", "--json"])).json()).toMatchObject({ lag: 0 });
      expect((await asApp(["topic", "list"])).out).toMatch(/^acme\.cli-app +paid +a test$/m);
      await asApp(["topic", "delete", "paid", "--yes"]);
      const gone = await plinth(["topic", "show", "paid", "--json"], credentials);
      expect(gone.code).toBe(1);
      expect(JSON.parse(gone.err)).toMatchObject({ status: 404 });
    });

    test("stores, finds, fetches and deletes files", async () => {
      const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
      writeFileSync(join(work, "Bötchen.png"), bytes);
      const put = await asApp(
        ["file", "put", "Bötchen.png", "-", "--metadata", "album=sea", "--metadata", "year=2026"],
        "text",
      );
      const [id = "", other = ""] = put.out.trim().split("\n");
      const found = await asApp(["file", "query", "album:sea year:2026", "--json"]);
      expect(
        found
          .json()
          .map((file: Record<string, unknown>) => [file["id"], file["Content-Type"], file["size"], file["fileName"]]),
      ).toEqual(
        expect.arrayContaining([
          [id, "image/png", 100_000, "Bötchen.png"],
          [other, "application/octet-stream", 4, null],
        ]),
      );
      await asApp(["file", "get", id, "--out", "back.png"]);
      expect(readFileSync(join(work, "back.png")).equals(bytes)).toBe(true);
      expect((await asApp(["file", "get", other])).out).toBe("text");
      expect(await (await fetch((await asApp(["file", "link", other])).out.trim())).text()).toBe("text");
      const again = await plinth(["file", "get", id, "--out", "back.png"], {
        PLINTH_CLIENT_ID: app.id,
        PLINTH_CLIENT_SECRET: app.secret,
      });
      expect(again).toMatchObject({ code: 1, err: expect.stringContaining("there already") });
      await asApp(["file", "delete", other, "--yes"]);
      await asApp(["file", "delete", "--query", "album:sea", "--yes"]);
      expect((await asApp(["file", "list", "--json"])).json()).toEqual([]);
    });
  });
}
