import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DeepHealth } from "../../api/plinth.ts";
import { DEMO } from "../../scripts/lib/local/demo.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { NO_BRAND } from "../../src/platform/model/brand.ts";
import { startPlatform, type Platform } from "./support/process/platform.ts";
import { npm, stopGroup } from "./support/process/program.ts";
import { localSecret, newStateDir } from "./support/process/state.ts";
import { plat, tableOf, type Circumstances, type Done } from "./support/plat-command.ts";

/** Uses other names, because the command line must not assume the platform's name or path. */
const NAMES = { PLATFORM: "shop", PATH_PREFIX: "/base" };
const ANY_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

let platform: Platform;
let env: Record<string, string>;
const stateDir = newStateDir();
const scratch = mkdtempSync(join(tmpdir(), "plinth-plat-"));

beforeAll(async () => {
  platform = await startPlatform({ STATE_DIR: stateDir, ...NAMES });
  env = { PORT: String(platform.port), ...NAMES };
}, 120_000);

afterAll(async () => {
  await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
  rmSync(scratch, { recursive: true });
});

/** Runs a line whose words are separated by spaces. */
const run = (line: string, circumstances?: Circumstances): Promise<Done> => plat(env, line.split(" "), circumstances);

async function done(line: string, circumstances?: Circumstances): Promise<Done> {
  const result = await run(line, circumstances);
  expect(result.code, `${line}\n${result.err}`).toBe(0);
  return result;
}

/** The answer of `/token`. */
async function token(form: Record<string, string>): Promise<Record<string, unknown>> {
  const url = `http://127.0.0.1:${platform.port}/base/oauth2/v1/token`;
  const provider: Record<string, string> = form["grant_type"] === "password" ? { shop_id_provider: "legacy_idp" } : {};
  return (await (
    await fetch(url, { method: "POST", body: new URLSearchParams({ ...form, ...provider }) })
  ).json()) as Record<string, unknown>;
}

const tokenInfo = async (accessToken: unknown): Promise<number> => {
  const url = `http://127.0.0.1:${platform.port}/base/oauth2/v1/tokeninfo?access_token=${String(accessToken)}`;
  return (await fetch(url)).status;
};

