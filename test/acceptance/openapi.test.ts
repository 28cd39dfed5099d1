import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildDocument } from "../../api/document.ts";
import { lint } from "../../api/lint.ts";
import { SERVICES } from "../../api/index.ts";
import { readTables, type Tables } from "../../api/tables.ts";
import { ROOT } from "../../scripts/lib/root.ts";

/** Each check of api/openapi.json finds its kind of fault. */
const text = readFileSync(join(ROOT, "api", "openapi.json"), "utf8");
let tables: Tables;
beforeAll(async () => {
  tables = await readTables(ROOT);
});

describe("the document", () => {
  it("is built from the route tables and api/, and both validators accept it", async () => {
    const { document, faults } = buildDocument(tables, SERVICES);
    expect(faults).toEqual([]);
    expect(`${JSON.stringify(document, null, 2)}\n`).toBe(text);
    expect(await lint(text)).toEqual([]);
  });

  it("shows each tag in a group", () => {
    const document = JSON.parse(text) as { tags: { name: string }[]; "x-tagGroups": { tags: string[] }[] };
    const grouped = document["x-tagGroups"].flatMap(({ tags }) => tags);
    expect(grouped.toSorted()).toEqual(document.tags.map(({ name }) => name).toSorted());
  });

  it("requires texts for each route, parameter and field, and a route for each text", () => {
    const [first, ...others] = SERVICES;
    const { "POST /token": token, ...left } = first!.entries;
    const entries = { ...left, "POST /tokens": token! };
    expect(buildDocument(tables, [{ ...first!, entries }, ...others]).faults).toEqual([
      expect.stringContaining("POST /oauth2/v1/token has no entry"),
      expect.stringContaining("POST /tokens is in api/services and no route"),
    ]);
    const wordless = SERVICES.map((service) => ({ ...service, parameters: {} }));
    expect(buildDocument(tables, wordless).faults).toContain(
      "GET /topics/{topicOwnerClient}/{eventType}: the path parameter eventType has no words",
    );
    const tags = [{ name: "Plots", description: "A plat of land." }];
    expect(buildDocument(tables, [...SERVICES, { ...first!, tags, entries: {} }]).faults).toEqual([
      expect.stringContaining("plat is neither a name's prefix nor in backticks"),
    ]);
  });
});

describe("the validators", () => {
  const TOPICS = "/pubsub/v1/topics";
  it.each<[what: string, breakIt: (paths: any) => void, says: readonly RegExp[]]>([
    [
      "a content that is none",
      (paths) => (paths[TOPICS].get.responses["200"].content = 5),
      [/OpenAPI's schema/, /struct/],
    ],
    ["a reference to nothing", (paths) => (paths[TOPICS].get.responses["401"].$ref += "x"), [/no-unresolved-refs/]],
    [
      "an example that its schema does not take",
      (paths) => (paths[TOPICS].post.requestBody.content["application/json"].example.shards = "x"),
      [/no-invalid-media-type-examples/],
    ],
    [
      "an operation that does not say what it is for",
      (paths) => delete paths[TOPICS].post.description,
      [/operation-description/],
    ],
    ["two operations of one name", (paths) => (paths[TOPICS].post.operationId = "listTopics"), [/operationId-unique/]],
    [
      "a path parameter that is left out",
      (paths) => (paths["/admin/v1/roles/{name}"].get.parameters = []),
      [/path-parameters/],
    ],
  ])("find %s", async (_, breakIt, says) => {
    const broken = JSON.parse(text);
    breakIt(broken.paths);
    const found = (await lint(JSON.stringify(broken))).join("\n");
    for (const words of says) expect(found).toMatch(words);
  });
});
