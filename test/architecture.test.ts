import { env } from "cloudflare:workers";
import texts from "virtual:source-texts";
import { describe, expect, it } from "vitest";
import forObjects from "../src/platform/storage/migrations.json";
import { NEWEST_MIGRATION } from "../src/platform/storage/schema.ts";
import { ConfigError, readConfig } from "../src/config.ts";
import { MEMORIES } from "./support/runtime/forget-modules.ts";

/** Rules that the linter cannot check, tested on the source itself. */
const sources = Object.entries(texts).map(([path, text]) => ({ path, text }));
const files = sources
  .filter(({ path }) => path.startsWith("src/"))
  .map(({ path, text }) => ({ path: path.slice("src/".length), text }));
const programs = sources.filter(({ path }) => !/^(src|migrations)\//.test(path));
const code = (text: string): string => text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");

/** The imports between the folders below a root. */
function folderGraph(root: string, all = files): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const { path, text } of all.filter((file) => file.path.startsWith(`${root}/`))) {
    const folder = folderOf(path);
    const imported = graph.get(folder) ?? new Set();
    graph.set(folder, imported);
    for (const [, specifier = ""] of code(text).matchAll(/\bfrom "(\.[^"]+)"/g)) {
      const target = folderOf(new URL(specifier, `file:///${path}`).pathname.slice(1));
      if (target !== folder && `${target}/`.startsWith(`${root}/`)) imported.add(target);
    }
  }
  return graph;
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));

/** Removes nodes without outgoing edges until none is left to remove; the rest is in circles or leads to one. */
function inCircles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const left = new Map(graph);
  for (;;) {
    const ends = [...left].filter(([, imported]) => ![...imported].some((target) => left.has(target)));
    if (ends.length === 0) return [...left.keys()];
    for (const [node] of ends) left.delete(node);
  }
}

/** Comments that hide their subject behind one of these words, and lines of comments over 120 columns. */
function badComments({ path, text }: { readonly path: string; readonly text: string }): string[] {
  const lines = text.split("\n");
  const isComment = (line: string | undefined) => /^\s*(\/\*\*|\*|\/\/)/.test(line ?? "");
  const bad = lines.filter((line, at) => {
    if (!isComment(line)) return false;
    const isFirst = /^\s*(\/\*\*|\/\/)/.test(line)
      ? !/^\s*\/\//.test(lines[at - 1] ?? "")
      : lines[at - 1]?.trim() === "/**";
    return line.length > 120 || (isFirst && /^[\s/*]*(Of|What|Whatever|Who|Whoever|Whose|Whether)\b/.test(line));
  });
  return bad.map((line) => `${path}: ${line.trim()}`);
}

describe("the source", () => {
  it("is read by this test", () => {
    expect(files.length).toBeGreaterThan(50);
  });

  it("spells the platform's prefix nowhere", () => {
    const spelled = files.filter(({ text }) => /["'`/]plat[._-]/.test(code(text)));
    expect(spelled.map(({ path }) => path)).toEqual([]);
  });

  it("has comments that begin with their subject and keep to 120 columns", () => {
    expect(files.flatMap(badComments)).toEqual([]);
  });

  it("remembers something between requests in few modules, which a fresh start of tests evaluates anew", () => {
    const remembers = /^(export )?(let |const \w+[^=\n]*= (new (Map|Set|Array)(<[^(\n]*>)?\(\)|\[\]|\{\});)/m;
    // A set that nobody can add to.
    const constant = /^const \w+: ReadonlySet<\w+> = .*$/gm;
    const remembering = files.filter(({ text }) => remembers.test(code(text).replaceAll(constant, "")));
    expect(remembering.map(({ path }) => path).sort()).toEqual([...MEMORIES].sort());
  });

  it("normalizes text in one file, which checks the length first", () => {
    const normalizing = files.filter(({ text }) => /\.normalize\(/.test(code(text)));
    expect(normalizing.map(({ path }) => path)).toEqual(["platform/text/text.ts"]);
  });

  it("says in words what a text must look like, and never by its pattern", () => {
    // What passkeys.ts of the page sends: nobody writes it by hand.
    const wordless = /z\.regex\(\s*(?:\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\/[a-z]*|[A-Za-z_.]+)\s*,?\s*\)/;
    expect(wordless.test("z.regex(/^[^/]{1,3}\\/$/)")).toBe(true);
    expect(files.filter(({ text }) => wordless.test(code(text))).map(({ path }) => path)).toEqual([
      "oauth/passkeys/ceremony.ts",
    ]);
  });

  it("has SQL for D1 only in stores", () => {
    // A resource of the operator service is a table: its SQL, its rules and its JSON change together, so they are one
    // file.
    const mayHold = /^platform\/storage\/database\.ts$|(^|[/-])store(\/|\.ts$)|\.do\.ts$|^admin\/resources\//;
    const holding = files.filter(({ path, text }) => /\.prepare\(/.test(code(text)) && !mayHold.test(path));
    expect(holding.map(({ path }) => path)).toEqual([]);
  });

  it.each(["platform", "http", "oauth", "events", "media", "gateway", "admin", "health", "ui", "metrics", "backup"])(
    "has no import circle of folders in %s, types included",
    (service) => {
      expect(inCircles(folderGraph(service))).toEqual([]);
    },
  );

  it("exports each class of objects from each Worker that stands in the platform's place", () => {
    const classes = [...texts["src/worker.ts"]!.matchAll(/^export const (\w+) = exported\(/gm)].map(
      ([, name]) => name!,
    );
    expect(classes).toContain("TopicLog");
    const workers = programs.filter(({ text }) => /from "[./]*\/src\/worker\.ts"/.test(text));
    expect(workers.length).toBeGreaterThan(2);
    const missing = workers.flatMap(({ path, text }) =>
      /^export \* from "[./]*\/src\/worker\.ts"/m.test(text)
        ? []
        : classes
            .filter((name) => !new RegExp(`^export const .*\\b${name}\\b`, "m").test(text))
            .map((name) => `${path}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it("knows the newest migration, which deep health looks for, and brings all of them to objects", () => {
    const names = Object.keys(texts).filter((path) => path.startsWith("migrations/"));
    expect(NEWEST_MIGRATION).toBe(names.at(-1)!.replace("migrations/", ""));
    const plain = (sql: string) => sql.replaceAll(/--[^\n]*/g, "").replaceAll(/\s+/g, "");
    const carried = forObjects.map(({ name, sql }) => [`migrations/${name}`, plain(sql)]);
    // Stale? Run npm run schema.
    expect(carried).toEqual(names.map((name) => [name, plain(texts[name]!)]));
  });

  it.each(["api", "cli", "examples/tour", "scripts", "tools/bench", "tools/deploy", "tools/soak"])(
    "has no import circle of folders in %s, types included",
    (root) => {
      const graph = folderGraph(root, programs);
      expect(graph.size).toBeGreaterThan(0);
      expect(inCircles(graph)).toEqual([]);
    },
  );

  it.each(["oauth", "events", "media", "gateway", "admin", "metrics", "backup"])(
    "keeps %s/model free of imports of its sibling folders",
    (service) => {
      expect([...folderGraph(service).get(`${service}/model`)!]).toEqual([]);
    },
  );
});

