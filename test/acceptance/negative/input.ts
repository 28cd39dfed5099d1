import { request as open } from "node:http";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Client } from "../support/world.ts";
import { failureOf, fieldsOf, header } from "./answer.ts";
import { requestOf, tokenForm, tokensFor, Visitor, type Stage } from "./stage.ts";
import { formText } from "./wire.ts";
import { anyText } from "../../support/any-text.ts";

/** Every address below the issuer, and the methods that it takes. */
const ENDPOINTS: Readonly<Record<string, readonly string[]>> = {
  "/token": ["POST"],
  "/revoke": ["POST"],
  "/introspect": ["POST"],
  "/tokeninfo": ["GET", "HEAD"],
  "/userinfo": ["GET", "HEAD", "POST"],
  "/refreshtokens": ["GET", "HEAD", "DELETE"],
  "/refreshtokens/x": ["DELETE"],
  "/jwks": ["GET", "HEAD"],
  "/.well-known/openid-configuration": ["GET", "HEAD"],
  "/authorize": ["GET", "POST"],
  "/sign-in": ["POST"],
  "/callback/x": ["GET"],
  "/link-identity": ["POST"],
  "/end_session": ["GET", "POST"],
};
const FORMS = [
  "/token",
  "/revoke",
  "/introspect",
  "/userinfo",
  "/authorize",
  "/sign-in",
  "/link-identity",
  "/end_session",
];
const TWO_MB = 2 * 1024 * 1024;

