import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { directoryWith } from "../support/directory.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { OPERATOR, operate, put } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

const ask = async (method: string, path: string, headers: Record<string, string>, json?: unknown): Promise<Response> =>
  call(`/admin/v1/${path}`, {
    method,
    token: await tokenFor(OPERATOR),
    headers,
    ...(json === undefined ? {} : { json }),
  });
const etagOf = async (path: string): Promise<string> => (await operate(path)).headers.get("etag") ?? "";
const scopesOf = async (path: string): Promise<unknown> => (await expectJson(await operate(path), 200)).scopes;

async function makeRole(scopes: readonly string[] = ["a.b"]): Promise<string> {
  const path = `roles/${unique("role")}`;
  await put(path, { scopes });
  return path;
}

describe("an ETag of a record", () => {
  it("is the same until the record changes, and a GET that has it is answered with 304", async () => {
    const path = await makeRole();
    const first = await etagOf(path);
    expect(first).toMatch(/^"[\w-]{22}"$/);
    await put(path, { scopes: ["a.b"] });
    expect(await etagOf(path)).toBe(first);
    const known = await ask("GET", path, { "if-none-match": `"other", W/${first}` });
    expect([known.status, known.headers.get("etag"), await known.text()]).toEqual([304, first, ""]);
    await put(path, { scopes: ["a.c"] });
    expect(await etagOf(path)).not.toBe(first);
    expect((await ask("GET", path, { "if-none-match": first })).status).toBe(200);
  });
});

describe("If-Match", () => {
  it("changes and removes the record only as it was read", async () => {
    const path = await makeRole();
    const old = await etagOf(path);
    expect((await ask("PUT", path, { "if-match": old }, { scopes: ["a.c"] })).status).toBe(200);
    const refused = await ask("PUT", path, { "if-match": old }, { scopes: ["a.d"] });
    expect(await expectJson(refused, 412)).toMatchObject({ type: "precondition_failed" });
    expect((await ask("DELETE", path, { "if-match": old })).status).toBe(412);
    expect((await ask("DELETE", path, { "if-match": `W/${old}` })).status).toBe(412);
    expect(await scopesOf(path)).toEqual(["a.c"]);
    expect((await ask("DELETE", path, { "if-match": await etagOf(path) })).status).toBe(204);
  });

  it("takes a weak ETag, because an edge that compresses the answer makes it weak", async () => {
    const path = await makeRole();
    expect((await ask("PUT", path, { "if-match": `W/${await etagOf(path)}` }, { scopes: ["a.c"] })).status).toBe(200);
    expect(await scopesOf(path)).toEqual(["a.c"]);
  });

  it("makes no record, and removing none is 404 whatever it says", async () => {
    const path = `roles/${unique("role")}`;
    expect((await ask("PUT", path, { "if-match": "*" }, { scopes: [] })).status).toBe(412);
    expect((await ask("DELETE", path, { "if-match": '"x"' })).status).toBe(404);
    expect((await operate(path)).status).toBe(404);
  });

  it("does not hide what else is wrong with the request", async () => {
    const path = await makeRole();
    expect((await ask("PUT", path, { "if-match": '"x"' }, { scopes: "a.b" })).status).toBe(400);
    expect((await ask("PUT", "tenants/none", { "if-match": '"x"' }, { organization: "no", name: "n" })).status).toBe(
      400,
    );
  });
});

describe("If-None-Match: *", () => {
  it("makes a new record, and replaces none", async () => {
    const path = `roles/${unique("role")}`;
    expect((await ask("PUT", path, { "if-none-match": "*" }, { scopes: ["a.b"] })).status).toBe(201);
    expect((await ask("PUT", path, { "if-none-match": "*" }, { scopes: ["a.c"] })).status).toBe(412);
    expect(await scopesOf(path)).toEqual(["a.b"]);
  });

  it("lets one of several requests at once make it", async () => {
    const path = `roles/${unique("role")}`;
    const scopes = ["a.a", "a.b", "a.c", "a.d"];
    const answers = await Promise.all(
      scopes.map((scope) => ask("PUT", path, { "if-none-match": "*" }, { scopes: [scope] })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 412, 412, 412]);
    expect(await scopesOf(path)).toEqual([scopes[statuses.indexOf(201)]]);
  });
});

describe("a change of another operator between check and write", () => {
  type Statements = Parameters<D1Database["batch"]>[0];

  /** Sends a request whose first transaction runs as told. */
  async function sendBy(
    run: (statements: Statements) => Promise<unknown>,
    method: string,
    path: string,
    condition: Record<string, string>,
  ) {
    let isFirst = true;
    const DB = directoryWith({
      async batch(statements) {
        if (!isFirst) return env.DB.batch(statements);
        isFirst = false;
        return run(statements);
      },
    });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const body = method === "DELETE" ? {} : { body: JSON.stringify({ scopes: ["a.mine"] }) };
    return isolate({ DB }).fetch(`/admin/v1/${path}`, { method, headers: { ...headers, ...condition }, ...body });
  }

  /** Sends a request in whose way another one comes, before its first transaction. */
  const send = (method: string, path: string, condition: Record<string, string>, act: () => Promise<unknown>) =>
    sendBy(async (statements) => (await act(), env.DB.batch(statements)), method, path, condition);

  it("fails the condition: 412, and nothing is written", async () => {
    const path = await makeRole();
    const change = () => put(path, { scopes: ["a.other"] });
    for (const method of ["PUT", "DELETE"]) {
      await put(path, { scopes: ["a.b"] });
      expect((await send(method, path, { "if-match": await etagOf(path) }, change)).status).toBe(412);
      expect(await scopesOf(path)).toEqual(["a.other"]);
    }
    const made = `roles/${unique("role")}`;
    const make = () => put(made, { scopes: ["a.other"] });
    expect((await send("PUT", made, { "if-none-match": "*" }, make)).status).toBe(412);
    expect(await scopesOf(made)).toEqual(["a.other"]);
    const remove = () => operate(made, "DELETE");
    expect((await send("PUT", made, { "if-match": await etagOf(made) }, remove)).status).toBe(412);
    expect((await operate(made)).status).toBe(404);
  });

  it("may be the change itself, whose answer the database lost: the refusal does not say that nothing changed", async () => {
    const path = await makeRole();
    const lose = async (statements: Statements) => {
      await env.DB.batch(statements);
      throw new Error("Network connection lost.");
    };
    const answer = await sendBy(lose, "PUT", path, { "if-match": await etagOf(path) });
    expect((await expectJson(answer, 412)).message).not.toContain("Nothing was changed");
    expect(await scopesOf(path)).toEqual(["a.mine"]);
  });
});
