import { describe, expect, test } from "vitest";
import type { Client } from "../support/world.ts";
import { failureOf, landing } from "./answer.ts";
import { asClient, codeFor, REDIRECT, requestOf, tokenForm, type Stage } from "./stage.ts";
import { formText } from "./wire.ts";

const GRANT = { grant_type: "client_credentials" };

/** Who a client is, and what nobody learns by asking. */
export function clientsSuite(stage: () => Stage): void {
  describe("client authentication", () => {
    const encoded = (text: string): string => Buffer.from(text, "utf8").toString("base64");

    test("RFC 6749 2.3.1, RFC 7617 2: a Basic header in odd spellings is either the client's or nobody's", async () => {
      const { service, ask } = stage();
      const { id, secret } = service;
      const good = encoded(`${id}:${secret}`);
      const taken = [
        `Basic ${good}`,
        `basic ${good}`,
        `BASIC   ${good}`,
        `Basic ${good.replace(/=+$/, "")}`,
        `Basic ${encoded(`${id.replace(".", "%2E")}:${secret}`)}`,
      ];
      const refused = [
        "Basic",
        "Basic ",
        "Basic =",
        "Basic ====",
        `Basic\t${good}`,
        `Basic ${good}, Basic ${good}`,
        `Basic ${good} ${good}`,
        `Basic ${good}\u00a0`,
        `Basic "${good}"`,
        `Basic ${good.slice(0, -5)}`,
        `Basic ${good.slice(0, 8)} ${good.slice(8)}`,
        `Basic ${id}:${secret}`,
        `Basic ${encoded(id)}`,
        `Basic ${encoded(`${id}:`)}`,
        `Basic ${encoded(`:${secret}`)}`,
        `Basic ${encoded(":")}`,
        `Basic ${encoded(`${id}:${secret}:`)}`,
        `Basic ${encoded(`${id}:${secret} `)}`,
        `Basic ${encoded(`${id} :${secret}`)}`,
        `Basic ${encoded(`${id.toUpperCase()}:${secret}`)}`,
        `Basic ${encoded(`${id}\0:${secret}`)}`,
        `Basic ${encoded(`${id}:${secret}\r\n`)}`,
        `Basic ${encoded(`%:${secret}`)}`,
        `Basic ${encoded(`${id}%00:${secret}`)}`,
        `Basic ${Buffer.from(`${id}:${secret}`, "utf16le").toString("base64")}`,
        `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString("base64")}`,
        `Basic ${encoded(`${id}:${"x".repeat(9000)}`)}`,
        `Bearer ${good}`,
        `Digest username="${id}"`,
        `Negotiate ${good}`,
        good,
      ];
      for (const authorization of taken)
        expect(failureOf(await ask("/token", { form: GRANT, headers: { authorization } })), authorization).toBe("200");
      for (const authorization of refused)
        for (const path of ["/token", "/introspect"]) {
          const answer = await ask(path, { form: { ...GRANT, token: "x" }, headers: { authorization } });
          expect(failureOf(answer), authorization).toBe("401 invalid_client");
        }
    });

    test("RFC 6749 2.3: two ways at once are refused, though each alone would do", async () => {
      const { service, other, ask } = stage();
      const { id: client_id, secret: client_secret } = service;
      const own = (await ask("/token", { basic: service, form: GRANT })).json.access_token as string;
      const twice: readonly [Client, Record<string, string>][] = [
        [service, { client_secret }],
        [service, { client_id, client_secret }],
        [service, { client_id, client_secret: "another" }],
        [service, { client_id: other.id }],
        [service, { client_id: other.id, client_secret: other.secret }],
        [
          { ...service, secret: "wrong" },
          { client_id, client_secret },
        ],
      ];
      for (const path of ["/token", "/revoke", "/introspect"])
        for (const [header, body] of twice) {
          const answer = await ask(path, { basic: header, form: { ...GRANT, token: own, ...body } });
          expect(failureOf(answer), `${path} ${formText(body)}`).toBe("400 invalid_request");
        }
      expect((await ask("/introspect", { basic: service, form: { token: own } })).json.active).toBe(true);
      expect((await ask("/token", { basic: service, form: { ...GRANT, client_id } })).status).toBe(200);
    });

    test("RFC 6749 2.3.1, RFC 6749 10.1: no secret, an empty one, one that is nearly right, proofs of another kind", async () => {
      const { service, web, ask } = stage();
      const code = await codeFor(stage(), web);
      for (const client of [service, web]) {
        const form = client === service ? GRANT : tokenForm(code);
        const id = { client_id: client.id };
        const near = [
          client.secret.slice(0, -1),
          `${client.secret}x`,
          client.secret.toUpperCase(),
          ` ${client.secret}`,
        ];
        const assertion = {
          client_assertion: "x.y.z",
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        };
        const forms = [{}, id, { ...id, client_secret: "" }, { ...id, ...assertion }, assertion];
        const secrets = [...near, "null", "undefined", "0".repeat(64), "*", "%", "' OR 1=1 --", "\0"];
        for (const more of [...forms, ...secrets.map((client_secret) => ({ ...id, client_secret }))])
          expect(failureOf(await ask("/token", { form: { ...form, ...more } })), formText(more)).toBe(
            "401 invalid_client",
          );
      }
      expect(failureOf(await ask("/token", asClient(web, tokenForm(code))))).toBe("200");
      // The wrong way round, as people do: logs.ts looks whether the secret was written down as a name.
      const swapped = { id: service.secret, secret: service.id };
      for (const path of ["/token", "/introspect", "/revoke"])
        expect(failureOf(await ask(path, { basic: swapped, form: { ...GRANT, token: "x" } }))).toBe(
          "401 invalid_client",
        );
      expect(failureOf(await ask("/token", { form: { ...GRANT, client_secret: service.secret } }))).toBe(
        "400 invalid_request",
      );
    });

    test("RFC 6749 10.2, RFC 8252 8.5: a client without a secret proves nothing by one", async () => {
      const { spa, ask } = stage();
      const code = await codeFor(stage(), spa);
      for (const secret of ["x", "0".repeat(64)]) {
        const inForm = { ...tokenForm(code), client_id: spa.id, client_secret: secret };
        expect(failureOf(await ask("/token", { form: inForm }))).toBe("401 invalid_client");
        expect(failureOf(await ask("/token", { basic: { id: spa.id, secret }, form: tokenForm(code) }))).toBe(
          "401 invalid_client",
        );
      }
      const named = { id: spa.id, secret: "" };
      expect(failureOf(await ask("/introspect", { form: { token: "x", client_id: spa.id } }))).toBe(
        "401 invalid_client",
      );
      expect(failureOf(await ask("/token", { basic: named, form: GRANT }))).toBe("401 invalid_client");
      expect(failureOf(await ask("/token", { basic: named, form: tokenForm(code) }))).toBe("200");
    });
  });

  describe("what a client is registered for", () => {
    test("RFC 6749 5.2, RFC 9700 2.1.2, RFC 8252 8.2: every grant that it is not registered for is refused, whatever it proves", async () => {
      const { web, service, legacy, implicit, ada, ask } = stage();
      const signIn = { username: "ada@acme.example", password: "x", plat_id_provider: "legacy_idp" };
      const forms: Record<string, Record<string, string>> = {
        client_credentials: {},
        authorization_code: tokenForm(await codeFor(stage(), web)),
        refresh_token: { refresh_token: "x" },
        password: signIn,
      };
      const registered: readonly [Client, readonly string[]][] = [
        [web, ["authorization_code", "refresh_token"]],
        [service, ["client_credentials"]],
        [legacy, ["password", "refresh_token"]],
      ];
      for (const [client, grants] of registered)
        for (const grant_type of Object.keys(forms).filter((type) => !grants.includes(type))) {
          const answer = await ask("/token", { basic: client, form: { grant_type, ...forms[grant_type] } });
          expect(failureOf(answer), `${client.id} ${grant_type}`).toBe("400 unauthorized_client");
        }
      for (const grant_type of ["authorization_code", "refresh_token"]) {
        const form = { grant_type, client_id: implicit.id, ...forms[grant_type] };
        expect(failureOf(await ask("/token", { form }))).toBe("400 unauthorized_client");
      }
      for (const type of ["token", "id_token token"]) {
        const answer = await ada.authorize(requestOf(web, { response_type: type, nonce: "n" }));
        expect([failureOf(answer), landing(answer).at]).toEqual(["302 unauthorized_client", REDIRECT]);
      }
      expect(failureOf(await ada.authorize(requestOf(implicit)))).toBe("302 unauthorized_client");
      for (const client of [service, legacy])
        expect(failureOf(await ada.authorize(requestOf(client))), client.id).toBe("400");
    });

    test("RFC 6749 10.3, RFC 9700 2.3: no token is for a tenant or has a scope that is not the client's", async () => {
      const { foreign, service, ada, web, ask } = stage();
      for (const scope of ["plat.tenant=globex", "plat.admin", "crm.read", "plat.pubsub_publish", "plat.tenant=plat"]) {
        expect(failureOf(await ask("/token", { basic: service, form: { ...GRANT, scope } })), scope).toBe(
          "400 invalid_scope",
        );
        expect(failureOf(await ada.authorize(requestOf(web, { scope }))), scope).toBe("302 invalid_scope");
      }
      const answer = await ada.authorize(requestOf(foreign));
      expect(failureOf(answer)).toBe("302 access_denied");
      const { json } = await ask("/token", { basic: foreign, form: GRANT });
      expect(json.scope).toBe("plat.tenant=globex plat.media_manage plat.media_view");
    });

    test("RFC 9700 4.15.1: no client can have a name that is a user's", async () => {
      const { world, service, ask } = stage();
      const client = { tenant: "acme", confidential: true, grantTypes: ["client_credentials"], scopes: [] };
      for (const id of ["ada@acme.example", "ada%40acme.example"])
        expect((await world.operate("PUT", `clients/${id}`, client)).status).toBe(400);
      const token = (await ask("/token", { basic: service, form: GRANT })).json.access_token as string;
      expect((await ask("/userinfo", { token })).status).toBe(401);
      expect((await ask("/refreshtokens", { token })).status).toBe(401);
    });

    test("RFC 6749 3.1.2, RFC 9700 2.1, RFC 8252 8.4: no redirect URI is registered that is a pattern, or in the clear", async () => {
      const { world } = stage();
      const client = { tenant: "acme", confidential: true, grantTypes: ["authorization_code"], scopes: [] };
      const addresses = [
        "http://app.example/callback",
        "https://app.example/callback#x",
        "https://app.example/*",
        "https://*.app.example/callback",
        "javascript:alert(1)",
        "data:text/html,x",
        "myapp:/callback",
        "//app.example/callback",
        "/callback",
        "https://user@app.example/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://localhost.evil.example/callback",
        "https://app.example/\r\nx-injected: 1",
      ];
      for (const name of ["redirectUris", "postLogoutRedirectUris"])
        for (const address of addresses) {
          const answer = await world.operate("PUT", "clients/acme.odd", { ...client, [name]: [address] });
          await answer.arrayBuffer();
          expect(answer.status, address).toBe(400);
        }
    });
  });
}
