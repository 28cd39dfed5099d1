import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { secretsPrinted } from "./support/log-watch.ts";
import { started } from "./support/process/platform.ts";
import { localSecret } from "./support/process/state.ts";

/**
 * That the watch over what started platforms print sees what it is there for; a server of the test plays the platform.
 */
const server = createServer((_, response) => {
  response.setHeader("set-cookie", "session=cookie-of-a-session; Path=/");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ clients: [{ clientSecret: "a-secret-in-an-answer" }] }));
});
let url: string;
let printed = "";

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  started.push({ env: { R2_SECRET_ACCESS_KEY: "a-key-of-its-variables" }, output: () => printed });
});
afterAll(() => {
  started.length = 0;
  server.close();
});

test("what it prints of a secret is found, and nothing else", async () => {
  const form = new URLSearchParams({ grant_type: "password", password: "a password in a form" });
  await fetch(`${url}/oauth2/v1/token`, {
    method: "POST",
    body: form,
    headers: { authorization: "Basic YTpiYmJiYmJi" },
  });
  await fetch(new URL(`${url}/admin/v1/clients?access_token=a-token-in-a-query`));
  printed = `  demo client  demo.shop  secret ${localSecret("DEMO_CLIENT_SECRET")}\nready\n{"event":"x","type":"password"}\n`;
  expect(secretsPrinted()).toEqual([]);
  for (const [what, text] of [
    ["R2_SECRET_ACCESS_KEY", "a-key-of-its-variables"],
    ["password", "a password in a form"],
    ["password", encodeURIComponent("a password in a form")],
    ["Authorization", "YTpiYmJiYmJi"],
    ["clientSecret", "a-secret-in-an-answer"],
    ["cookie", "cookie-of-a-session"],
    ["access_token", "a-token-in-a-query"],
    ["a token", `eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.${"s".repeat(40)}`],
  ]) {
    printed = `{"event":"x"}\n{"reason":"${text}"}\n`;
    expect(secretsPrinted()).toEqual([`${what} in {"reason":"${text}"}`]);
  }
});
