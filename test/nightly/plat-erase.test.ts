import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startMeddling, type Meddling } from "../acceptance/support/parties/meddling-proxy.ts";
import { listEverything, listTopics } from "../acceptance/support/platform-lists.ts";
import { plat, type Done } from "../acceptance/support/plat-command.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { npm, SHELL, stopGroup } from "../acceptance/support/process/program.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

/** Uses other names, because the command must not assume the platform's name or path. */
const NAMES = { PLATFORM: "shop", PATH_PREFIX: "/base" };
/** More than one page of a deletion, so that the queue is used. */
const FILES = 120;

const stateDir = newStateDir();
let platform: Platform;
let env: Record<string, string>;
let base: string;
/** Secrets of clients, as the platform made them. */
const secrets: Record<string, string> = {};
/** Everything that the command printed in this file. */
let printed = "";

beforeAll(async () => {
  platform = await startPlatform({ STATE_DIR: stateDir, ...NAMES });
  env = { PORT: String(platform.port), ...NAMES };
  base = `${platform.url}/base`;
  await done("organization set others --name Others");
  await done("tenant set others --organization others --name Others");
  await done("tenant subscribe others platform");
  await makeClient("others.reader", "others", ["pubsub.topic=*", "pubsub_publish", "media_manage", "media_admin"]);
  await call("POST", "/pubsub/v1/topics", await token("others.reader"), { eventType: "kept" });
  await store("others.reader", "others", "private", "kept");
  await done("role set viewer --scope shop.media_view");
  await done("user set ada@acme.example --name Ada");
}, 120_000);

