import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DatabaseSync } from "node:sqlite";
import { ROOT } from "../../scripts/lib/root.ts";
import { clearWorkFolder, workFolder } from "../../tools/deploy/apply.ts";
import { createCloudflare, type Cloudflare } from "../../tools/deploy/cloudflare.ts";
import { newDeploymentFile, parseDeployment } from "../../tools/deploy/deployment.ts";
import { destroy, destruction } from "../../tools/deploy/destroy.ts";
import { inspect } from "../../tools/deploy/found.ts";
import { keepSecrets } from "../../tools/deploy/secrets.ts";
import { changeVars } from "../../tools/deploy/plan.ts";
import { migrationNames, plainSql } from "../../tools/deploy/migrations.ts";
import { askAt, type Ask } from "../../tools/deploy/reach.ts";
import { plat } from "../acceptance/support/plat-command.ts";
import { firstOperator } from "../../tools/deploy/first-operator.ts";
import { checkZones, smokeTest, type Check } from "../../tools/deploy/smoke.ts";
import { startFakeCloudflare, ZONE, type FakeCloudflare } from "../acceptance/support/parties/fake-cloudflare.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { SHELL, stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

/**
 * `npm run deploy` and the real wrangler, against Cloudflare's API played on loopback. What the deployed platform would
 * answer is asked of a platform that was started here under the same address. Tests work in a
 * copy of the checkout, which they may change.
 */
const SECRET = "an-operator-secret-for-deployments";
const SEAL_KEYS = `k1:${Buffer.alloc(32, 1).toString("base64")}`;
const HOST = "plinth.example.com";
/** Which changing calls of a first deployment fail once, by number. Each takes some ten seconds. */
const FAULTS = (process.env["DEPLOY_FAULTS"] ?? "").split(",").filter(Boolean).map(Number);

const COPIED = [
  "src",
  "scripts",
  "tools",
  "migrations",
  "api",
  "cli",
  "console",
  "deploy",
  "wrangler.toml",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "site",
  "docs",
  "packages",
  "examples",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
];

const stateDir = newStateDir();
let platform: Platform;
let account: FakeCloudflare;
let checkout: string;

beforeAll(async () => {
  platform = await startPlatform({
    SITE: "",
    STATE_DIR: stateDir,
    PUBLIC_URL: `https://${HOST}`,
    OPERATOR_CLIENT_SECRET: SECRET,
    ALLOW_LOOPBACK: "true",
  });
  // It builds the documentation.
}, 180_000);
afterAll(async () => {
  await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});
