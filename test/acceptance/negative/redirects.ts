import { describe, expect, test } from "vitest";
import { ADA } from "../support/world.ts";
import { failureOf, fieldsOf, header, landing } from "./answer.ts";
import { ISSUER, PUBLIC_URL, REDIRECT, requestOf, type Stage } from "./stage.ts";
import { send } from "./wire.ts";

/**
 * Each is something that a parser of addresses, somewhere on the way, takes for the registered address or nearly so.
 */
const NEARLY_REGISTERED: readonly (readonly [what: string, address: string])[] = [
  ["another scheme", "http://app.example/callback"],
  ["another port", "https://app.example:8443/callback"],
  ["the port that is meant anyway", "https://app.example:443/callback"],
  ["a host that ends alike", "https://evil-app.example/callback"],
  ["a host that begins alike", "https://app.example.evil.example/callback"],
  ["the host as a user", "https://app.example@evil.example/callback"],
  ["a user", "https://evil@app.example/callback"],
  ["a backslash", "https://evil.example\\@app.example/callback"],
  ["a path below", "https://app.example/callback/../../open?to=https://evil.example"],
  ["a slash more", "https://app.example/callback/"],
  ["a query", "https://app.example/callback?next=https://evil.example"],
  ["a fragment", "https://app.example/callback#"],
  ["capitals", "https://APP.example/callback"],
  ["an encoded letter", "https://app.example/%63allback"],
  ["a line break", "https://app.example/callback\r\nLocation: https://evil.example"],
  ["NUL", "https://app.example/callback\0.evil.example"],
  ["another application's address", "https://crm.example/"],
  ["a script", "javascript:alert(document.cookie)//app.example/callback"],
];

/** Texts that would end a header, a parameter, a fragment or a tag, where they were not encoded. */
const STATES: readonly (readonly [what: string, state: string])[] = [
  ["CR and LF", "x\r\nLocation: https://evil.example\r\nSet-Cookie: __Host-plat_session=planted; Secure; Path=/"],
  ["an end of the headers", "x\r\n\r\n<script>alert(1)</script>"],
  ["LF and CR alone", "\nx-injected: 1\rx-injected: 2\n"],
  ["NUL", "a\0b\0"],
  ["an encoded line break", "%0d%0aLocation:%20https://evil.example"],
  ["what is not ASCII", "é € 🙂 \u2028 \u0085 \u202e \ufeff"],
  ["other parameters", "x&code=evil&iss=https://evil.example&error=access_denied;state=y"],
  ["a fragment", "x#access_token=evil&token_type=bearer"],
  ["markup", `"><script>alert(1)</script><a href='`],
  ["spaces and pluses", " +%20+%2B "],
  ["4 KB of line breaks", "\n".repeat(4096)],
  ["4 KB of what is not ASCII", "🙂".repeat(2048)],
];

