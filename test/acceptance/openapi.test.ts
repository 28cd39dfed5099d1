import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildDocument } from "../../api/document.ts";
import { lint } from "../../api/lint.ts";
import { SERVICES } from "../../api/index.ts";
import { readTables, type Tables } from "../../api/tables.ts";
import { ROOT } from "../../scripts/lib/root.ts";

/** Each check of api/openapi.json finds its kind of fault. `npm run openapi -- --check` finds none in it. */
const text = readFileSync(join(ROOT, "api", "openapi.json"), "utf8");
let tables: Tables;
beforeAll(async () => {
  tables = await readTables(ROOT);
});

describe("the document", () => {
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

/** One look at the whole document takes a second. */
describe("the validators", () => {
  const TOPICS = "/pubsub/v1/topics";
  const faultsOf = (breakIt: (paths: any) => void): Promise<readonly string[]> => {
    const broken = JSON.parse(text);
    breakIt(broken.paths);
    return lint(JSON.stringify(broken));
  };

  it("find a content that is none", async () => {
    const found = await faultsOf((paths) => (paths[TOPICS].get.responses["200"].content = 5));
    for (const words of [/OpenAPI's schema/, /struct/]) expect(found.join("\n")).toMatch(words);
  });

  it("find each of many faults: references, examples, words, names and parameters", async () => {
    const found = await faultsOf((paths) => {
      paths[TOPICS].get.responses["401"].$ref += "x";
      paths[TOPICS].post.requestBody.content["application/json"].example.shards = "x";
      paths[TOPICS].post.operationId = "listTopics";
      delete paths["/admin/v1/roles"].get.description;
      paths["/admin/v1/roles/{name}"].get.parameters = [];
    });
    const RULES = [
      "no-unresolved-refs",
      "no-invalid-media-type-examples",
      "operation-operationId-unique",
      "operation-description",
      "path-parameters-defined",
    ];
    for (const rule of RULES) expect(found.join("\n")).toContain(rule);
  });
});