async function fresh(): Promise<void> {
  account = await startFakeCloudflare();
  checkout = mkdtempSync(join(tmpdir(), "plinth-deploy-"));
  for (const path of COPIED) cpSync(join(ROOT, path), join(checkout, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  // Site and console of the same sources are built once.
  mkdirSync(join(checkout, ".build"), { recursive: true });
  for (const built of ["site", "console"]) symlinkSync(join(ROOT, ".build", built), join(checkout, ".build", built));
}

async function clear(): Promise<void> {
  await account.close();
  rmSync(checkout, { recursive: true, force: true });
}

interface Ended {
  readonly code: number;
  readonly output: string;
}

function deploy(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const options = {
    cwd: checkout,
    maxBuffer: 1 << 26,
    env: {
      ...SHELL,
      HOME: checkout,
      CI: "1",
      WRANGLER_SEND_METRICS: "false",
      CLOUDFLARE_API_BASE_URL: account.url,
      CLOUDFLARE_API_TOKEN: account.token,
      CLOUDFLARE_ACCOUNT_ID: account.accountId,
      ...env,
    },
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(checkout, "scripts", "deploy.ts"), ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
  });
}

const WITHOUT_R2 = `--import=${join(ROOT, "test", "acceptance", "support", "no-r2.mjs")}`;
const GIVEN = { OPERATOR_CLIENT_SECRET: SECRET, SEAL_KEYS };
/** For a canary, which takes no seal keys. */
const ONLY_SECRET = { OPERATOR_CLIENT_SECRET: SECRET };
const atPlatform = (): string[] => ["--yes", "--at", platform.url];

const writeDeployment = (name: string, text: string): void =>
  writeFileSync(join(checkout, "deploy", `${name}.toml`), text);
const PRODUCTION = `worker = "plinth"\nhost = "${HOST}"\nlocation = "weur"\njurisdiction = "eu"\nrate_limit_ids = 8700\n`;

const WITH_EVENTS = `${PRODUCTION}shards = 3\ntenant_objects = "asked:apac"\nplacement = "aws:eu-central-1"\n[object_shards]\n2 = "eeur"\n[vars]\nEVENT_RETENTION_DAYS = 365\n`;

const onlyDatabase = () => [...account.databases.values()][0]!;
const bindings = (worker = "plinth"): any[] => account.workers.get(worker)!.versions.at(-1)!.bindings;
const compatibilityFlags = (): string[] => account.workers.get("plinth")!.versions.at(-1)!.metadata.compatibility_flags;
const variable = (name: string): unknown => bindings().find((one) => one.name === name)?.text;

describe("a deployment's file", () => {
  it.each([
    [`${PRODUCTION}host = "x.example"`, "production.toml"],
    [PRODUCTION.replace(HOST, `https://${HOST}`), "host: must be a host name such as"],
    [`${PRODUCTION}auth_host = "auth.example:8443"`, "auth_host: must be a host name"],
    [PRODUCTION.replace('"plinth"', '"Plinth"'), "worker: must have 1 to 40 of"],
    [PRODUCTION.replace('"weur"', '"paris"'), "location: "],
    [PRODUCTION.replace('"eu"', '"mars"'), "jurisdiction: "],
    [`${PRODUCTION}placement = "Frankfurt"`, "placement: must be smart, or a region such as aws:eu-central-1"],
    [`${PRODUCTION}shards = 241`, "shards: must be at most 240"],
    [`${PRODUCTION}tenant_objects = "weur"`, "tenant_objects: must be asked or new, a colon, and a place: auto, wnam"],
    [`${PRODUCTION}tenant_objects = ""`, "For none, leave the line out."],
    [`${PRODUCTION}[vars]\nTENANT_OBJECTS = "asked:auto"`, "TENANT_OBJECTS is made of tenant_objects. Set that."],
    [`${PRODUCTION}[object_shards]\n1 = "weur"`, "object_shards names shard 1. Of 1 shards, 0 is the directory"],
    [`${PRODUCTION}shards = 3\n[object_shards]\n0 = "weur"`, "an object can be 1 to 2."],
    [`${PRODUCTION}shards = 3\n[object_shards]\n2 = "paris"`, "object_shards.2: "],
    [`${PRODUCTION}[vars]\nJURISDICTION = "eu"`, "JURISDICTION is made of jurisdiction."],
    [
      `${PRODUCTION}[vars]\nR2_S3_ENDPOINT = "https://a.r2.cloudflarestorage.com"`,
      "R2_S3_ENDPOINT must be https://<account>.eu.r2.cloudflarestorage.com",
    ],
    [PRODUCTION.replace("rate_limit_ids = 8700", ""), "rate_limit_ids: "],
    [`${PRODUCTION}[vars]\nEVENT_RETENTION = 7`, "there is no variable EVENT_RETENTION."],
    [`${PRODUCTION}[vars]\nPUBLIC_URL = "https://x.example"`, "PUBLIC_URL is made of host."],
  ])("that says %j is refused", (text, words) => {
    expect(() => parseDeployment("production", text)).toThrow(words);
  });

  it("says how many ids the rate limits take, as the guide does", () => {
    const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
    const ids = read("wrangler.toml").match(/^namespace_id = /gm)?.length ?? 0;
    const words = `first of ${["eight", "nine", "ten", "eleven"][ids - 8]} ids`;
    const made = newDeploymentFile({ name: "staging", host: HOST, location: "eeur" });
    for (const text of [made, read("docs/operate/deploy.md")]) expect(text).toContain(words);
  });

  it("has the defaults of wrangler.toml, and names for everything of its own", () => {
    const made = newDeploymentFile({ name: "staging", host: HOST, location: "eeur" });
    const { vars, ...deployment } = parseDeployment("staging", made);
    const { bucket, backupBucket, queues, databases } = parseDeployment("staging", `shards = 2\n${made}`);
    for (const name of [bucket, backupBucket, ...queues, ...databases])
      expect(made).toMatch(new RegExp(`^# .*\\b${name}\\b(?!-)`, "m"));
    const isolated = made.replaceAll(/^# (?=(content_host|auth_host|jurisdiction|placement|operator) = )/gm, "");
    expect(parseDeployment("staging", isolated).placement).toEqual({ region: "aws:eu-central-1" });
    expect(deployment).toMatchObject({
      worker: "plinth-staging",
      databases: ["plinth-staging"],
      bucket: "plinth-staging-media",
      backupBucket: "plinth-staging-backup",
      queues: ["plinth-staging-media-jobs", "plinth-staging-media-jobs-dead"],
      hosts: [HOST],
      location: "eeur",
    });
    expect(vars).toMatchObject({
      PLATFORM: "plat",
      PUBLIC_URL: `https://${HOST}`,
      CONTENT_URL: "",
      EVENT_RETENTION_DAYS: "7",
    });
  });
});

describe("variables that people depend on", () => {
  const flagsOf = (running: Record<string, string>, vars: Record<string, string>): string[] =>
    changeVars(running, vars).dangers.map(({ flag }) => flag);
  const [MAIN, LOGIN, OTHER] = [`https://${HOST}`, "https://login.example.com", "https://other.example.com"];

  it.each([
    [{ SUBJECT: "email" }, { SUBJECT: "opaque" }, ["rename-people"]],
    [{ SUBJECT: "opaque" }, { SUBJECT: "email" }, ["rename-people"]],
    [{ SUBJECT: "opaque" }, {}, ["rename-people"]],
    [{}, { SUBJECT: "email" }, []],
    [{ PUBLIC_URL: MAIN, AUTH_URL: "" }, { PUBLIC_URL: MAIN, AUTH_URL: LOGIN }, ["move-sign-in"]],
    [{ PUBLIC_URL: MAIN, AUTH_URL: LOGIN }, { PUBLIC_URL: MAIN, AUTH_URL: "" }, ["move-sign-in"]],
    [{ PUBLIC_URL: MAIN, AUTH_URL: LOGIN }, { PUBLIC_URL: MAIN }, ["move-sign-in"]],
    [{ PUBLIC_URL: MAIN, AUTH_URL: "" }, { PUBLIC_URL: MAIN, AUTH_URL: `${MAIN}/` }, []],
    [{ PUBLIC_URL: MAIN, AUTH_URL: "" }, { PUBLIC_URL: OTHER, AUTH_URL: MAIN }, ["move-host"]],
  ])("from %j to %j need %j", (running, vars, flags) => {
    expect(flagsOf(running, vars)).toEqual(flags);
  });

  it("are told with what breaks", () => {
    const textsOf = (...vars: Parameters<typeof changeVars>): string =>
      changeVars(...vars)
        .dangers.map(({ text }) => text)
        .join("\n");
    expect(textsOf({ SUBJECT: "email" }, { SUBJECT: "opaque" })).toMatch(/email to opaque: everybody gets another sub/);
    const moved = textsOf({ PUBLIC_URL: MAIN }, { PUBLIC_URL: MAIN, AUTH_URL: LOGIN });
    expect(moved).toContain(`move from ${MAIN} to ${LOGIN}: all passkeys and browser sessions end, and identity`);
    expect(textsOf({ PUBLIC_URL: MAIN }, { PUBLIC_URL: OTHER })).toContain("and so do passkeys");
    expect(textsOf({ PUBLIC_URL: MAIN, AUTH_URL: LOGIN }, { PUBLIC_URL: OTHER, AUTH_URL: LOGIN })).toMatch(
      /links end\.$/,
    );
  });
});

describe("a migration as it is sent to D1", () => {
  it("makes the same schema, without comments, a statement a line", () => {
    for (const name of migrationNames()) {
      const sql = plainSql(readFileSync(join(ROOT, "migrations", name), "utf8"));
      expect(sql).not.toMatch(/--|\/\*|^\s/m);
    }
    const schemaOf = (change: (sql: string) => string): unknown[] => {
      const sqlite = new DatabaseSync(":memory:");
      for (const name of migrationNames()) sqlite.exec(change(readFileSync(join(ROOT, "migrations", name), "utf8")));
      const rows = sqlite.prepare("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").all();
      return rows.map((row) => ({ ...row, sql: plainSql(String(row["sql"])) }));
    };
    expect(schemaOf(plainSql)).toEqual(schemaOf((sql) => sql));
  });
});

describe("a first deployment that cannot be", () => {
  beforeEach(fresh);
  afterEach(clear);

  it("refuses half the credentials of S3, before it changes anything", async () => {
    writeDeployment("production", PRODUCTION);
    const { code, output } = await deploy(["production", ...atPlatform()], { ...GIVEN, R2_ACCESS_KEY_ID: "an-id" });
    expect({ code, calls: account.calls }).toEqual({ code: 1, calls: [] });
    expect(output).toContain("need R2_S3_ENDPOINT and R2_BUCKET and R2_SECRET_ACCESS_KEY too");
  });

  it("makes no secret where its file may be lost", async () => {
    writeDeployment("production", PRODUCTION);
    const { code, output } = await deploy(["production", ...atPlatform()]);
    expect({ code, calls: account.calls }).toEqual({ code: 1, calls: [] });
    expect(output).toContain("--secrets FILE");
  });

  // shows: running/commands/npm-run-deploy-the-host-is-another-s
  it.each([
    [{ zone: ZONE.id, name: HOST, type: "A", content: "192.0.2.1" }, "plinth.example.com has DNS records: A 192.0.2.1"],
    [undefined, "belongs to the Worker shop"],
  ])("refuses a host that is another's, before it changes anything", async (record, words) => {
    writeDeployment("production", PRODUCTION);
    if (record !== undefined) account.records.push(record);
    else account.domains.set(HOST, { id: "d", hostname: HOST, service: "shop", zone_id: ZONE.id });
    const { code, output } = await deploy(["production", ...atPlatform()], GIVEN);
    expect({ code, calls: account.calls }).toEqual({ code: 1, calls: [] });
    expect(output).toContain(words);
  });

  it.each(FAULTS)(
    "is simply repeated where it broke off, call %i",
    async (call) => {
      writeDeployment("production", PRODUCTION);
      account.failAt(call);
      const first = await deploy(["production", ...atPlatform()], GIVEN);
      // A first deployment has fewer calls than that.
      if (!account.hasFailed()) return expect(first.code).toBe(0);
      expect(first.code, first.output).toBe(1);
      const second = await deploy(["production", ...atPlatform()], GIVEN);
      expect(second.code, second.output).toBe(0);
      expect([account.databases.size, account.buckets.size, account.queues.size]).toEqual([1, 2, 2]);
      expect([...account.queues.values()].map(({ consumers }) => consumers.size)).toEqual([1, 1]);
      expect([...account.domains.keys()]).toEqual([HOST]);
    },
    240_000,
  );

  it.each(FAULTS)(
    "becomes an upgrade that is simply repeated where it broke off, call %i",
    async (call) => {
      writeDeployment("production", PRODUCTION);
      const made = await deploy(["production", ...atPlatform()], GIVEN);
      expect(made.code, made.output).toBe(0);
      const before = account.calls.length;
      account.workers.get("plinth")!.settings.observability = { enabled: false };
      writeFileSync(
        join(checkout, "migrations", "9999_more.sql"),
        "CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;\n",
      );
      writeDeployment("production", WITH_EVENTS);
      account.failAt(call);
      const first = await deploy(["production", ...atPlatform()], GIVEN);
      // An upgrade has fewer calls than that.
      if (!account.hasFailed()) return expect(first.code).toBe(0);
      const { settings } = account.workers.get("plinth")!;
      // wrangler only warns there, and our own call comes after it.
      if (account.calls[before + call - 1]?.endsWith("/script-settings") && first.code === 0)
        return expect(settings.observability).toMatchObject({ redact_query_string: true });
      expect(first.code, first.output).toBe(1);
      const second = await deploy(["production", ...atPlatform()], GIVEN);
      expect(second.code, second.output).toBe(0);
      const tables = onlyDatabase().sqlite.prepare("SELECT name FROM sqlite_master WHERE name = 'more'").all();
      expect(tables).toHaveLength(1);
      expect(variable("EVENT_RETENTION_DAYS")).toBe("365");
      expect([account.databases.size, account.buckets.size, account.queues.size]).toEqual([2, 2, 2]);
    },
    240_000,
  );
});

describe("a destruction", () => {
  beforeEach(async () => {
    account = await startFakeCloudflare();
  });
  afterEach(() => account.close());

  const deployment = parseDeployment("production", PRODUCTION);
  const cloudflare = () => createCloudflare({ ...account, baseUrl: account.url });
  const putBucket = (name: string, parts = 0): Map<string, string> => {
    const objects = new Map<string, string>();
    const facts = { location: undefined, jurisdiction: "eu", cors: [], lifecycle: [] };
    account.buckets.set(name, { name, objects, parts, ...facts });
    return objects;
  };

  it("keeps a backup that was made after the questions", async () => {
    const objects = putBucket("plinth-backup");
    const found = await inspect(cloudflare(), deployment);
    expect(destruction(deployment, found)).toEqual(["- bucket plinth-backup, if it is still empty then"]);
    objects.set("manifest/1.json", "{}");
    const said: string[] = [];
    await destroy(cloudflare(), deployment, found, (line) => void said.push(line));
    expect([...objects.keys()]).toEqual(["manifest/1.json"]);
    expect(said.at(-1)).toBe("bucket plinth-backup is not empty any more, so it stays with its backups");
  });

  it("deletes what a link still uploads, and ends where a bucket stays full of nothing that is listed", async () => {
    const objects = putBucket("plinth-media", 1);
    objects.set("a", "bytes");
    const found = await inspect(cloudflare(), deployment);
    const pauses: number[] = [];
    const pause = async (timeMs: number): Promise<void> => {
      if (pauses.push(timeMs) === 1) objects.set("late", "bytes");
      if (pauses.length > 100) throw new Error("It never ends.");
    };
    await expect(destroy(cloudflare(), deployment, found, () => {}, pause)).rejects.toThrow("lists no object of it");
    expect({ left: objects.size, pauses: pauses.length }).toEqual({ left: 0, pauses: 9 });
    account.buckets.get("plinth-media")!.parts = 0;
    await destroy(cloudflare(), deployment, found, () => {}, pause);
    expect(account.buckets.size).toBe(0);
  });
});

describe("the file of secrets", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "plinth-secrets-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is replaced as a whole by one that its owner alone can read, where a link leads", () => {
    const [path, link] = [join(folder, "kept.secrets"), join(folder, "link.secrets")];
    writeFileSync(path, 'SEAL_KEYS="k1:a"\n', { mode: 0o644 });
    symlinkSync(path, link);
    const { ino } = statSync(path);
    keepSecrets(link, { OPERATOR_CLIENT_SECRET: "made" });
    expect(readFileSync(path, "utf8")).toBe('SEAL_KEYS="k1:a"\nOPERATOR_CLIENT_SECRET="made"\n');
    const { mode, ino: now } = statSync(path);
    expect({ mode: mode & 0o777, isNew: now !== ino }).toEqual({ mode: 0o600, isNew: true });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(["kept.secrets", "link.secrets"]);
  });
});

