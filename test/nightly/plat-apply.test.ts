import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import {
  applyHere,
  FREE,
  openCrossing,
  startApply,
  type Applied,
  type Crossing,
  type Passage,
} from "../acceptance/support/apply-process.ts";
import { plat } from "../acceptance/support/plat-command.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { npm, stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

/**
 * Runs `npm run plat -- apply` against a started platform. Writes are counted by the platform's own audit log, and
 * records are read from the platform, never from the command's output.
 */
const SECRET = "an-operator-secret-for-acceptance-tests";
const stateDir = newStateDir();
const dir = mkdtempSync(join(tmpdir(), "plinth-apply-"));
let platform: Platform;
let crossing: Crossing;
let token = "";

beforeAll(async () => {
  platform = await startPlatform({ STATE_DIR: stateDir, OPERATOR_CLIENT_SECRET: SECRET });
  crossing = await openCrossing(platform.url);
  token = (await askToken("plat.operator", SECRET)).access_token ?? "";
}, 60_000);
afterAll(async () => {
  await crossing.close();
  await stopGroup(platform, "SIGKILL");
  for (const path of [stateDir, dir]) rmSync(path, { recursive: true, force: true });
});

// --- the platform, as its operator sees it

/** Repeats the request as a client does, since the platform of a busy machine may answer 503 for some seconds. */
async function askToken(
  id: string,
  secret: string,
  form: Record<string, string> = {},
): Promise<{ access_token?: string; error?: string }> {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(`${platform.url}/oauth2/v1/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials", ...form }),
    });
    if (answer.status !== 503 || attempt === 5)
      return (await answer.json()) as { access_token?: string; error?: string };
    await sleep(Number(answer.headers.get("retry-after")) * 1_000);
  }
}

const ask = (path: string): Promise<Response> =>
  fetch(path.startsWith("http") ? path : `${platform.url}/admin/v1/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });

async function listAll(path: string): Promise<any[]> {
  const rows: any[] = [];
  for (let next: string | undefined = `${path}${path.includes("?") ? "&" : "?"}pageSize=1000`; next !== undefined;) {
    const answer = await ask(next);
    expect(answer.status, next).toBe(200);
    const page: any[] = await answer.json();
    rows.push(...page);
    next = /<([^>]*)>; rel="?next"?/.exec(answer.headers.get("link") ?? "")?.[1];
  }
  return rows;
}

/** The operator's writes so far, the oldest first: `put tenants/acme`. */
async function writes(): Promise<string[]> {
  const rows = await listAll("audit?actor=plat.operator");
  return rows
    .filter(({ action, outcome }) => /put|delete|secret/.test(action) && outcome === "done")
    .map(({ action, subject }) => `${action} ${subject}`)
    .toReversed();
}

/** The writes of a piece of work. */
async function writesOf(work: () => Promise<unknown>): Promise<string[]> {
  const before = (await writes()).length;
  await work();
  return (await writes()).slice(before);
}

// --- files

type Description = Record<string, Record<string, any>>;

/** A platform with so many tenants; all ids begin with the prefix. */
function describePlatform(prefix: string, tenants: number): Description {
  const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
  const some = Math.min(10, tenants);
  const rows = <T>(count: number, row: (index: number) => [string, T]): Record<string, T> =>
    Object.fromEntries(range(count).map(row));
  return {
    clients: rows(tenants, (index) => [
      `${prefix}${index}.app`,
      {
        tenant: `${prefix}${index}`,
        confidential: true,
        grantTypes: ["refresh_token", "client_credentials"],
        scopes: ["plat.media_view", `${prefix}.a`],
        redirectUris: ["https://b.example/", "https://a.example/"],
      },
    ]),
    organizations: rows(5, (index) => [
      `${prefix}org${index}`,
      { name: `Organization ${index}`, members: { [`${prefix}0-0@a.example`]: [`${prefix}reader`] } },
    ]),
    tenants: rows(tenants, (index) => [
      `${prefix}${index}`,
      {
        organization: `${prefix}org${index % 5}`,
        name: `Tenant ${index}`,
        quota: index % 2 === 0 ? { files: 100 } : {},
        subscriptions: ["platform", `${prefix}pack${index % some}`],
        members: {
          [`${prefix}${index}-0@A.example`]: [`${prefix}writer`, `${prefix}reader`],
          [`${prefix}${index}-1@a.example`]: [],
        },
      },
    ]),
    packages: rows(some, (index) => [
      `${prefix}pack${index}`,
      { version: "1.0", organization: `${prefix}org0`, services: [`${prefix}serv${index}`, "media"] },
    ]),
    services: rows(some, (index) => [
      `${prefix}serv${index}`,
      {
        tenant: `${prefix}${index}`,
        sourceUrl: `http://127.0.0.1:${9000 + index}`,
        proxyPath: `/${prefix}${index}/v1`,
        scopes: [`${prefix}.b`, `${prefix}.a`],
        access: "token",
      },
    ]),
    roles: {
      [`${prefix}reader`]: { scopes: ["plat.media_view"] },
      [`${prefix}writer`]: { scopes: ["plat.media_view", "plat.media_manage"] },
    },
    users: rows(tenants * 2, (index) => [
      `${prefix}${Math.floor(index / 2)}-${index % 2}@A.example`,
      index % 3 === 0 ? {} : { name: `User ${index}` },
    ]),
  };
}

