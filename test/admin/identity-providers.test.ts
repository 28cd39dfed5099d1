import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { isolate } from "../support/isolate.ts";
import { expectJson } from "../support/platform/call.ts";
import { operate, OPERATOR, put } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

const SECRET = "what the provider knows us by";
const PROVIDER = { issuer: "https://idp.example/realm", clientId: "plinth", clientSecret: SECRET };
const sealedSecret = (id: string): Promise<string | null> =>
  env.DB.prepare("SELECT sealed_client_secret FROM identity_provider WHERE id = ?")
    .bind(id)
    .first("sealed_client_secret");

describe("an identity provider", () => {
  // shows: operator/resources/identity-providers-id
  it("is created with 201, replaced with 200, shown, listed, removed with 204, and gone then", async () => {
    const id = unique("idp");
    const path = `identity-providers/${id}`;
    const made = await expectJson(await operate(path, "PUT", PROVIDER), 201);
    expect(made).toEqual({
      id,
      issuer: PROVIDER.issuer,
      clientId: "plinth",
      clientSecret: "********",
      scopes: ["openid", "email"],
      tenants: [],
      domains: [],
      linking: "confirm",
      trustEmail: false,
      button: "",
      createdAt: expect.any(Number),
    });
    expect(await expectJson(await operate(path), 200)).toEqual(made);
    expect(await expectJson<any[]>(await operate("identity-providers?pageSize=1000"), 200)).toContainEqual(made);
    const change = { ...PROVIDER, issuer: "https://other.example", scopes: ["openid", "email", "profile"] };
    const replaced = await expectJson(await operate(path, "PUT", change), 200);
    expect(replaced).toEqual({ ...made, issuer: "https://other.example", scopes: ["openid", "email", "profile"] });
    expect((await operate(path, "DELETE")).status).toBe(204);
    expect((await operate(path, "DELETE")).status).toBe(404);
    expect((await operate(path)).status).toBe(404);
    const audit = await expectJson<any[]>(await operate("audit?pageSize=1000"), 200);
    const own = audit.filter((entry) => entry.subject === path);
    expect(own.map((entry) => entry.action)).toEqual(["delete", "put", "put"]);
    expect(JSON.stringify(audit)).not.toContain(SECRET);
  });

  it("seals its secret, and keeps it if a PUT leaves it out or sends the placeholder", async () => {
    const id = unique("idp");
    await put(`identity-providers/${id}`, PROVIDER);
    const before = await sealedSecret(id);
    expect(before).toMatch(/^t1\./);
    const row = await env.DB.prepare("SELECT * FROM identity_provider WHERE id = ?").bind(id).first();
    expect(JSON.stringify(row)).not.toContain(SECRET);
    const { clientSecret: _, ...rest } = PROVIDER;
    await put(`identity-providers/${id}`, rest);
    await put(`identity-providers/${id}`, { ...PROVIDER, clientSecret: "********" });
    expect(await sealedSecret(id)).toBe(before);
    await put(`identity-providers/${id}`, { ...PROVIDER, clientSecret: "another one" });
    expect(await sealedSecret(id)).not.toBe(before);
  });
});

describe("an identity provider with wrong input", () => {
  it.each([undefined, "********"])("is not created without a secret: %s", async (clientSecret) => {
    const id = unique("idp");
    const json = { ...PROVIDER, clientSecret };
    const refused = await expectJson(await operate(`identity-providers/${id}`, "PUT", json), 400);
    expect(refused.details).toMatchObject([{ type: "missing_field", field: "clientSecret" }]);
    expect((await operate(`identity-providers/${id}`)).status).toBe(404);
  });

  it.each([undefined, "********"])("does not take its secret to another issuer: %s", async (clientSecret) => {
    const id = unique("idp");
    await put(`identity-providers/${id}`, PROVIDER);
    const before = await sealedSecret(id);
    const json = { ...PROVIDER, issuer: "https://elsewhere.example", clientSecret };
    const refused = await expectJson(await operate(`identity-providers/${id}`, "PUT", json), 400);
    expect(refused.details).toMatchObject([{ type: "missing_field", field: "clientSecret" }]);
    expect(await expectJson(await operate(`identity-providers/${id}`), 200)).toMatchObject({ issuer: PROVIDER.issuer });
    expect(await sealedSecret(id)).toBe(before);
  });

  it.each([
    ["issuer", undefined],
    ["issuer", "idp.example"],
    ["issuer", "http://idp.example"],
    ["issuer", "https://idp.example?a=b"],
    ["issuer", "https://idp.example?"],
    ["issuer", "https://idp.example#a"],
    ["issuer", "https://user@idp.example"],
    ["issuer", "https://10.0.0.1"],
    ["issuer", "https://db.internal"],
    ["issuer", `https://idp.example/${"a".repeat(500)}`],
    ["clientId", ""],
    ["clientId", " plinth"],
    ["clientId", "pl\u00ednth"],
    ["clientId", 7],
    ["clientSecret", ""],
    ["clientSecret", "with a space at its end "],
    ["clientSecret", "nul\0"],
    ["clientSecret", null],
    ["scopes", ["email"]],
    ["scopes", ["openid", "two words"]],
    ["scopes", "openid email"],
    ["scopes", Array.from({ length: 51 }, () => "openid")],
  ])("names the %s: %o", async (field, value) => {
    const json = { ...PROVIDER, [field]: value };
    const refused = await expectJson(await operate(`identity-providers/${unique("idp")}`, "PUT", json), 400);
    expect(refused.details[0].field).toMatch(new RegExp(`^${field}`));
  });

  it("refuses a lone surrogate in every field", async () => {
    for (const field of ["issuer", "clientId", "clientSecret"]) {
      const json = { ...PROVIDER, [field]: "https://idp.example/\ud800" };
      expect((await operate(`identity-providers/${unique("idp")}`, "PUT", json)).status, field).toBe(400);
    }
  });

  it.each(["default_idp", "legacy_idp", "-x", "a%20b", "a".repeat(65)])("refuses the id %s", async (id) => {
    const refused = await operate(`identity-providers/${id}`, "PUT", PROVIDER);
    expect(await expectJson(refused, 400)).toMatchObject({ details: [{ type: "invalid_uri_parameter", field: "id" }] });
  });

  it("may be on a loopback host only if that is allowed", async () => {
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const send = (ALLOW_LOOPBACK: string) =>
      isolate({ ALLOW_LOOPBACK }).fetch(`/admin/v1/identity-providers/${unique("idp")}`, {
        method: "PUT",
        headers,
        body: JSON.stringify({ ...PROVIDER, issuer: "http://127.0.0.1:4000" }),
      });
    expect((await send("false")).status).toBe(400);
    expect((await send("true")).status).toBe(201);
  });
});
