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
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv, promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyWebhook, type StoredEvent } from "../../../packages/sdk/src/index.ts";
import { ROOT } from "../../../scripts/lib/root.ts";
import { SHELL } from "../support/process/program.ts";
import { ADA, makeClient, OPERATOR_SECRET, TENANT, type Client } from "../support/world.ts";
import { signIn, type Stage } from "./stage.ts";

/**
 * `plinth` as `npm pack` makes it, run by Node outside the checkout, against the stage's platform. The browser that it
 * opens is a program that writes the address down; Chromium goes there.
 */
const run = promisify(execFile);

const NO_SCREEN = { BROWSER: "", DISPLAY: "", WAYLAND_DISPLAY: "", WSL_DISTRO_NAME: "" };

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

  function start(args: readonly string[], env: Record<string, string> = {}, input?: string, cwd = work) {
    const child = spawn(process.execPath, [join(installed, "bin", "plinth.mjs"), ...args], {
      cwd,
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
      // Revoked before its end.
      const kept = JSON.parse(readFileSync(file, "utf8")) as object;
      writeFileSync(file, JSON.stringify({ ...kept, accessToken: "revoked" }));
      expect((await plinth(["whoami", "--json"])).json()).toMatchObject({ user: ADA.email });
      expect(await tokenInfo((await plinth(["token"])).out)).toBe(200);

      const last = (await plinth(["token"])).out;
      expect(await plinth(["logout"])).toMatchObject({ code: 0, err: expect.stringContaining("is signed out") });
      expect(readdirSync(join(config, "sessions"))).toEqual([]);
      expect(await tokenInfo(last)).toBe(400);
      expect(await plinth(["whoami"])).toMatchObject({ code: 2, err: expect.stringContaining("plinth login") });
      writeFileSync(file, JSON.stringify({ ...kept, accessToken: "revoked", refreshToken: "ended" }), { mode: 0o600 });
      expect(await plinth(["whoami"])).toMatchObject({
        code: 1,
        err: expect.stringContaining(`has ended. Sign in again: plinth login --tenant ${TENANT}`),
      });
    });

    test.each([
      ["--device", ["--device"], {}],
      ["there is no browser", [], NO_SCREEN],
      ["over SSH", [], { ...NO_SCREEN, SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22", SSH_TTY: "/dev/pts/0" }],
    ] as const)("signs in by a code that is typed in another browser: %s", async (_, args, env) => {
      const device = start(["login", "--tenant", TENANT, ...args], env);
      await expect.poll(device.err, { timeout: 20_000 }).toMatch(/type the code:\n {2}\S+\n/);
      // Whoever did not ask for it learns why, and how to get the other way.
      expect(device.err().includes("There is no browser here")).toBe(args.length === 0);
      const [, address = "", code = ""] = /(http\S+)\n.*\n {2}(\S+)\n/.exec(device.err()) ?? [];
      const page = await stage().open();
      await page.goto(address);
      await page.locator("input[name=user_code]").fill(code);
      await page.locator("form button").first().click();
      await signIn(page, ADA);
      await page.locator("button[value=allow]").click();
      await page.getByRole("heading", { name: "The device is connected" }).waitFor();
      expect(await device.ended).toMatchObject({ code: 0, err: expect.stringContaining(`${ADA.email} is signed in`) });
      expect((await plinth(["whoami", "--json"])).json()).toMatchObject({ kind: "person", client: `${TENANT}.cli` });
      expect((await plinth(["logout"])).code).toBe(0);
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

    test("posts events to a server as a push would, until it takes them", async () => {
      const secret = `whsec_${Buffer.from("a signing secret of a test").toString("base64")}`;
      const seen: { event: StoredEvent; attempt: string | undefined; basic: string | undefined }[] = [];
      let refuses = 1;
      const receiver = createServer((request, response) => {
        let body = "";
        request.setEncoding("utf8").on("data", (text: string) => (body += text));
        request.on("end", () => void take(request, body).then((status) => response.writeHead(status).end()));
      });
      async function take({ headers }: IncomingMessage, body: string): Promise<number> {
        const event = await verifyWebhook(headers, body, secret).catch(() => undefined);
        if (event === undefined) return 400;
        const { authorization: basic, "plat-delivery-attempt": attempt } = headers;
        seen.push({ event, attempt: String(attempt), basic });
        return refuses-- > 0 ? 500 : 204;
      }
      await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
      const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
      const env = {
        PLINTH_CLIENT_ID: app.id,
        PLINTH_CLIENT_SECRET: app.secret,
        PLINTH_WEBHOOK_SECRET: secret,
        PLINTH_WEBHOOK_BASIC: "me:only here",
      };
      try {
        await asApp(["trigger", "hooked"]);
        const first = start(["listen", "hooked", "--forward-to", hook, "--from", "oldest"], env);
        await expect.poll(() => first.out(), { timeout: 20_000 }).toMatch(/^500 .*\n204 .* attempt 2\n$/s);
        const [{ event, basic } = {}, second] = seen;
        expect(event).toMatchObject({ eventType: "hooked", sourceClient: app.id, metadata: { sample: "true" } });
        expect(second).toMatchObject({ event: { id: event?.id }, attempt: "2" });
        expect(basic).toBe(`Basic ${btoa("me:only here")}`);
        first.child.kill("SIGINT");
        expect(await first.ended).toMatchObject({ code: 0 });

        // The cursor is where it stopped; the application's own one did not move.
        const [id = ""] = (await asApp(["trigger", "hooked"])).out.trim().split("\n");
        const next = start(["listen", "hooked", "--forward-to", hook, "--json"], env);
        await expect.poll(() => next.out().includes("\n"), { timeout: 20_000 }).toBe(true);
        expect(JSON.parse(next.out())).toMatchObject({ id, status: 204, ok: true });
        next.child.kill("SIGINT");
        await next.ended;
        expect((await asApp(["topic", "show", "hooked", "--json"])).json()).toMatchObject({ lag: 2 });
        expect((await asApp(["topic", "show", "hooked", "--consumer", "listen", "--json"])).json()).toMatchObject({
          lag: 0,
        });
      } finally {
        receiver.close();
      }
    });

    const operator = { OPERATOR_CLIENT_SECRET: OPERATOR_SECRET };
    const initIn = async (name: string, manifest: object, args: readonly string[] = []) => {
      const cwd = join(folder, name);
      mkdirSync(cwd, { recursive: true });
      writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
      return { cwd, ...(await start(["init", "--tenant", TENANT, ...args], operator, undefined, cwd).ended) };
    };

    test("makes a browser application whose code signs a person in", async () => {
      const made = await initIn("notes", { devDependencies: { vite: "^8" } }, ["--json"]);
      expect(made).toMatchObject({ code: 0, err: expect.stringContaining("Vite") });
      const { client, kind, snippet } = made.json();
      expect({ client, kind }).toEqual({ client: `${TENANT}.notes`, kind: "browser" });
      const env = parseEnv(readFileSync(join(made.cwd, ".env"), "utf8"));
      expect(env).toMatchObject({
        PLINTH_CLIENT_ID: client,
        VITE_PLINTH_CLIENT_ID: client,
        VITE_PLINTH_URL: stage().world.base,
      });
      expect(env).not.toHaveProperty("PLINTH_CLIENT_SECRET");

      const { outputFiles } = await build({
        stdin: { contents: snippet.code, resolveDir: ROOT },
        bundle: true,
        format: "esm",
        write: false,
        define: Object.fromEntries(
          Object.entries(env).map(([name, value]) => [`import.meta.env.${name}`, JSON.stringify(value)]),
        ),
      });
      const script = outputFiles[0]?.text ?? "";
      const site = createServer((request, response) => {
        const isScript = request.url === "/main.js";
        response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
        response.end(isScript ? script : '<!doctype html><body><script type="module" src="/main.js"></script>');
      });
      await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
      try {
        const page = await stage().open();
        await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByLabel("E-mail address").waitFor();
        await signIn(page, ADA);
        await page.getByRole("button", { name: `Hello ${ADA.email}. Sign out` }).waitFor();
      } finally {
        site.close();
      }
    });

    test("makes a machine application whose code publishes and consumes", async () => {
      mkdirSync(join(folder, "Mail worker", ".git"), { recursive: true });
      writeFileSync(join(folder, "Mail worker", ".env"), "OTHER=1\nPLINTH_URL=http://127.0.0.1:1");
      const unsure = await initIn("Mail worker", {});
      expect(unsure).toMatchObject({ code: 2, err: expect.stringContaining("PLINTH_URL") });
      expect((await stage().world.operate("GET", `clients/${TENANT}.mail-worker`)).status).toBe(404);
      const made = await initIn("Mail worker", {}, ["--yes", "--json"]);
      expect(made.code, made.err).toBe(0);
      expect(readFileSync(join(made.cwd, ".gitignore"), "utf8")).toBe(".env\n");
      const env = parseEnv(readFileSync(join(made.cwd, ".env"), "utf8"));
      expect(env).toMatchObject({
        OTHER: "1",
        PLINTH_URL: stage().world.base,
        PLINTH_CLIENT_ID: `${TENANT}.mail-worker`,
      });
      expect(made.out + made.err).not.toContain(env["PLINTH_CLIENT_SECRET"]);
      expect(await initIn("Mail worker", {}, ["--yes"])).toMatchObject({
        code: 1,
        err: expect.stringContaining("already"),
      });

      const sdk = join(made.cwd, "node_modules", "@plinth", "sdk");
      mkdirSync(sdk, { recursive: true });
      writeFileSync(join(sdk, "package.json"), '{ "type": "module", "exports": "./index.js" }');
      await build({
        entryPoints: [join(ROOT, "packages/sdk/src/index.ts")],
        bundle: true,
        format: "esm",
        outfile: join(sdk, "index.js"),
      });
      const { snippet } = made.json();
      writeFileSync(join(made.cwd, snippet.file), snippet.code);
      const [, ...args] = snippet.run.split(" ");
      const child = spawn(process.execPath, args, { cwd: made.cwd, env: SHELL, stdio: ["ignore", "pipe", "inherit"] });
      try {
        const [text] = await once(child.stdout, "data");
        expect(String(text)).toContain("hello: 'world'");
      } finally {
        child.kill("SIGKILL");
      }
      // The folder's own commands act as its application.
      const { json } = await start(["topic", "list", "--json"], { PLINTH_URL: "" }, undefined, made.cwd).ended;
      expect(json()).toEqual(expect.arrayContaining([expect.objectContaining({ eventType: "hello" })]));
    });

    test("opens pages, and completes words in bash", async () => {
      rmSync(opened, { force: true });
      expect(await plinth(["open", "account"])).toMatchObject({ code: 0, out: `${stage().world.base}/account\n` });
      await expect.poll(() => existsSync(opened) && readFileSync(opened, "utf8")).toBe(`${stage().world.base}/account`);
      expect((await plinth(["open", "nothing"])).code).toBe(2);

      const complete = async (line: readonly string[]): Promise<string[]> => {
        const script = `plinth() { "$NODE" "$BIN" "$@"; }; eval "$(plinth completion bash)"; _plinth; printf '%s\n' "\${COMPREPLY[@]}"`;
        const words = line.map((word) => `'${word}'`).join(" ");
        const { stdout } = await run(
          "bash",
          ["-c", `COMP_WORDS=(plinth ${words}); COMP_CWORD=${line.length}; ${script}`],
          {
            env: { ...SHELL, NODE: process.execPath, BIN: join(installed, "bin", "plinth.mjs") },
          },
        );
        return stdout.trim().split("\n");
      };
      expect(await complete(["to"])).toEqual(["token", "topic"]);
      expect(await complete(["topic", "p"])).toEqual(["publish"]);
      expect(await complete(["topic", "publish", "--li"])).toEqual(["--lines"]);
      expect(await complete(["init", "--kind", ""])).toEqual(["browser", "server", "machine"]);
    });
  });
}