/** The audit subjects of all records that the file describes. */
function subjectsOf(file: Description): string[] {
  return Object.entries(file)
    .flatMap(([section, rows]) =>
      Object.entries(rows).flatMap(([id, { members = {}, subscriptions = [] }]) => [
        `${section}/${id}`,
        ...Object.keys(members).map((email) => `${section}/${id}/members/${email}`),
        ...(subscriptions as string[]).map((name) => `${section}/${id}/subscriptions/${name}`),
      ]),
    )
    .map((subject) => (subject.includes("@") ? subject.toLowerCase() : subject))
    .sort();
}

let files = 0;
function writeFile(description: Description | string): string {
  const path = join(dir, `platform-${++files}.yaml`);
  writeFileSync(path, typeof description === "string" ? description : stringify(description));
  return path;
}

// --- the command

const ENV = { OPERATOR_CLIENT_SECRET: SECRET };
const secretsFile = (name: string): string => join(dir, `${name}.secrets.jsonl`);
const apply = (args: readonly string[], env: Record<string, string> = {}): Promise<Applied> =>
  applyHere(args, { ...ENV, PLINTH_URL: platform.url, ...env });

const keptSecrets = (path: string): { client: string; clientSecret: string }[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Gets a token for every client in the file by its stored secret. */
async function expectSecretsWork(path: string, clients: readonly string[]): Promise<void> {
  const kept = keptSecrets(path);
  expect(kept.map(({ client }) => client).sort()).toEqual([...clients].sort());
  for (const { client, clientSecret } of kept) {
    const { access_token } = await askToken(client, clientSecret);
    expect(access_token, client).toBeTypeOf("string");
  }
}

describe("50 tenants", () => {
  const file = describePlatform("big", 50);
  const secrets = secretsFile("big");
  let path = "";

  test("are made with one write a record", async () => {
    path = writeFile(file);
    let applied: Applied | undefined;
    const startedMs = performance.now();
    const written = await writesOf(async () => (applied = await apply([path, "--secrets", secrets])));
    expect(applied).toMatchObject({ code: 0 });
    expect(performance.now() - startedMs).toBeLessThan(60_000);
    expect(written.map((write) => write.replace("put ", "")).sort()).toEqual(subjectsOf(file));
    expect(applied?.out).toContain(`${written.length} to make.`);
  });

  test("exist, with working secrets in a file that only its owner may read", async () => {
    const own = async (collection: string, key: string): Promise<any[]> =>
      (await listAll(collection)).filter((row) => String(row[key]).startsWith("big"));
    expect(await own("organizations", "id")).toHaveLength(5);
    const tenants = await own("tenants", "id");
    expect(tenants).toHaveLength(50);
    expect(tenants.find(({ id }) => id === "big7")).toMatchObject({
      organization: "bigorg2",
      name: "Tenant 7",
      quota: {},
      disabled: false,
    });
    expect(tenants.find(({ id }) => id === "big8")).toMatchObject({ quota: { files: 100 } });
    expect(await own("services", "name")).toHaveLength(10);
    expect((await own("packages", "id"))[3].services.toSorted()).toEqual(["bigserv3", "media"]);
    expect(await own("users", "email")).toHaveLength(100);
    expect((await listAll("tenants/big31/members")).map(({ email, roles }) => [email, roles.toSorted()])).toEqual([
      ["big31-0@a.example", ["bigreader", "bigwriter"]],
      ["big31-1@a.example", []],
    ]);
    expect((await listAll("tenants/big31/subscriptions")).map((row) => row.package)).toEqual(["bigpack1", "platform"]);
    expect(await listAll("organizations/bigorg4/members")).toHaveLength(1);
    expect(statSync(secrets).mode & 0o777).toBe(0o600);
    await expectSecretsWork(secrets, Object.keys(file["clients"] ?? {}));
  });

  test("need no write the second time", async () => {
    const written = await writesOf(async () => {
      for (const more of [[], ["--secrets", secrets], ["--dry-run", "--exit-code"]]) {
        const applied = await apply([path, ...more]);
        expect(applied).toMatchObject({ code: 0, err: "" });
        expect(applied.out).toContain("is as the file describes it.");
      }
    });
    expect(written).toEqual([]);
  });

  test("change only where the file changed; --dry-run sends nothing", async () => {
    const changed = structuredClone(file) as any;
    changed.tenants.big7.name = "Another name";
    changed.tenants.big9.members["big9-1@a.example"] = ["bigreader"];
    changed.tenants.big11.subscriptions = ["bigpack1"];
    changed.roles.bigreader.scopes.push("big.b");
    changed.users["big3-0@A.example"].name = "Somebody";
    delete changed.clients["big5.app"];
    // One file takes what the other releases.
    changed.services.bigserv0.proxyPath = "/big1/v1";
    changed.services.bigserv1.proxyPath = "/elsewhere/v1";
    const changedPath = writeFile(changed);
    const dry = await writesOf(async () => {
      const shown = await apply([changedPath, "--dry-run"]);
      expect(shown.code).toBe(0);
      expect(shown.out).toContain('~ tenants/big7\n    name: "Tenant 7" → "Another name"\n');
      expect(shown.out).toContain("~ roles/bigreader\n    scopes: +big.b\n");
      expect(shown.out).toContain("6 to change.");
      expect((await apply([changedPath, "--dry-run", "--exit-code"])).code).toBe(3);
      const json = JSON.parse((await apply([changedPath, "--dry-run", "--json"])).out);
      expect(json.changes).toContainEqual({
        action: "change",
        path: "tenants/big7",
        fields: [{ name: "name", from: "Tenant 7", to: "Another name" }],
        done: false,
      });
    });
    expect(dry).toEqual([]);
    const written = await writesOf(async () => expect(await apply([changedPath])).toMatchObject({ code: 0 }));
    expect(written.sort()).toEqual([
      "put roles/bigreader",
      "put services/bigserv0",
      "put services/bigserv1",
      "put tenants/big7",
      "put tenants/big9/members/big9-1@a.example",
      "put users/big3-0@a.example",
    ]);
    expect(await writesOf(() => apply([changedPath]))).toEqual([]);
    expect(await writesOf(async () => expect(await apply([path])).toMatchObject({ code: 0 }))).toHaveLength(6);
  });

  test("do not change if the file has a mistake", async () => {
    const good = structuredClone(file) as any;
    good.tenants.big7.name = "Never sent";
    const text = stringify(good);
    const lineOf = (needle: string): number => text.slice(0, text.indexOf(needle)).split("\n").length;
    const place = (needle: string, column: number): string => `${lineOf(needle)}:${column}`;
    const cases: [changed: string, mistake: string, env?: Record<string, string>][] = [
      [`${text}\tx: 1\n`, `${text.split("\n").length}:1: Tabs are not allowed as indentation.`],
      [
        text.replace("name: Tenant 49", "disabledd: true\n    name: Tenant 49"),
        `${place("name: Tenant 49", 5)}: there is no field "disabledd" here. Did you mean disabled?`,
      ],
      [
        text.replace('version: "1.0"', "version: 1.0"),
        `${place('version: "1.0"', 14)}: version must be a string. 1.0 is a number to YAML: write "1.0" for a text.`,
      ],
      [
        text.replace("organization: bigorg3", "organization: bigorg33"),
        `${place("organization: bigorg3", 19)}: there is no organization "bigorg33", neither in the file nor on the platform. Did you mean bigorg3?`,
      ],
      [
        text.replace("proxyPath: /big9/v1", "proxyPath: /big8/v1"),
        `${place("proxyPath: /big9/v1", 16)}: proxyPath /big8/v1 is that of services/bigserv8 in line ${lineOf("bigserv8:")} too.`,
      ],
      [
        text.replace("proxyPath: /big9/v1", "proxyPath: /admin/v1"),
        `${place("proxyPath: /big9/v1", 16)}: The first part of proxyPath, /admin, is the platform's own.`,
      ],
      [
        text.replace("sourceUrl: http://127.0.0.1:9009", `sourceUrl: ${platform.url}`),
        `${place("sourceUrl: http://127.0.0.1:9009", 16)}: sourceUrl is an address of the platform itself.`,
      ],
      [
        `${text}  new@a.example:\n    password: { env: NEW_PASSWORD }\n`,
        ": the variable NEW_PASSWORD of the environment is not set; it holds the password of users/new@a.example.",
      ],
      [
        `${text}  new@a.example:\n    password: { env: NEW_PASSWORD }\n`,
        ": what NEW_PASSWORD holds is no password: password must be at least 8 characters.",
        { NEW_PASSWORD: "secr3t!" },
      ],
      [
        text.replace(
          "clients:\n",
          "clients:\n  big.new: { tenant: big0, confidential: true, grantTypes: [], scopes: [] }\n",
        ),
        `2:3: clients/big.new needs a secret: name a file that keeps the one that is made, --secrets <file>, or write clientSecret: { env: NAME }.`,
      ],
    ];
    const written = await writesOf(async () => {
      for (const [changed, mistake, env] of cases) {
        const wrong = writeFile(changed);
        const applied = await apply([wrong], env);
        expect(applied.code).toBe(1);
        expect(applied.out).toBe("");
        const [first = "", ...others] = applied.err.split("\n");
        expect(first.startsWith(`${wrong}:`), applied.err).toBe(true);
        expect(first.endsWith(mistake), applied.err).toBe(true);
        expect(others).toEqual(["One mistake; nothing was sent.", ""]);
        expect(applied.err).not.toContain("secr3t!");
      }
    });
    expect(written).toEqual([]);
  });

  test("are compared by --dry-run without secrets, which names the missing ones", async () => {
    const client = "{ tenant: big0, confidential: true, grantTypes: [], scopes: [] }";
    const wanting = writeFile(
      `users:\n  new@a.example: { password: { env: NEW_PASSWORD } }\nclients:\n  big.new: ${client}\n`,
    );
    const written = await writesOf(async () => {
      const shown = await apply([wanting, "--dry-run", "--exit-code"]);
      expect(shown.code, shown.err).toBe(3);
      expect(shown.out).toContain("+ users/new@a.example  password: from NEW_PASSWORD\n");
      expect(shown.out).toMatch(/^\+ clients\/big\.new .*clientSecret: made, and kept in the file of --secrets$/m);
      const [first = "", second = "", last] = shown.err.split("\n");
      expect(first).toContain(`${wanting}:2:37: the variable NEW_PASSWORD of the environment is not set`);
      expect(second).toContain(`${wanting}:4:3: clients/big.new needs a secret: name a file`);
      expect(last).toBe("That is what sending it needs; nothing was sent.");
      const wrong = await apply([wanting, "--dry-run"], { NEW_PASSWORD: "short" });
      expect(wrong).toMatchObject({ code: 1, out: "" });
    });
    expect(written).toEqual([]);
  });
});

test("a client that was removed and comes back gets its secret again, and the difference says so", async () => {
  const path = writeFile(
    "clients:\n  big.back: { tenant: big0, confidential: true, grantTypes: [client_credentials], scopes: [] }\n",
  );
  const secrets = secretsFile("back");
  const args = [path, "--secrets", secrets];
  await writesOf(async () => {
    const first = await apply(args);
    expect(first.out).toContain(`clientSecret: made, and kept in ${secrets}`);
    expect((await plat({ ...ENV, PLINTH_URL: platform.url }, "client delete big.back --yes".split(" "))).code).toBe(0);
    const shown = await apply([...args, "--dry-run"]);
    expect(shown.out).toContain(`clientSecret: the one of an earlier run, in ${secrets}`);
    expect(shown.out).not.toContain('""');
    const again = await apply([...args, "--json"]);
    expect(JSON.parse(again.out)).toMatchObject({ changes: [{ path: "clients/big.back", secret: "kept" }] });
    await expectSecretsWork(secrets, ["big.back"]);
  });
});

describe("an interrupted apply", () => {
  /** Applies through the proxy until `passage` says "now", then kills the process. */
  async function killedBy(args: readonly string[], passage: (kill: () => void) => Passage): Promise<Applied> {
    const applying = startApply(args, { ...ENV, PLINTH_URL: crossing.url });
    crossing.passage = passage(() => void applying.child.kill("SIGKILL"));
    const applied = await applying.ended;
    crossing.passage = FREE;
    return applied;
  }

  test("is finished by the next run after a kill at any write", async () => {
    const file = describePlatform("kil", 12);
    const path = writeFile(file);
    const secrets = secretsFile("killed");
    const args = [path, "--secrets", secrets];
    const total = subjectsOf(file).length;
    let kills = 0;
    const written = await writesOf(async () => {
      for (let round = 0; round < 6; round++) {
        const at = 1 + Math.floor(Math.random() * (total / 5));
        const onTheWayBack = round % 2 === 1;
        let count = 0;
        const applied = await killedBy(args, (kill) => {
          const meet = (): boolean => {
            if (++count < at) return true;
            kill();
            return false;
          };
          return onTheWayBack ? { ...FREE, after: meet } : { ...FREE, before: meet };
        });
        if (applied.signal !== "SIGKILL") break;
        kills++;
      }
      expect(await apply(args, { PLINTH_URL: crossing.url })).toMatchObject({ code: 0 });
    });
    expect(kills).toBeGreaterThan(2);
    expect([...new Set(written.map((write) => write.replace("put ", "")))].sort()).toEqual(subjectsOf(file));
    // Only the write that was in flight is sent again.
    expect(written.length).toBeLessThanOrEqual(total + kills * 8);
    expect(await writesOf(() => apply(args, { PLINTH_URL: crossing.url }))).toEqual([]);
    await expectSecretsWork(secrets, Object.keys(file["clients"] ?? {}));
  });

  test("keeps the secret of a client that was made while the run was killed", async () => {
    const file = describePlatform("sec", 3);
    const path = writeFile(file);
    const secrets = secretsFile("secret");
    const made: string[] = [];
    const applied = await killedBy([path, "--secrets", secrets], (kill) => ({
      ...FREE,
      after(_method, subject) {
        if (!subject.includes("/clients/")) return true;
        made.push(subject);
        kill();
        return false;
      },
    }));
    expect(applied.signal).toBe("SIGKILL");
    expect(made.length).toBeGreaterThan(0);
    const before = keptSecrets(secrets);
    await writesOf(async () =>
      expect(await apply([path, "--secrets", secrets], { PLINTH_URL: crossing.url })).toMatchObject({ code: 0 }),
    );
    expect(keptSecrets(secrets)).toEqual(before);
    await expectSecretsWork(secrets, Object.keys(file["clients"] ?? {}));
  });

  test("finishes calls in flight at SIGINT, says what is left, and continues in the next run", async () => {
    const file = describePlatform("int", 6);
    const path = writeFile(file);
    const secrets = secretsFile("interrupted");
    const total = subjectsOf(file).length;
    const applying = startApply([path, "--secrets", secrets], { ...ENV, PLINTH_URL: crossing.url });
    let count = 0;
    let applied: Applied | undefined;
    const written = await writesOf(async () => {
      crossing.passage = {
        ...FREE,
        after: async () => {
          if (++count < 10) return true;
          // Twice, as from a terminal through npm.
          applying.child.kill("SIGINT");
          while (!applying.said().includes("Stopping;")) await new Promise((done) => setTimeout(done, 5));
          applying.child.kill("SIGINT");
          return true;
        },
      };
      applied = await applying.ended;
      crossing.passage = FREE;
    });
    expect(applied?.code).toBe(130);
    expect(written.length).toBeLessThan(20);
    expect(applied?.err).toContain(
      `Interrupted. Done: ${written.length} of ${total} changes. Not done: ${total - written.length}:`,
    );
    expect(applied?.err).toContain("Run it again: it goes on with what is not done.");
    const rest = await writesOf(async () =>
      expect(await apply([path, "--secrets", secrets], { PLINTH_URL: crossing.url })).toMatchObject({ code: 0 }),
    );
    expect([...written, ...rest].map((write) => write.replace("put ", "")).sort()).toEqual(subjectsOf(file));
  });

  test("ends when the platform stops, and does not repeat finished writes", async () => {
    const file = describePlatform("gon", 3);
    const args = [writeFile(file), "--secrets", secretsFile("gone")];
    const total = subjectsOf(file).length;
    let applied: Applied | undefined;
    let count = 0;
    const written = await writesOf(async () => {
      crossing.passage = { ...FREE, before: () => ++count <= 10 };
      applied = await apply(args, { PLINTH_URL: crossing.url });
      crossing.passage = FREE;
    });
    expect(applied?.code).toBe(1);
    expect(written).toHaveLength(10);
    expect(applied?.err).toContain(`Done: 10 of ${total} changes. Not done: ${total - 10}:`);
    const rest = await writesOf(async () =>
      expect(await apply(args, { PLINTH_URL: crossing.url })).toMatchObject({ code: 0 }),
    );
    expect(rest).toHaveLength(total - 10);
  });

  test("converges when two runs overlap, with working secrets", async () => {
    const file = describePlatform("two", 6);
    const secrets = secretsFile("two");
    const args = [writeFile(file), "--secrets", secrets];
    const start = (given: readonly string[]) => startApply(given, { ...ENV, PLINTH_URL: platform.url }).ended;
    for (const applied of await Promise.all([start(args), start(args)])) expect(applied).toMatchObject({ code: 0 });
    expect(await writesOf(() => apply(args))).toEqual([]);
    const first = new Map(
      keptSecrets(secrets)
        .toReversed()
        .map(({ client, clientSecret }) => [client, clientSecret]),
    );
    expect([...first.keys()].toSorted()).toEqual(Object.keys(file["clients"] ?? {}).toSorted());
    for (const [client, clientSecret] of first)
      expect((await askToken(client, clientSecret)).access_token, client).toBeTypeOf("string");
  });

  test("reports a refusal at its line, and continues after the file is fixed", async () => {
    const file = describePlatform("ref", 2) as any;
    const secrets = secretsFile("refused");
    file.clients["ref0.app"].scopes = ["plat.pubsub_publish", "plat.pubsub.topic=*"];
    expect(await apply([writeFile(file), "--secrets", secrets])).toMatchObject({ code: 0 });
    const { clientSecret = "" } = keptSecrets(secrets).find(({ client }) => client === "ref0.app") ?? {};
    const { access_token } = await askToken("ref0.app", clientSecret);
    const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
    const topic = await fetch(`${platform.url}/pubsub/v1/topics`, {
      method: "POST",
      headers,
      body: JSON.stringify({ eventType: "kept" }),
    });
    expect(topic.status).toBe(201);
    // Topics belong to the client's name, so the client cannot move to another tenant. Neither the file nor a list
    // shows that.
    file.clients["ref0.app"].tenant = "ref1";
    file.tenants.ref0.name = "Renamed";
    file.identityProviders = {
      "ref-idp": { issuer: "https://accounts.example", clientId: "x", clientSecret: { env: "IDP" } },
    };
    const path = writeFile(file);
    const line =
      readFileSync(path, "utf8")
        .split("\n")
        .findIndex((text) => text.includes("ref0.app:")) + 1;
    let applied: Applied | undefined;
    expect(await writesOf(async () => (applied = await apply([path], { IDP: "an idp's secret" })))).toEqual([
      "put tenants/ref0",
    ]);
    expect(applied?.code).toBe(1);
    expect(applied?.err).toContain(
      `${path}:${line}:3: clients/ref0.app was refused (409 conflict_resource): A client that has topics or files keeps its name and tenant.`,
    );
    expect(applied?.err).toContain(
      "Done: 1 of 3 changes. Not done: 2:\n  clients/ref0.app\n  identity-providers/ref-idp\n",
    );
    const asJson = await apply([path, "--json"], { IDP: "an idp's secret" });
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.err)).toMatchObject({
      status: 409,
      type: "conflict_resource",
      message: expect.stringMatching(/: Done: 0 of 2 changes\. Run it again/),
      details: [{ type: "conflict_resource", field: "clients/ref0.app", place: { line, column: 3 } }],
      requestId: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(JSON.parse(asJson.out)).toMatchObject({
      changes: [
        { path: "clients/ref0.app", done: false },
        { path: "identity-providers/ref-idp", done: false },
      ],
    });
    file.clients["ref0.app"].tenant = "ref0";
    const mended = writeFile(file);
    const needy = await apply([mended, "--dry-run", "--json"]);
    expect(needy).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(needy.out)).toMatchObject({ needs: [{ reason: expect.stringContaining("the variable IDP") }] });
    expect(
      await writesOf(async () => {
        const last = await apply([mended], { IDP: "an idp's secret" });
        expect(last.out).toMatch(/^Done: 1 change in \d+\.\d s\.$/m);
      }),
    ).toEqual(["put identity-providers/ref-idp"]);
  });
});