describe("makes, lists, shows, changes and removes", () => {
  beforeAll(async () => {
    await done("organization set base --name Base");
    await done("tenant set base --organization base --name Base");
    await done("user set member@base.example --name Member");
    await done("role set viewer --scope shop.media_view");
    await done(
      "service set base --source-url http://127.0.0.1:9/base --proxy-path /base/v1 --tenant base --access token --scope base.a",
    );
    await done("package set base --version 1 --organization base --service base");
    await done("package set more --version 1 --organization base --service base");
  });

  /** `{n}` is 1 to 3: three records of each kind, listed in pages of one. */
  test.each([
    {
      word: "organization",
      id: "org{n}",
      set: "--name Org{n}",
      change: "--name Other",
      shown: { id: "org1", name: "Org1" },
      changed: { id: "org1", name: "Other" },
      row: { ID: "org2", NAME: "Org2", CREATED: ANY_TIME },
    },
    {
      word: "tenant",
      id: "tenant{n}",
      set: "--organization base --name T{n} --quota-files 10 --quota-bytes 5MB --brand-name Acme --brand-color #0b57d0 --require-second-factor",
      change: "--no-quota-files --disabled --no-brand-name",
      shown: {
        id: "tenant1",
        name: "T1",
        organization: "base",
        disabled: false,
        quota: { files: 10, bytes: 5_000_000 },
        plan: "standard",
        brand: { ...NO_BRAND, name: "Acme", accentColor: "#0b57d0" },
        requireSecondFactor: true,
      },
      changed: {
        plan: "standard",
        id: "tenant1",
        name: "T1",
        organization: "base",
        disabled: true,
        quota: { bytes: 5_000_000 },
        brand: { ...NO_BRAND, accentColor: "#0b57d0" },
        requireSecondFactor: true,
      },
      row: { ID: "tenant2", NAME: "T2", ORGANIZATION: "base", DISABLED: "", CREATED: ANY_TIME },
    },
    {
      word: "role",
      id: "role{n}",
      set: "--scope a.{n} --scope b.{n}",
      change: "--add-scope c.1 --remove-scope a.1 --require-second-factor",
      shown: { name: "role1", scopes: ["a.1", "b.1"], requireSecondFactor: false },
      changed: { name: "role1", scopes: ["b.1", "c.1"], requireSecondFactor: true },
      row: { NAME: "role2", SCOPES: "a.2, b.2", CREATED: ANY_TIME },
    },
    {
      word: "user",
      id: "user{n}@base.example",
      set: "--name U{n}",
      change: "--disabled --locale de",
      shown: { email: "user1@base.example", name: "U1", hasPassword: false, disabled: false, picture: "", locale: "" },
      changed: {
        email: "user1@base.example",
        name: "U1",
        hasPassword: false,
        disabled: true,
        picture: "",
        locale: "de",
      },
      row: { EMAIL: "user2@base.example", NAME: "U2", PASSWORD: "", DISABLED: "", CREATED: ANY_TIME },
    },
    {
      word: "client",
      id: "client{n}.app",
      set: "--tenant base --no-confidential --grant-type authorization_code --scope base.a --redirect-uri https://a.example/{n} --service base",
      change:
        "--no-service --require-pkce --backchannel-logout-uri https://a.example/out --no-redirect-uri --post-logout-redirect-uri https://a.example/bye",
      shown: {
        clientId: "client1.app",
        name: "client1.app",
        tenant: "base",
        confidential: false,
        service: "base",
        redirectUris: ["https://a.example/1"],
        postLogoutRedirectUris: [],
        grantTypes: ["authorization_code"],
        scopes: ["base.a"],
        requirePkce: false,
        disabled: false,
      },
      changed: {
        clientId: "client1.app",
        displayName: "",
        logoUri: "",
        name: "client1.app",
        tenant: "base",
        confidential: false,
        redirectUris: [],
        postLogoutRedirectUris: ["https://a.example/bye"],
        grantTypes: ["authorization_code"],
        scopes: ["base.a"],
        requirePkce: true,
        authMethod: "client_secret",
        requirePushedAuthorizationRequests: false,
        filesPerUser: false,
        thirdParty: false,
        brand: NO_BRAND,
        requireSecondFactor: false,
        backchannelLogoutUri: "https://a.example/out",
        backchannelLogoutSessionRequired: false,
        dpopBoundAccessTokens: false,
        securityProfile: "none",
        jwks: "",
        jwksUri: "",
        disabled: false,
      },
      row: {
        ID: "client2.app",
        TENANT: "base",
        CONFIDENTIAL: "",
        GRANTS: "authorization_code",
        SCOPES: "base.a",
        DISABLED: "",
        CREATED: ANY_TIME,
      },
    },
    {
      word: "service",
      id: "service{n}",
      set: "--source-url http://127.0.0.1:9/{n} --proxy-path /s{n}/v1 --tenant base --access token --scope s{n}.a",
      change: "--access public --essential --forward-authorization --trusted --scope-description s1.a:see_s",
      shown: {
        name: "service1",
        sourceUrl: "http://127.0.0.1:9/1",
        proxyPath: "/s1/v1",
        scopes: ["s1.a"],
        scopeDescriptions: {},
        essential: false,
        tenant: "base",
        access: "token",
        forwardAuthorization: false,
        trusted: false,
      },
      changed: {
        name: "service1",
        sourceUrl: "http://127.0.0.1:9/1",
        proxyPath: "/s1/v1",
        scopes: ["s1.a"],
        scopeDescriptions: { "s1.a": "see_s" },
        essential: true,
        tenant: "base",
        access: "public",
        forwardAuthorization: true,
        trusted: true,
      },
      row: {
        NAME: "service2",
        PATH: "/s2/v1",
        SOURCE: "http://127.0.0.1:9/2",
        TENANT: "base",
        ACCESS: "token",
        ESSENTIAL: "",
        "BUILT IN": "",
        SCOPES: "s2.a",
      },
    },
    {
      word: "package",
      id: "package{n}",
      set: "--version {n} --organization base --service base --service media",
      change: "--version 2 --remove-service media",
      shown: { id: "package1", version: "1", organization: "base", services: ["base", "media"] },
      changed: { id: "package1", version: "2", organization: "base", services: ["base"] },
      row: { ID: "package2", VERSION: "2", ORGANIZATION: "base", SERVICES: "base, media", "BUILT IN": "" },
    },
    {
      word: "identity-provider",
      id: "corp{n}",
      set: "--issuer https://corp{n}.example --client-id plinth --client-secret-env CORP",
      change: "--client-id other --tenant base --linking verified_email --add-scope profile --add-domain Corp.example",
      shown: {
        id: "corp1",
        issuer: "https://corp1.example",
        clientId: "plinth",
        scopes: ["openid", "email"],
        tenants: [],
        domains: [],
        linking: "confirm",
      },
      changed: {
        id: "corp1",
        button: "",
        trustEmail: false,
        issuer: "https://corp1.example",
        clientId: "other",
        scopes: ["openid", "email", "profile"],
        tenants: ["base"],
        domains: ["corp.example"],
        linking: "verified_email",
      },
      row: {
        ID: "corp2",
        ISSUER: "https://corp2.example",
        "CLIENT ID": "plinth",
        SCOPES: "openid, email",
        TENANTS: "",
        DOMAINS: "",
        CREATED: ANY_TIME,
      },
    },
  ])("$word", async ({ word, id, set, change, shown, changed, row }) => {
    const withSecret = { ...env, CORP: "the secret of that provider" };
    const ids = [1, 2, 3].map((n) => id.replaceAll("{n}", String(n)));
    for (const [index, one] of ids.entries()) {
      const line = `${word} set ${one} ${set.replaceAll("{n}", String(index + 1))}`;
      const made = await plat(withSecret, line.split(" "));
      expect(made.err, line).toContain(`✓ The ${word.replace("-", " ")} ${one} was made.`);
    }
    expect((await done(`${word} show ${ids[0]} --json`)).json()).toMatchObject(shown);

    const all = (await done(`${word} list --json --page-size 1`)).json() as Record<string, unknown>[];
    const keyOf = (entry: Record<string, unknown>) =>
      entry["clientId"] ?? entry["email"] ?? entry["id"] ?? entry["name"];
    const listed = all.map((entry) => (word === "identity-provider" ? entry["id"] : keyOf(entry)));
    expect(listed.filter((key) => ids.includes(String(key)))).toEqual(ids);
    expect(listed).toEqual(
      ((await done(`${word} list --json`)).json() as Record<string, unknown>[]).map((entry) =>
        word === "identity-provider" ? entry["id"] : keyOf(entry),
      ),
    );
    expect(tableOf((await done(`${word}s list --page-size 2`)).out)).toContainEqual(row);
    const some = await done(`${word} list --json --limit 2`);
    expect(some.json()).toHaveLength(2);
    expect(some.err).toBe("There are more: --limit 2 ended the list here.\n");

    const after = await done(`${word} set ${ids[0]} ${change} --json`);
    const { createdAt, ...rest } = after.json() as Record<string, unknown>;
    expect(createdAt).toBeTypeOf("number");
    expect(rest).toEqual(word === "identity-provider" ? { ...changed, clientSecret: "********" } : changed);
    const again = await done(`${word} set ${ids[0]} ${change.replaceAll(/--(add|remove)-\w+ \S+/g, "").trim()}`.trim());
    expect(again.err).toContain("is like that already; nothing was sent.");

    for (const one of ids) {
      expect(await run(`${word} delete ${one}`)).toMatchObject({ code: 2, err: expect.stringContaining("say --yes") });
      expect((await done(`${word} delete ${one} --yes`)).err).toContain(`${one} was removed.`);
    }
    expect(await run(`${word} show ${ids[0]}`)).toMatchObject({ code: 1, err: expect.stringContaining("(404)") });
  });

  test.each([
    ["tenant", "base"],
    ["organization", "base"],
  ])("members of a %s", async (word, owner) => {
    const one = `${owner} member@base.example`;
    expect((await done(`${word} members ${owner}`)).err).toBe(`There are no ${word} members.\n`);
    await done(`${word} set-member ${one} --role viewer`);
    await done(`${word} set-member ${one} --add-role viewer`);
    expect(tableOf((await done(`${word} members ${owner}`)).out)).toEqual([
      { EMAIL: "member@base.example", ROLES: "viewer", SINCE: ANY_TIME },
    ]);
    expect((await done(`${word} show-member ${one} --json`)).json()).toMatchObject({ roles: ["viewer"] });
    await done(`${word} set-member ${one} --no-role`);
    expect((await done(`${word} show-member ${one} --json`)).json()).toMatchObject({ roles: [] });
    const removed = await done(`${word} remove-member ${one} -y`);
    expect(removed.err).toBe(`✓ The ${word} member member@base.example of base was removed.\n`);
    expect((await run(`${word} remove-member ${one} -y`)).code).toBe(1);
  });

  test("the linked identities of a user", async () => {
    const [user, provider] = ["linked@base.example", "linking"];
    const secret = { ...env, CORP: "the secret of that provider" };
    const registration = "--issuer https://linking.example --client-id plinth --client-secret-env CORP";
    await plat(secret, `identity-provider set ${provider} ${registration}`.split(" "));
    await done(`user set ${user} --name Linked`);
    await done(`user link ${user} ${provider} --subject 248289761001`);
    const shown = await done(`user show-identity ${user} ${provider} --json`);
    expect(shown.json()).toMatchObject({ email: user, provider, subject: "248289761001", linkedBy: "operator" });
    const row = { PROVIDER: provider, SUBJECT: "248289761001", "LINKED BY": "operator", SINCE: ANY_TIME };
    expect(tableOf((await done(`user identities ${user}`)).out)).toEqual([row]);
    await done(`user unlink ${user} ${provider} --yes`);
    expect((await done(`user identities ${user} --json`)).json()).toEqual([]);
  });

  test("the subscriptions of a tenant", async () => {
    await done("tenant subscribe base base");
    const first = (await done("tenant subscribe base more --json")).json() as Record<string, unknown>;
    const again = await done("tenant subscribe base more --json");
    expect(again.json()).toEqual(first);
    const listed = tableOf((await done("tenant subscriptions base --page-size 1")).out);
    expect(listed.map(({ PACKAGE }) => PACKAGE)).toEqual(["base", "more"]);
    expect((await done("tenant show-subscription base more --json")).json()).toEqual(first);
    await done("tenant unsubscribe base base --yes");
    await done("tenant unsubscribe base more --yes");
    expect((await done("tenant subscriptions base --json")).json()).toEqual([]);
  });
});