describe("the typed client", () => {
  const pathsOf = (what: RegExp): string[] =>
    programs
      .filter(({ path, text }) => /^(cli|examples\/tour)\//.test(path) && what.test(code(text)))
      .map(({ path }) => path);

  it("is the only way of command line and tour to the platform, with one sending file each", () => {
    expect(pathsOf(/\bfetch\(/)).toEqual([
      "cli/client/send.ts",
      "cli/client/upload-fetch.ts",
      "examples/tour/exchange.ts",
    ]);
  });

  it("has the addresses, and the command line has them only in code that it prints", () => {
    expect(pathsOf(/\/(oauth2|pubsub|events|media|admin)\/v\d/).filter((path) => path.startsWith("cli/"))).toEqual([
      "cli/app/snippets.ts",
    ]);
  });
});

describe("configuration", () => {
  // shows: platform/deployment-variables/values-that-cannot-be
  it.each([
    ["PLATFORM", "Plat"],
    ["PLATFORM", ""],
    ["PATH_PREFIX", "base"],
    ["PATH_PREFIX", "/base/"],
    ["PUBLIC_URL", "https://a.example/path"],
    ["PUBLIC_URL", "a.example"],
    ["CONTENT_URL", "ftp://a.example"],
    ["AUTH_URL", "https://a.example"],
    ["ALLOW_LOOPBACK", "yes"],
    ["LOG_LEVEL", "loud"],
    ["TRACE_SAMPLE", "2"],
    ["TRACE_SAMPLE", "often"],
    ["OTLP_ENDPOINT", "ftp://otlp.example"],
    ["OTLP_ENDPOINT", "https://otlp.example/?key=x"],
    ["OTLP_ENDPOINT", "nowhere"],
    ["JURISDICTION", "mars"],
    ["LOCATION_HINT", "paris"],
    ["OBJECT_SHARDS", "0:auto"],
    ["OBJECT_SHARDS", "1:paris"],
    ["OBJECT_SHARDS", "240:auto"],
    ["TENANT_OBJECTS", "asked"],
    ["TENANT_OBJECTS", "all:auto"],
    ["TENANT_OBJECTS", "new:paris"],
    ["EVENT_RETENTION_DAYS", "0"],
    ["EVENT_RETENTION_DAYS", "0.000000001"],
    ["EVENT_RETENTION_DAYS", "3650.1"],
    ["EVENT_RETENTION_DAYS", "Infinity"],
    ["EVENT_LOG_MAX_BYTES", "999999"],
    ["EVENT_LOG_MAX_BYTES", "8800000001"],
    ["EVENT_LOG_MAX_BYTES", "all"],
    ["MAX_UPLOAD_BYTES", "much"],
    ["MEDIA_QUERY_ROW_BUDGET", "9999"],
    ["GATEWAY_TIMEOUT_MS", "99"],
    ["SESSION_IDLE_MINUTES", "4"],
    ["SESSION_IDLE_MINUTES", "721"],
    ["SESSION_IDLE_MINUTES", "half an hour"],
    ["GATEWAY_TIMEOUT_MS", "100001"],
    ["SUBJECT", "name"],
    ["OPERATOR_CLIENT_SECRET", "short"],
    ["OPERATOR_CLIENT_SECRET_PREVIOUS", "short"],
    ["SEAL_KEYS", "none"],
  ])("refuses %s=%s by its name", (name, value) => {
    const attempt = () => readConfig({ ...env, [name]: value });
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(name);
    // In words: nobody who sets a variable has to read a pattern.
    expect(attempt).not.toThrow(/[\\^]/);
  });

  it("takes an OpenTelemetry endpoint with the path that others want in it", () => {
    const { otlp } = readConfig({ ...env, OTLP_ENDPOINT: "https://otlp.example/base/v1/traces" });
    expect(otlp?.url).toBe("https://otlp.example/base/v1/traces");
  });

  it.each([
    ["CONTENT_URL", "http://auth.example"],
    ["CONTENT_URL", "https://auth.example:8443"],
    ["PUBLIC_URL", "https://auth.example:8443"],
  ])("refuses %s=%s beside AUTH_URL, whose cookies would be there too", (name, value) => {
    const apart = { PUBLIC_URL: "https://a.example", AUTH_URL: "https://auth.example", CONTENT_URL: "" };
    expect(readConfig({ ...env, ...apart })).toMatchObject({ authUrl: "https://auth.example" });
    expect(() => readConfig({ ...env, ...apart, [name]: value })).toThrow("AUTH_URL");
  });

  it.each([
    ["0.7", 60_479_999],
    ["3650", 315_360_000_000],
  ])("keeps events for whole milliseconds (%s days)", (days, expected) => {
    expect(readConfig({ ...env, EVENT_RETENTION_DAYS: days }).eventRetentionMs).toBe(expected);
  });

  const s3 = {
    R2_S3_ENDPOINT: "https://account.r2.cloudflarestorage.com/",
    R2_BUCKET: "a-bucket",
    R2_ACCESS_KEY_ID: "id",
    R2_SECRET_ACCESS_KEY: "secret",
  };

  it("takes all credentials of S3 or none, names the missing ones and never a secret", () => {
    expect(readConfig({ ...env })).toMatchObject({ s3: undefined, maxUploadBytes: 104_857_600 });
    const { s3: access, maxUploadBytes } = readConfig({ ...env, ...s3 });
    expect(maxUploadBytes).toBe(4 * 1024 ** 3);
    expect(access).toEqual({
      endpoint: "https://account.r2.cloudflarestorage.com",
      bucket: "a-bucket",
      accessKeyId: "id",
      secretAccessKey: "secret",
    });
    for (const name of Object.keys(s3)) {
      expect(() => readConfig({ ...env, ...s3, [name]: "" })).toThrow(`need ${name} too`);
      expect(() => readConfig({ ...env, [name]: s3[name as keyof typeof s3] })).toThrow(ConfigError);
    }
  });

  it("needs no TLS to this machine, whether or not pushes may go there", () => {
    const local = {
      R2_S3_ENDPOINT: "http://127.0.0.1:8797/cdn-cgi/local/r2/s3",
      OTLP_ENDPOINT: "http://localhost:4318",
    };
    const config = readConfig({ ...env, ...s3, ...local, ALLOW_LOOPBACK: "false" });
    expect(config.s3?.endpoint).toBe(local.R2_S3_ENDPOINT);
    expect(config.otlp?.url).toBe("http://localhost:4318/v1/traces");
  });

  it.each([
    ["R2_S3_ENDPOINT", "http://r2.example", { ALLOW_LOOPBACK: "false" }],
    ["R2_S3_ENDPOINT", "http://127.0.0.1.r2.example", { ALLOW_LOOPBACK: "false" }],
    ["R2_S3_ENDPOINT", "http://r2.example", { ALLOW_LOOPBACK: "true" }],
    ["OTLP_ENDPOINT", "http://otlp.example", { ALLOW_LOOPBACK: "true" }],
    ["R2_S3_ENDPOINT", "https://r2.example/?a=1", {}],
    ["R2_S3_ENDPOINT", "r2.example", {}],
    ["R2_BUCKET", "a/b", {}],
    ["R2_ACCESS_KEY_ID", "a b", {}],
    ["MAX_UPLOAD_BYTES", "5363466241", {}],
  ])("refuses %s=%s beside credentials of S3", (name, value, more) => {
    expect(() => readConfig({ ...env, ...s3, ...more, [name]: value })).toThrow(name);
  });

  it("takes the values of wrangler.toml", () => {
    const { OPERATOR_CLIENT_SECRET, SEAL_KEYS } = env;
    expect(readConfig({ ...env, OPERATOR_CLIENT_SECRET, SEAL_KEYS })).toMatchObject({
      platform: "plat",
      pathPrefix: "",
      publicUrl: "",
    });
  });
});