test("a provider's omitted bindings and links stay", async () => {
  const file = describePlatform("idp", 1) as any;
  const corp = { issuer: "https://corp.example", clientId: "x", clientSecret: { env: "IDP" } };
  const binding = { tenants: ["idp0"], domains: ["A.example", "b.example"], linking: "verified_email" };
  file.identityProviders = { "idp-corp": { ...corp, ...binding } };
  file.users["idp0-0@A.example"] = { name: "Ada", identities: { "idp-corp": "248289761001" } };
  const secrets = secretsFile("identities");
  const applied = (): Promise<Applied> => apply([writeFile(file), "--secrets", secrets], { IDP: "an idp's secret" });
  const identity = "users/idp0-0@a.example/identities/idp-corp";
  const first = await writesOf(async () => expect(await applied()).toMatchObject({ code: 0 }));
  expect(first.slice(-2)).toEqual(["put identity-providers/idp-corp", `put ${identity}`]);
  expect(await writesOf(applied)).toEqual([]);
  file.identityProviders["idp-corp"] = corp;
  expect(await writesOf(applied)).toEqual([]);
  expect(await (await ask("identity-providers/idp-corp")).json()).toMatchObject({
    ...binding,
    domains: ["a.example", "b.example"],
  });
  file.users["idp0-0@A.example"].identities["idp-corp"] = "another";
  expect(await writesOf(applied)).toEqual([`put ${identity}`]);

  file.users["idp0-0@A.example"].identities = { "idp-corp": 7, "idp-nobody": "x" };
  file.identityProviders["idp-corp"] = { ...corp, tenants: ["nowhere"] };
  const refused = await applied();
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain("must be a string");
  expect(refused.err).toContain('there is no identity provider "idp-nobody"');
  expect(refused.err).toContain('there is no tenant "nowhere"');
});