describe("set", () => {
  const body = { scopes: ["file.a", "file.b"] };

  test("takes a file or the standard input, overlaid with flags", async () => {
    const file = join(scratch, "role.json");
    writeFileSync(file, JSON.stringify(body));
    await done(`role set filed --file ${file}`);
    expect((await done("role show filed --json")).json()).toMatchObject(body);
    const shown = (await done("role show filed --json")).out;
    await done("role set copied --file - --add-scope file.c", { stdin: shown });
    expect((await done("role show copied --json")).json()).toMatchObject({ scopes: ["file.a", "file.b", "file.c"] });
  });

  test("starts from an empty record with --replace, which requires all required fields", async () => {
    await done("tenant set replaced --organization demo --name R --quota-files 5 --disabled");
    expect(await run("tenant set replaced --replace --name S")).toMatchObject({
      code: 2,
      err: expect.stringContaining("is replaced, so these are needed too: --organization <id>\n"),
    });
    const after = await done("tenant set replaced --replace --name S --organization demo --json");
    // A disabled tenant stays disabled, and a quota stays, unless a flag changes it.
    expect(after.json()).toMatchObject({ name: "S", disabled: true, quota: { files: 5 } });
    const opened = await done("tenant set replaced --no-disabled --no-quota-files --json");
    expect(opened.json()).toMatchObject({ name: "S", disabled: false, quota: {} });
  });

  test.each([
    // The text is not repeated, because it may be a secret.
    ["role set r --file -", "hunter2", "✗ The standard input is not JSON.\n"],
    ["role set r --file -", '{"a": 1,}', "✗ The standard input is not JSON: see line 1 column 9.\n"],
    ["role set r --file -", "[]", "The standard input must hold one JSON object"],
    ["role set r --file -", '{"scope":["a"]}', "has no field scope. Did you mean scopes?"],
    ["role set r --file /nowhere/role.json", "", "--file /nowhere/role.json cannot be read: ENOENT"],
    ["role set r --remove-scope x", "", "The role has no scope x to remove."],
    ["role set r --scope x --no-scope", "", "--scope and --no-scope contradict each other."],
    ["role set r", "", "The role r is new, so these are needed too: --scope <scope>"],
    ["user set u@base.example --file - --password-file -", "{}", "--file and --password-file cannot both come from"],
    ["user set u@base.example --password-env NONE", "", "--password-env NONE: nothing is in it."],
    ["user set u@base.example --password hunter2hunter2", "", "A secret is never an argument: --password-file"],
    ["tenant set t1x --quota-bytes many", "", "--quota-bytes takes a whole number, or one as 5MB or 5GiB: not many."],
  ])("refuses before anything is sent: %s", async (line, stdin, why) => {
    const refused = await run(line, { stdin });
    expect(refused).toMatchObject({ code: 2, out: "", err: expect.stringContaining(why) });
    expect(refused.err).not.toContain("hunter2");
  });
});

