import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseEnv } from "node:util";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transform } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { findConflicts, writeEnvFile } from "../../cli/app/dot-env.ts";
import { detectFramework } from "../../cli/app/framework.ts";
import { npmInstall, runInstall, shownInstall } from "../../cli/app/install.ts";
import { snippetFor } from "../../cli/app/snippets.ts";
import { PLINTH } from "../../scripts/lib/about-plat.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { plat } from "./support/plat-command.ts";

/** The parts of `init` that need no platform; test/acceptance/browser/command-line.ts runs the whole. */
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const DOT_ENV = join(ROOT, "cli/app/dot-env.ts");
const PARSE = "import ast, sys; ast.parse(sys.argv[1])";

describe("init", () => {
  const folder = mkdtempSync(join(tmpdir(), "plinth-init-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ["package.json", '{"dependencies":{"next":"1","vite":"1"}}', "nextjs", "server"],
    ["package.json", '{"dependencies":{"express":"5"}}', "express", "server"],
    ["package.json", '{"dependencies":{"fastify":"5"}}', "fastify", "server"],
    ["package.json", '{"dependencies":{"hono":"4"}}', "hono", "server"],
    ["package.json", '{"dependencies":{"hono":"4"},"devDependencies":{"wrangler":"4"}}', "hono-workers", "server"],
    ["package.json", '{"devDependencies":{"vite":"8"}}', "vite", "browser"],
    ["package.json", "{}", "node", "machine"],
    ["package.json", "broken", "node", "machine"],
    ["pyproject.toml", 'dependencies = ["fastapi[standard]>=0.1"]', "fastapi", "server"],
    ["requirements.txt", "Flask==3.0\nrequests", "flask", "server"],
    ["requirements.txt", "flask-cors-of-another", "python", "machine"],
  ])("finds in %s with %s the framework %s", async (file, text, id, kind) => {
    const cwd = mkdtempSync(join(folder, "app-"));
    writeFileSync(join(cwd, file), text);
    const framework = detectFramework(cwd);
    expect(framework).toMatchObject({ id, kind });
    const { code, file: name } = snippetFor(framework, framework!.kind, { folder: cwd, sdk: "sdk", python: "python" });
    expect(code).toContain("PLINTH_CLIENT_ID");
    // The code has the form of its language; two of these are run by the test of the packed command line.
    if (!name.endsWith(".py")) await transform(code, { loader: "js", format: "esm", target: "es2022" });
    else if (hasPython) expect(spawnSync("python3", ["-c", PARSE, code]).stderr.toString()).toBe("");
  });

  test("gives a folder without Vite a page that Vite serves", () => {
    const folders = { folder, sdk: "sdk", python: "python" };
    for (const framework of [undefined, { id: "node", title: "Node", kind: "machine" }] as const) {
      const page = snippetFor(framework, "browser", folders);
      expect(page).toMatchObject({ file: "index.html", run: "npx vite" });
      expect(shownInstall(page.install)).toBe("npm install oidc-client-ts vite");
      expect(page.code).toMatch(/<script type="module">\nimport [^]*\n<\/script>\n$/);
    }
    const vite = { id: "vite", title: "Vite", kind: "browser" } as const;
    expect(snippetFor(vite, "browser", folders)).toMatchObject({ file: "main.js", run: "npm run dev" });
  });

  test("finds nothing in an empty folder, and begins with Node", () => {
    expect(detectFramework(mkdtempSync(join(folder, "app-")))).toBeUndefined();
    expect(snippetFor(undefined, "machine", { folder, sdk: "sdk", python: "python" }).file).toBe("plinth.mjs");
  });

  test.each([
    ["package-lock.json", "npm install sdk"],
    ["pnpm-lock.yaml", "pnpm add sdk"],
    ["yarn.lock", "yarn add sdk"],
    ["bun.lock", "bun add sdk"],
  ])("installs by the package manager of %s", (lockFile, line) => {
    const cwd = mkdtempSync(join(folder, "app-"));
    writeFileSync(join(cwd, lockFile), "");
    expect(shownInstall(npmInstall(cwd, ["sdk"]))).toBe(line);
  });

  test("shows an install line that a shell takes as it is meant", () => {
    const { stdout } = spawnSync("sh", [
      "-c",
      `printf '%s|' ${shownInstall(npmInstall(folder, ["../it's here/sdk"]))}`,
    ]);
    expect(stdout.toString()).toBe("npm|install|../it's here/sdk|");
  });

  test("says which line failed when an install fails", async () => {
    await expect(runInstall({ program: "false", args: ["x"] }, folder)).rejects.toThrow("false x failed");
    await expect(runInstall({ program: "no-such-program", args: [] }, folder)).rejects.toThrow("run that line again");
  });

  test("changes its own values of .env and nothing else", () => {
    const cwd = mkdtempSync(join(folder, "app-"));
    writeFileSync(join(cwd, ".env"), "# mine\nPLINTH_URL=a # old\nOTHER='x y'\nXPLINTH_URL=b");
    expect(findConflicts(cwd, { PLINTH_URL: "c$&", PLINTH_CLIENT_ID: "d" })).toEqual(["PLINTH_URL"]);
    writeEnvFile(cwd, { PLINTH_URL: "c$&", PLINTH_CLIENT_ID: "d" });
    expect(readFileSync(join(cwd, ".env"), "utf8")).toBe(
      '# mine\nPLINTH_URL="c$&"\nOTHER=\'x y\'\nXPLINTH_URL=b\nPLINTH_CLIENT_ID="d"\n',
    );
    expect(findConflicts(cwd, { PLINTH_URL: "c$&" })).toEqual([]);
    // Of two lines the last one counts.
    writeFileSync(join(cwd, ".env"), "PLINTH_URL=a\nOTHER=x\nPLINTH_URL=b\n");
    writeEnvFile(cwd, { PLINTH_URL: "c" });
    expect(parseEnv(readFileSync(join(cwd, ".env"), "utf8"))).toEqual({ PLINTH_URL: "c", OTHER: "x" });
  });

  test("keeps .env as it was if the disk is full", () => {
    const cwd = mkdtempSync(join(folder, "app-"));
    writeFileSync(join(cwd, ".env"), "OTHER=x\n");
    const write = `import(${JSON.stringify(DOT_ENV)}).then((it) => it.writeEnvFile(${JSON.stringify(cwd)}, { PLINTH_URL: "a" }))`;
    // The limit ends the program, as a full disk ends the write.
    expect(spawnSync("sh", ["-c", 'ulimit -f 0; "$0" -e "$1"', process.execPath, write]).status).not.toBe(0);
    expect(readFileSync(join(cwd, ".env"), "utf8")).toBe("OTHER=x\n");
  });

  test("says how to go on where an init that was killed has left its client", async () => {
    const server = createServer(({ url }, response) => {
      const body = url?.endsWith("/token") === true ? { access_token: "t", expires_in: 60 } : { clientId: "demo.app" };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const cwd = mkdtempSync(join(folder, "app-"));
    const made = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["init", "app", "--url", base], { cwd }, PLINTH);
    server.close();
    expect(made.code).toBe(1);
    expect(made.err).toContain("plinth init <name>. Or, if an init that was killed left it, remove it");
    expect(made.err).toContain("plinth client delete demo.app");
  });

  test("takes no client over that another init made at the same time", async () => {
    const conditions: unknown[] = [];
    const server = createServer(({ url, method, headers }, response) => {
      const isToken = url?.endsWith("/token") === true;
      if (method === "PUT") conditions.push(headers["if-none-match"]);
      const body = isToken ? { access_token: "t", expires_in: 60 } : { type: "precondition_failed", message: "No." };
      const status = isToken ? 200 : method === "GET" ? 404 : 412;
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const cwd = mkdtempSync(join(folder, "app-"));
    const made = await plat({ OPERATOR_CLIENT_SECRET: "s" }, ["init", "app", "--url", base], { cwd }, PLINTH);
    server.close();
    expect(made).toMatchObject({ code: 1, err: expect.stringContaining("There is a client demo.app already.") });
    expect(conditions).toEqual(["*"]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test.skipIf(process.platform === "win32")("says that its folder is gone, as every command does", () => {
    const gone = mkdtempSync(join(folder, "gone-"));
    const bin = join(ROOT, "packages/cli/bin/plinth.mjs");
    for (const words of ["init", "topic list"]) {
      const script = `cd "$1" && rmdir "$1" && "$2" "$3" ${words}; code=$?; mkdir -p "$1"; exit $code`;
      const { status, stderr } = spawnSync("sh", ["-c", script, "sh", gone, process.execPath, bin]);
      expect(stderr.toString()).toBe("This folder is gone. Change to another one, such as: cd ~\n");
      expect(status).toBe(1);
    }
  });

  test("a pipe as .env holds nobody up", async () => {
    const cwd = mkdtempSync(join(folder, "app-"));
    spawnSync("mkfifo", [join(cwd, ".env")]);
    const env = { OPERATOR_CLIENT_SECRET: "any", PLINTH_CONFIG_DIR: cwd };
    const unknown = await plat(env, ["topic", "list", "--url", "http://127.0.0.1:1"], { cwd });
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining(".env is a pipe, which is not read") });
    // It says so before it makes a client: nothing listens there.
    const refused = await plat(env, ["init", "--url", "http://127.0.0.1:1"], { cwd });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(".env is no file") });
  });
});