/** Requests of the wrong form: method, type, size, text. */
export function inputSuite(stage: () => Stage): void {
  describe("what a request is made of", () => {
    test("RFC 6749 3.2, RFC 9110 15.5.6: another method than an endpoint's is 405, with those that it takes", async () => {
      const { ask } = stage();
      const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"];
      for (const [path, taken] of Object.entries(ENDPOINTS))
        for (const method of methods) {
          const answer = await ask(path, { method, form: method === "POST" ? "x=1" : undefined });
          const known = taken.includes(method);
          expect(answer.status === 405, `${method} ${path} ${answer.status}`).toBe(!known);
          if (!known) expect(header(answer, "allow").split(", ").toSorted()).toEqual([...taken, "OPTIONS"].toSorted());
        }
      const overridden = { "x-http-method-override": "POST", "x-method-override": "POST" };
      expect((await ask("/token?_method=POST", { headers: overridden })).status).toBe(405);
    });

    test("RFC 6749 appendix B: a body that is no form is not read: JSON, multipart, text, nothing", async () => {
      const { ask, service, web } = stage();
      const json = JSON.stringify({
        grant_type: "client_credentials",
        client_id: service.id,
        client_secret: service.secret,
      });
      const form = formText({ grant_type: "client_credentials", client_id: service.id, client_secret: service.secret });
      const boundary =
        '--b\r\ncontent-disposition: form-data; name="grant_type"\r\n\r\nclient_credentials\r\n--b--\r\n';
      const bodies: readonly (readonly [type: string, body: string, status: number])[] = [
        ["application/json", json, 415],
        ["application/json; charset=utf-8", json, 415],
        ["text/plain", form, 415],
        ["text/plain;application/x-www-form-urlencoded", form, 415],
        ["multipart/form-data; boundary=b", boundary, 415],
        ["application/xml", "<x/>", 415],
        ["", form, 415],
        ["x", form, 415],
      ];
      for (const path of FORMS)
        for (const [type, body, status] of bodies) {
          const answer = await ask(path, { body, ...(type !== "" && { headers: { "content-type": type } }) });
          expect(answer.status, `${path} ${type}`).toBe(status);
        }
      for (const path of ["/token", "/revoke", "/introspect"])
        expect(failureOf(await ask(path, { body: json, headers: { "content-type": "application/json" } }))).toBe(
          "415 invalid_request",
        );
      const upper = { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" };
      expect((await ask("/token", { body: form, headers: upper })).status).toBe(200);
      const zipped = { "content-type": "application/x-www-form-urlencoded", "content-encoding": "gzip" };
      expect((await ask("/token", { body: form, headers: zipped })).status).toBe(415);
      const latin = Buffer.from("grant_type=client_credentials&scope=\xe9", "latin1");
      expect((await ask("/token", { body: latin, headers: upper, basic: service })).status).toBe(400);
      expect((await ask("/token", { method: "POST", basic: service })).status).toBe(400);
      expect(failureOf(await ask("/token", { form: "%", basic: web }))).toBe("400 invalid_request");
    });

    test.each(Object.keys(ENDPOINTS))(
      "RFC 6749 10.14: 2 MB to %s, with a length and without, and the next request is served",
      async (path) => {
        const { ask, world } = stage();
        const body = `grant_type=client_credentials&x=${"x".repeat(TWO_MB)}`;
        const type = "application/x-www-form-urlencoded";
        const address = `${world.url}/oauth2/v1${path}`;
        for (const headers of [{ "content-length": String(body.length) }, { "transfer-encoding": "chunked" }]) {
          const status = await new Promise<number>((resolve, reject) => {
            const request = open(
              address,
              { method: "POST", headers: { "content-type": type, ...headers } },
              (response) => {
                response.resume();
                resolve(response.statusCode ?? 0);
              },
            );
            request.on("error", reject);
            request.end(body);
          });
          expect(status).toBe(FORMS.includes(path) ? 413 : 405);
        }
        expect((await ask("/jwks")).status).toBe(200);
      },
    );

    test("RFC 9110 4.2.5, 15.5.15: an address of 20 KB, and a header of 12 KB", async () => {
      const { ask, ada, web } = stage();
      expect((await ask(`/tokeninfo?access_token=${"x".repeat(20_000)}`)).status).toBe(414);
      expect((await ada.authorize(requestOf(web, { login_hint: "x".repeat(20_000) }))).status).toBe(414);
      expect((await ask("/userinfo", { headers: { authorization: `Bearer ${"x".repeat(12_000)}` } })).status).toBe(401);
      expect((await ask("/authorize", { cookie: `__Host-plat_session=${"x".repeat(12_000)}` })).status).toBe(400);
    });

    test("RFC 6749 10.14: whatever stands in a form, nothing breaks", async () => {
      const { ask, service, web, legacy } = stage();
      const visitor = new Visitor(ask);
      const { csrf = "" } = fieldsOf(await visitor.authorize(requestOf(web)));
      const { id_token, access_token } = await tokensFor(stage(), web, { scope: "openid" });
      type Sound = readonly [path: string, form: Record<string, string>, client?: Client];
      const cheap: readonly Sound[] = [
        ["/token", { grant_type: "client_credentials", scope: "plat.media_view", "plat-session-id": "s" }, service],
        ["/token", { ...tokenForm("c".repeat(43)), scope: "openid" }, web],
        ["/token", { grant_type: "refresh_token", refresh_token: "r".repeat(43), scope: "openid" }, web],
        ["/token", { grant_type: "client_credentials", client_id: service.id, client_secret: service.secret }],
        ["/revoke", { token: "t", token_type_hint: "access_token" }, web],
        ["/introspect", { token: "t", token_type_hint: "access_token" }, web],
        ["/authorize", { ...requestOf(web), nonce: "n", max_age: "1", id_token_hint: id_token as string }],
        ["/end_session", { client_id: web.id, state: "s", id_token_hint: id_token as string }],
        ["/userinfo", { access_token: access_token as string }],
      ];
      const dear: readonly Sound[] = [
        ["/token", { grant_type: "password", plat_id_provider: "legacy_idp", username: "", password: "p" }, legacy],
        ["/sign-in", { request: formText(requestOf(web)), csrf, email: "", password: "p" }],
      ];
      const odd = fc.oneof(
        fc.constantFrom(
          "",
          " ",
          "\0",
          "%00",
          "\r\n",
          "__proto__",
          "null",
          "1e999",
          "-1",
          "\ufeff",
          "\u202e",
          "a.b.c",
          "...",
          "..",
          "'\"--",
          "\ud800",
          "x".repeat(5000),
          "é".repeat(2000),
          "[]",
          "{}",
          "a,b",
          "eyJhbGciOiJub25lIn0.e30.",
        ),
        anyText({ maxLength: 30 }),
      );
      const attempt = (from: readonly Sound[]) =>
        fc.tuple(fc.constantFrom(...from), fc.nat(20), odd, fc.constantFrom("replace", "add", "drop"));
      const breaksNothing = async ([[path, form, client], at, value, way]: [Sound, number, string, string]) => {
        const names = Object.keys(form);
        const name = names[at % names.length] ?? "";
        const changed = { ...form };
        if (way === "drop") delete changed[name];
        else changed[way === "add" ? value : name] = value;
        const more = { form: changed, ...(client !== undefined && { basic: client }) };
        const people = path === "/authorize" || path === "/sign-in";
        expect((await (people ? visitor.go(path, more) : ask(path, more))).status).toBeLessThan(500);
      };
      await fc.assert(fc.asyncProperty(attempt(cheap), breaksNothing), { numRuns: 200, seed: 9700 });
      // A password that is looked at takes its time.
      await fc.assert(fc.asyncProperty(attempt(dear), breaksNothing), { numRuns: 6, seed: 9700 });
    });
  });
}