describe("secrets", () => {
  test("of a new client is shown once; new ones work beside it; a given one ends the others", async () => {
    const made = await done(
      "client set secret.app --tenant demo --confidential --grant-type client_credentials --scope shop.media_view --json",
    );
    const { clientSecret: first } = made.json() as { clientSecret: string };
    expect(made.err).toContain("clientSecret is shown this once");
    expect(made.err).not.toContain("No service");
    const typo = await done("client set secret.app --add-scope shop.media_viw");
    expect(typo.err).toContain("No service has the scope shop.media_viw");
    expect(typo.err).toContain("Did you mean shop.media_view?");
    const needless = await done("client set secret.app --add-scope openid --add-scope shop.tenant=demo");
    for (const scope of ["openid", "shop.tenant=demo"])
      expect(needless.err).toContain(`${scope} has no effect here: any request may ask for it.`);
    expect(needless.err.match(/No service has/g)).toHaveLength(1);
    const tokenBy = (secret: string) =>
      token({ grant_type: "client_credentials", client_id: "secret.app", client_secret: secret });
    expect(await tokenBy(first)).toHaveProperty("access_token");
    expect((await done("client show secret.app --json")).out).not.toContain(first);

    const second = await done("client new-secret secret.app");
    expect(second.out).toMatch(/^[\w-]{43}\n$/);
    const third = await done("client new-secret secret.app --json");
    expect(third.json()).toMatchObject({ clientId: "secret.app", clientSecret: expect.stringMatching(/^[\w-]{43}$/) });
    expect(await tokenBy(second.out.trim())).toHaveProperty("access_token");
    expect(await tokenBy(third.json().clientSecret)).toHaveProperty("access_token");
    expect(await tokenBy(first)).toMatchObject({ error: "invalid_client" });

    const given = "a secret of more than 32 characters".replaceAll(" ", "_");
    await done("client set secret.app --client-secret-file -", { stdin: `${given}\n` });
    expect(await tokenBy(given)).toHaveProperty("access_token");
    expect(await tokenBy(second.out.trim())).toMatchObject({ error: "invalid_client" });
  });

  test("a password comes from a file, a variable or a question", async () => {
    const file = join(scratch, "password");
    writeFileSync(file, "from a file\n");
    await done(`user set pass@base.example --password-file ${file}`);
    await done(`tenant set-member ${DEMO.tenant} pass@base.example --role ${DEMO.role}`);
    const signIn = (password: string) =>
      token({
        grant_type: "password",
        username: "pass@base.example",
        password,
        client_id: DEMO.client,
        client_secret: localSecret("DEMO_CLIENT_SECRET"),
      });
    expect(await signIn("from a file")).toHaveProperty("access_token");
    const byVariable = await plat({ ...env, PASS: "from a variable" }, [
      "user",
      "set",
      "pass@base.example",
      "--password-env",
      "PASS",
    ]);
    expect(byVariable.err).toBe("✓ The user pass@base.example was changed: password.\n");
    expect(await signIn("from a variable")).toHaveProperty("access_token");
    const asked: unknown[] = [];
    const ask = async (question: string, hidden?: boolean): Promise<string> => {
      asked.push(question, hidden);
      return "from a question";
    };
    await done("user set pass@base.example --password-file -", { ask });
    expect(asked).toEqual(["--password-file: ", true]);
    expect(await signIn("from a question")).toHaveProperty("access_token");
  });
});

