import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/lib/root.ts";
import { launchChromium } from "../acceptance/support/chromium.ts";
import { useWorld } from "../acceptance/support/use-world.ts";
import { makeClient, TENANT, type Client } from "../acceptance/support/world.ts";

import { fromNpm } from "./support/registry.ts";

/**
 * The SDK as `npm pack` makes it, in each kind of runtime: one story, written once, in plain JavaScript. It publishes
 * and consumes, uploads and downloads, and verifies its own token.
 */
const STORY = `
export async function story({ createPlinth, createTokenVerifier }, { url, owner, topic: name, tenant, credentials }) {
  const plinth = createPlinth({ url, credentials });
  const topic = plinth.topic(owner, name);
  await topic.create();
  await topic.publish([{ payload: { at: 1 } }, { payload: "two" }]);
  const seen = [];
  for await (const event of topic.consume()) {
    seen.push(event.payload);
    event.ack();
    if (seen.length === 2) break;
  }
  let sentBytes = 0;
  const bytes = new Blob(["some bytes"], { type: "text/plain" });
  const { id } = await plinth.files.upload(bytes, { tenant, onProgress: (progress) => (sentBytes = progress.sentBytes) });
  const text = await (await plinth.files.download(id)).text();
  const { client } = await createTokenVerifier({ url })(await plinth.token());
  const refused = await plinth.request("GET", "/pubsub/v1/topics/nobody.at/all").catch((error) => error.name);
  return { seen, sentBytes, text, client, refused };
}`;

const run = promisify(execFile);
const world = useWorld();
const folder = mkdtempSync(join(tmpdir(), "plinth-sdk-"));
const installed = join(folder, "node_modules", "@plinth", "sdk");
let client: Client;

const inputs = (runtime: string) => ({ url: world().base, owner: client.id, topic: `from-${runtime}`, tenant: TENANT });
const told = () => ({
  seen: ['{"at":1}', "two"],
  sentBytes: 10,
  text: "some bytes",
  client: client.id,
  refused: "NotFoundError",
});

beforeAll(async () => {
  const [packed] = await Promise.all([
    run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: join(ROOT, "packages", "sdk") }),
    (async () => {
      const scopes = ["plat.pubsub_publish", "plat.media_view", "plat.media_manage"];
      client = await makeClient(world(), "sdk", { scopes, grantTypes: ["client_credentials"] });
    })(),
  ]);
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf("[")));
  await run("mkdir", ["-p", installed]);
  await run("tar", ["xzf", join(folder, filename), "-C", installed, "--strip-components", "1"]);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "story.js"), STORY);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the package has no dependency, types for each entry, and no source beside its code", () => {
  const { dependencies, exports, files } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  expect(dependencies).toBeUndefined();
  expect(files).toEqual(["dist", "README.md"]);
  for (const { types, default: code } of Object.values(exports) as { types: string; default: string }[])
    for (const path of [types, code]) expect(readFileSync(join(installed, path), "utf8")).not.toBe("");
  expect(readdirSync(installed).toSorted()).toEqual(["README.md", "dist", "package.json"]);
});

/** Deno and Bun, as npm brings them; each some 100 MB. */
const RUNTIMES = {
  Deno: { package: { deno: "2.9.6" }, command: ["deno", "run", "--allow-all"] },
  Bun: { package: { bun: "1.4.5" }, command: ["bun", "run"] },
} as const;
const [deno, bun] = await Promise.all(
  Object.entries(RUNTIMES).map(([name, { package: wanted }]) => fromNpm(name.toLowerCase(), wanted)),
);
const programs = { Deno: deno, Bun: bun };

describe.for(Object.keys(RUNTIMES) as (keyof typeof RUNTIMES)[])("%s", (name) => {
  test.skipIf(programs[name] === undefined)("runs the package", async () => {
    const credentials = { clientId: client.id, clientSecret: client.secret };
    writeFileSync(
      join(folder, `${name}.js`),
      `import * as sdk from "@plinth/sdk"; import { story } from "./story.js";
       console.log(JSON.stringify(await story(sdk, ${JSON.stringify({ ...inputs(name.toLowerCase()), credentials })})));`,
    );
    const [program, ...args] = RUNTIMES[name].command;
    const path = join(programs[name]!, "node_modules", ".bin", program);
    const { stdout } = await run(path, [...args, join(folder, `${name}.js`)], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual(told());
  });
});

test("works in Node", async () => {
  const credentials = { clientId: client.id, clientSecret: client.secret };
  writeFileSync(
    join(folder, "main.js"),
    `import * as sdk from "@plinth/sdk"; import { story } from "./story.js";
     console.log(JSON.stringify(await story(sdk, ${JSON.stringify({ ...inputs("node"), credentials })})));`,
  );
  const { stdout } = await run(process.execPath, ["main.js"], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual(told());
});

test("works in the Workers runtime", async () => {
  const dist = join(installed, "dist");
  const path = (name: string): string => join(folder, name);
  writeFileSync(
    path("worker.js"),
    `import * as sdk from "./${relative(folder, dist)}/index.js"; import { story } from "./story.js";
     export default { async fetch(_, env) { return Response.json(await story(sdk, JSON.parse(env.INPUTS))); } };`,
  );
  const credentials = { clientId: client.id, clientSecret: client.secret };
  const modules = [
    "worker.js",
    "story.js",
    ...readdirSync(dist)
      .filter((name) => name.endsWith(".js"))
      .map((name) => join(relative(folder, dist), name)),
  ];
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      modulesRoot: folder,
      modules: modules.map((name) => ({ type: "ESModule", path: path(name) })),
      compatibilityDate: "2026-01-01",
      bindings: { INPUTS: JSON.stringify({ ...inputs("workers"), credentials }) },
    }),
  );
  try {
    const response = await worker.dispatchFetch("http://worker.example/");
    expect(await response.json()).toEqual(told());
  } finally {
    await worker.dispose();
  }
});

test("works in a browser with a token of somebody else's making, and shows progress", async () => {
  const server = await serve();
  const browser = await launchChromium();
  try {
    const answer = await fetch(`${world().issuer}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials" }),
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    const page = await browser.newPage();
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    const result = await page.evaluate(
      `(async () => {
        const [sdk, { story }] = await Promise.all([import("/sdk/index.js"), import("/story.js")]);
        const credentials = () => ${JSON.stringify(token)};
        return story(sdk, { ...${JSON.stringify(inputs("browser"))}, credentials });
      })()`,
    );
    expect(result).toEqual(told());
  } finally {
    await browser.close();
    server.close();
  }
}, 60_000);

/** The package's own files, as a page without a bundler loads them. */
async function serve(): Promise<Server> {
  const server = createServer((request, response) => {
    const [, name] = /^\/sdk\/([\w-]+\.js)$/.exec(request.url ?? "") ?? [];
    const file =
      name === undefined ? request.url === "/story.js" && "story.js" : join(relative(folder, installed), "dist", name);
    if (file === false)
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>app</title>");
    else response.writeHead(200, { "content-type": "text/javascript" }).end(readFileSync(join(folder, file)));
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  return server;
}
