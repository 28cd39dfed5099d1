import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { directoryWith } from "../support/directory.ts";
import { isolate } from "../support/isolate.ts";
import { makeSigner } from "../support/parties/idp/scripted-provider.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

const FLAGS = [
  "requirePkce",
  "filesPerUser",
  "thirdParty",
  "requireSecondFactor",
  "backchannelLogoutSessionRequired",
  "requirePushedAuthorizationRequests",
  "dpopBoundAccessTokens",
  "disabled",
] as const;
const flags = (value: boolean) => Object.fromEntries(FLAGS.map((name) => [name, value]));
const UNPROTECTED = { authMethod: "client_secret", securityProfile: "none", jwks: "", jwksUri: "" } as const;

describe("a PUT of a client", () => {
  let tenant: string;
  let keys: string;
  let base: Record<string, unknown>;
  let token: string;
  beforeAll(async () => {
    tenant = await makeTenant();
    keys = JSON.stringify({ keys: [(await makeSigner()).publicJwk] });
    base = { tenant, confidential: true, grantTypes: ["authorization_code"], scopes: ["plat.media_view"] };
    token = await tokenFor(OPERATOR);
  });
  const make = async (fields: object): Promise<string> => {
    const path = `clients/${tenant}.${unique("app")}`;
    await put(path, { ...base, ...fields });
    return path;
  };
  const show = async (path: string) => expectJson(await call(`/admin/v1/${path}`, { token }), 200);
  const refuse = async (path: string, fields: object, field: string) => {
    const answer = await call(`/admin/v1/${path}`, { method: "PUT", token, json: { ...base, ...fields } });
    const { details } = await expectJson(answer, 400);
    expect(details).toMatchObject([{ field }]);
  };
  const secretsOf = async (path: string): Promise<number> => {
    const id = path.slice("clients/".length);
    const count = env.DB.prepare("SELECT count(*) AS n FROM client_secret WHERE client = ?1").bind(id);
    return (await count.first<number>("n")) ?? 0;
  };

  // shows: operator/resources/put-without-a-client-s-protections
  it("keeps the protections that it leaves out, and changes them if it has them", async () => {
    const protections = {
      ...flags(true),
      backchannelLogoutUri: "https://shop.example/ended",
      authMethod: "private_key_jwt",
      jwks: keys,
      jwksUri: "",
      securityProfile: "fapi2",
    };
    const path = await make(protections);
    const changed = await put(path, { ...base, scopes: ["plat.media_view", "plat.media_manage"] });
    expect(changed).toMatchObject({ ...protections, scopes: ["plat.media_view", "plat.media_manage"] });
    expect(changed).not.toHaveProperty("clientSecret");
    expect(await show(path)).toMatchObject(protections);
    expect(await secretsOf(path)).toBe(0);
    const none = { ...flags(false), ...UNPROTECTED, backchannelLogoutUri: "" };
    const freed = await put(path, { ...base, ...none });
    expect(freed).toMatchObject({ ...none, clientSecret: expect.any(String) });
    expect(await put(path, base)).toMatchObject(none);
    expect(await secretsOf(path)).toBe(1);
  });

  it.each(FLAGS)("changes %s alone", async (name) => {
    const path = await make(flags(false));
    expect(await put(path, { ...base, [name]: true })).toMatchObject({ ...flags(false), [name]: true });
    expect(await put(path, base)).toMatchObject({ [name]: true });
    expect(await put(path, { ...base, [name]: false })).toMatchObject(flags(false));
  });

  it("has defaults for a new client, and empties the lists that it leaves out", async () => {
    const path = await make({ redirectUris: ["https://shop.example/in"], displayName: "Shop" });
    const fresh = { ...flags(false), ...UNPROTECTED, backchannelLogoutUri: "" };
    expect(await show(path)).toMatchObject({ ...fresh, redirectUris: ["https://shop.example/in"] });
    expect(await put(path, base)).toMatchObject({ ...fresh, redirectUris: [], displayName: "" });
  });

  it("keeps how a client authenticates, with its secret or keys, until it says another method", async () => {
    const signing = await make({ authMethod: "client_secret_jwt" });
    expect(await put(signing, base)).not.toHaveProperty("clientSecret");
    const kind = `SELECT sealed IS NOT NULL AS sealed FROM client_secret WHERE client = ?1`;
    const sealed = async () => (await env.DB.prepare(kind).bind(signing.slice(8)).all()).results;
    expect(await sealed()).toEqual([{ sealed: 1 }]);
    // A given secret is of the kept kind.
    await put(signing, { ...base, clientSecret: "s".repeat(40) });
    await put(signing, { ...base, clientSecret: "s".repeat(40) });
    expect(await sealed()).toEqual([{ sealed: 1 }]);

    const path = await make({ authMethod: "private_key_jwt", jwks: keys });
    const jwksUri = "https://shop.example/keys";
    expect(await put(path, { ...base, jwksUri })).toMatchObject({ authMethod: "private_key_jwt", jwks: "", jwksUri });
    expect(await put(path, base)).toMatchObject({ jwks: "", jwksUri });
    expect(await put(path, { ...base, jwks: keys })).toMatchObject({ jwks: keys, jwksUri: "" });
    expect(await put(path, { ...base, authMethod: "client_secret" })).toMatchObject(UNPROTECTED);
    await put(path, { ...base, authMethod: "private_key_jwt", jwks: keys });
    expect(await put(path, { ...base, confidential: false })).toMatchObject(UNPROTECTED);
  });

  it("is refused if it contradicts what it keeps", async () => {
    const thirdParty = await make({ thirdParty: true });
    await refuse(thirdParty, { grantTypes: ["password"] }, "grantTypes");
    const keyed = await make({ authMethod: "private_key_jwt", jwks: keys });
    await refuse(keyed, { clientSecret: "s".repeat(40) }, "clientSecret");
    await refuse(keyed, { jwks: "" }, "jwks");
    const strict = await make({ authMethod: "private_key_jwt", jwks: keys, securityProfile: "fapi2" });
    await refuse(strict, { authMethod: "client_secret" }, "authMethod");
    await refuse(strict, { confidential: false }, "authMethod");
    await refuse(strict, { grantTypes: ["implicit"] }, "grantTypes");
    await refuse(strict, { redirectUris: ["http://127.0.0.1/in"] }, "redirectUris");
    await put(strict, { ...base, securityProfile: "none", redirectUris: ["http://127.0.0.1/in"] });
  });

  describe("while another one protects the client", () => {
    /** Sends a PUT, and another one just before its transaction. */
    async function putMeanwhile(path: string, fields: object, other: object): Promise<Response> {
      let armed = true;
      const db = directoryWith({
        async batch(statements) {
          // Reads have fewer statements.
          if (armed && statements.length > 5) {
            armed = false;
            await put(path, { ...base, ...other });
          }
          return env.DB.batch(statements);
        },
      });
      const answer = await isolate({ DB: db }).fetch(`/admin/v1/${path}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ ...base, ...fields }),
      });
      expect(armed).toBe(false);
      return answer;
    }

    it("keeps the protection", async () => {
      const path = await make({});
      const answer = await putMeanwhile(path, {}, { requirePkce: true, thirdParty: true, filesPerUser: true });
      const kept = { requirePkce: true, thirdParty: true, filesPerUser: true };
      expect(await expectJson(answer, 200)).toMatchObject(kept);
    });

    it.each([
      ["third party", { grantTypes: ["password"] }, { thirdParty: true }, "grantTypes"],
      ["keys", { clientSecret: "s".repeat(40) }, { authMethod: "private_key_jwt" }, "clientSecret"],
      [
        "FAPI",
        { redirectUris: ["http://127.0.0.1/in"] },
        { authMethod: "private_key_jwt", securityProfile: "fapi2" },
        "redirectUris",
      ],
    ])("is refused if it contradicts it: %s", async (_, fields, other, field) => {
      const path = await make({});
      const more = "authMethod" in other ? { jwks: keys } : {};
      const answer = await putMeanwhile(path, fields, { ...other, ...more });
      const { details } = await expectJson(answer, 400);
      expect(details).toMatchObject([{ field }]);
      expect(await show(path)).toMatchObject({ ...other, grantTypes: ["authorization_code"], redirectUris: [] });
    });

    it("stores no secret to send if the client now signs", async () => {
      const path = await make({ confidential: false });
      const answer = await putMeanwhile(path, {}, { authMethod: "private_key_jwt", jwks: keys });
      expect(await expectJson(answer, 200)).not.toHaveProperty("clientSecret");
      expect(await secretsOf(path)).toBe(0);
      const other = await make({});
      await putMeanwhile(other, { clientSecret: "s".repeat(40) }, { authMethod: "client_secret_jwt" });
      const kind = `SELECT sealed IS NOT NULL AS sealed FROM client_secret WHERE client = ?1`;
      expect((await env.DB.prepare(kind).bind(other.slice(8)).all()).results).toEqual([{ sealed: 1 }]);
    });
  });
});