describe("actions", () => {
  test("revoke ends tokens of a client, user, tenant and session; unlock needs an existing user", async () => {
    const issue = async (): Promise<unknown> =>
      (
        await token({
          grant_type: "password",
          username: DEMO.user,
          password: localSecret("DEMO_USER_PASSWORD"),
          client_id: DEMO.client,
          client_secret: localSecret("DEMO_CLIENT_SECRET"),
        })
      )["access_token"];
    const sessionOf = (issued: unknown) => String(decodeJwt(String(issued))["sid"]);
    for (const named of [
      `client revoke ${DEMO.client}`,
      `user revoke ${DEMO.user}`,
      `tenant revoke ${DEMO.tenant}`,
      "session revoke",
    ]) {
      const issued = await issue();
      const what = named === "session revoke" ? `${named} ${sessionOf(issued)}` : named;
      expect(await tokenInfo(issued), what).toBe(200);
      expect((await run(what)).code).toBe(2);
      expect(await tokenInfo(issued), what).toBe(200);
      expect((await done(`${what} --yes`)).out).toBe("");
      expect(await tokenInfo(issued), what).toBe(400);
    }
    expect((await run("client revoke nobody.app --yes")).code).toBe(1);
    expect((await done(`user unlock ${DEMO.user}`)).err).toBe(`✓ The user ${DEMO.user} may sign in again.\n`);
    expect((await run("user unlock nobody@base.example")).code).toBe(1);
  });

  test("an answer other than yes does nothing", async () => {
    await done("role set asked --scope a.b");
    const questions: string[] = [];
    const answer = (text: string) => async (question: string) => (questions.push(question), text);
    expect(await run("role delete asked", { ask: answer("") })).toMatchObject({
      code: 1,
      err: "✗ Nothing was done.\n",
    });
    expect((await done("role delete asked", { ask: answer("y") })).err).toContain("was removed");
    expect(questions).toEqual(Array(2).fill("Remove the role asked? A role that members have stays. [y/N] "));
  });

  test("signing keys rotate, and the old ones keep verifying", async () => {
    const before = (await done("signing-key list --json")).json() as { kid: string }[];
    const made = await done("signing-keys rotate --json");
    expect(made.json().map(({ state }: { state: string }) => state)).toEqual(["signs", "signs"]);
    const states = tableOf((await done("signing-keys list --page-size 1")).out).map(({ KEY, STATE }) => [KEY, STATE]);
    expect(states.slice(2)).toEqual(before.map(({ kid }) => [kid, "verifies"]));
  });

  test("usage shows the stored amount, the quota and the share", async () => {
    await done("tenant set used --organization demo --name Used --quota-bytes 2GB --quota-files 0");
    expect((await done("tenant usage used")).out).toBe(
      "files  0, 100.0 % of 0\nbytes  0 bytes, 0.0 % of 2.0 GB\npending  0 files, 0 bytes reserved\n",
    );
    expect((await done("tenant usage used --json")).json()).toEqual({
      tenant: "used",
      files: 0,
      bytes: 0,
      pending: { files: 0, bytes: 0 },
      quota: { files: 0, bytes: 2_000_000_000 },
    });
  });

  test("shard status shows each database", async () => {
    const shards = (await done("shard status --json")).json() as { shard: number }[];
    expect(shards.map(({ shard }) => shard)).toEqual([0, 1, 2, 3, 4]);
    const rows = tableOf((await done("shard status")).out);
    expect(rows.map(({ SHARD }) => SHARD)).toEqual(["0", "1", "2", "3", "4"]);
    expect(rows[0]!["SIZE"]).toMatch(/^\d+\.\d (KB|MB)$/);
    for (const { PUSH } of rows) expect(PUSH).toMatch(/^\d+$/);
    expect(rows.filter(({ NEXT }) => NEXT === "yes")).toHaveLength(1);
    expect((await done("shard status")).out).not.toContain("Objects of tenants");
  });

  test("media-consistency starts, awaits, shows, repairs and lists comparisons", async () => {
    const quick: Circumstances = { wait: () => new Promise((go) => setTimeout(go, 50)) };
    const report = await done("media-consistency start --wait --json", quick);
    const { id } = report.json() as { id: string };
    expect(report.json()).toMatchObject({ state: "done", findings: [] });
    expect((await done(`media-consistency show ${id}`)).out).toMatch(/^state +done$/m);
    expect((await run(`media-consistency repair ${id}`)).code).toBe(2);
    const repaired = await done(`media-consistency repair ${id} --wait --yes`, quick);
    expect(repaired.out).toMatch(/^state +repaired$/m);
    expect(tableOf((await done("media-consistency list")).out)).toMatchObject([{ ID: id, STATE: "repaired" }]);
    expect((await run("media-consistency show nothing")).code).toBe(1);
  });

  test("platform checks, and leads through a restore of the database", async () => {
    const quick: Circumstances = { wait: () => new Promise((go) => setTimeout(go, 50)) };
    const compared = async () => ((await done("media-consistency list --json")).json() as object[]).length;
    const before = await compared();
    expect((await done("platform check --no-files --json", quick)).json()).toEqual([]);
    expect(await compared()).toBe(before);
    const checked = await done("platform check --json", quick);
    expect(checked.json()).toEqual([]);
    expect(checked.err).toContain("running: 0 objects, 0 files checked\n");
    expect(await compared()).toBe(before + 1);
    expect((await done("audit copy")).err).toContain("in a copy");
    expect((await run("platform restored --yes")).code).toBe(2);
    expect((await run("platform restored --to soon --yes")).code).toBe(2);
    const to = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString().replace(".000", "");
    const marked = await done(`platform restored --to ${to} --yes`);
    expect(marked.out).toMatch(new RegExp(`^restoredTo +${to}$`, "m"));
    expect(marked.out).toMatch(/^holds +yes$/m);
    await done("platform replay --yes");
    expect((await done("platform release --yes")).out).toMatch(/^holds +no$/m);
    expect((await done("platform restore-point")).out).toMatch(/^holds +no$/m);
    expect((await run("platform reopen-topic demo.shop.nothing")).code).toBe(1);
    expect((await run("platform reopen-push nothing")).code).toBe(1);
    for (const which of ["", "--shard 0 --push x --to 1", "--shard 0", "--shard 0 --to soon"])
      expect((await run(`platform restore-object demo.shop.order ${which} --yes`)).code).toBe(2);
    expect((await run("platform restore-shard 4 --yes")).code).toBe(2);
    expect((await run("platform restore-shard 4 --to 2026-01-01 --yes")).err).toContain("not in maintenance");
    const refused = await run("platform restore-object demo.shop.order --shard 0 --to 2026-01-01 --yes");
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("not in maintenance")]);
  });

  test("platform backs up, lists, verifies and forgets, and shows how far it is", async () => {
    const quick: Circumstances = { wait: () => new Promise((go) => setTimeout(go, 50)) };
    const made = await done("platform backup --bytes copy --keep 5 --events-since 2020-01-01", quick);
    const [, id = ""] = /^backup +(\S+)$/m.exec(made.out) ?? [];
    expect(tableOf((await done("platform backups")).out)).toMatchObject([{ ID: id, BYTES: "copy" }]);
    const verified = await done("platform verify latest --json", quick);
    expect(verified.json()).toMatchObject({ backup: id, state: "done", findings: [], stagesDone: 6 });
    expect((await done("platform job")).out).toMatch(/^kind +verify$/m);
    expect((await run(`platform restore ${id} --yes`)).code).toBe(1);
    for (const wrong of ["--bytes all", "--keep 0", "--events-since soon"])
      expect((await run(`platform backup ${wrong}`)).code).toBe(2);
    await done(`platform forget ${id} --yes`, quick);
    expect((await done("platform backups")).err).toContain("There are no backups.");
  });

  // After the backups: neither goes beside the other.
  test("tenant move moves a tenant's files, and shows how far that is", async () => {
    const quick: Circumstances = { wait: () => new Promise((go) => setTimeout(go, 50)) };
    await done("tenant set moved --organization demo --name Moved");
    expect((await run("tenant move moved")).code).toBe(1);
    const from = ((await done("shard status --json")).json() as { shard: number; tenants: number }[]).map(
      ({ tenants }) => tenants,
    );
    const moves = [];
    for (const to of [2, 3]) moves.push(await run(`tenant move moved --shard ${to} --wait --json`, quick));
    const [first, second] = moves;
    expect(first!.err + second!.err).toContain(": 0 files\n");
    // It may have been in the first of the two; from there it moves to the other, or is still being cleaned up.
    expect([first!.code, second!.code].toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect((await done("tenant move moved --json")).json()).toMatchObject({ tenant: "moved", state: "cleaning" });
    const to = ((await done("shard status --json")).json() as { tenants: number }[]).map(({ tenants }) => tenants);
    expect(to).not.toEqual(from);
    expect((await run("tenant move moved --shard many")).code).toBe(2);
  });

  test("tenant move gives a tenant an object of its own, and shard objects lists it", async () => {
    const quick: Circumstances = { wait: () => new Promise((go) => setTimeout(go, 50)) };
    await done("tenant set far --organization demo --name Far");
    expect((await run("tenant move far --shard 2 --near apac")).code).toBe(2);
    expect((await run("tenant move far --shard own --near mars")).code).toBe(2);
    const moved = await run("tenant move far --shard own --near apac --wait --json", quick);
    const { to } = moved.json() as { to: number };
    expect([moved.code, to >= 240]).toEqual([0, true]);
    const [object, ...others] = (await done("shard objects --tenant far --json")).json() as object[];
    expect(object).toMatchObject({ number: to, tenant: "far", near: "apac", files: 0 });
    expect([others, object]).toEqual([[], expect.not.objectContaining({ size: expect.anything() })]);
    expect(tableOf((await done("shard objects")).out)).toMatchObject([{ TENANT: "far", NEAR: "apac", FILES: "0" }]);
    expect((await done("shard status")).out).toMatch(/\n\nObjects of tenants: 1, size .*, files 0, stored 0 bytes\n$/);
    expect((await done("shard status --json")).json()).toHaveLength(5);
    expect((await done("shard objects --tenant demo")).err).toContain("There are no such objects of tenants.");
  });

  test("push-subscription lists, shows and removes those of any client", async () => {
    const credentials = { client_id: DEMO.client, client_secret: localSecret("DEMO_CLIENT_SECRET") };
    const { access_token } = await token({ grant_type: "client_credentials", ...credentials });
    const headers = { authorization: `Bearer ${String(access_token)}`, "content-type": "application/json" };
    const post = async (path: string, body: object): Promise<void> => {
      const url = `http://127.0.0.1:${platform.port}/base/pubsub/v1/topics${path}`;
      expect((await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status).toBe(201);
    };
    await post("", { eventType: "pushed" });
    const pushConfig = { endpoint: "https://hook.example/secret", basicAuth: { username: "u", password: "p" } };
    await post(`/${DEMO.client}/pushed/subscriptions`, { name: "orders", pushConfig });
    const { out } = await done(`push-subscription list --client ${DEMO.client} --topic ${DEMO.client}.pushed`);
    const [row] = tableOf(out);
    expect(row).toMatchObject({ NAME: "orders", ENDPOINT: "https://hook.example", STATE: "active", RIGHT: "owner" });
    expect((await done("push-subscription list --maker unknown --json")).json()).toEqual([]);
    const id = row!["ID"]!;
    expect((await done(`push-subscription show ${id} --json`)).json()).toMatchObject({ id, made: { tenant: "demo" } });
    expect((await run(`push-subscription delete ${id}`)).code).toBe(2);
    await done(`push-subscription delete ${id} --yes`);
    expect((await run(`push-subscription show ${id}`)).code).toBe(1);
  });

  test("explain answers by its exit code and shows each check", async () => {
    const granted = await done(`explain --client ${DEMO.client} --scope shop.media_view`);
    expect(granted.out).toMatch(/^✓ granted: .*shop\.media_view/);
    expect(granted.out).toMatch(/^ {2}✓ client +client demo\.shop of tenant demo$/m);
    const refused = await run(
      `explain --client ${DEMO.web} --user ${DEMO.user} --scope shop.media_view --scope base.b`,
    );
    expect(refused).toMatchObject({ code: 1, out: expect.stringMatching(/^✗ not granted: .*base\.b/) });
    expect(refused.out).toMatch(/^ {2}✗ base\.b \(\w+\) +\S/m);
    expect((await done(`explain --client ${DEMO.client} --json`)).json()).toMatchObject({ granted: true });
    expect((await run("explain --scope base.b")).code).toBe(2);
  });

  test("health needs no secret", async () => {
    const asked = await plat({ ...env, OPERATOR_CLIENT_SECRET: "wrong" }, ["health", "--json"]);
    expect(asked.json()).toMatchObject({ status: "ok", url: `http://127.0.0.1:${platform.port}/base` });
  });

  test("health --deep looks at each part, and ends with 0 unless one fails", async () => {
    const { out, code } = await run("health --deep");
    expect(code).toBe(0);
    expect(out).toMatch(/^ok {4}database +readMs \d+, writeMs \d+$/m);
    expect(out).toMatch(/^ok {4}object TopicLog +pingMs \d+$/m);
    const { status, checks } = JSON.parse((await run("health --deep --json")).out) as DeepHealth;
    expect(status).toMatch(/^(ok|warn)$/);
    expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(["bucket", "queue", "sweeps", "erasures"]));
  });
});

