import { describe, expect, it } from "vitest";
import { answerAt, answerJson, requestsTo } from "../support/outside.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { at, CLIENT_ID, makeProvider, type Provider } from "../support/parties/idp/scripted-provider.ts";

const test = async (id: string): Promise<Response> =>
  call(`/admin/v1/identity-providers/${id}/test`, { method: "POST", token: await tokenFor(OPERATOR) });
const resultsOf = async ({ id }: Provider): Promise<string[]> => {
  const { works, checks } = await expectJson(await test(id), 200);
  return [String(works), ...checks.map(({ check, result }: any) => `${check} ${result}`)];
};
const UP_TO_CLIENT = ["secret passed", "discovery passed", "keys passed"];

// shows: operator/resources/test-of-a-provider
describe("the test of an identity provider", () => {
  it("asks it what a sign-in would, with a code that nobody has", async () => {
    const provider = await makeProvider();
    await answerJson(at(provider, "token"), { error: "invalid_grant" }, { status: 400 });
    expect(await resultsOf(provider)).toEqual(["true", ...UP_TO_CLIENT, "client passed"]);
    const [asked] = await requestsTo(at(provider, "token"));
    const form = new URLSearchParams(asked!.body);
    expect(form.get("redirect_uri")).toBe(`${ORIGIN}/oauth2/v1/callback/${provider.id}`);
    expect(atob(asked!.headers["authorization"]!.slice("Basic ".length))).toContain(
      encodeURIComponent(CLIENT_ID.slice(-1)),
    );
    expect((await test("nobody")).status).toBe(404);
  });

  it.each([
    ["its client is not known", { error: "invalid_client" }, 401, "false", "client failed"],
    ["its client may not", { error: "unauthorized_client" }, 400, "false", "client failed"],
    ["it says something else", { error: "redirect_uri_mismatch" }, 400, "true", "client unclear"],
  ])("says if %s", async (_, answer, status, works, last) => {
    const provider = await makeProvider();
    await answerJson(at(provider, "token"), answer, { status });
    expect(await resultsOf(provider)).toEqual([works, ...UP_TO_CLIENT, last]);
  });

  it("ends at the first check that fails, and takes nothing from a copy", async () => {
    const provider = await makeProvider();
    await answerJson(at(provider, "token"), { error: "invalid_grant" }, { status: 400 });
    expect(await resultsOf(provider)).toContain("true");
    await answerJson(at(provider, "jwks"), { keys: [] });
    expect(await resultsOf(provider)).toEqual(["false", "secret passed", "discovery passed", "keys failed"]);
    await answerAt(at(provider, ".well-known/openid-configuration"), { status: 503 });
    expect(await resultsOf(provider)).toEqual(["false", "secret passed", "discovery failed"]);
  });
});