afterAll(async () => {
  await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

const run = async (line: string): Promise<Done> => {
  const result = await plat(env, line.split(" "));
  if (line.startsWith("tenant erase")) printed += result.out + result.err;
  return result;
};

async function done(line: string): Promise<Done> {
  const result = await run(line);
  expect(result.code, `${line}\n${result.err}`).toBe(0);
  return result;
}

async function makeClient(id: string, tenant: string, scopes: readonly string[], more = ""): Promise<void> {
  const flags = scopes.map((scope) => `--scope shop.${scope}`).join(" ");
  const made = await done(
    `client set ${id} --tenant ${tenant} --confidential --grant-type client_credentials ${flags}${more} --json`,
  );
  secrets[id] = made.json().clientSecret;
}

async function token(id: string, scope = ""): Promise<string> {
  const answer = await fetch(`${base}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${id}:${secrets[id]}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", ...(scope !== "" && { scope }) }),
  });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** Makes a call that must succeed; returns its answer. */
async function call(method: string, address: string, bearer: string, body?: unknown): Promise<any> {
  const answer = await fetch(new URL(address.startsWith("/") ? `${base}${address}` : address), {
    method,
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(answer.ok, `${method} ${address}: ${answer.status} ${text}`).toBe(true);
  return text === "" ? undefined : JSON.parse(text);
}

/** Commits a file; returns its address. */
async function store(
  client: string,
  tenant: string,
  visibility: string,
  text: string,
  bearer?: string,
): Promise<string> {
  const path = visibility === "public" ? "/media/v2/public/files" : "/media/v2/files";
  const as = bearer ?? (await token(client));
  const file = await call("POST", path, as, { "Content-Type": "text/plain" });
  const upload = await fetch(file.uploadLink, { method: "PUT", headers: { "content-type": "text/plain" }, body: text });
  expect(upload.status).toBe(200);
  await call("POST", `${file.commitLink}?tenant=${tenant}`, as, {});
  return `${base}${path}/${file.id}`;
}

/**
 * Makes a tenant with every kind of client, with topics, files, another tenant's subscription, a service and a member.
 */
async function makeTenant(id: string): Promise<{ readonly publicFile: string }> {
  await done(`tenant set ${id} --organization ${id} --name Acme`);
  await done(`tenant subscribe ${id} platform`);
  await done(`tenant set-member ${id} ada@acme.example --role viewer`);
  await done(
    `service set ${id} --source-url http://127.0.0.1:9/ --proxy-path /${id} --tenant ${id} --access token --scope ${id}.read`,
  );
  const scopes = ["pubsub_publish", "pubsub.topic=*", "media_view", "media_manage"];
  await makeClient(`${id}.shop`, id, scopes, ` --service ${id}`);
  await makeClient(`${id}.old`, id, scopes);
  await done(
    `client set ${id}.web --tenant ${id} --no-confidential --grant-type authorization_code --scope shop.media_view`,
  );
  const publicFile = await store(`${id}.shop`, id, "public", "public");
  const bearer = await token(`${id}.shop`);
  for (let made = 0; made < FILES; made += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => store(`${id}.shop`, id, "private", `file ${made + index}`, bearer)),
    );
  for (const eventType of ["orders", "returns"]) await call("POST", "/pubsub/v1/topics", bearer, { eventType });
  await call("POST", `/pubsub/v1/topics/${id}.shop/orders/publish`, bearer, { payload: "1" });
  const pushConfig = { endpoint: "http://127.0.0.1:9/", basicAuth: { username: "a", password: "b" } };
  await call("POST", `/pubsub/v1/topics/${id}.shop/orders/subscriptions`, await token("others.reader"), {
    name: "foreign",
    pushConfig,
  });
  const old = await token(`${id}.old`);
  await call("POST", "/pubsub/v1/topics", old, { eventType: "archive" });
  await store(`${id}.old`, id, "private", "old", old);
  // The command gets tokens of a client by a secret, whatever protects it.
  const keys = "--auth-method private_key_jwt --jwks-uri https://old.example/keys --dpop-bound-access-tokens";
  await done(`client set ${id}.old --disabled ${keys}`);
  return { publicFile };
}

/** Without the platform's own records. */
const topics = async (): Promise<readonly string[]> =>
  (await listTopics(base, await token("others.reader"))).filter((name) => !name.startsWith("shop."));
const audit = async (): Promise<unknown> => (await done("audit --json")).json();

/** Kills the command after the platform has carried out this call, before its answer arrives. */
async function killAt(tenant: string, isIt: (method: string, path: string) => boolean): Promise<void> {
  const proxy = await startMeddling(platform.url, (method, path) => (isIt(method, path) ? "hold" : undefined));
  const erase = npm("plat", { ...NAMES, PLINTH_URL: `${proxy.url}/base` }, ["--", "tenant", "erase", tenant, "--yes"]);
  try {
    await Promise.race([
      proxy.held,
      erase.ended.then((code) => expect.fail(`it ended with ${code}:\n${erase.output()}`)),
    ]);
    printed += erase.output();
  } finally {
    proxy.close();
    await stopGroup(erase, "SIGKILL");
  }
}

describe("plat tenant erase", () => {
  test("shows the plan without --yes, and changes nothing", async () => {
    await done("organization set first --name First");
    await makeTenant("first");
    const before = [await listEverything(env), await topics()];
    const noted = await audit();
    const { out, err } = await done("tenant erase first");
    expect(out).toMatch(/^clients +first\.old\n +first\.shop\n +first\.web$/m);
    expect(out).toMatch(/^files +122$/m);
    expect(out).toMatch(/^members +1$/m);
    expect(out).toMatch(/^subscriptions +platform$/m);
    expect(out).toMatch(/^services +first$/m);
    expect(err).toContain("own token can list its topics");
    expect(err).toContain("The organization first stays and owns nothing then");
    expect(err).toContain("Nothing was changed");
    const json = (await done("tenant erase first --json")).json();
    expect(json).toMatchObject({ tenant: "first", files: 122, members: 1, inTheWay: [], clientsOfOthers: [] });
    expect(await audit()).toEqual(noted);
    expect([await listEverything(env), await topics()]).toEqual(before);
  });

  test("names dependents and does nothing", async () => {
    await done("package set offer --version 1 --organization others --service first");
    const before = await audit();
    const { code, err } = await run("tenant erase first --yes");
    expect(code).toBe(1);
    expect(err).toContain("The service first is in the package offer: package set offer --remove-service first");
    expect(await audit()).toEqual(before);
    await done("package delete offer --yes");
  });

  test("continues after a kill at each step, and leaves nothing of the tenant", async () => {
    await done("organization set second --name Second");
    const before = [await listEverything(env), await topics()];
    const { publicFile } = await makeTenant("second");
    const isDelete = (pattern: RegExp) => (method: string, path: string) => method === "DELETE" && pattern.test(path);
    await killAt("second", (method, path) => method === "PUT" && path.endsWith("/clients/second.shop"));
    await killAt("second", isDelete(/\/topics\/second\.shop\//));
    await killAt("second", isDelete(/\/media\/v2\/files\?tenant=second$/));
    await killAt("second", isDelete(/\/clients\//));
    await killAt("second", isDelete(/\/subscriptions\//));
    expect((await listEverything(env))["tenant"]).toContainEqual(expect.objectContaining({ id: "second" }));

    const { err } = await done("tenant erase second --yes");
    expect(err).toContain("The tenant second is gone");
    expect([await listEverything(env), await topics()]).toEqual(before);
    expect((await fetch(publicFile, { redirect: "manual" })).status).toBe(404);
    const again = await run("tenant erase second --yes");
    expect(again.code).toBe(1);
    expect(again.err).toContain("404");
  });

  test("erases a disabled tenant once other tenants' clients have deleted their files", async () => {
    await done(
      "service set crm --source-url http://127.0.0.1:9/ --proxy-path /crm --tenant others --access token --scope crm.read",
    );
    await done("package set crm --version 1 --organization others --service crm");
    await done("tenant subscribe first crm");
    await makeClient("others.crm", "others", ["media_view", "media_manage", "media_admin"], " --service crm");
    const theirs = await store(
      "others.crm",
      "first",
      "private",
      "theirs",
      await token("others.crm", "shop.tenant=first"),
    );
    expect((await done("tenant erase first")).err).toContain("may be of clients of other tenants (others.crm)");

    await done("tenant set first --disabled");
    const refused = await run("tenant erase first --yes");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("In use by: files of the client others.crm and the tenant first (1 private)");
    expect(refused.err).toContain("Disabled again.");
    const { disabled } = (await done("tenant show first --json")).json();
    expect(disabled).toBe(true);
    expect((await done("tenant subscriptions first --json")).json()).toHaveLength(2);

    await done("tenant set first --no-disabled");
    await call("DELETE", theirs.slice(base.length), await token("others.crm", "shop.tenant=first"));
    await done("tenant set first --disabled");
    const { err } = await done("tenant erase first --yes");
    expect(err).toContain("first is enabled meanwhile");
    expect(err).toContain("The tenant first is gone");
    expect((await run("tenant show first")).code).toBe(1);
    expect(await topics()).toEqual(["others.reader/kept"]);
    expect((await done("tenant usage others --json")).json()).toMatchObject({ files: 1 });
  });

  test("keeps a client with files in another tenant", async () => {
    await done("organization set third --name Third");
    await done("tenant set third --organization third --name Third");
    await done("tenant subscribe third platform");
    await done("tenant subscribe others crm");
    await makeClient("third.app", "third", ["media_view", "media_manage"], " --service crm");
    await store("third.app", "others", "private", "elsewhere", await token("third.app", "shop.tenant=others"));

    const { code, err } = await run("tenant erase third --yes");
    expect(code).toBe(1);
    expect(err).toContain("In use by: files of the client third.app and the tenant others (1 private)");
    expect((await done("tenant usage others --json")).json()).toMatchObject({ files: 2 });

    secrets["third.app"] = (await done("client new-secret third.app")).out.trim();
    await call("DELETE", "/media/v2/files?tenant=others", await token("third.app"));
    await done("tenant erase third --yes");
    expect((await done("tenant usage others --json")).json()).toMatchObject({ files: 1 });
  });

  test("disables a remaining tenant again, and does not make a deleted one again", async () => {
    /** Erases a new, disabled tenant with this obstacle. */
    const eraseAgainst = async (id: string, meddle: Meddling): Promise<Done> => {
      await done(`organization set ${id} --name ${id}`);
      await done(`tenant set ${id} --organization ${id} --name ${id}`);
      await makeClient(`${id}.app`, id, ["media_view"]);
      await done(`tenant set ${id} --disabled`);
      const proxy = await startMeddling(platform.url, meddle);
      const ended = await plat({ ...NAMES, PLINTH_URL: `${proxy.url}/base` }, ["tenant", "erase", id, "--yes"]);
      proxy.close();
      expect(ended.code).toBe(1);
      return ended;
    };

    const kept = await eraseAgainst("fourth", (method, path) =>
      method === "DELETE" && path.endsWith("/tenants/fourth") ? "refuse" : undefined,
    );
    expect(kept.err).toContain("Disabled again.");
    expect((await done("tenant show fourth --json")).json()).toMatchObject({ disabled: true });

    const late = await eraseAgainst("fifth", async (method, path) => {
      if (method !== "DELETE" || !path.endsWith("/clients/fifth.app")) return undefined;
      await done("tenant erase fifth --yes");
      return "refuse";
    });
    expect(late.err).not.toContain("isabled again");
    expect((await run("tenant show fifth")).code).toBe(1);
  });

  test("says that a second run has taken its clients over", async () => {
    await done("organization set eighth --name Eighth");
    await done("tenant set eighth --organization eighth --name Eighth");
    await done("tenant subscribe eighth platform");
    await makeClient("eighth.app", "eighth", ["pubsub_publish"]);
    let isTaken = false;
    const proxy = await startMeddling(platform.url, async (method, path) => {
      if (isTaken || method !== "GET" || !path.includes("/pubsub/v1/topics")) return undefined;
      isTaken = true;
      const secret = { stdin: "b".repeat(40) };
      await plat(env, ["client", "set", "eighth.app", "--client-secret-file", "-"], secret);
      return undefined;
    });
    const variables = { ...NAMES, PLINTH_URL: `${proxy.url}/base` };
    const { code, err } = await plat(variables, ["tenant", "erase", "eighth", "--yes"], { wait: async () => {} });
    proxy.close();
    expect(code).toBe(1);
    expect(err).toContain("somebody else erases eighth too. Wait until that has ended.");
    expect(err).not.toContain("does not take this secret");
    await done("tenant erase eighth --yes");
  });

  test("disables the tenant again at Ctrl-C, lets the call under way end, and continues later", async () => {
    await done("organization set sixth --name Sixth");
    await done("tenant set sixth --organization sixth --name Sixth");
    await makeClient("sixth.app", "sixth", ["pubsub_publish"]);
    await done("tenant set sixth --disabled");
    let isStopped = false;
    const proxy = await startMeddling(platform.url, async (method, path) => {
      if (method !== "DELETE" || !path.endsWith("/clients/sixth.app") || isStopped) return undefined;
      isStopped = true;
      // As from a terminal: to npm, which passes it on, and to its child.
      process.kill(-(erase.child.pid ?? 0), "SIGINT");
      await vi.waitUntil(() => erase.output().includes("Stopping;"), { timeout: 10_000 });
      return undefined;
    });
    const variables = { ...NAMES, PLINTH_URL: `${proxy.url}/base` };
    const erase = npm("plat", variables, ["--", "tenant", "erase", "sixth", "--yes"]);
    expect(await erase.ended, erase.output()).toBe(130);
    proxy.close();
    printed += erase.output();
    expect(erase.output()).toContain("If this machine stops, it stays enabled");
    expect(erase.output()).toContain("Disabled again.");
    expect(erase.output()).toContain("Repeat the command: it goes on where it was.");
    expect((await done("tenant show sixth --json")).json()).toMatchObject({ disabled: true });
    expect((await run("client show sixth.app")).code).toBe(1);
    await done("tenant erase sixth --yes");
  });

  test("a killed program leaves no disabled tenant enabled", async () => {
    await done("organization set ninth --name Ninth");
    await done("tenant set ninth --organization ninth --name Ninth");
    await done("tenant subscribe ninth platform");
    await makeClient("ninth.app", "ninth", ["pubsub_publish", "pubsub.topic=*"]);
    await call("POST", "/pubsub/v1/topics", await token("ninth.app"), { eventType: "orders" });
    await done("tenant set ninth --disabled");
    const isDisabled = async () => (await done("tenant show ninth --json")).json().disabled as boolean;
    const proxy = await startMeddling(platform.url, (method, path) =>
      method === "DELETE" && path.includes("/topics/ninth.app/") ? "hold" : undefined,
    );
    const variables = { ...NAMES, PLINTH_URL: `${proxy.url}/base` };
    const erase = npm("plat", variables, ["--", "tenant", "erase", "ninth", "--yes"]);
    await proxy.held;
    expect(await isDisabled()).toBe(false);
    await stopGroup(erase, "SIGKILL");
    await vi.waitUntil(isDisabled, { timeout: 20_000, interval: 200 });
    proxy.close();
    await done("tenant erase ninth --yes");
    // A guard does not make a tenant again that is gone.
    await sleep(2_000);
    expect((await run("tenant show ninth")).code).toBe(1);
  });

  test("disables the tenant again where the terminal is gone", async () => {
    await done("organization set seventh --name Seventh");
    await done("tenant set seventh --organization seventh --name Seventh");
    await done("tenant subscribe seventh platform");
    await makeClient("seventh.app", "seventh", ["pubsub_publish", "pubsub.topic=*"]);
    await call("POST", "/pubsub/v1/topics", await token("seventh.app"), { eventType: "orders" });
    await done("tenant set seventh --disabled");
    let isDeleted = false;
    const proxy = await startMeddling(platform.url, (method, path) => {
      if (isDeleted && !erase.killed) {
        // What is said about the topic finds no reader.
        for (const stream of [erase.stdout, erase.stderr]) stream.destroy();
        erase.kill("SIGHUP");
        // As below an npm that is gone, for longer than one Ctrl-C takes to arrive.
        return sleep(1_500).then(() => void erase.kill("SIGTERM"));
      }
      isDeleted ||= method === "DELETE" && path.includes("/topics/seventh.app/");
      return undefined;
    });
    const variables = { ...SHELL, ...NAMES, PLINTH_URL: `${proxy.url}/base` };
    const args = ["scripts/plat.ts", "tenant", "erase", "seventh", "--yes"];
    const erase = spawn(process.execPath, args, { cwd: ROOT, env: variables });
    await once(erase, "close");
    proxy.close();
    expect(isDeleted).toBe(true);
    expect((await done("tenant show seventh --json")).json()).toMatchObject({ disabled: true });
    await done("tenant erase seventh --yes");
  });

  test("cuts nobody off in maintenance, where no client gets a token", async () => {
    await done("tenant set tenth --organization others --name Tenth");
    await makeClient("tenth.app", "tenth", ["media_view"]);
    const before = (await done("client show tenth.app --json")).json();
    await stopGroup(platform, "SIGTERM");
    platform = await startPlatform({ STATE_DIR: stateDir, ...NAMES, MAINTENANCE: "true" });
    env = { ...env, PORT: String(platform.port) };
    const { code, err } = await run("tenant erase tenth --yes");
    expect([code, err]).toEqual([1, expect.stringContaining("✗ Nothing was done. Clients get no tokens")]);
    expect((await done("client show tenth.app --json")).json()).toEqual(before);
  });

  test("prints no secret", async () => {
    expect(printed).toContain("cut off");
    expect(printed).not.toMatch(/secret[":= ]+[\w-]{32}/i);
    expect(printed).not.toMatch(/[\w-]{43}/);
  });
});
