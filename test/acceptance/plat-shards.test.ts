import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newDeploymentFile, parseDeployment } from "../../tools/deploy/deployment.ts";
import { withMoreShards } from "../../cli/shards/deployment-file.ts";
import { main } from "../../cli/main.ts";
import { processIo } from "../../cli/terminal/io.ts";

const NEW = newDeploymentFile({ name: "production", host: "plinth.example.com", location: "weur" });
const shardsIn = (text: string) => parseDeployment("production", text).databases.length;

describe("more shards in a deployment's file", () => {
  // shows: operator/shards/add
  test("one more, or so many in all; everything else stays", () => {
    const { text, before, after } = withMoreShards(NEW, undefined);
    expect([before, after, shardsIn(NEW), shardsIn(text)]).toEqual([1, 2, 1, 2]);
    expect(text).toBe(NEW.replace("# shards = 1", "shards = 2"));
    const more = withMoreShards(text, 16);
    expect([more.before, more.after, shardsIn(more.text)]).toEqual([2, 16, 16]);
  });

  test("also where the line is missing, has a comment, or a table has a key of this name", () => {
    const bare = NEW.replace("# shards = 1\n", "").replace("[vars]", "[vars]\n# shards = 9");
    expect(shardsIn(withMoreShards(bare, undefined).text)).toBe(2);
    const short = 'worker = "plinth"\nhost = "plinth.example.com"\nrate_limit_ids = 1';
    expect(shardsIn(withMoreShards(short, 3).text)).toBe(3);
    const said = `shards=3   # three\n${short}\n`;
    expect(withMoreShards(said, undefined).text).toBe(`shards = 4 # three\n${short}\n`);
  });

  test("never fewer, nor more than there can be", () => {
    expect(() => withMoreShards("shards = 4\n", 4)).toThrow("cannot be taken away");
    expect(() => withMoreShards("shards = 4\n", 2)).toThrow("It has 4 shards already");
    expect(() => withMoreShards("shards = 240\n", undefined)).toThrow("at most 240");
  });
});

describe("shard add", () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "shards-"))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function add(...args: readonly string[]) {
    const said = { out: "", err: "" };
    const io = {
      ...processIo(),
      cwd: folder,
      env: {},
      out: async (text: string) => void (said.out += text),
      err: (text: string) => void (said.err += text),
    };
    const code = await main(["shard", "add", ...args], io, { name: "plinth", version: "1.0.0", root: undefined });
    return { code, ...said };
  }
  const write = (name: string): void => {
    mkdirSync(join(folder, "deploy"), { recursive: true });
    writeFileSync(join(folder, "deploy", `${name}.toml`), NEW);
  };
  const read = (name: string): string => readFileSync(join(folder, "deploy", `${name}.toml`), "utf8");

  test("writes the file and says what comes next", async () => {
    write("production");
    const { code, err, out } = await add();
    expect([code, out, shardsIn(read("production"))]).toEqual([0, "", 2]);
    expect(err).toContain("deploy/production.toml: 2 shards, 1 before.");
    expect(err).toContain("npm run deploy -- production");
    const json = await add("production", "--to", "5", "--json");
    expect(JSON.parse(json.out)).toEqual({ deployment: "production", before: 2, shards: 5 });
  });

  test("changes nothing if it does not know which file, or what to do", async () => {
    expect(await add()).toMatchObject({ code: 1, err: expect.stringContaining("There is no deployment in") });
    write("production");
    write("staging");
    expect(await add()).toMatchObject({ code: 2, err: expect.stringContaining("production, staging") });
    expect(await add("other")).toMatchObject({ code: 1, err: expect.stringContaining("There is no file") });
    expect(await add("../deploy/production")).toMatchObject({ code: 1 });
    expect(await add("staging", "--to", "many")).toMatchObject({ code: 2 });
    expect(await add("staging", "--to", "1")).toMatchObject({ code: 2 });
    expect([read("production"), read("staging")]).toEqual([NEW, NEW]);
  });
});
