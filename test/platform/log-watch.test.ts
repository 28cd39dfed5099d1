import { describe, expect, it, vi } from "vitest";
import { createLog } from "../../src/platform/runtime/log.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { isolate } from "../support/isolate.ts";
import { takeSecretsInLog } from "../support/runtime/log-watch.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { noteRequest, noteSecret } from "../support/secrets.ts";

/** Tests of the watch that looks for secrets in the logs of all tests. */
const log = createLog("info");
const TOKEN = `eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.${"s".repeat(40)}`;

describe("a secret in the log is found", () => {
  it.each([
    ["a token", `token ${TOKEN} refused`],
    ["a signing secret", `whsec_${"A".repeat(32)}`],
    ["a signed link", `https://host.example/media/v2/uploads/1?expires=1&signature=${"a".repeat(43)}`],
    ["a signed link", `PUT /bucket/x?X-Amz-Signature=${"0".repeat(64)}`],
    ["an Authorization header", `authorization: basic ${btoa("a client:and its secret")}`],
    ["a private key", `{"kty":"EC","d":"${"k".repeat(43)}"}`],
    ["a private key", "-----BEGIN PRIVATE KEY-----"],
    ["a password's hash", "scrypt$32768$8$1$c2FsdA$aGFzaA"],
    ["OPERATOR_CLIENT_SECRET", "operator an-operator-secret-for-tests-only"],
    ["SEAL_KEYS", btoa(String.fromCharCode(7).repeat(32))],
  ])("by its form: %s", (what, text) => {
    log.info("a mistake", { reason: text });
    expect(takeSecretsInLog()).toContainEqual(
      expect.stringContaining(`${what} in {"level":"info","event":"a mistake"`),
    );
  });

  it("by the secrets that tests and platform exchanged, in every encoding", async () => {
    const client = await makeClient();
    const answered = await call("/oauth2/v1/token", {
      form: { grant_type: "client_credentials" },
      headers: { authorization: basic(client) },
    });
    const token: string = (await expectJson(answered, 200)).access_token;
    const other = `${unique("a password of ")}"ü"`;
    noteRequest("/x?access_token=a-token-in-a-query", new Headers({ cookie: "a=1; b=a-cookie-of-a-browser" }), "");
    await call("/oauth2/v1/token", { form: { grant_type: "password", username: "nobody", password: other } });
    expect(takeSecretsInLog()).toEqual([]);
    for (const said of [
      client.clientSecret,
      token.split(".")[2],
      other,
      encodeURIComponent(other),
      encodeURIComponent(other).replaceAll("%20", "+"),
      "a-token-in-a-query",
      "a-cookie-of-a-browser",
    ]) {
      log.info("a mistake", { reason: `before ${said} after` });
      expect(takeSecretsInLog(), said).toHaveLength(1);
    }
  });

  it("in the log of a service that a test creates and silences", () => {
    const shown = vi.spyOn(console, "error");
    heardLog.error("a mistake", { reason: `PUT /bucket/x?X-Amz-Signature=${"0".repeat(64)}` });
    expect(takeSecretsInLog()).toEqual([expect.stringContaining('a signed link in {"level":"error"')]);
    expect(shown).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("if a test silences the console, and after that", () => {
    const secret = "a secret of this test";
    noteSecret("secret", secret);
    for (const silence of [true, false, true]) {
      const spy = silence ? vi.spyOn(console, "warn").mockReturnValue() : undefined;
      log.warn("a mistake", { secret });
      expect(takeSecretsInLog()).toEqual([`secret in {"level":"warn","event":"a mistake","secret":"${secret}"}`]);
      if (spy !== undefined) expect(spy).toHaveBeenCalledOnce();
      vi.restoreAllMocks();
    }
  });

  it("in the Worker's own log, down to info", async () => {
    const own = isolate();
    const word = unique("refused-word-");
    noteSecret("word", word);
    await own.fetch(`/nothing/${word}`);
    expect(takeSecretsInLog()).toEqual([expect.stringContaining('word in {"level":"info","event":"request refused"')]);
    await own.fetch("/nothing", { headers: { authorization: `Bearer ${await tokenFor(await makeClient())}` } });
    expect(takeSecretsInLog()).toEqual([]);
  });

  it.fails("and the test that logged it fails", () => log.info("a mistake", { token: TOKEN }));
});