describe("the file of secrets for wrangler", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("is gone after %s", async (signal) => {
    const deployment = { worker: "plinth-stopped" };
    clearWorkFolder(deployment);
    const program = `
      import { withSecretsFile } from "./tools/deploy/apply.ts";
      await withSecretsFile(${JSON.stringify(deployment)}, { SEAL_KEYS: "k1:x" }, async ([, path]) => {
        console.log(path);
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: ROOT });
    const [path] = (await once(child.stdout, "data")) as [Buffer];
    expect(readFileSync(path.toString().trim(), "utf8")).toContain("k1:x");
    child.kill(signal);
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(128 + constants.signals[signal]);
    expect(existsSync(path.toString().trim())).toBe(false);
    rmSync(workFolder(deployment), { recursive: true });
  });
});

describe("the first operator", () => {
  it("gets a link at each deployment until one is used", async () => {
    const deployment = { ...parseDeployment("production", PRODUCTION), operator: "first@example.com" };
    const ask = askAt(platform.url);
    const said: string[] = [];
    const deployed = async (): Promise<string> => {
      said.length = 0;
      await firstOperator({ ask, deployment, operatorSecret: SECRET, say: (line) => void said.push(line) });
      return said.join("\n");
    };
    const linkIn = (text: string): URL => new URL(/https?:\S+token=\S+/.exec(text)?.[0] ?? "no:link");
    const before = linkIn(await deployed());
    const { pathname, search } = linkIn(await deployed());
    expect((await ask(`${before.pathname}${before.search}`)).status).toBe(400);
    const page = await ask(`${pathname}${search}`);
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1] ?? "";
    const password = "a quite long password";
    const form = { token: new URLSearchParams(search).get("token") ?? "", csrf, new_password: password };
    const chosen = await ask(pathname, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        cookie: String(page.headers["set-cookie"]).split(";")[0]!,
      },
      body: new URLSearchParams({ ...form, repeated_password: password }).toString(),
    });
    expect(chosen.status, chosen.body).toBe(200);
    expect(await deployed()).toBe(`first@example.com operates it at ${deployment.publicUrl}/console.`);
  });

  it("writes nothing where the platform does not say what is there", async () => {
    const deployment = { ...parseDeployment("production", PRODUCTION), operator: "second@example.com" };
    const written: string[] = [];
    const ask: Ask = async (path, options = {}) => {
      if (options.method === "PUT") written.push(path);
      if (path.endsWith("/oauth2/v1/token")) return { status: 200, headers: {}, body: '{"access_token":"t"}' };
      return { status: path.includes("/clients/") ? 503 : 404, headers: {}, body: "busy" };
    };
    await expect(firstOperator({ ask, deployment, operatorSecret: SECRET, say: () => {} })).rejects.toThrow(
      "503: busy",
    );
    expect(written).toEqual([]);
  });

  it("is asked for where the deployment names none", async () => {
    const deployment = parseDeployment("production", PRODUCTION);
    const said: string[] = [];
    await firstOperator({
      ask: askAt(platform.url),
      deployment,
      operatorSecret: SECRET,
      say: (line) => void said.push(line),
    });
    expect(said.join("")).toContain('operator = "ada@example.com" in deploy/production.toml');
  });
});

describe("a smoke test", () => {
  const smoke = (front: (ask: Ask) => Ask, { file = PRODUCTION, hasRested = false } = {}): Promise<Check[]> => {
    const deployment = parseDeployment("production", file);
    return smokeTest({ ask: front(askAt(platform.url)), deployment, operatorSecret: SECRET, hasRested, pauseMs: 1 });
  };
  const faultsBehind = async (front: (ask: Ask) => Ask): Promise<string[]> => {
    const checks = await smoke(front);
    return checks.flatMap(({ fault }) => fault ?? []);
  };
  const rewritten =
    (change: (body: string) => string) =>
    (ask: Ask): Ask =>
    async (path, options) => {
      const answer = await ask(path, options);
      return String(answer.headers["content-type"]).startsWith("text/html")
        ? { ...answer, body: change(answer.body) }
        : answer;
    };

  it("passes where nothing is in front", async () => {
    expect(await faultsBehind((ask) => ask)).toEqual([]);
  });

  // shows: running/commands/npm-run-deploy-the-zone-breaks-programs
  it("finds a zone that refuses programs, one by their user agent and one by a challenge", async () => {
    const refusing =
      (status: number, headers: Record<string, string>, agents: RegExp) =>
      (ask: Ask): Ask =>
      async (path, options) =>
        agents.test(options?.headers?.["user-agent"] ?? "node")
          ? { status, headers, body: "error code: 1010" }
          : ask(path, options);
    expect(await faultsBehind(refusing(403, {}, /^Python/))).toEqual([
      expect.stringContaining('"Python-urllib/3.13" is answered 403. See "Zone features"'),
    ]);
    expect(await faultsBehind(refusing(403, { "cf-mitigated": "challenge" }, /^(curl|Go)/))).toEqual([
      expect.stringContaining('"Go-http-client/2.0" is answered 403, cf-mitigated: challenge.'),
    ]);
  });

  // shows: running/commands/npm-run-deploy-the-zone-breaks-programs
  it("finds a zone that rewrites pages", async () => {
    const obfuscated = (body: string): string =>
      body.replaceAll(
        /[\w.]+@[\w.]+\.example/g,
        '<a href="/cdn-cgi/l/email-protection" class="__cf_email__" data-cfemail="5d">[email&#160;protected]</a>',
      );
    expect(await faultsBehind(rewritten(obfuscated))).toEqual([
      expect.stringContaining("/docs/quickstart has /cdn-cgi/, which is not ours."),
    ]);
    const removed = (body: string): string => body.replaceAll("@", "");
    expect(await faultsBehind(rewritten(removed))).toEqual([
      expect.stringContaining("The e-mail addresses in /docs/quickstart are gone."),
    ]);
  });

  /** Deep health that says something else of one part, `times` times. */
  const withPart =
    (name: string, said: object, times = Infinity) =>
    (ask: Ask): Ask => {
      let left = times;
      return async (path, options) => {
        const answer = await ask(path, options);
        if (path !== "/health/deep" || left-- <= 0) return answer;
        const { checks, ...others } = JSON.parse(answer.body) as { checks: { name: string }[] };
        const changed = checks.map((one) => (one.name === name ? { ...one, status: "fail", ...said } : one));
        return { ...answer, status: 503, body: JSON.stringify({ ...others, checks: changed }) };
      };
    };

  it("finds a part that does not work, and not one that restarts", async () => {
    const away = { facts: { error: "R2 is away" }, next: "R2 does not answer." };
    expect(await faultsBehind(withPart("bucket", away))).toEqual(["bucket: R2 does not answer."]);
    expect(await faultsBehind(withPart("object TopicLog", away, 2))).toEqual([]);
  });

  it("does not judge a sweep that the cron has not tried yet, and judges one that stopped", async () => {
    const sweeps = (triedAt: number | null) => ({
      facts: {
        sweeps: [
          { name: "outbox", triedAt: 1 },
          { name: "media", triedAt },
        ],
      },
      next: "No success for an hour of media.",
    });
    const checks = await smoke(withPart("sweeps", sweeps(null)));
    expect(checks.filter(({ fault, unknown }) => fault !== undefined || unknown === true)).toEqual([
      { name: "its cron has run", fault: undefined, unknown: true },
    ]);
    expect(await faultsBehind(withPart("sweeps", sweeps(1)))).toEqual(["sweeps: No success for an hour of media."]);
    const rested = await smoke(withPart("sweeps", sweeps(1)), { hasRested: true });
    expect(rested.filter(({ fault, unknown }) => fault !== undefined || unknown === true)).toEqual([
      { name: "its work in the background goes on after maintenance", fault: undefined, unknown: true },
    ]);
  });

  it("asks again while the version before answers, in maintenance or not", async () => {
    const discovery = "/oauth2/v1/.well-known/openid-configuration";
    const late = (ask: Ask): Ask => {
      let left = 1;
      return async (path, options) =>
        path === discovery && left-- > 0 ? { status: 503, headers: {}, body: "{}" } : ask(path, options);
    };
    const ended = await smoke(late, { hasRested: true });
    expect(ended.flatMap(({ fault }) => fault ?? [])).toEqual([]);
    expect(await faultsBehind(late)).toEqual([expect.stringContaining("The issuer is status 503")]);
  });

  it("finds a platform that serves callers in maintenance", async () => {
    const checks = await smoke((ask) => ask, { file: `${PRODUCTION}[vars]\nMAINTENANCE = "true"\n` });
    expect(checks.flatMap(({ fault }) => fault ?? [])).toEqual(["A caller is answered 200, and should be 503."]);
  });

  it("looks at the zone's settings, as far as its token may", async () => {
    const found: Record<string, unknown> = {
      "settings/browser_check": { value: "on" },
      "settings/email_obfuscation": { value: "off" },
      "settings/security_level": { value: "medium" },
      bot_management: { fight_mode: false, enable_js: false, sbfm_definitely_automated: "managed_challenge" },
    };
    const root = {
      find: async (path: string) => found[path.replace("/zones/z/", "")] ?? Promise.reject(new Error("403")),
    };
    const host = { host: HOST, zoneId: "z", service: undefined, domainId: undefined, records: [] };
    const checks = await checkZones({ root } as unknown as Cloudflare, [host]);
    const named = (which: (check: Check) => boolean): string[] =>
      checks.filter((check) => which(check)).map(({ name }) => name.replace(` is off for ${HOST}`, ""));
    expect(named(({ fault }) => fault !== undefined)).toEqual(["Browser Integrity Check", "Bot Fight Mode"]);
    expect(named(({ unknown }) => unknown === true)).toEqual(["Rocket Loader", "Hotlink Protection"]);
  });
});

describe("a deployment for maintenance", () => {
  const restingDir = newStateDir();
  let resting: Platform;
  beforeAll(async () => {
    await fresh();
    const vars = { PUBLIC_URL: `https://${HOST}`, OPERATOR_CLIENT_SECRET: SECRET, ALLOW_LOOPBACK: "true" };
    resting = await startPlatform({ ...vars, SITE: "", STATE_DIR: restingDir, MAINTENANCE: "true" });
  }, 180_000);
  afterAll(async () => {
    await stopGroup(resting, "SIGKILL");
    rmSync(restingDir, { recursive: true, force: true });
    await clear();
  });

  it("tests that the operator alone is served, and makes no records: a backup may be restored into it", async () => {
    const file = PRODUCTION.replace("\n", '\noperator = "ada@example.com"\n');
    writeDeployment("production", `${file}[vars]\nMAINTENANCE = "true"\n`);
    const begun = await deploy(["production", "--yes", "--at", resting.url], GIVEN);
    expect(begun.output).toContain("✓ it is in maintenance: callers are asked to wait");
    expect(begun.output).toContain(`https://${HOST} is in maintenance.`);
    expect(begun.code, begun.output).toBe(0);
    const users = await plat({ OPERATOR_CLIENT_SECRET: SECRET }, ["user", "list", "--json", "--url", resting.url]);
    expect(users.json()).toEqual([]);
  });
});

