import { OWN_SCRIPT } from "./laws.ts";
import { describe, expect, test } from "vitest";
import { ADA } from "../support/world.ts";
import { bare, failureOf, fieldsOf, header, landing } from "./answer.ts";
import { PUBLIC_URL, requestOf, Visitor, type Stage } from "./stage.ts";

/** Where a person goes on after signing out. */
const TO_ACCOUNT = new RegExp(`<a [^>]*href="${PUBLIC_URL}/account"`);
/** Where a developer reads on. */
const TO_ERRORS = new RegExp(`<a [^>]*href="${PUBLIC_URL}/docs/errors\\?request=[0-9a-f]{32}"`);

/** What people see, and who else may see or send it. */
export function pagesSuite(stage: () => Stage): void {
  describe("pages", () => {
    const everyPage = ({
      web,
      hosted,
      ada,
      bob,
    }: Stage): readonly (readonly [string, () => ReturnType<Visitor["go"]>])[] => [
      ["sign-in page", () => new Visitor(stage().ask).authorize(requestOf(web))],
      ["sign-in page after a wrong password", () => new Visitor(stage().ask).go("/sign-in", { form: formOf(web) })],
      ["chooser", () => bob.authorize(requestOf(hosted, { response_type: "token" }))],
      ["error page", () => ada.authorize({ client_id: "no.body" })],
      ["page of a callback", () => ada.go("/callback/x?state=x&code=y")],
      ["signed-out page", () => new Visitor(stage().ask).go(`/end_session?client_id=${web.id}`)],
      ["wrong method", () => ada.go("/sign-in")],
      ["wrong content type", () => ada.go("/sign-in", { body: "{}", headers: { "content-type": "application/json" } })],
    ];
    const formOf = (client: { id: string }) => ({
      request: new URLSearchParams(requestOf({ ...client, secret: "" })).toString(),
      email: "x",
      password: "y",
      csrf: "z",
    });

    test("RFC 9700 4.16, RFC 6749 10.13, OIDC Core 3.1.2.3: none can be framed, loads or runs anything", async () => {
      for (const [what, show] of everyPage(stage())) {
        const page = await show();
        expect(header(page, "content-type"), what).toBe("text/html; charset=utf-8");
        const policy = header(page, "content-security-policy").split("; ");
        expect(policy, what).toEqual(
          expect.arrayContaining(["default-src 'none'", "style-src 'self'", "frame-ancestors 'none'"]),
        );
        expect(policy.join(";"), what).not.toMatch(/unsafe|\*|data:|javascript:/);
        expect(header(page, "x-frame-options"), what).toBe("DENY");
      }
    });

    test("RFC 9700 4.2.4, RFC 6749 10.5: none leaks by Referer, links elsewhere, or is kept", async () => {
      for (const [what, show] of everyPage(stage())) {
        const page = await show();
        expect(header(page, "referrer-policy"), what).toBe("no-referrer");
        expect(header(page, "cache-control"), what).toBe("no-store, no-transform");
        const text = page.text.replace(OWN_SCRIPT, "").replace(TO_ACCOUNT, "").replace(TO_ERRORS, "");
        expect(text, what).not.toMatch(/<(a|img|iframe|object|embed|script|meta http-equiv)\b/i);
      }
    });

    test("RFC 9700 2.6: no script of another origin reads them, signed in or not", async () => {
      const { ada, ask, web } = stage();
      const address = `/authorize?${new URLSearchParams(requestOf(web)).toString()}`;
      for (const origin of ["https://evil.example", "https://app.example", "null", PUBLIC_URL])
        for (const path of [address, "/sign-in", "/end_session", "/callback/x", "/authorize?client_id=no.body"])
          for (const method of ["GET", "POST", "OPTIONS", "HEAD"]) {
            const headers = { origin, "access-control-request-method": "POST", "access-control-request-headers": "x" };
            const asked = path === "/end_session" ? ask(path, { method, headers }) : ada.go(path, { method, headers });
            const names = [...(await asked).headers.keys()];
            expect(names.filter((name) => name.startsWith("access-control"))).toEqual([]);
          }
    });

    test("RFC 6749 10.12, OIDC Core 3.1.2.3: the form of another browser, or of none, signs nobody in", async () => {
      const { web, ask, world } = stage();
      const { email, password } = ADA;
      const attacker = new Visitor(ask);
      const fields = fieldsOf(await attacker.authorize(requestOf(web)));
      const victim = new Visitor(ask);
      await victim.authorize(requestOf(web));
      const form = { ...fields, email, password };
      const none = new Visitor(ask);
      for (const [visitor, changed] of [
        [victim, form],
        [none, form],
        [attacker, { ...form, csrf: "" }],
        [attacker, { ...form, csrf: `${fields["csrf"]}=` }],
        [attacker, { ...form, csrf: "A".repeat(43) }],
      ] as const) {
        const answer = await visitor.go("/sign-in", { form: changed });
        expect(failureOf(answer)).toBe("400");
        expect(visitor.cookies.has("__Host-plat_session")).toBe(false);
      }
      for (const site of ["cross-site", "same-site"]) {
        const headers = { "sec-fetch-site": site, origin: "https://evil.example" };
        expect((await attacker.go("/sign-in", { form, headers })).status, site).toBe(400);
      }
      expect(attacker.cookies.has("__Host-plat_session")).toBe(false);
      expect((await attacker.go("/sign-in", { form })).status).toBe(303);
      await expect.poll(() => world.output()).toContain("the form was not made for this browser");
    });

    test("RFC 6265 8.4, session fixation: a cookie that was planted is never the one that is signed in", async () => {
      const { web, ask, ada } = stage();
      const { email, password } = ADA;
      const victim = new Visitor(ask);
      const planted = "P".repeat(42) + "A";
      victim.cookies.set("__Host-plat_session", planted);
      const fields = fieldsOf(await victim.authorize(requestOf(web)));
      await victim.go("/sign-in", { form: { ...fields, email, password } });
      expect(victim.cookies.get("__Host-plat_session")).not.toBe(planted);
      const silent = `/authorize?${new URLSearchParams(requestOf(web, { prompt: "none" })).toString()}`;
      const own = ada.cookies.get("__Host-plat_session") ?? "";
      const spellings = [
        `__Host-plat_session=${planted}`,
        `plat_session=${own}`,
        `__host-plat_session=${own}`,
        `__Host-plat_session="${own}"`,
        `__Host-plat_session=${own}=`,
        `__Host-plat_session=${planted}; __Host-plat_session=${own}`,
        `__Host-plat_browser=${own}`,
      ];
      for (const cookie of spellings)
        expect(failureOf(await ask(silent, { cookie })), cookie).toBe("302 login_required");
      expect(landing(await ask(silent, { cookie: `__Host-plat_session=${own}` })).query.has("code")).toBe(true);
    });

    test("RFC 6749 10.11: the error page shows what was sent as text, and tells nothing by it", async () => {
      const { ask } = stage();
      const markup = `"><img src=x onerror=alert(1)>`;
      const query = (name: string) => new URLSearchParams({ client_id: "no.body", [name]: markup }).toString();
      const names = ["client_id", "redirect_uri", "state", "scope", "ui_locales", "login_hint", "error", "message"];
      const shown = await Promise.all(names.map((name) => ask(`/authorize?${query(name)}`)));
      for (const page of shown) expect(bare(page)).toEqual(bare(shown[0]!));
    });
  });
}