describe("metrics", () => {
  test("shows what the platform did, and a tenant in a month", async () => {
    const rows = tableOf((await done("metrics --metric requests,tokens_issued")).out);
    const tokens = rows.find(({ METRIC, LABEL }) => METRIC === "tokens_issued" && LABEL === "client_credentials");
    expect(Number(tokens?.["VALUE"]?.replaceAll(",", ""))).toBeGreaterThan(0);
    const found = (await done("metrics --service admin --metric requests --step day --json")).json();
    expect(found).toMatchObject({ step: "day", stepMs: 86_400_000 });
    expect(new Set(found.series.map((one: { service: string }) => one.service))).toEqual(new Set(["admin"]));
    const month = new Date().toISOString().slice(0, 7);
    const { used } = (await done(`tenant usage demo --month ${month} --json`)).json();
    expect(used).toMatchObject({ month, isComplete: false });
    expect((await done(`tenant usage demo --month ${month}`)).out).toContain(`${month}, so far\nrequests  `);
    expect((await run("metrics --step week")).code).toBe(2);
    const [busiest, ...others] = (await done("metrics --top 2 --since 2h --json")).json().tenants;
    expect(busiest.value).toBeGreaterThan(others[0]?.value ?? 0);
    const shown = tableOf((await done("metrics --top 2 --since 2h")).out);
    expect(shown[0]).toMatchObject({ TENANT: busiest.tenant, VALUE: expect.stringMatching(/^[\d,]+$/) });
    for (const wrong of ["--top ten", "--top 3 --tenant demo"]) expect((await run(`metrics ${wrong}`)).code).toBe(2);
  });
});

