import { describe, expect, test } from "vitest";
import { ADA } from "../support/world.ts";
import { failureOf, fieldsOf, header, landing } from "./answer.ts";
import { codeFor, REDIRECT, requestOf, settled, tokenForm, tokensFor, Visitor, type Stage } from "./stage.ts";
import { formText, type Ask } from "./wire.ts";

type Form = Record<string, string>;

/** Parameters at the protocol's endpoints: given twice, left empty, unknown, in the wrong place. */
export function parametersSuite(stage: () => Stage): void {
  /** Every parameter of the form again, once with the same value and once with none. */
  async function refusesRepeats(form: Form, ask: (text: string) => Promise<string>, refusal: string): Promise<void> {
    for (const [name, value] of Object.entries(form))
      for (const again of [value, ""]) {
        const text = `${formText(form)}&${formText({ [name]: again })}`;
        expect(await ask(text), `${name} again, as "${again}"`).toBe(refusal);
      }
  }
  const post =
    (path: string, more: Ask = {}) =>
    async (form: string) =>
      failureOf(await stage().ask(path, { form, ...more }));

  describe("RFC 6749 3.1 and 3.2: no parameter is given more than once", () => {
    test("RFC 6749 3.2: /token, client_credentials", async () => {
      const { service } = stage();
      const form = {
        grant_type: "client_credentials",
        scope: "plat.media_view",
        "plat-session-id": "s-1",
        client_id: service.id,
        client_secret: service.secret,
      };
      await refusesRepeats(form, post("/token"), "400 invalid_request");
      expect(await post("/token")(formText(form))).toBe("200");
    });

    test("RFC 6749 3.2: /token, authorization_code, and the code stays good", async () => {
      const { spa } = stage();
      const form = { client_id: spa.id, ...tokenForm(await codeFor(stage(), spa)) };
      await refusesRepeats(form, post("/token"), "400 invalid_request");
      expect(await post("/token")(formText(form))).toBe("200");
    });

    test("RFC 6749 3.2: /token, refresh_token", async () => {
      const { web } = stage();
      const { refresh_token } = await tokensFor(stage(), web);
      const form = { grant_type: "refresh_token", refresh_token, scope: "plat.media_view" };
      await refusesRepeats(form, post("/token", { basic: web }), "400 invalid_request");
      expect(await post("/token", { basic: web })(formText(form))).toBe("200");
    });

    test("RFC 6749 3.2: /token, password, before any password is looked at", async () => {
      const { legacy, world } = stage();
      const { email: username, password } = ADA;
      const form = { grant_type: "password", plat_id_provider: "legacy_idp", username, password };
      const refusals = async () => (await settled(() => world.output())).split('"event":"sign in refused"').length;
      const before = await refusals();
      await refusesRepeats(form, post("/token", { basic: legacy }), "400 invalid_request");
      expect(await refusals()).toBe(before);
      expect(await post("/token", { basic: legacy })(formText(form))).toBe("200");
    });

    test("RFC 7009 2.1, RFC 7662 2.1: /revoke and /introspect, and nothing is revoked or told", async () => {
      const { service, ask } = stage();
      const own = await ask("/token", { basic: service, form: { grant_type: "client_credentials" } });
      const form = {
        token: own.json.access_token as string,
        token_type_hint: "access_token",
        client_id: service.id,
        client_secret: service.secret,
      };
      for (const path of ["/revoke", "/introspect"]) await refusesRepeats(form, post(path), "400 invalid_request");
      expect((await ask("/introspect", { form })).json).toMatchObject({ active: true });
    });

    test("RFC 6749 3.1: /authorize by query and by form, every parameter that means anything there", async () => {
      const { ada, web } = stage();
      const { id_token } = await tokensFor(stage(), web, { scope: "openid" });
      const form: Form = {
        ...requestOf(web),
        scope: "openid",
        nonce: "n",
        response_mode: "query",
        display: "page",
        prompt: "consent",
        max_age: "3600",
        ui_locales: "de",
        login_hint: ADA.email,
        id_token_hint: id_token as string,
        plat_id_provider: "default_idp",
        "plat-session-id": "s-1",
      };
      const { client_id = "", redirect_uri = "", ...rest } = form;
      const query = async (text: string) => failureOf(await ada.go(`/authorize?${text}`));
      const body = async (text: string) => failureOf(await ada.go("/authorize", { form: text }));
      const who = formText({ client_id, redirect_uri });
      await refusesRepeats(rest, (text) => query(`${who}&${text}`), "302 invalid_request");
      await refusesRepeats(rest, (text) => body(`${who}&${text}`), "303 invalid_request");
      for (const ask of [query, body])
        await refusesRepeats({ client_id, redirect_uri }, (text) => ask(`${formText(rest)}&${text}`), "400");
      for (const name of ["request", "request_uri", "registration"])
        await refusesRepeats({ [name]: "x" }, (text) => query(`${formText(form)}&${text}`), "302 invalid_request");
      expect(landing(await ada.authorize(form)).query.has("code")).toBe(true);
    });

    test("RFC 6749 3.1: the sign-in form, /callback, /end_session, /tokeninfo, /refreshtokens", async () => {
      const { web, ask } = stage();
      const visitor = new Visitor(ask);
      const { email, password } = ADA;
      const form = { ...fieldsOf(await visitor.authorize(requestOf(web))), email, password };
      await refusesRepeats(form, async (text) => failureOf(await visitor.go("/sign-in", { form: text })), "400");
      expect(visitor.cookies.has("__Host-plat_session")).toBe(false);
      const get = (path: string, token?: string) => async (text: string) =>
        failureOf(await ask(`${path}?${text}`, { ...(token !== undefined && { token }) }));
      await refusesRepeats({ state: "x", code: "y", iss: "z", error: "e" }, get("/callback/x"), "400");
      const { access_token, id_token } = await tokensFor(stage(), web, { scope: "openid" });
      const logout = { client_id: web.id, id_token_hint: id_token as string, state: "x", ui_locales: "de" };
      await refusesRepeats(logout, get("/end_session"), "400");
      const asked = { access_token: access_token as string, details: "true" };
      await refusesRepeats(asked, get("/tokeninfo"), "400 invalid_query_parameter");
      const listed = { clientId: web.id, pageSize: "5", pageNumber: "1" };
      await refusesRepeats(listed, get("/refreshtokens", access_token as string), "400");
    });
  });

  describe("parameters in another place, empty, or of no meaning", () => {
    const grant = { grant_type: "client_credentials" };

    test("RFC 6749 2.3.1: nothing of a request to /token, /revoke or /introspect is taken from the address", async () => {
      const { service, ask } = stage();
      const secret = formText({ client_id: service.id, client_secret: service.secret });
      expect(failureOf(await ask(`/token?${secret}`, { form: grant }))).toBe("401 invalid_client");
      expect(failureOf(await ask(`/token?${formText(grant)}`, { basic: service, form: {} }))).toBe(
        "400 invalid_request",
      );
      const token = (await ask("/token", { basic: service, form: grant })).json.access_token as string;
      const query = formText({ token });
      expect(failureOf(await ask(`/revoke?${query}`, { basic: service, form: {} }))).toBe("400 invalid_request");
      expect(failureOf(await ask(`/revoke?${secret}`, { form: { token } }))).toBe("401 invalid_client");
      expect(failureOf(await ask(`/introspect?${query}`, { basic: service, form: {} }))).toBe("400 invalid_request");
      expect(failureOf(await ask(`/introspect?${secret}`, { form: { token } }))).toBe("401 invalid_client");
      expect((await ask("/introspect", { basic: service, form: { token } })).json.active).toBe(true);
    });

    test("RFC 6749 3.2: an empty parameter is none, and what means nothing is ignored", async () => {
      const { service, ask, web, ada } = stage();
      const more = {
        scope: "",
        "plat-session-id": "",
        client_secret: "",
        audience: "https://evil.example",
        __proto: "x",
      };
      expect(failureOf(await ask("/token", { basic: service, form: { ...grant, ...more } }))).toBe("200");
      expect(failureOf(await ask("/token", { basic: service, form: { ...grant, grant_type: "" } }))).toBe(
        "400 invalid_request",
      );
      const empty = { prompt: "", max_age: "", nonce: "", request: "", request_uri: "", id_token_hint: "" };
      expect(landing(await ada.authorize(requestOf(web, empty))).query.has("code")).toBe(true);
    });

    test("RFC 6749 3.1: names that objects have already are names like others", async () => {
      const { service, ask, ada, web } = stage();
      const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "then", "get", "length", ""];
      const odd = Object.entries(grant).concat(names.map((name) => [name, name]));
      const ok = await ask("/token", { basic: service, form: odd });
      expect(ok.status).toBe(200);
      for (const name of names.filter((word) => word !== "")) {
        const grantType = await ask("/token", { basic: service, form: { grant_type: name } });
        expect(failureOf(grantType), name).toBe("400 unsupported_grant_type");
        const answers = [
          ada.authorize(requestOf(web, { response_type: name })),
          ada.authorize(requestOf(web, { prompt: name })),
          ada.authorize(requestOf(web, { code_challenge_method: name })),
          ada.authorize(requestOf(web, { plat_id_provider: name })),
          ada.authorize(requestOf(web, { response_mode: name })),
        ];
        for (const answer of await Promise.all(answers))
          expect(failureOf(answer), answer.asked).toMatch(/^302 (invalid_request|unsupported_response_type)$/);
        expect(failureOf(await ada.authorize(requestOf(web, { client_id: name })))).toBe("400");
        expect(failureOf(await ask("/token", { basic: { id: name, secret: "x" }, form: grant }))).toBe(
          "401 invalid_client",
        );
        expect(failureOf(await ask(`/callback/${name}?state=${name}&code=x`))).toBe("400");
      }
    });

    test("RFC 6749 3.3: 201 scopes, and scopes of odd characters", async () => {
      const { service, ask, ada, web } = stage();
      const many = (count: number) => Array.from({ length: count }, (_, n) => `s.${n}`).join(" ");
      const scopes = [
        many(200),
        many(201),
        "x".repeat(257),
        'a"b',
        "a\\b",
        "a\u0000b",
        "a\r\nx-injected: 1",
        "é",
        "🙂",
        "\ud800",
        "plat.tenant=",
        "plat.tenant=ACME",
        "plat.tenant=%",
        "plat.tenant=acme%00",
        "plat.tenant=*",
        "plat.tenant=acme plat.tenant=globex",
        "plat.*",
        "*",
        "plat.admin",
        "plat.adm*",
        "plat.org=group",
        "openid\u00a0plat.media_view",
        "__proto__",
      ];
      for (const scope of scopes) {
        const answer = await ask("/token", { basic: service, form: { ...grant, scope } });
        expect(failureOf(answer), scope.slice(0, 40)).toBe("400 invalid_scope");
        expect(answer.headers.has("x-injected")).toBe(false);
      }
      for (const scope of scopes.filter((text) => text.length < 5000)) {
        const answer = await ada.authorize(requestOf(web, { scope }));
        expect([failureOf(answer), landing(answer).at], scope.slice(0, 40)).toEqual(["302 invalid_scope", REDIRECT]);
      }
      const tabs = await ask("/token", { basic: service, form: { ...grant, scope: "  plat.media_view   " } });
      expect(tabs.json.scope).toBe("plat.tenant=acme plat.media_view");
    });

    test("RFC 6749 10.14: a session id of odd characters is refused, in the header and in the form", async () => {
      const { service, ask, ada, web } = stage();
      const name = "plat-session-id";
      const scope = { scope: "openid" };
      for (const id of ["a b", "é", "x".repeat(129), "<script>", "a,b", "a;b", 'a"b']) {
        const latin = Buffer.from(id, "latin1").toString("latin1");
        for (const more of [{ form: { ...grant, [name]: id } }, { form: grant, headers: { [name]: latin } }])
          expect(failureOf(await ask("/token", { basic: service, ...more })), id).toBe("400 invalid_request");
        expect(failureOf(await ada.authorize(requestOf(web, { ...scope, [name]: id }))), id).toBe(
          "302 invalid_request",
        );
      }
      const taken = await ask("/token", {
        basic: service,
        form: { ...grant, [name]: "from-the-form" },
        headers: { [name]: "from-the-header" },
      });
      expect(Buffer.from(taken.json.access_token.split(".")[1], "base64url").toString()).not.toContain("from-the-");
      expect(header(taken, name)).toBe("");
    });
  });
}