describe("a deployment", () => {
  beforeAll(fresh);
  afterAll(clear);

  // shows: running/commands/npm-run-deploy
  // shows: running/commands/npm-run-deploy-broken-off
  it("is repeated where it broke off, makes everything, keeps the secrets it made, and tests itself", async () => {
    const place = ["--location", "weur", "--jurisdiction", "eu"];
    expect(await deploy(["production", "init", "--host", HOST, ...place])).toMatchObject({ code: 0 });
    const args = ["production", ...atPlatform(), "--secrets", "kept.secrets"];
    // The platform that answers here has this secret; the other one is made.
    const given = { OPERATOR_CLIENT_SECRET: SECRET };
    account.failAt(2);
    const broken = await deploy(args, given);
    expect(broken).toMatchObject({ code: 1, output: expect.stringContaining("A failure that was asked for") });
    expect(broken.output).toContain("+ secret SEAL_KEYS, made now and kept in kept.secrets");
    const { code, output } = await deploy(args, given);
    expect(output).toContain("+ secret SEAL_KEYS, from kept.secrets");
    expect(output).toContain("✓ its operator gets a token");
    expect(output).toContain("https://plinth.example.com works.");
    expect(code, output).toBe(0);
    expect(account.unknown).toEqual([]);

    expect(onlyDatabase()).toMatchObject({ name: "plinth", location: "weur", jurisdiction: "eu" });
    const tables = onlyDatabase().sqlite.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(["client", "signing_key", "d1_migrations"]));
    expect(account.buckets.get("plinth-media")).toMatchObject({ location: undefined, jurisdiction: "eu" });
    expect(account.buckets.get("plinth-media")!.lifecycle.map((rule: any) => rule.id)).toEqual([
      "incoming",
      "unfinished-uploads",
    ]);
    const consumed = [...account.queues.values()].map(({ queue_name: name, consumers }) => [name, consumers.size]);
    expect(consumed).toEqual([
      ["plinth-media-jobs", 1],
      ["plinth-media-jobs-dead", 1],
    ]);
    expect(account.domains.get(HOST)).toMatchObject({ service: "plinth", zone_id: ZONE.id });
    expect([...account.queues.values()].map(({ jurisdiction }) => jurisdiction)).toEqual(["eu", "eu"]);
    expect(bindings()).toContainEqual({ name: "ASSETS", type: "assets" });
    expect(Object.keys(account.workers.get("plinth")!.assets)).toEqual(
      expect.arrayContaining(["/docs/index.html", "/docs/quickstart.md", "/docs/api/index.html", "/llms.txt"]),
    );
    expect(variable("PUBLIC_URL")).toBe(`https://${HOST}`);
    expect([variable("JURISDICTION"), variable("LOCATION_HINT")]).toEqual(["eu", "weur"]);
    expect(bindings().find(({ name }) => name === "DB").id).toBe(onlyDatabase().uuid);
    expect(bindings().find(({ name }) => name === "MEDIA")).toMatchObject({ jurisdiction: "eu" });
    expect(account.workers.get("plinth")!.settings.observability).toMatchObject({ redact_query_string: true });
    expect(compatibilityFlags()).toContain("global_fetch_strictly_public");

    const kept = readFileSync(join(checkout, "kept.secrets"), "utf8");
    expect(kept).toContain(`SEAL_KEYS="${account.workers.get("plinth")!.secrets.get("SEAL_KEYS")}"`);
    expect(kept).not.toContain(SECRET);
    expect(statSync(join(checkout, "kept.secrets")).mode & 0o777).toBe(0o600);
    expect(output).toContain("The only copy of the secrets is kept.secrets.");
  });

  it("is replaced by the next, with a new migration, its variables and secrets as they are", async () => {
    // As a run leaves it that was killed while it uploaded.
    const left = join(checkout, ".build", "deploy", "plinth", "secrets-abc.json");
    writeFileSync(left, "{}");
    writeFileSync(
      join(checkout, "migrations", "9999_more.sql"),
      "-- Isn't it nice; it is.\nCREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;\n" +
        "CREATE TRIGGER more_once\nBEFORE INSERT ON more\nBEGIN\n  SELECT CASE WHEN NEW.id > 1 THEN RAISE(ABORT, 'a;b') END;\nEND;\n",
    );
    writeDeployment("production", WITH_EVENTS);
    // What a shell has set changes nothing: the file alone says what the platform is.
    const { code, output } = await deploy(["production", ...atPlatform()], {
      EVENT_RETENTION_DAYS: "7",
      PLATFORM: "linux",
    });
    expect(output).toContain("+ migration 9999_more.sql");
    expect(existsSync(left)).toBe(false);
    expect(code, output).toBe(0);
    expect(output).toContain("+ database plinth-shard-01, in jurisdiction eu, for ever");
    const [directory, shard] = [...account.databases.values()];
    expect(shard).toMatchObject({ name: "plinth-shard-01", jurisdiction: "eu" });
    for (const { sqlite: one } of [directory!, shard!])
      expect(one.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'more%'").all()).toHaveLength(2);
    const bound = bindings().filter(({ type }) => type === "d1");
    expect(new Set(bound.map(({ name }) => name as string))).toEqual(new Set(["DB", "SHARD_01"]));
    expect(output).toContain("+ shard 2, an object in eeur, for ever");
    expect(output).toContain("+ objects of tenants' own, for ever");
    expect(variable("OBJECT_SHARDS")).toBe("2:eeur");
    expect(variable("EVENT_RETENTION_DAYS")).toBe("365");
    expect(account.workers.get("plinth")!.versions.at(-1)!.metadata.placement).toMatchObject({
      region: "aws:eu-central-1",
    });
    expect(variable("PLATFORM")).toBe("plat");
    expect(account.workers.get("plinth")!.secrets.get("OPERATOR_CLIENT_SECRET")).toBe(SECRET);
    expect(account.workers.get("plinth")!.versions).toHaveLength(2);
  });

  // shows: running/commands/npm-run-deploy-data-would-be-lost
  it("shows what would change, and needs a flag for what would lose data", async () => {
    const before = account.calls.length;
    const other = PRODUCTION.replace(HOST, "other.example.com").replace('jurisdiction = "eu"\n', "");
    writeDeployment("production", `${other}[vars]\nPLATFORM = "acme"\n`);
    const unused = await deploy(["production", ...atPlatform()], GIVEN);
    expect(unused.output).toContain("a shard cannot be taken away.");
    expect(unused.output).not.toContain("objects of tenants");
    onlyDatabase().sqlite.exec("INSERT INTO tenant_object (number, tenant) VALUES (240, 'x')");
    const fewer = await deploy(["production", ...atPlatform()], GIVEN);
    expect(fewer.output).toContain("The platform has 3 shards, and the file says 1: a shard cannot be taken away.");
    expect(fewer.output).toContain('their files would be gone. Set tenant_objects = "asked:apac".');
    writeDeployment("production", `${other}shards = 3\n[object_shards]\n1 = "auto"\n[vars]\nPLATFORM = "acme"\n`);
    const swapped = await deploy(["production", ...atPlatform()], GIVEN);
    expect(swapped.output).toContain("Shard 1 is a database, and the file says object");
    expect(swapped.output).toContain("Shard 2 is an object, and the file says database");
    writeDeployment(
      "production",
      `${other}auth_host = "login.example.com"\nshards = 3\ntenant_objects = "new:auto"\n[object_shards]\n2 = "eeur"\n[vars]\nPLATFORM = "acme"\nSUBJECT = "opaque"\n`,
    );
    const { code, output } = await deploy(["production", ...atPlatform()], GIVEN);
    expect(output).toContain("~ EVENT_RETENTION_DAYS: 365 → 7");
    expect(output).toContain("- host plinth.example.com");
    expect(output).toContain("The database is in jurisdiction eu, and the file says no jurisdiction.");
    const flags = [
      "--lose-events",
      "--rename-platform",
      "--rename-people",
      "--move-host",
      "--move-sign-in",
      "--move-jurisdiction",
    ];
    for (const flag of flags) expect(output).toContain(`${flag}: `);
    const planned = await deploy(["production", "--plan", ...flags], GIVEN);
    expect(planned).toMatchObject({ code: 0 });
    const unasked = await deploy(["production", ...flags, "--at", platform.url], GIVEN);
    expect(unasked).toMatchObject({ code: 1, output: expect.stringContaining("Say --yes") });
    expect({ code, calls: account.calls.length }).toEqual({ code: 1, calls: before });
    writeDeployment("production", WITH_EVENTS);
  });

  it("stands beside another one in the same account", async () => {
    const [calls, workers] = [account.calls.length, [...account.workers.keys()]];
    await deploy(["staging", "init", "--host", "staging.example.com", "--location", "apac"]);
    const { output } = await deploy(["staging", "--plan"], GIVEN);
    for (const made of [
      "database plinth-staging",
      "bucket plinth-staging-media",
      "bucket plinth-staging-backup",
      "queue plinth-staging-media-jobs",
      "host staging.example.com",
    ])
      expect(output).toContain(`+ ${made}`);
    expect(output).not.toContain(HOST);
    expect([account.calls.length, [...account.workers.keys()]]).toEqual([calls, workers]);

    // Broken off with what stores data made, near the hint; then taken away again.
    account.failAt(5);
    expect(await deploy(["staging", ...atPlatform()], GIVEN)).toMatchObject({ code: 1 });
    expect(account.databases.size).toBe(3);
    expect([...account.databases.values()].at(-1)).toMatchObject({ location: "apac", jurisdiction: null });
    expect(account.buckets.get("plinth-staging-media")).toMatchObject({ location: "apac", jurisdiction: undefined });
    await deploy(["staging", "destroy", "--yes", "--host", "staging.example.com"]);
    expect([account.databases.size, account.buckets.size, account.workers.size]).toEqual([2, 2, 1]);
  });

  it("replaces a secret that is given, and refuses keys that do not open what is stored", async () => {
    const planWith = (sealKeys: string) =>
      deploy(["production", "--plan", "--at", platform.url], { ...GIVEN, SEAL_KEYS: sealKeys });
    const SEALED = [
      "INSERT INTO identity_provider (id, issuer, client_id, sealed_client_secret, scopes, trusted_since, created_at) VALUES ('x', 'https://x.example', 'x', 'k1.sealed', '', 0, 0)",
      "UPDATE identity_provider SET sealed_client_secret = 'k2.sealed'",
      "INSERT INTO totp (email, sealed_secret, last_step, created_at) VALUES ('ada@acme.example', 'k3.sealed', 0, 0)",
      "INSERT INTO client_secret (client, digest, sealed, created_at) VALUES ('acme.shop', 'digest', 'k4.sealed', 0)",
    ];
    const { sqlite } = onlyDatabase();
    sqlite.exec("PRAGMA foreign_keys = OFF");
    for (const [at, sql] of SEALED.entries()) {
      sqlite.prepare(sql).run();
      const others = [1, 2, 3, 4].filter((n) => n !== at + 1).map((n) => SEAL_KEYS.replace("k1", `k${n}`));
      expect(await planWith(others.join())).toMatchObject({
        code: 1,
        output: expect.stringContaining(`SEAL_KEYS has no k${at + 1}, and`),
      });
    }
    const rotated = await planWith([1, 2, 3, 4].map((n) => SEAL_KEYS.replace("k1", `k${n}`)).join());
    expect(rotated).toMatchObject({
      code: 0,
      output: expect.stringContaining("~ secret SEAL_KEYS, from the environment"),
    });
    sqlite.exec("DELETE FROM identity_provider; DELETE FROM totp; DELETE FROM client_secret");
    sqlite.exec("PRAGMA foreign_keys = ON");
  });

  it("asks the Worker which keys sealed what lies in objects, and takes no other keys unasked", async () => {
    const before = account.calls.length;
    const deployWith = (args: readonly string[], given: Record<string, string> = {}) =>
      deploy(["production", "--yes", ...args], { ...GIVEN, ...given });
    const [at, k2] = [["--at", platform.url], SEAL_KEYS.replace("k1", "k2")];
    // No database has a sealed record here, and the Worker that answers has.
    const lost = await deployWith(at, { SEAL_KEYS: k2 });
    expect(lost).toMatchObject({ code: 1, output: expect.stringContaining("SEAL_KEYS has no k1, and") });
    const wrong = { OPERATOR_CLIENT_SECRET: "a-secret-that-the-worker-does-not-have" };
    for (const keys of [SEAL_KEYS, k2]) {
      const unknown = await deployWith(at, { ...wrong, SEAL_KEYS: keys });
      expect(unknown.code).toBe(1);
      expect(unknown.output).toMatch(/--lose-sealed: Which keys .* is not known \(the token endpoint answers 401/);
    }
    const moved = WITH_EVENTS.replace(HOST, "other.example.com");
    writeDeployment("production", moved);
    const elsewhere = await deployWith(["--move-host"]);
    expect(elsewhere.output).toContain(
      `(the Worker is at https://${HOST}, and the file says https://other.example.com)`,
    );
    writeDeployment("production", WITH_EVENTS);
    expect(elsewhere.code).toBe(1);

    const plan = (args: readonly string[], given: Record<string, string>) => deployWith(["--plan", ...args], given);
    const meant = await plan([...at, "--lose-sealed"], { SEAL_KEYS: k2 });
    expect(meant).toMatchObject({ code: 0, output: expect.stringContaining("(the Worker is not asked)") });
    const rotating = await plan(at, { ...wrong, OPERATOR_CLIENT_SECRET_PREVIOUS: SECRET });
    expect(rotating.code, rotating.output).toBe(0);
    for (const { output } of [rotating, await plan([], { SEAL_KEYS: "" })]) expect(output).not.toContain("not known");
    expect(account.calls.length).toBe(before);
  });

  it("changes nothing with a token that Cloudflare does not take any more", async () => {
    const before = account.calls.length;
    const { code, output } = await deploy(["production", ...atPlatform()], {
      ...GIVEN,
      CLOUDFLARE_API_TOKEN: "rolled",
    });
    expect({ code, calls: account.calls.length }).toEqual({ code: 1, calls: before });
    expect(output).toContain("Authentication error");
  });

  describe("beside its other versions", () => {
    const worker = () => account.workers.get("plinth")!;
    type Version = ReturnType<typeof worker>["versions"][number];
    const SAME = ", secrets as before";
    let kept: {
      versions: Version[];
      deployments: ReturnType<typeof worker>["deployments"];
      secrets: [string, string][];
    };
    beforeEach(() => {
      kept = {
        versions: [...worker().versions],
        deployments: [...worker().deployments],
        secrets: [...worker().secrets],
      };
    });
    afterEach(() => {
      worker().versions.splice(0, Infinity, ...kept.versions);
      worker().deployments.splice(0, Infinity, ...kept.deployments);
      for (const [name, value] of kept.secrets) worker().secrets.set(name, value);
      writeDeployment("production", WITH_EVENTS);
    });

    /** The last version once more, as a release would have uploaded it with other bindings. */
    function upload(release: string, change: (all: any[]) => any[] = (all) => all, about = SAME): Version {
      const { bindings: all, metadata, secrets } = kept.versions.at(-1)!;
      const annotations = { "workers/tag": release, "workers/message": `Plinth ${release}${about}` };
      const [id, number] = [randomUUID(), worker().versions.length + 1];
      const made = {
        id,
        number,
        bindings: change(structuredClone(all)),
        metadata: { ...metadata, annotations },
        secrets,
      };
      worker().versions.push(made);
      return made;
    }
    const share = (...parts: readonly (readonly [Version, number])[]): void => {
      const versions = parts.map(([{ id: version_id }, percentage]) => ({ version_id, percentage }));
      worker().deployments.unshift({ id: randomUUID(), versions });
    };
    const without = (name: string) => (all: any[]) => all.filter((one) => one.name !== name && one.class_name !== name);
    const withTexts = (texts: Record<string, string>) => (all: any[]) =>
      all.map((one) => (one.name in texts ? { ...one, text: texts[one.name] } : one));
    /** The old version had all requests, and now this one has. */
    const backTo = (change: (all: any[]) => any[]): Version => {
      const old = upload("0.0.8", change);
      share([old, 100]);
      share([upload("0.0.9"), 100]);
      return old;
    };
    const rollback = (...args: string[]) => deploy(["production", "rollback", ...args], GIVEN);
    const nothingChanges = async (run: Promise<Ended>): Promise<string> => {
      const before = account.calls.length;
      const { code, output } = await run;
      expect({ code, calls: account.calls.slice(before) }, output).toEqual({ code: 1, calls: [] });
      return output;
    };

    // shows: running/commands/npm-run-deploy-data-would-be-lost
    it("needs the flags of a deployment to bring back variables that lose data", async () => {
      const flagsOf = [
        "--lose-events",
        "--move-host",
        "--move-sign-in",
        "--rename-platform",
        "--rename-people",
        "--move-jurisdiction",
      ];
      backTo(
        withTexts({
          EVENT_RETENTION_DAYS: "7",
          PUBLIC_URL: "https://old.example.com",
          AUTH_URL: "https://login.example.com",
          SUBJECT: "opaque",
          PLATFORM: "acme",
          JURISDICTION: "",
        }),
      );
      const refused = await nothingChanges(rollback(...atPlatform()));
      expect(refused).toContain("~ EVENT_RETENTION_DAYS: 365 → 7");
      for (const flag of flagsOf) expect(refused).toContain(`${flag}: `);
      expect(await nothingChanges(rollback(...atPlatform(), ...flagsOf.slice(1)))).toContain(
        "--lose-events: EVENT_RETENTION_DAYS falls from 365 to 7: older events are deleted at once.",
      );
      const old = backTo(withTexts({ EVENT_RETENTION_DAYS: "7" }));
      const meant = await rollback(...atPlatform(), "--lose-events");
      expect(meant.code, meant.output).toBe(0);
      expect(worker().deployments[0]!.versions).toEqual([expect.objectContaining({ version_id: old.id })]);
    });

    it("needs a flag for what the version that runs would lose, also if a later one was uploaded", async () => {
      const kept365 = upload("0.0.8");
      share([upload("0.0.9", withTexts({ EVENT_RETENTION_DAYS: "7" })), 100]);
      share([kept365, 100]);
      writeDeployment("production", WITH_EVENTS.replace("365", "7"));
      const refused = await nothingChanges(deploy(["production", ...atPlatform()], ONLY_SECRET));
      expect(refused).toContain("--lose-events: EVENT_RETENTION_DAYS falls from 365 to 7");
    });

    it("says which secrets come back, and needs a flag unless they are surely the same", async () => {
      const SECRETS = "~ the secrets of that version come back: OPERATOR_CLIENT_SECRET, SEAL_KEYS";
      const old = upload("0.0.8");
      share([old, 100]);
      share([upload("0.0.9", undefined, ", with secrets"), 100]);
      share([upload("0.0.9"), 100]);
      for (const id of [[], [old.id]]) {
        const refused = await nothingChanges(rollback(...id, ...atPlatform()));
        expect(refused).toContain(SECRETS);
        expect(refused).toContain(`--old-secrets: Version ${old.id} may have other`);
      }
      const meant = await rollback(old.id, ...atPlatform(), "--old-secrets");
      expect(meant.code, meant.output).toBe(0);
      expect(worker().deployments[0]!.versions).toEqual([expect.objectContaining({ version_id: old.id })]);
      const same = await rollback(worker().versions.at(-4)!.id, "--plan");
      expect(same.output).toContain(`${SECRETS} (no upload has brought others since)`);
      expect(same).toMatchObject({ code: 0, output: expect.not.stringContaining("may have other secrets") });
    });

    it("takes no version of another tool for one that has the secrets of the version before it", async () => {
      share([upload("0.0.8"), 100]);
      share([upload("0.0.9", undefined, ""), 100]);
      expect(await nothingChanges(rollback(...atPlatform()))).toContain("--old-secrets: ");
      const put = upload("0.0.10");
      put.metadata.annotations["workers/triggered_by"] = "secret";
      share([put, 100]);
      expect(await nothingChanges(rollback(worker().versions.at(-2)!.id, ...atPlatform()))).toContain(
        "--old-secrets: ",
      );
    });

    it("overrides Cloudflare, who knows of a secret that has changed, with that flag alone", async () => {
      const old = backTo((all) => all);
      const { deployments, secrets } = worker();
      secrets.set("OPERATOR_CLIENT_SECRET", "what replaced the one that leaked");
      const before = deployments[0];
      const refused = await rollback(...atPlatform());
      expect(refused.code, refused.output).toBe(1);
      expect(refused.output).toContain(`--old-secrets: Version ${old.id} may have other secrets`);
      expect(refused.output).toContain("The following secrets have changed: OPERATOR_CLIENT_SECRET (10220)");
      expect(deployments[0]).toBe(before);
      const meant = await rollback(...atPlatform(), "--old-secrets");
      expect(meant.code, meant.output).toBe(0);
      expect(deployments[0]!.versions).toEqual([expect.objectContaining({ version_id: old.id })]);
    });

    it.each([
      ["a database", without("SHARD_01"), "does not know shard 1, the database "],
      ["an object", withTexts({ OBJECT_SHARDS: "" }), "does not know shard 2, an object"],
      ["objects of tenants", withTexts({ TENANT_OBJECTS: "" }), "does not know objects of tenants"],
      ["the variable of objects of tenants", without("TENANT_OBJECTS"), "does not know objects of tenants"],
      [
        "a database that is another one there",
        (all: any[]) => all.map((one) => (one.name === "DB" ? { ...one, id: randomUUID() } : one)),
        "does not know shard 0, the database ",
      ],
    ])("does not go back to a version without a shard, %s", async (_, change, words) => {
      const old = backTo(change);
      const output = await nothingChanges(rollback(...atPlatform(), "--lose-events", "--move-jurisdiction"));
      expect(output).toContain(`Version ${old.id} ${words}`);
      expect(output).toMatch(
        /Name a version that has (the shard|tenant_objects), or deploy a release that repairs the fault/,
      );
    });

    it("does not go back to a version without a class of objects", async () => {
      backTo(without("GuessCounter"));
      expect(await nothingChanges(rollback(...atPlatform()))).toContain("objects of class GuessCounter, which");
    });

    // shows: running/commands/npm-run-deploy-what-it-can-undo
    it("goes back over a release that was deployed twice, and never to one that it left", async () => {
      const [good, bad, again] = [upload("0.0.8"), upload("0.0.9"), upload("0.0.9")];
      for (const version of [good, bad, again]) share([version, 100]);
      expect(await nothingChanges(rollback())).toContain(`goes back to version ${good.id}, release 0.0.8`);
      share([good, 100]);
      expect(await nothingChanges(rollback())).toContain(`goes back to version ${kept.versions.at(-1)!.id}, release`);
      expect(await nothingChanges(rollback(bad.id))).toContain(`goes back to version ${bad.id}, release 0.0.9`);
    });

    it("goes to a version that is named, and names those that there are", async () => {
      const only = upload("0.0.9");
      worker().deployments.length = 0;
      share([upload("0.0.9"), 100]);
      share([only, 100]);
      const none = await nothingChanges(rollback());
      expect(none).toContain("plinth has no version of another release before this one (release 0.0.9). Name one:");
      expect(none).toContain(`rollback ${worker().versions.at(-1)!.id}   (release 0.0.9)`);
      expect(await nothingChanges(rollback(only.id))).toContain("has all requests already");
      expect(await nothingChanges(rollback("../settings"))).toContain("plinth has no version ../settings.");
    });

    it("takes no third release beside a canary, and gives the canary another share", async () => {
      const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
      const proven = upload("0.0.8");
      const other = upload("0.0.9");
      const canary = upload(version);
      share([proven, 100]);
      share([other, 60], [proven, 40]);
      for (const args of [[], ["--canary", "10"]]) {
        const output = await nothingChanges(deploy(["production", ...atPlatform(), ...args], GIVEN));
        expect(output).toContain(`version ${other.id}, release 0.0.9, the canary, has 60 %`);
        expect(output).toContain(`production rollback   all requests go to version ${proven.id}`);
        expect(output).toContain("from a checkout of release 0.0.9");
      }
      expect(await nothingChanges(rollback())).toContain(`goes back to version ${proven.id}, release 0.0.8`);

      share([canary, 60], [proven, 40]);
      writeDeployment("production", WITH_EVENTS.replace("365", "400"));
      const changed = await nothingChanges(deploy(["production", "--yes", "--canary", "80"], GIVEN));
      expect(changed).toContain("The file has changed since the canary was uploaded (EVENT_RETENTION_DAYS).");
      writeDeployment("production", WITH_EVENTS);
      const raised = await deploy(["production", "--yes", "--canary", "80"], GIVEN);
      expect(raised.output).toContain("Nothing is uploaded.");
      expect(raised.code, raised.output).toBe(0);
      expect(worker().versions.at(-1)).toBe(canary);
      const shares = worker().deployments[0]!.versions.map(({ version_id: id, percentage }) => [id, percentage]);
      expect(new Map(shares as [string, number][])).toEqual(
        new Map([
          [canary.id, 80],
          [proven.id, 20],
        ]),
      );
      expect(JSON.stringify(worker().deployments[0])).toContain('"mode":"deferred","max_delay":30');
      expect(worker().settings.observability).toMatchObject({ redact_query_string: true });
    });

    it("takes no canary with seal keys, whose new key the proven version would lack", async () => {
      share([upload("0.0.9"), 100]);
      const keys = `${SEAL_KEYS.replace("k1", "k2")},${SEAL_KEYS}`;
      const canary = (env: Record<string, string>) =>
        deploy(["production", ...atPlatform(), "--canary", "10", "--plan"], { ...ONLY_SECRET, ...env });
      expect(await nothingChanges(canary({ SEAL_KEYS: keys }))).toMatch(
        /SEAL_KEYS takes no canary: .* Deploy the keys without --canary first: npm run deploy -- production\./,
      );
      const planned = await canary({});
      expect(planned.code, planned.output).toBe(0);
    });

    it("takes no canary that would inherit seal keys which the running version lacks", async () => {
      const canary = () => deploy(["production", ...atPlatform(), "--canary", "10", "--plan"], ONLY_SECRET);
      const messages = kept.versions.map(({ metadata }) => metadata.annotations["workers/message"]);
      expect(messages).toContainEqual(expect.stringMatching(/, with secrets [A-Z_ ]*\bSEAL_KEYS\b/));
      const old = upload("0.0.8");
      upload("0.0.9", undefined, ", with secrets OPERATOR_CLIENT_SECRET OTLP_HEADERS");
      // A rollback that brings old secrets back.
      share([old, 100]);
      const planned = await canary();
      expect(planned.code, planned.output).toBe(0);
      for (const about of [", with secrets OPERATOR_CLIENT_SECRET SEAL_KEYS", ", with secrets", ""]) {
        upload("0.0.10", undefined, about);
        expect(await nothingChanges(canary())).toContain(
          `not those of version ${old.id}, which runs since a rollback. Its SEAL_KEYS may be others`,
        );
        worker().versions.pop();
      }
      upload("0.0.10", undefined, ", with secrets OTLP_HEADERS");
      const plain = await deploy(["production", ...atPlatform(), "--plan"], ONLY_SECRET);
      expect(plain.output).toContain("those of the version that was uploaded last, not of the one that runs");
      // Deployed without a canary: what runs is the newest again.
      share([upload("0.0.8"), 100]);
      const again = await canary();
      expect(again.code, again.output).toBe(0);
      expect(again.output).not.toContain("uploaded last");
    });

    it("needs the flags for a canary too", async () => {
      writeDeployment(
        "production",
        `${WITH_EVENTS.replace("[object", 'auth_host = "login.example.com"\n[object')}SUBJECT = "opaque"\n`,
      );
      const canary = (...flags: string[]) =>
        deploy(["production", ...atPlatform(), "--canary", "10", ...flags], ONLY_SECRET);
      const refused = await nothingChanges(canary());
      for (const flag of ["--rename-people: ", "--move-sign-in: "]) expect(refused).toContain(flag);
      expect(await nothingChanges(canary("--move-sign-in"))).toContain("--rename-people: SUBJECT changes from email");
      const meant = await canary("--move-sign-in", "--rename-people", "--plan");
      expect(meant.code, meant.output).toBe(0);
    });

    it.each([
      ["a class of objects", without("GuessCounter"), "New classes of objects take no canary"],
      ["a shard", without("SHARD_01"), "New shards take no canary (1)"],
      ["objects of tenants", withTexts({ TENANT_OBJECTS: "" }), "The first tenant_objects takes no canary"],
    ])("takes no canary beside a version that lacks %s", async (_, change, words) => {
      share([upload("0.0.9", change), 100]);
      const output = await nothingChanges(deploy(["production", ...atPlatform(), "--canary", "10"], ONLY_SECRET));
      expect(output).toContain(words);
      if (words.includes("classes"))
        expect(output).toContain("+ objects of class GuessCounter; no rollback goes back over that");
    });
  });

  // shows: running/commands/npm-run-deploy-what-it-can-undo
  it("takes a canary, rolls back, and is destroyed once that is said twice", async () => {
    const worker = account.workers.get("plinth")!;
    const first = worker.versions.at(-1);
    // Keys that are known to a thief, and a secret that the thief has put in their place.
    writeDeployment("production", `${WITH_EVENTS}R2_S3_ENDPOINT = "https://a.eu.r2.cloudflarestorage.com"\n`);
    for (const name of ["R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY", "OPERATOR_CLIENT_SECRET"])
      worker.secrets.set(name, "of a thief, who knows it well enough");
    for (const name of ["R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY"]) bindings().push({ type: "secret_text", name });
    const replaced = { ...ONLY_SECRET, R2_ACCESS_KEY_ID: "new-id", R2_SECRET_ACCESS_KEY: "new-key" };
    const canary = await deploy(["production", ...atPlatform(), "--canary", "10"], {
      ...replaced,
      NODE_OPTIONS: WITHOUT_R2,
    });
    expect(canary.code, canary.output).toBe(0);
    for (const name of Object.keys(replaced)) expect(canary.output).toContain(`~ secret ${name}, from the environment`);
    expect(Object.fromEntries(worker.secrets)).toMatchObject(replaced);
    const second = worker.versions.at(-1);
    expect(compatibilityFlags()).toContain("global_fetch_strictly_public");
    expect(worker.deployments[0]!.versions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ version_id: first!.id, percentage: 90 }),
        expect.objectContaining({ version_id: second!.id, percentage: 10 }),
      ]),
    );
    const unasked = await deploy(["production", "rollback", ...atPlatform()], GIVEN);
    expect(unasked).toMatchObject({ code: 1, output: expect.stringContaining("--old-secrets: ") });
    const back = await deploy(["production", "rollback", ...atPlatform(), "--old-secrets"], GIVEN);
    expect(back.code, back.output).toBe(0);
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    expect(back.output).toContain(`plinth goes back to version ${first!.id}, release ${version}.`);
    // Objects run the old version's code at once too, and not for five minutes more the new one's.
    expect(JSON.stringify(worker.deployments[0])).toContain('"mode":"deferred","max_delay":30');
    expect(worker.deployments[0]!.versions).toEqual([
      expect.objectContaining({ version_id: first!.id, percentage: 100 }),
    ]);

    account.buckets.get("plinth-media")!.objects.set("a/b c", "bytes");
    account.buckets.get("plinth-backup")!.objects.set("manifest/1.json", "{}");
    const before = account.calls.length;
    const planned = await deploy(["production", "destroy", "--plan", "--yes", "--host", HOST]);
    expect(planned).toMatchObject({ code: 0, output: expect.stringContaining("- worker plinth, with its secrets") });
    for (const [what, flag] of [
      ["destroy", "--canary=10"],
      ["rollback", "--canary=10"],
      ["smoke", "--plan"],
      ["init", "--yes"],
      ["deploy", `--host=${HOST}`],
    ] as const)
      expect(
        await deploy(["production", what, flag, ...(what === "destroy" ? ["--yes", "--host", HOST] : [])]),
      ).toMatchObject({
        code: 1,
        output: expect.stringContaining(`${what} takes no ${flag.split("=")[0]}.`),
      });
    expect(account.calls.slice(before)).toEqual([]);
    const unsure = await deploy(["production", "destroy", "--yes"]);
    expect(unsure).toMatchObject({ code: 1, output: expect.stringContaining("Nothing was deleted.") });
    const twice = await deploy(["production", "destroy", "--yes", "--host", HOST]);
    expect(twice.code, twice.output).toBe(0);
    // Backups outlive what they are of.
    expect(twice.output).toContain("bucket plinth-backup, with backups, stays");
    expect([...account.buckets.keys()]).toEqual(["plinth-backup"]);
    expect([account.databases.size, account.queues.size, account.workers.size, account.domains.size]).toEqual([
      0, 0, 0, 0,
    ]);
    expect(account.unknown).toEqual([]);
  });
});