test("a password is set for a new user, and again only with --set-passwords", async () => {
  const file = describePlatform("pwd", 1) as any;
  const secrets = secretsFile("passwords");
  file.clients["pwd0.app"].grantTypes.push("password");
  file.users["pwd0-0@A.example"] = { name: "Ada", password: { env: "ADA" } };
  const path = writeFile(file);
  const signIn = async (password: string): Promise<string | undefined> => {
    const { clientSecret = "" } = keptSecrets(secrets).find(({ client }) => client === "pwd0.app") ?? {};
    const form = {
      grant_type: "password",
      plat_id_provider: "legacy_idp",
      username: "pwd0-0@a.example",
      password,
      scope: "plat.media_view",
    };
    return (await askToken("pwd0.app", clientSecret, form)).error;
  };
  const first = await apply([path, "--secrets", secrets], { ADA: "the first password" });
  expect(first).toMatchObject({ code: 0 });
  expect(first.out).toContain("+ users/pwd0-0@a.example  name: Ada, password: from ADA");
  expect(first.out + first.err).not.toContain("the first");
  expect(await signIn("the first password")).toBeUndefined();
  // The platform does not show passwords, so nothing is compared and the variable is not needed.
  expect(await writesOf(async () => expect(await apply([path])).toMatchObject({ code: 0 }))).toEqual([]);
  expect(await writesOf(() => apply([path], { ADA: "another password" }))).toEqual([]);
  expect(await apply([path, "--set-passwords"])).toMatchObject({ code: 1 });
  expect(await writesOf(() => apply([path, "--set-passwords"], { ADA: "another password" }))).toEqual([
    "put users/pwd0-0@a.example",
  ]);
  expect(await signIn("the first password")).toBe("invalid_grant");
  expect(await signIn("another password")).toBeUndefined();
});