/** Where browsers are sent. */
export function redirectsSuite(stage: () => Stage): void {
  describe("redirects", () => {
    test.each(NEARLY_REGISTERED)("RFC 9700 4.1.3, RFC 6749 10.6: a redirect URI with %s", async (_, address) => {
      const { ada, implicit, web } = stage();
      expect(landing(await ada.authorize(requestOf(web))).at).toBe(REDIRECT);
      const fields = fieldsOf(await ada.authorize(requestOf(web, { prompt: "login" })));
      for (const client of [web, implicit]) {
        const responseType = client === implicit ? "token" : "code";
        const request = requestOf(client, { response_type: responseType, redirect_uri: address });
        const form = { ...fields, ...ADA, request: new URLSearchParams(request).toString() };
        for (const answer of [
          await ada.authorize(request),
          await ada.authorize({ ...request, prompt: "none" }),
          await ada.go("/authorize", { form: request }),
          await ada.go("/sign-in", { form }),
        ]) {
          expect(failureOf(answer), answer.asked).toBe("400");
          expect(header(answer, "set-cookie"), answer.asked).toBe("");
        }
      }
    });

    test.each(STATES)("RFC 6749 10.14, RFC 6749 4.1.2: a state of %s comes back as it was", async (_, state) => {
      const { ada, implicit, web, ask } = stage();
      const stranger = (form: Record<string, string>) => ask("/authorize", { form });
      for (const request of [
        requestOf(web, { state }),
        requestOf(implicit, { state, response_type: "token" }),
        requestOf(web, { state, scope: "no.such_scope" }),
      ]) {
        const silent = { ...request, prompt: "none" };
        for (const answer of [await ada.go("/authorize", { form: request }), await stranger(silent)]) {
          const { at, query, fragment } = landing(answer);
          expect([answer.status, at]).toEqual([303, REDIRECT]);
          const found = [query, fragment].filter((parameters) => parameters.size > 0);
          expect(found.length).toBeGreaterThan(0);
          for (const parameters of found) expect([...parameters.getAll("state")]).toEqual([state]);
          expect(header(answer, "location")).not.toMatch(/[\r\n]/);
          expect(answer.headers.has("x-injected")).toBe(false);
        }
      }
    });

    test("RFC 6749 10.14: a state that is too long to be given back is refused on a page, since no client could match the answer", async () => {
      const { ada, web } = stage();
      const answer = await ada.go("/authorize", { form: requestOf(web, { state: "x".repeat(4097) }) });
      expect(failureOf(answer)).toBe("400");
      expect(header(answer, "location")).toBe("");
    });

    test("RFC 6749 10.15, RFC 9700 4.11.2: no parameter and no path opens a way to an address of the caller's", async () => {
      const { ada, ask, web } = stage();
      const evil = "https://evil.example/";
      const names = ["next", "url", "to", "return_to", "redirect", "redirect_url", "continue", "target", "RelayState"];
      const ways = Object.fromEntries(names.map((name) => [name, evil]));
      const query = new URLSearchParams(ways).toString();
      const client = `client_id=${web.id}`;
      const paths = [
        `/authorize?${query}`,
        `/authorize?${client}&${query}&redirect_uri=${encodeURIComponent(evil)}`,
        `/authorize?redirect_uri=${encodeURIComponent(evil)}`,
        `/authorize?${client}&post_logout_redirect_uri=${encodeURIComponent(evil)}&redirect_uri=//evil.example`,
        `/end_session?${query}`,
        `/end_session?${client}&${query}`,
        `/end_session?${client}&redirect_uri=${encodeURIComponent(evil)}`,
        `/end_session?${client}&post_logout_redirect_uri=${encodeURIComponent(evil)}`,
        `/end_session?${client}&post_logout_redirect_uri=${encodeURIComponent(REDIRECT)}`,
        `/end_session?${client}&post_logout_redirect_uri=%2F%2Fevil.example`,
        `/callback/x?${query}&state=x&code=y`,
        `/callback/x?error=access_denied&error_uri=${encodeURIComponent(evil)}&state=${encodeURIComponent(evil)}`,
        `/callback/${encodeURIComponent(evil)}?state=x&code=y`,
        `/callback/%2F%2Fevil.example?state=x&error=y`,
      ];
      for (const path of paths) {
        const answer = await ask(path);
        expect(header(answer, "location"), path).toBe("");
        expect(answer.text, path).not.toContain("evil.example");
      }
      // What browsers read as another host when it stands in a Location.
      for (const path of ["//evil.example", "/\\evil.example", "//evil.example/%2e%2e", "/https://evil.example"]) {
        const answer = await ask(path);
        expect([answer.status, header(answer, "location")], path).toEqual([404, ""]);
      }
      const answer = await ada.authorize({ ...ways, ...requestOf(web) });
      expect(landing(answer).at).toBe(REDIRECT);
    });

    test("RFC 9700 4.12, OIDC Core 16.22: after a form the browser goes on with GET", async () => {
      const { ada, implicit, web } = stage();
      const posts = [requestOf(web), requestOf(implicit, { response_type: "token" }), requestOf(web, { prompt: "x" })];
      for (const form of posts) expect((await ada.go("/authorize", { form })).status).toBe(303);
    });

    test("RFC 9700 4.13: neither Host nor what proxies add chooses the issuer or any address", async () => {
      const { ask, world, web } = stage();
      const lies: Record<string, string> = {
        host: "evil.example",
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "http",
        "x-forwarded-port": "8080",
        "x-forwarded-prefix": "/evil",
        "x-original-url": "/admin/v1/clients",
        "x-rewrite-url": "/admin/v1/clients",
        forwarded: 'host="evil.example";proto=http',
      };
      const paths = [
        "/.well-known/openid-configuration",
        `/authorize?${new URLSearchParams(requestOf(web)).toString()}`,
        `/authorize?${new URLSearchParams(requestOf(web, { prompt: "none" })).toString()}`,
        "/tokeninfo?access_token=x",
        "/userinfo",
        "/nothing",
      ];
      for (const path of paths) {
        const [honest, lied] = [await ask(path), await ask(path, { headers: lies })];
        expect(`${lied.text} ${header(lied, "location")}`, path).not.toContain("evil");
        expect([lied.status, header(lied, "location")]).toEqual([honest.status, header(honest, "location")]);
      }
      expect((await ask("/.well-known/openid-configuration", { headers: lies })).json.issuer).toBe(ISSUER);
      for (const host of [
        'evil.example"><script>',
        "evil example",
        "evil.example:99999",
        "[evil",
        "evil.example%",
        "ev^il",
      ]) {
        // Nothing of the service, since nobody knows whose: outside the laws of its answers.
        const answer = await send(world.url, "/authorize", { headers: { host } });
        const pathless = await ask("/jwks", { headers: { host } });
        for (const { status, text } of [answer, pathless])
          expect([status, text.includes("evil")], host).toEqual([400, false]);
        expect(header(pathless, "plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
      }
      expect(world.url).not.toBe(PUBLIC_URL);
    });

    test("RFC 9207 2, OIDC Core 16.15: every answer names the issuer, exactly as the metadata does", async () => {
      const { ada, implicit, web, ask } = stage();
      const { json: metadata } = await ask("/.well-known/openid-configuration");
      expect(metadata.authorization_response_iss_parameter_supported).toBe(true);
      expect(metadata.issuer).toMatch(/^https:\/\/[^?#]*[^/]$/);
      const implicitly = { response_type: "id_token token", nonce: "n" };
      for (const request of [
        requestOf(web),
        requestOf(web, { scope: "no.such_scope" }),
        requestOf(web, { response_type: "code token" }),
        requestOf(web, { request_uri: "https://evil.example/" }),
        requestOf(implicit, implicitly),
        requestOf(implicit, { ...implicitly, nonce: "" }),
      ]) {
        const { query, fragment } = landing(await ada.authorize(request));
        const found = [query, fragment].filter((parameters) => parameters.size > 0);
        expect(found.length).toBeGreaterThan(0);
        for (const parameters of found) expect(parameters.getAll("iss")).toEqual([metadata.issuer]);
      }
    });
  });
}
