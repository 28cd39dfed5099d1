import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { painter } from "../../scripts/lib/terminal.ts";
import { check } from "../../cli/apply/check.ts";
import { difference, type DifferenceOptions } from "../../cli/apply/difference.ts";
import { readFound } from "../../cli/apply/found.ts";
import { showMistakes, type Mistake } from "../../cli/apply/mistake.ts";
import { readDescription } from "../../cli/apply/read-file.ts";
import { checkReferences } from "../../cli/apply/references.ts";
import { createRules, type Shape } from "../../cli/apply/rules.ts";
import { run, type Outcome } from "../../cli/apply/run.ts";
import { showSteps } from "../../cli/apply/show.ts";
import { openSecretsFile } from "../../cli/apply/secrets.ts";
import { KINDS } from "../../cli/apply/kinds.ts";
import { RESOURCES } from "../../cli/resources/all.ts";
import { createModel, keptOf, type Model, type World } from "./support/admin-model.ts";

const rules = createRules("plat", true, "http://model");
const dir = mkdtempSync(join(tmpdir(), "plinth-apply-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** Everything that is wrong with a file beside an empty platform. */
async function mistakesOf(text: string | Uint8Array, world: World = {}, prune = false): Promise<string[]> {
  const { root, mistakes } = readDescription(typeof text === "string" ? Buffer.from(text) : text);
  const all: Mistake[] = [...mistakes];
  if (root !== undefined) {
    const description = check(root, rules);
    const found = await readFound(createModel(world).client, description, rules, prune);
    all.push(...description.mistakes, ...checkReferences(description, found, prune));
  }
  return showMistakes("f", all);
}

describe("the resources of the command line", () => {
  const pathsOf = (shape: Shape): string[] =>
    Object.entries(shape).flatMap(([name, inner]) =>
      inner === undefined ? [name] : pathsOf(inner).map((path) => `${name}.${path}`),
    );

  test.each(KINDS)("have a flag for every field of %s, and know which ones a body needs", (kind) => {
    const { fields } = RESOURCES[kind];
    expect(fields.map(({ name }) => name).sort()).toEqual(pathsOf(rules.shape(kind)).sort());
    const missing = rules.body(kind, undefined, {}).faults.filter(({ type }) => type === "missing_field");
    const required = fields.filter((field) => field.required === true);
    expect(required.map(({ name }) => name).sort()).toEqual(missing.map(({ field }) => field).sort());
  });
});

describe("reading", () => {
  test.each([
    ["a tab", "a: 1\nb:\n\tc: 1\n", ["f:3:1: Tabs are not allowed as indentation."]],
    ["an open list", "a: [1\nb: 2", [expect.stringMatching(/^f:2:1: Flow sequence/)]],
    ["an open quote", "roles: 'x\n", [expect.stringMatching(/^f:2:1: Missing closing 'quote/)]],
    [
      "several documents",
      "roles: {}\n---\nusers: {}\n",
      ["f:2:1: a second document begins here; one file is one platform."],
    ],
    ["nothing", "# only words\n", ["f:1:1: the file describes nothing."]],
    ["a list", "- roles\n", ["f:1:1: the file must be a mapping: organizations:, tenants: …"]],
    ["an unknown tag", "roles: !secret x\n", ["f:1:8: Unresolved tag: !secret."]],
    [
      "two faults",
      'a: "x\\q"\nb: @x\n',
      ["f:1:6: Invalid escape sequence \\q.", "f:2:4: Plain value cannot start with reserved character @."],
    ],
    ["another encoding", Buffer.from("users:\n  a: \xe4\n", "latin1"), ["f:2:6: the file is not UTF-8."]],
    ["what is no Unicode", 'roles: "\\ud800"\n', expect.arrayContaining(["f:1:8: this text is not Unicode."])],
  ])("refuses %s", async (_, text, expected) => {
    expect(await mistakesOf(text)).toEqual(expected);
  });

  test("refuses keys that stand twice, and keys that are numbers", async () => {
    expect(
      await mistakesOf("roles:\n  a: { scopes: [] }\n  a: { scopes: [] }\n  1.0: { scopes: [] }\nroles: {}\n"),
    ).toEqual([
      'f:3:3: "a" is here for the second time, after line 2.',
      'f:4:3: a key must be a text: write "1.0" in quotes.',
      'f:5:1: "roles" is here for the second time, after line 1.',
    ]);
  });

  test("follows aliases, to the value of their name at that place, and refuses what never ends", async () => {
    const twice =
      "roles:\n  a: { scopes: &s [x] }\n  b: { scopes: *s }\n  c: { scopes: &s [1] }\n  d: { scopes: *s }\n";
    expect(await mistakesOf(twice)).toEqual([
      'f:4:20: scopes[0] must be a string. 1 is a number to YAML: write "1" for a text.',
      'f:4:20: scopes[0] must be a string. 1 is a number to YAML: write "1" for a text.',
    ]);
    expect(await mistakesOf("roles: &r\n  a: *r\n")).toContain("f:2:6: *r stands for what it is itself a part of.");
    expect(await mistakesOf("roles: *r\n")).toContain("f:1:8: there is no anchor &r in front of this.");
    expect(await mistakesOf("roles:\n  a: &a { scopes: [] }\n  b: { <<: *a, scopes: [x] }\n")).toEqual([
      "f:3:8: << does not merge here (YAML 1.2): write the fields out, or let an alias stand for all of them.",
    ]);
    const bomb = [
      "a: &a [x, x]",
      ..."bcdefghijklmnopqrstuvwxyz"
        .split("")
        .map(
          (name, index) =>
            `${name}: &${name} [*${String.fromCharCode(97 + index)}, *${String.fromCharCode(97 + index)}]`,
        ),
    ];
    const startedMs = performance.now();
    const { mistakes } = readDescription(Buffer.from(bomb.join("\n")));
    expect(mistakes.map(({ reason }) => reason)).toEqual(["aliases stand for more than 100000 values."]);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  test("refuses what is nested without an end", async () => {
    expect((await mistakesOf(`roles: ${"[".repeat(50_000)}`))[0]).toMatch(/^f:1:\d+: this is nested too deeply\.$/);
    expect(await mistakesOf(`roles: ${"[".repeat(50)}${"]".repeat(50)}`)).toContain(
      "f:1:40: this is nested too deeply.",
    );
  });
});

describe("checking", () => {
  // shows: operator/resources/granttypes
  test("names every mistake at its place, and no secret", async () => {
    const text = `
organizations:
  acme: { nam: Acme }
  bad id: { name: Bad }
  plat: { name: Mine }
tenants:
  acmeshop:
    organization: acmee
    name: Shop
    quota: { filez: 1, bytes: -1 }
    subscriptions: [reviews, 1.0, reviews, nowhere]
    members:
      Ada@acme.example: [editor]
      ada@acme.example: [editor]
      bob@acme.example: [writer, 2]
  later:
services:
  reviews: { tenant: acmeshop, sourceUrl: "https://10.0.0.1", proxyPath: /oauth2/v1, scopes: [plat.admin], access: token }
  other: { tenant: acmeshop, sourceUrl: "ftp://a.example", proxyPath: /same, scopes: [], access: private, essential: no }
  pubsub: { tenant: acmeshop, sourceUrl: "https://a.example", proxyPath: /pub, scopes: [], access: token }
  one: { tenant: acmeshop, sourceUrl: "https://a.example", proxyPath: /one, scopes: [], access: token }
  two: { tenant: acmeshop, sourceUrl: "https://a.example", proxyPath: /one, scopes: [], access: token }
packages: { reviews: { version: 1.0, organization: acme, services: [reviews, reviewz] } }
roles: { editor: { scopes: ["a b", 7, a] } }
users:
  ada@acme.example: { password: hunter2-and-more }
  bob: {}
  bob@acme.example: { password: { env: "not a name" } }
clients:
  acme.shop: { tenant: acmeshop, confidential: false, clientSecret: { env: SECRET }, grantTypes: [magic], redirectUris: ["http://a.example"], scopes: [] }
  acme.app: { tenant: acmeshop, confidential: true, service: pubsub, grantTypes: [], scopes: [plat.admin] }
identityProviders:
  goog: { issuer: "http://accounts.example", clientId: x, scopes: [email] }
organisations: {}
__proto__: {}
`;
    expect(await mistakesOf(text, { services: { pubsub: { builtIn: true, scopes: [] } } })).toEqual([
      "f:3:3: name is missing.",
      'f:3:11: there is no field "nam" here. Did you mean name?',
      "f:4:3: id must be 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first.",
      "f:5:3: The organization plat is built in and cannot be changed.",
      'f:8:19: there is no organization "acmee", neither in the file nor on the platform. Did you mean acme?',
      'f:10:14: there is no field "filez" here. Did you mean files?',
      "f:10:31: quota.bytes must be at least 0.",
      'f:11:30: a subscription must be the id of a package, not a number. 1.0 is a number to YAML: write "1.0" for a text.',
      'f:11:35: "reviews" is here for the second time.',
      'f:11:44: there is no package "nowhere", neither in the file nor on the platform.',
      'f:14:7: "ada@acme.example" is here for the second time.',
      'f:15:26: there is no role "writer", neither in the file nor on the platform.',
      'f:15:34: roles[1] must be a string. 2 is a number to YAML: write "2" for a text.',
      "f:16:9: later must be a mapping of its fields, not nothing: {} stands for none.",
      "f:18:43: sourceUrl must not name an IP address of a private or special range.",
      "f:18:74: The first part of proxyPath, /oauth2, is the platform's own.",
      "f:18:94: plat.admin is, or covers, a scope of the platform itself.",
      "f:19:41: sourceUrl must start with https://.",
      expect.stringMatching(/^f:19:\d+: access must be one of token, public\.$/),
      "f:19:118: essential must be a boolean. Write false.",
      "f:20:3: The service pubsub is built in and cannot be changed.",
      "f:22:71: proxyPath /one is that of services/one in line 21 too.",
      'f:23:33: version must be a string. 1.0 is a number to YAML: write "1.0" for a text.',
      'f:23:78: there is no service "reviewz", neither in the file nor on the platform. Did you mean reviews?',
      "f:24:29: scopes[0] must be 1 to 256 letters, digits and . _ = * -.",
      'f:24:36: scopes[1] must be a string. 7 is a number to YAML: write "7" for a text.',
      "f:26:33: a secret is not written here: put it into a variable of the environment and write password: { env: NAME }.",
      "f:27:3: email must be an e-mail address.",
      "f:28:33: a secret is not written here: put it into a variable of the environment and write password: { env: NAME }.",
      "f:30:69: A client that is not confidential has no secret.",
      "f:30:99: grantTypes[0] must be one of client_credentials, authorization_code, refresh_token, implicit, password, urn:ietf:params:oauth:grant-type:device_code, urn:ietf:params:oauth:grant-type:token-exchange.",
      expect.stringMatching(/^f:30:\d+: redirectUris\[0\] must be https/),
      'f:31:62: the service "pubsub" is built in: a client\'s own service is a registered one.',
      "f:31:94: plat.admin is the operator client's alone.",
      "f:33:19: issuer must start with https://.",
      "f:33:67: scopes must include openid.",
      'f:34:1: "organisations" is nothing that can be described. Did you mean organizations?',
      'f:35:1: "__proto__" is nothing that can be described.',
    ]);
  });

  test("tells what an entry refers to and takes besides what is wrong in it, and where it stands in its list", async () => {
    const text = `
tenants: { yzz: { organization: nope, name: x, colour: red } }
packages: { pz: { version: 1, organization: yorg, services: [nosvc, another] } }
services:
  one: { tenant: yzz, sourceUrl: "https://a.example", proxyPath: /one, scopes: [], access: nobody }
  two: { tenant: yzz, sourceUrl: "https://a.example", proxyPath: /one, scopes: [], access: token }
clients:
  bad id: { tenant: gone, confidential: false, grantTypes: [], scopes: [] }
`;
    expect(await mistakesOf(text)).toEqual([
      'f:2:33: there is no organization "nope", neither in the file nor on the platform.',
      expect.stringMatching(/^f:2:48: there is no field "colour" here/),
      'f:3:28: version must be a string. 1 is a number to YAML: write "1" for a text.',
      'f:3:45: there is no organization "yorg", neither in the file nor on the platform.',
      'f:3:62: there is no service "nosvc", neither in the file nor on the platform.',
      'f:3:69: there is no service "another", neither in the file nor on the platform.',
      "f:5:92: access must be one of token, public.",
      "f:6:66: proxyPath /one is that of services/one in line 5 too.",
      "f:8:3: clientId must be 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first.",
      'f:8:21: there is no tenant "gone", neither in the file nor on the platform.',
    ]);
  });

  test("has one reason against what is built in", async () => {
    const file = {
      tenants: { acme: { organization: "acme", name: "Acme" } },
      organizations: { acme: { name: "Acme" } },
      clients: { "plat.operator": { tenant: "acme", confidential: true, grantTypes: [], scopes: [] } },
      services: { media: service("acme", "/mine") },
    };
    expect((await mistakesOf(JSON.stringify(file))).map((line) => line.replace(/^f:1:\d+: /, ""))).toEqual([
      "The client plat.operator is built in and cannot be changed.",
      "The service media is built in and cannot be changed.",
    ]);
  });

  const service = (tenant: string, proxyPath: string) => ({
    tenant,
    sourceUrl: "https://a.example",
    proxyPath,
    scopes: [],
    access: "token",
  });

  test("sees what the platform holds", async () => {
    const world = {
      organizations: { acme: { name: "Acme" } },
      tenants: { shop: { organization: "acme", name: "Shop" } },
      services: { taken: service("shop", "/taken"), pubsub: { ...service("shop", "/pubsub/v1"), builtIn: true } },
    };
    const file = {
      services: { mine: service("shop", "/taken") },
      packages: { mine: { version: "1", organization: "acmee", services: ["mine", "pubsub"] } },
      clients: {
        "acme.app": { tenant: "shopp", confidential: false, service: "pubsub", grantTypes: [], scopes: [] },
      },
    };
    const reasons = (await mistakesOf(JSON.stringify(file), structuredClone(world))).map((line) =>
      line.replace(/^f:1:\d+: /, ""),
    );
    expect(reasons).toEqual([
      "proxyPath /taken is that of services/taken on the platform.",
      'there is no organization "acmee", neither in the file nor on the platform.',
      'there is no tenant "shopp", neither in the file nor on the platform. Did you mean shop?',
      'the service "pubsub" is built in: a client\'s own service is a registered one.',
    ]);
  });

  test("refuses a path below that of another tenant's service, and what is made so alone", async () => {
    const world = {
      organizations: { acme: { name: "Acme" } },
      tenants: { shop: { organization: "acme", name: "Shop" }, labs: { organization: "acme", name: "Labs" } },
      services: { outer: service("shop", "/a"), inner: service("labs", "/a/old"), far: service("labs", "/far") },
    };
    const file = {
      services: {
        below: service("labs", "/a/b"),
        own: service("shop", "/a/c"),
        like: service("labs", "/ab"),
        inner: { ...service("labs", "/a/old"), scopes: ["a.x"] },
        far: service("labs", "/a/far"),
        one: service("shop", "/new/x"),
        two: service("labs", "/new"),
      },
    };
    const reasons = (await mistakesOf(JSON.stringify(file), structuredClone(world), true)).map((line) =>
      line.replace(/^f:1:\d+: /, "").replace(" are one below the other, and belong to different tenants.", ""),
    );
    // Also beside what --prune removes, since that comes last.
    expect(reasons).toEqual([
      "proxyPath /a/b and /a of services/outer",
      "proxyPath /a/far and /a of services/outer",
      "proxyPath /new/x and /new of services/two",
      "proxyPath /new and /new/x of services/one",
    ]);
  });

  test("refuses removals that something else needs, and values that go round in a circle", async () => {
    const world = {
      organizations: { acme: { name: "Acme" } },
      tenants: { shop: { organization: "acme", name: "Shop" } },
      services: { one: service("shop", "/one"), two: service("shop", "/two"), old: service("shop", "/old") },
    };
    const pruned = { tenants: {}, roles: {} };
    expect(await mistakesOf(JSON.stringify(pruned), structuredClone(world), true)).toEqual(
      ["one", "two", "old"].map(
        (name) =>
          `f:1:2: --prune would remove tenants/shop, but services/${name} uses it, and the file does not say what becomes of that.`,
      ),
    );
    const circle = {
      services: { one: service("shop", "/two"), two: service("shop", "/one"), new: service("shop", "/old") },
    };
    expect(
      (await mistakesOf(JSON.stringify(circle), structuredClone(world), true)).map((line) =>
        line.replace(/^f:1:\d+: /, ""),
      ),
    ).toEqual([
      "proxyPath /two is that of services/two on the platform, which wants another's in turn: give one of them a third value first.",
      "proxyPath /one is that of services/one on the platform, which wants another's in turn: give one of them a third value first.",
      "proxyPath /old is that of services/old on the platform, which --prune removes after what uses it: give that another one first.",
    ]);
  });
});

test("what is more than a request takes is refused before anything is sent", async () => {
  const role = (scopes: number): string =>
    JSON.stringify({ roles: { r: { scopes: Array.from({ length: scopes }, (_, i) => `${"s".repeat(250)}${i}`) } } });
  expect(await mistakesOf(role(200))).toEqual([]);
  expect(await mistakesOf(role(300))).toEqual(["f:1:11: this is more than one request takes, 65536 bytes as JSON."]);
});

describe("the difference", () => {
  test("is shown with nothing in it that steers a terminal, whatever the platform holds", async () => {
    const { root } = readDescription(Buffer.from("users: {}"));
    const description = check(root!, rules);
    const world = { users: { "\u202eevil@a.example": { name: "\u001b[31m" } } };
    const found = await readFound(createModel(world).client, description, rules, true);
    const steps = difference(description, found, { ...NONE, prune: true }).flat();
    expect(showSteps(steps, { file: undefined, isKept: () => false }, painter(false))).toBe(
      "- users/\u{fffd}evil@a.example\n",
    );
  });

  const NONE: DifferenceOptions = { prune: false, setPasswords: false, setSecrets: false };

  /** Reads, compares, lets somebody else act, runs until `budget` writes were made; what is still different then. */
  async function apply(
    model: Model,
    file: object,
    options: DifferenceOptions,
    budget = Infinity,
    meanwhile: () => void = () => undefined,
  ): Promise<{ mistakes: readonly Mistake[]; outcome?: Outcome }> {
    const { root, mistakes } = readDescription(Buffer.from(JSON.stringify(file)));
    if (root === undefined) return { mistakes };
    const description = check(root, rules);
    const found = await readFound(model.client, description, rules, options.prune);
    const all = [...mistakes, ...description.mistakes, ...checkReferences(description, found, options.prune)];
    if (all.length > 0) return { mistakes: all };
    const stopping = new AbortController();
    if (budget === 0) stopping.abort();
    let left = budget;
    const waves = difference(description, found, options);
    meanwhile();
    const outcome = await run(model.client, waves, {
      secretOf: ({ secret, kind, id }) => {
        if (--left <= 0) stopping.abort();
        return secret === "none" ? undefined : `${secret} ${kind} ${id}`;
      },
      progress: () => undefined,
      surprised: () => undefined,
      stopping: stopping.signal,
    });
    return { mistakes: [], outcome };
  }

  // --- worlds

  const ORGANIZATIONS = ["org1", "org2", "org3"];
  const TENANTS = ["ten1", "ten2", "ten3", "ten4"];
  const SERVICES = ["ser1", "ser2", "ser3", "ser4"];
  const PACKAGES = ["pac1", "pac2", "pac3"];
  const ROLES = ["rol1", "rol2", "rol3"];
  const USERS = ["u1@a.example", "u2@a.example", "u3@a.example"];
  const CLIENTS = ["acme.c1", "acme.c2", "acme.c3", "acme.c4"];

  const some = (names: readonly string[]) => fc.subarray([...names]);
  const shuffled = (names: readonly string[]) => fc.shuffledSubarray([...names], { minLength: names.length });
  const one = (names: readonly string[]) => fc.constantFrom(...names);
  const each = <T>(names: readonly string[], make: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
    fc
      .tuple(...names.map(() => make))
      .map((made) => Object.fromEntries(names.map((name, at) => [name, made[at] as T])));
  const chosen = <T>(
    names: readonly string[],
    make: (names: string[]) => fc.Arbitrary<T>,
  ): fc.Arbitrary<Record<string, T>> =>
    some(names).chain((present) => (present.length === 0 ? fc.constant({}) : each(present, make(present))));

  /** A file that is right in itself. */
  const files = fc
    .record({
      organizations: fc.subarray(ORGANIZATIONS, { minLength: 1 }),
      tenants: fc.subarray(TENANTS, { minLength: 1 }),
      users: some(USERS),
      roles: some(ROLES),
      services: some(SERVICES),
      packages: some(PACKAGES),
      paths: shuffled(SERVICES),
      names: shuffled(CLIENTS),
    })
    .chain((has) => {
      const members = has.users.length === 0 ? fc.constant({}) : chosen(has.users, () => some(has.roles));
      const list = (names: string[]) => (names.length === 0 ? fc.constant([]) : fc.shuffledSubarray(names));
      return fc.record({
        organizations: each(has.organizations, fc.record({ name: one(["A", "B"]), members })),
        tenants: each(
          has.tenants,
          fc.record(
            {
              organization: one(has.organizations),
              name: one(["A", "B"]),
              disabled: fc.boolean(),
              subscriptions: list(has.packages),
              members,
            },
            { requiredKeys: ["organization", "name"] },
          ),
        ),
        services: each(
          has.services,
          fc.record({
            tenant: one(has.tenants),
            sourceUrl: fc.constant("https://a.example"),
            scopes: fc.shuffledSubarray(["a.x", "a.y"]),
            access: one(["token", "public"]),
          }),
        ).map((all) =>
          Object.fromEntries(
            Object.entries(all).map(([name, fields]) => [
              name,
              { ...fields, proxyPath: `/${has.paths[SERVICES.indexOf(name)]}` },
            ]),
          ),
        ),
        packages: each(
          has.packages,
          fc.record({ version: one(["1", "2"]), organization: one(has.organizations), services: list(has.services) }),
        ),
        roles: each(has.roles, fc.record({ scopes: fc.shuffledSubarray(["a", "b", "c"]) })),
        users: each(
          has.users,
          fc.record({ name: one(["A", "B"]), password: fc.constant({ env: "PASSWORD" }) }, { requiredKeys: [] }),
        ),
        clients: chosen(CLIENTS, () =>
          fc.record(
            {
              tenant: one(has.tenants),
              confidential: fc.boolean(),
              grantTypes: fc.constant(["refresh_token", "client_credentials"]),
              scopes: fc.shuffledSubarray(["a", "b"]),
              requirePkce: fc.boolean(),
            },
            { requiredKeys: ["tenant", "confidential", "grantTypes", "scopes"] },
          ),
        ).map((all) =>
          Object.fromEntries(
            Object.entries(all).map(([name, fields]) => [name, { ...fields, name: has.names[CLIENTS.indexOf(name)] }]),
          ),
        ),
        identityProviders: chosen(["idp1", "idp2"], () =>
          fc.record({
            issuer: one(["https://a.example", "https://b.example"]),
            clientId: one(["a", "b"]),
            clientSecret: fc.constant({ env: "SECRET" }),
          }),
        ),
      });
    });

  type File = Record<string, Record<string, any>>;
  const sorted = (value: unknown): unknown => (Array.isArray(value) ? [...(value as string[])].sort() : value);

  /** The world that the file describes, by the contract's defaults, beside what was there before. */
  function worldOf(file: File, before: World = {}): World {
    const world: World = { subscriptions: {}, tenantMembers: {}, organizationMembers: {}, linkedIdentities: {} };
    const defaults: Record<string, object> = {
      services: { essential: false, scopeDescriptions: {}, forwardAuthorization: false, trusted: false },
      clients: {
        displayName: "",
        logoUri: "",
        redirectUris: [],
        postLogoutRedirectUris: [],
      },
      identityProviders: { scopes: ["openid", "email"] },
    };
    for (const [section, rows] of Object.entries(file)) {
      world[section] = {};
      for (const [
        id,
        { members = {}, subscriptions = [], password: _password, clientSecret: _secret, ...fields },
      ] of Object.entries(rows)) {
        for (const [who, roles] of Object.entries(members))
          world[`${section.slice(0, -1)}Members`]![`${id}/${who}`] = { roles: sorted(roles) };
        for (const pack of subscriptions) world["subscriptions"]![`${id}/${pack}`] = {};
        const named = section === "users" && fields.name === undefined ? { name: id } : {};
        const all = { ...defaults[section], ...keptOf(section, before[section]?.[id]), ...named, ...fields };
        world[section][id] = Object.fromEntries(Object.entries(all).map(([name, value]) => [name, sorted(value)]));
      }
    }
    return world;
  }
  const settled = (world: World): World =>
    Object.fromEntries(
      Object.entries(world).map(([kind, rows]) => [
        kind,
        Object.fromEntries(
          Object.entries(rows).map(([key, fields]) => [
            key,
            Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, sorted(value)])),
          ]),
        ),
      ]),
    );

  /** Calls under way come to their end in an order of the test's. */
  const pauses = (turns: readonly number[]) => {
    let at = 0;
    return async (): Promise<void> => {
      for (let ticks = turns[at++ % turns.length] ?? 0; ticks > 0; ticks--) await Promise.resolve();
    };
  };
  const turns = fc.array(fc.nat(12), { minLength: 7, maxLength: 7 });

  test("makes every world from nothing, and then there is none", async () => {
    await fc.assert(
      fc.asyncProperty(files, turns, async (file, order) => {
        const model = createModel({}, pauses(order));
        const first = await apply(model, file, NONE);
        expect(first.mistakes).toEqual([]);
        expect(first.outcome?.failures).toEqual([]);
        expect(settled(model.world)).toEqual(worldOf(file));
        const writes = model.writes.length;
        expect((await apply(model, file, NONE)).outcome?.done).toEqual([]);
        expect((await apply(model, file, { ...NONE, prune: true })).outcome?.done).toEqual([]);
        expect(model.writes).toHaveLength(writes);
      }),
      { numRuns: 60 },
    );
  });

  test("with --prune turns every world into every other, however often it is ended in between", async () => {
    let turned = 0;
    await fc.assert(
      fc.asyncProperty(
        files,
        files,
        turns,
        fc.array(fc.nat(15), { maxLength: 3 }),
        async (before, after, order, budgets) => {
          const model = createModel({}, pauses(order));
          await apply(model, before, NONE);
          const had = structuredClone(model.world);
          const whole = Object.fromEntries(
            Object.keys(before).map((section) => [section, (after as File)[section] ?? {}]),
          );
          // Members and subscriptions that are not named are not described.
          for (const tenant of Object.values(whole["tenants"] ?? {})) {
            tenant.members ??= {};
            tenant.subscriptions ??= [];
          }
          const options = { ...NONE, prune: true };
          for (const budget of budgets) await apply(model, whole, options, budget);
          const { mistakes, outcome } = await apply(model, whole, options);
          // Paths and names that go round, or that a service to be removed holds: refused, and nothing sent.
          if (mistakes.length > 0) {
            for (const { reason } of mistakes)
              expect(reason).toMatch(/^(proxyPath|name) .* (in turn|after what uses it)/);
            return;
          }
          turned++;
          expect(outcome?.failures).toEqual([]);
          expect(settled(model.world)).toEqual(worldOf(whole, had));
          expect((await apply(model, whole, options)).outcome?.done).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
    expect(turned).toBeGreaterThan(8);
  });

  test("without --prune leaves what the file does not name, and sends what differs alone", async () => {
    await fc.assert(
      fc.asyncProperty(files, fc.nat(), fc.nat(), async (file, which, how) => {
        const model = createModel({});
        await apply(model, file, NONE);
        const rows = Object.entries(file as File).flatMap(([section, all]) =>
          Object.keys(all).map((id) => [section, id] as const),
        );
        const [section, id] = rows[which % rows.length] ?? ["", ""];
        const writes = model.writes.length;
        const changed = structuredClone(file) as File;
        const field =
          {
            organizations: "name",
            tenants: "name",
            users: "name",
            packages: "version",
            roles: "scopes",
            services: "scopes",
            clients: "scopes",
            identityProviders: "clientId",
          }[section] ?? "";
        changed[section]![id][field] = field === "scopes" ? [`changed.${how}`] : `changed ${how}`;
        const { outcome } = await apply(model, changed, NONE);
        expect(outcome?.done.map(({ kind, id: done }) => [kind, done])).toEqual([[section, id]]);
        expect(model.writes).toHaveLength(writes + 1);
        expect(settled(model.world)).toEqual(worldOf(changed));
        const before = structuredClone(model.world);
        const { mistakes } = await apply(model, { ...changed, [section]: {} }, NONE);
        expect(mistakes).toEqual([]);
        expect(model.world).toEqual(before);
      }),
      { numRuns: 50 },
    );
  });

  test("overwrites and removes nothing that somebody else changed meanwhile, and says so", async () => {
    const file = { roles: { changed: { scopes: ["a"] }, made: { scopes: ["a"] } } };
    const world = { roles: { changed: { scopes: ["b"] }, pruned: { scopes: ["b"] } } };
    const options = { ...NONE, prune: true };
    for (const [role, scopes, reason] of [
      ["changed", ["c"], "somebody else changed it since it was compared"],
      ["changed", undefined, "somebody else changed it since it was compared"],
      ["made", ["c"], "Nothing was changed."],
      ["pruned", ["c"], "somebody else changed it since it was compared"],
    ] as const) {
      const model = createModel(structuredClone<World>(world));
      const { outcome } = await apply(model, file, options, Infinity, () => {
        if (scopes === undefined) delete model.world["roles"]?.[role];
        else model.world["roles"]![role] = { scopes };
      });
      expect(outcome?.failures.map(({ step, error }) => [step.id, (error as Error).message])).toEqual([
        [role, expect.stringContaining(reason)],
      ]);
      expect(model.world["roles"]?.[role]).toEqual(scopes && { scopes });
      expect((await apply(model, file, options)).outcome?.failures).toEqual([]);
      expect(settled(model.world)["roles"]).toEqual(file.roles);
    }
  });

  test("sends a secret where there is none yet, and when it is told to", async () => {
    const model = createModel({
      organizations: { o: { name: "O" } },
      tenants: { ten: { organization: "o", name: "T" } },
    });
    const client = { tenant: "ten", confidential: true, grantTypes: [], scopes: [] };
    const file = {
      users: { "a@a.example": { password: { env: "P" } }, "b@a.example": {} },
      clients: { "acme.given": { ...client, clientSecret: { env: "S" } }, "acme.made": client },
      identityProviders: { idp: { issuer: "https://a.example", clientId: "x", clientSecret: { env: "S" } } },
    };
    const sent = async (options: DifferenceOptions): Promise<string[]> =>
      ((await apply(model, file, options)).outcome?.done ?? [])
        .filter(({ secret }) => secret !== "none")
        .map(({ id, secret }) => `${secret} ${id}`)
        .sort();
    expect(await sent(NONE)).toEqual(["given acme.given", "given a@a.example", "given idp", "made acme.made"].sort());
    expect(await sent(NONE)).toEqual([]);
    expect(await sent({ ...NONE, setPasswords: true })).toEqual(["given a@a.example"]);
    expect(await sent({ ...NONE, setSecrets: true })).toEqual(["given acme.given", "given idp"]);
    file.identityProviders.idp.issuer = "https://b.example";
    expect(await sent(NONE)).toEqual(["given idp"]);
  });
});

describe("the file of secrets", () => {
  const path = join(dir, "secrets.jsonl");

  test("keeps what it made, for its owner alone", () => {
    const made = openSecretsFile(path, "https://a.example").keep(["a.one", "a.two"]);
    expect(new Set(made.values()).size).toBe(2);
    expect(made.get("a.one")).toMatch(/^[\w-]{43}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = openSecretsFile(path, "https://a.example").keep(["a.two", "a.three"]);
    expect(again.get("a.two")).toBe(made.get("a.two"));
    const file = openSecretsFile(path, "https://a.example");
    expect(["a.one", "a.none"].map(file.has)).toEqual([true, false]);
    expect(openSecretsFile(path, "https://b.example").has("a.one")).toBe(false);
    expect(openSecretsFile(path, "https://b.example").keep(["a.one"]).get("a.one")).not.toBe(made.get("a.one"));
  });

  test("two runs at once agree: of two lines for a client the first counts", () => {
    const file = openSecretsFile(path, "https://a.example");
    const kept = file.keep(["a.one"]).get("a.one");
    appendFileSync(
      path,
      `${JSON.stringify({ platform: "https://a.example", client: "a.one", clientSecret: "later" })}\n`,
    );
    expect(file.keep(["a.one"]).get("a.one")).toBe(kept);
  });

  test("goes on behind a line that a crash cut", () => {
    appendFileSync(path, '{"platform":"https://a.example","client":"a.cut","clientSec');
    const file = openSecretsFile(path, "https://a.example");
    const kept = file.keep(["a.cut"]).get("a.cut");
    expect(kept).toMatch(/^[\w-]{43}$/);
    expect(openSecretsFile(path, "https://a.example").keep(["a.cut"]).get("a.cut")).toBe(kept);
  });

  test("is refused when others may read it, and when it is something else", () => {
    chmodSync(path, 0o644);
    expect(() => openSecretsFile(path, "https://a.example")).toThrow(`chmod 600 ${path}`);
    const other = join(dir, "platform.yaml");
    writeFileSync(other, "roles: {}\n", { mode: 0o600 });
    expect(() => openSecretsFile(other, "https://a.example")).toThrow("platform.yaml:1:1: this is no file of secrets");
    expect(readFileSync(other, "utf8")).toBe("roles: {}\n");
  });
});