test("the example file can be applied", async () => {
  const secrets = secretsFile("example");
  const env = { ...ENV, PLINTH_URL: platform.url };
  const args = ["--", "apply", "examples/platform.yaml", "--secrets", secrets];
  const first = npm("plat", env, args);
  expect(await first.ended, first.output()).toBe(0);
  expect(await writesOf(async () => expect(await npm("plat", env, args).ended).toBe(0))).toEqual([]);
  await expectSecretsWork(secrets, ["initech.shop"]);
});

test("--prune announces and removes everything else, in a working order", async () => {
  const file = describePlatform("pru", 3) as any;
  const secrets = secretsFile("pruned");
  const path = writeFile(file);
  const args = [path, "--secrets", secrets, "--prune"];
  const before = await Promise.all(
    ["tenants", "clients", "services"].map(async (kind) => (await listAll(kind)).length),
  );
  expect(Math.min(...before)).toBeGreaterThan(10);
  // A client with a topic is not removed.
  const kept = await apply(args);
  expect(kept.code).toBe(1);
  expect(kept.err).toMatch(/clients\/ref0\.app was refused \(409 conflict_resource\): The client is in use/);
  expect((await ask("clients/ref0.app")).status).toBe(200);
  const { clientSecret = "" } = keptSecrets(secretsFile("refused")).find(({ client }) => client === "ref0.app") ?? {};
  const { access_token } = await askToken("ref0.app", clientSecret);
  const topic = `${platform.url}/pubsub/v1/topics/ref0.app/kept`;
  const headers = { authorization: `Bearer ${access_token}` };
  expect((await fetch(topic, { method: "DELETE", headers })).status).toBe(202);
  // The topic is removed beside the answer. Until then, its client is in use.
  const listed = async (): Promise<unknown> => (await ask("topics?q=ref0.app.")).json();
  await expect.poll(listed, { timeout: 30_000 }).toEqual([]);

  const shown = await apply([...args, "--dry-run"]);
  expect(shown.out).toMatch(/^- tenants\/big7$/m);
  const applied = await apply(args);
  expect(applied, applied.err).toMatchObject({ code: 0 });
  const ids = async (kind: string, key: string): Promise<string[]> =>
    (await listAll(kind))
      .filter((row) => row.builtIn !== true)
      .map((row) => String(row[key]))
      .sort();
  for (const [kind, key] of Object.entries({
    organizations: "id",
    tenants: "id",
    services: "name",
    packages: "id",
    roles: "name",
    users: "email",
    clients: "clientId",
  }))
    expect(await ids(kind, key), kind).toEqual(
      Object.keys(file[kind])
        .map((id) => (kind === "users" ? id.toLowerCase() : id))
        .sort(),
    );
  // A kind that is not in the file is not pruned.
  expect(await ids("identity-providers", "id")).toEqual(["idp-corp", "ref-idp"]);
  expect(await writesOf(() => apply(args))).toEqual([]);

  delete file.tenants.pru2.members["pru2-1@a.example"];
  delete file.tenants.pru1.subscriptions;
  delete file.tenants.pru1.members;
  file.tenants.pru0.subscriptions = ["prupack0"];
  expect(await writesOf(() => apply([writeFile(file), "--prune"]))).toEqual([
    "delete tenants/pru2/members/pru2-1@a.example",
    "delete tenants/pru0/subscriptions/platform",
  ]);
  expect(existsSync(secrets)).toBe(true);
});