describe("audit", () => {
  test("verifies and exports the copies", async () => {
    expect((await done("audit verify")).out).toMatch(/^[0-9a-f]{64}\n$/);
    const lines = (await done("audit export")).out.split("\n");
    for (const line of lines.slice(0, -1)) expect(JSON.parse(line)).toHaveProperty("chain");
  });

  test("filters, and prints times that filters accept", async () => {
    await done("role set audited --scope a.a");
    await run("role delete audited --yes");
    const [row] = (await done("audit --subject roles/audited --action put --json")).json() as [
      { at: number; requestId: string },
    ];
    expect(row).toMatchObject({ actor: "shop.operator", outcome: "done", subject: "roles/audited" });
    expect((await done(`audit --request-id ${row.requestId} --json`)).json()).toEqual([row]);
    const [shown] = tableOf((await done(`audit --subject roles/audited --action delete --since 1h`)).out);
    expect(shown).toMatchObject({ AT: ANY_TIME, ACTOR: "shop.operator", ACTION: "delete", SUBJECT: "roles/audited" });
    expect((await done(`audit --subject roles/audited --until ${row.at - 1} --json`)).json()).toEqual([]);
    expect(
      (await done(`audit --subject roles/audited --since ${shown?.["AT"]} --actor shop.operator --json`)).json(),
    ).not.toEqual([]);
    expect((await done("audit --since 0s --outcome refused", { nowMs: () => Date.now() + 60_000 })).err).toBe(
      "There are no rows.\n",
    );
    for (const wrong of ["--since yesterday", "--outcome maybe", "--follow --until 2h", "--since 1h --until 2h"])
      expect((await run(`audit ${wrong}`)).code, wrong).toBe(2);
  });

  test("--follow prints each new row once, the newest last", async () => {
    await done("role set follow-a --scope a.a");
    await done("role set follow-b --scope a.a");
    let turn = 0;
    const result = await run("audit --follow --json --action put --subject roles/follow --limit 2", {
      async wait() {
        turn++;
        if (turn <= 2) await done(`role set follow${turn} --scope a.a`);
        if (turn === 4) throw new Error("Ctrl-C");
      },
    });
    const rows = result.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { subject: string });
    expect(rows.map(({ subject }) => subject)).toEqual([
      "roles/follow-a",
      "roles/follow-b",
      "roles/follow1",
      "roles/follow2",
    ]);
  });
});

describe("refusals", () => {
  test("name each field and the request id", async () => {
    const refused = await run(
      "client set x.y --tenant none --confidential --grant-type none --scope a.b --redirect-uri ftp://a",
    );
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/^✗ .+ \(400\)\n/);
    expect(refused.err).toMatch(/^ {2}redirectUris\[0\] must be https/m);
    expect(refused.err).toMatch(/^ {2}grantTypes\[0\] /m);
    expect(refused.err).toMatch(/^ {2}request [0-9a-f]{32}$/m);
    const short = await run("tenant set X --name X --organization demo");
    expect(short.err.match(/must be/g)).toHaveLength(1);
    expect(short.err).toContain("small letters and digits");
    const noName = await run(
      "client set demo.y --tenant demo --no-confidential --grant-type authorization_code --scope *",
    );
    expect(noName.err).toContain("The id demo.y cannot be its name too");
    expect(noName.err).toContain("<project>.<app>: 3 to 16 and 2 to 24 small letters");
    const asJson = await run("organization delete demo --yes --json");
    expect(asJson).toMatchObject({ code: 1, out: "" });
    expect(JSON.parse(asJson.err)).toMatchObject({
      status: 409,
      type: "conflict_resource",
      details: expect.arrayContaining([{ type: "in_use", field: "tenant", message: "In use by: tenant demo." }]),
    });
    expect(await run("package delete platform --yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("is built in"),
    });
  });

  test("of a sign-in say how the client of the command line is made", async () => {
    const { code, err } = await run("login --tenant nobody --device");
    const advice = "An operator makes it: npm run plat -- tenant enable-login nobody";
    expect([code, err]).toEqual([1, `✗ The platform knows no client nobody.cli without a secret. ${advice}\n`]);
  });

  test("distinguish a wrong operator secret, a wrong address and a wrong prefix", async () => {
    const wrong = await plat({ ...env, OPERATOR_CLIENT_SECRET: "x".repeat(43) }, ["tenant", "list"]);
    expect(wrong).toMatchObject({
      code: 1,
      err: expect.stringContaining("does not take this secret of shop.operator"),
    });
    expect(wrong.err).not.toContain("xxx");
    const secret = localSecret("OPERATOR_CLIENT_SECRET");
    const byFile = ["tenant", "list", "--operator-secret-file", "-", "--json"];
    expect(await plat({ ...env, OPERATOR_CLIENT_SECRET: "x" }, byFile, { stdin: `${secret}\n` })).toMatchObject({
      code: 0,
    });
    const file = join(scratch, "operator.secret");
    writeFileSync(file, "y".repeat(43));
    expect((await run(`tenant list --operator-secret-file ${file}`)).err).toContain("does not take this secret");
    const prefix = await plat({ ...env, PATH_PREFIX: "/wrong" }, ["tenant", "list"]);
    expect(prefix).toMatchObject({ code: 1, err: expect.stringContaining("with its path prefix?") });
    const nobody = await run("tenant list --url http://127.0.0.1:1", {});
    expect(nobody).toMatchObject({ code: 1 });
    expect(nobody.err).toContain("http://127.0.0.1:1");
  });

  test("texts of the service cannot control the terminal", async () => {
    await plat(env, ["user", "set", "esc@base.example", "--name", "\u001b[31mred\u202e"]);
    expect((await done("user show esc@base.example")).out).toContain("name         \u{FFFD}[31mred\u{FFFD}\n");
    const listed = await done("user list --json");
    for (const steering of ["\u001b", "\u202e"]) expect(listed.out).not.toContain(steering);
    expect(listed.json()).toContainEqual(expect.objectContaining({ name: "\u001b[31mred\u202e" }));
  });
});

describe("as a separate program", () => {
  test("fails if it changes something and nobody reads its output; apply then sends nothing", async () => {
    const file = join(scratch, "unread.yaml");
    writeFileSync(file, "organizations: { unread: { name: Never sent } }\n");
    const piped = (line: string): number | null =>
      spawnSync("bash", ["-c", `${process.execPath} scripts/plat.ts ${line} | true; exit \${PIPESTATUS[0]}`], {
        cwd: ROOT,
        env: { ...process.env, ...env },
        stdio: "ignore",
      }).status;
    expect([piped("tenant list"), piped(`apply ${file}`)]).toEqual([0, 1]);
    expect((await run("organization show unread")).code).toBe(1);
  });

  test("prints only its answer, without colour, and ends with its code", async () => {
    const inherited = { ...env, npm_config_loglevel: "silent" };
    const listed = npm("plat", inherited, ["--", "tenant", "list", "--json"]);
    expect(await listed.ended, listed.output()).toBe(0);
    expect(JSON.parse(listed.output())).toContainEqual(expect.objectContaining({ id: DEMO.tenant }));
    const shown = npm("plat", inherited, [
      "--",
      "role",
      "show",
      "none",
      "--url",
      `http://127.0.0.1:${platform.port}/base/`,
    ]);
    expect(await shown.ended).toBe(1);
    expect(shown.output()).toMatch(/^✗ There is no such role/);
    const misspelt = npm("plat", inherited, ["--", "tenant", "lisst"]);
    expect(await misspelt.ended).toBe(2);
    expect(misspelt.output()).toContain("Did you mean list?");
  });
});
