import { describe, expect, test } from "vitest";
import { bare, failureOf, header, landing } from "./answer.ts";
import { asClient, codeFor, requestOf, tokenForm, tokensFor, type Stage } from "./stage.ts";

const GRANT = { grant_type: "client_credentials" };

/** Codes and tokens once they are out. */
export function tokensSuite(stage: () => Stage): void {
  const ownToken = async (): Promise<string> => {
    const { ask, service } = stage();
    return (await ask("/token", { basic: service, form: GRANT })).json.access_token as string;
  };
  const isGood = async (token: string): Promise<boolean> =>
    (await stage().ask(`/tokeninfo?access_token=${token}`)).status === 200;

  describe("codes and tokens", () => {
    test("RFC 6749 10.10, RFC 9700 4.2.4: nobody guesses one: 256 bits each, and none comes twice", async () => {
      const { web, spa } = stage();
      const made: string[] = [];
      for (let round = 0; round < 8; round++) {
        made.push(await codeFor(stage(), web));
        const { refresh_token } = await tokensFor(stage(), round % 2 === 0 ? web : spa);
        made.push(refresh_token as string);
      }
      // Of another shard: its number and the bits, then whose it is.
      const drawn = made.map((value) => Buffer.from(value.split("~")[0]!, "base64url").subarray(-32));
      for (const bytes of drawn) expect(bytes.length).toBe(32);
      expect(new Set(made).size).toBe(made.length);
      // Of bits that are drawn at random about half are set; beyond 6 standard deviations they are not.
      const bits = drawn.flatMap((bytes) => [...bytes]).flatMap((byte) => [...byte.toString(2).padStart(8, "0")]);
      const set = bits.filter((bit) => bit === "1").length;
      expect(Math.abs(set - bits.length / 2)).toBeLessThan(3 * Math.sqrt(bits.length));
    });

    test("RFC 6749 4.1.3, RFC 9700 4.5, RFC 7636 4.6: parallel redemptions, half of them by a thief, give one token", async () => {
      const { spa, other, ask } = stage();
      const code = await codeFor(stage(), spa);
      const attempts = [
        ...Array.from({ length: 20 }, () => asClient(spa, tokenForm(code))),
        ...Array.from({ length: 5 }, () => asClient(other, tokenForm(code))),
        ...Array.from({ length: 5 }, () => asClient(spa, { ...tokenForm(code), code_verifier: "x".repeat(43) })),
      ];
      const answers = await Promise.all(attempts.map((attempt) => ask("/token", attempt)));
      const good = answers.filter(({ status }) => status === 200);
      expect(good.length).toBe(1);
      const [tokens] = good.map(({ json }) => json as Record<string, string>);
      for (const answer of answers.filter(({ status }) => status !== 200))
        expect(failureOf(answer)).toBe("400 invalid_grant");
      // Who of the twenty was honest is not known, so nobody keeps anything.
      expect(await isGood(tokens?.["access_token"] ?? "")).toBe(false);
      const refresh = { grant_type: "refresh_token", refresh_token: tokens?.["refresh_token"] ?? "" };
      expect(failureOf(await ask("/token", asClient(spa, refresh)))).toBe("400 invalid_grant");
    });

    test("RFC 7636 7.2, RFC 9700 4.8: what a verifier may not be", async () => {
      const { spa, web, ask, ada } = stage();
      const code = await codeFor(stage(), spa);
      const { code_verifier: verifier = "", ...form } = tokenForm(code);
      const { code_challenge: challenge = "" } = requestOf(spa);
      const wrong = [
        challenge,
        `${challenge}=`,
        `${verifier}=`,
        `${verifier} `,
        `${verifier}\n`,
        `${verifier}\0`,
        verifier.toUpperCase(),
        verifier.slice(0, -1),
        encodeURIComponent(verifier).replaceAll("-", "%2D"),
        "x".repeat(42),
        "x".repeat(129),
        "é".repeat(43),
      ];
      for (const code_verifier of wrong)
        expect(failureOf(await ask("/token", asClient(spa, { ...form, code_verifier }))), code_verifier).toBe(
          "400 invalid_grant",
        );
      for (const name of ["code_challenge", "Code_verifier", "verifier", "code_verifier "])
        expect(failureOf(await ask("/token", asClient(spa, { ...form, [name]: verifier }))), name).toBe(
          "400 invalid_grant",
        );
      expect(failureOf(await ask("/token", asClient(spa, { ...form, code_verifier: verifier })))).toBe("200");
      // The same downgrade in the request: without the method, or without the challenge, nothing is taken for S256.
      const plain = await ada.authorize(requestOf(spa, { code_challenge_method: "plain" }));
      const downgraded = { ...form, code: landing(plain).query.get("code") ?? "" };
      expect(failureOf(await ask("/token", asClient(spa, { ...downgraded, code_verifier: verifier })))).toBe(
        "400 invalid_grant",
      );
      expect(failureOf(await ada.authorize(requestOf(spa, { code_challenge: "" })))).toBe("302 invalid_request");
      const without = { code_challenge: "", code_challenge_method: "" };
      const naked = { ...form, code: await codeFor(stage(), web, without) };
      expect(failureOf(await ask("/token", asClient(web, { ...naked, code_verifier: verifier })))).toBe(
        "400 invalid_grant",
      );
      expect(failureOf(await ask("/token", asClient(web, naked)))).toBe("200");
    });

    test("RFC 6749 5.1, OIDC Core 3.1.3.3, RFC 6750 5.3: whatever carries a code or a token is kept by nobody", async () => {
      const { web, implicit, service, ada, ask } = stage();
      const code = await ada.authorize(requestOf(web, { scope: "openid" }));
      const token = await ask("/token", asClient(web, tokenForm(landing(code).query.get("code") ?? "")));
      const { access_token, refresh_token } = token.json as Record<string, string>;
      const implicitly = requestOf(implicit, { response_type: "id_token token", nonce: "n" });
      const carriers = {
        code,
        token,
        "a token of its own": await ask("/token", { basic: service, form: GRANT }),
        refresh: await ask(
          "/token",
          asClient(web, { grant_type: "refresh_token", refresh_token: refresh_token ?? "" }),
        ),
        implicit: await ada.authorize(implicitly),
        "implicit by form": await ada.go("/authorize", { form: implicitly }),
        introspection: await ask("/introspect", { basic: web, form: { token: access_token ?? "" } }),
        tokeninfo: await ask(`/tokeninfo?access_token=${access_token ?? ""}`),
        userinfo: await ask("/userinfo", { token: access_token ?? "" }),
        "refresh tokens": await ask("/refreshtokens", { token: access_token ?? "" }),
        "a refused token": await ask("/token", { form: GRANT }),
        "a refused code": await ada.authorize(requestOf(web, { scope: "x" })),
      };
      for (const [what, answer] of Object.entries(carriers)) {
        expect(header(answer, "cache-control"), what).toBe("no-store");
        expect(answer.headers.has("etag") || answer.headers.has("last-modified"), what).toBe(false);
      }
      for (const answer of [carriers.code, carriers.token, carriers["a refused token"], carriers.implicit])
        expect(header(answer, "pragma")).toBe("no-cache");
      for (const answer of [carriers.code, carriers.implicit, carriers["implicit by form"]]) {
        expect(header(answer, "referrer-policy")).toBe("no-referrer");
        expect(landing(answer).query.has("access_token")).toBe(false);
      }
    });

    test("RFC 6750 2.1, RFC 6749 7.1: a bearer token in odd spellings is none", async () => {
      const { web, ask } = stage();
      const { access_token: token } = await tokensFor(stage(), web);
      const spellings = [
        "Bearer",
        "Bearer ",
        `Bearer\t${token}`,
        `Bearer ${token}, Bearer ${token}`,
        `Bearer ${token} ${token}`,
        `Bearer "${token}"`,
        `Bearer ${token}=`,
        `Bearer ${token}.`,
        `Bearer ${token}\u00e9`,
        `Bearer ${token.replaceAll(".", "%2E")}`,
        `Bearer ${token.slice(0, -1)}`,
        `Bearer ${token.toUpperCase()}`,
        `Bearer ${"x".repeat(9000)}`,
        `Token ${token}`,
        `DPoP ${token}`,
        `Basic ${token}`,
        `Bearer: ${token}`,
        token,
      ];
      for (const authorization of spellings)
        for (const path of ["/userinfo", "/refreshtokens"])
          expect((await ask(path, { headers: { authorization } })).status, authorization.slice(0, 40)).toBe(401);
      expect((await ask("/userinfo", { headers: { authorization: `bearer   ${token}` } })).status).toBe(200);
    });

    test("RFC 9700 4.3.2, RFC 6750 2.3: no service takes a token from an address or from a form", async () => {
      const { web, ask, world } = stage();
      const { access_token: token } = await tokensFor(stage(), web);
      const form = { access_token: token as string };
      const names = ["access_token", "token", "bearer", "authorization", "Authorization"];
      const query = new URLSearchParams(names.map((name) => [name, token as string])).toString();
      const cookie = names.map((name) => `${name}=${token as string}`).join("; ");
      expect((await ask(`/userinfo?${query}`)).status).toBe(401);
      expect((await ask("/userinfo", { form, cookie })).status).toBe(401);
      expect((await ask(`/refreshtokens?${query}`, { cookie })).status).toBe(401);
      expect((await ask(`/userinfo?${query}`, { form, token })).status).toBe(400);
      for (const path of ["/media/v2/files/x", "/pubsub/v1/topics", "/admin/v1/clients"])
        expect((await fetch(`${world.url}${path}?${query}`, { headers: { cookie } })).status, path).toBe(401);
    });
  });

  describe("revocation and introspection", () => {
    test("RFC 7009 2: 5,000 tokens at once are refused as a whole, and the next request is served", async () => {
      const { service, ask } = stage();
      const token = await ownToken();
      const odd = (item: (n: number) => string) =>
        [token, ...Array.from({ length: 5_000 }, (_, n) => item(n))].join(",");
      const lists = [
        odd((n) => `unknown-${n}`),
        odd((n) => `eyJhbGciOiJFUzI1NiJ9.${Buffer.from(String(n)).toString("base64url")}.AAAA`),
        odd((n) => `${token.slice(-86)}${n}`),
      ];
      for (const list of lists) {
        expect(failureOf(await ask("/revoke", { basic: service, form: { token: list } }))).toBe("400 invalid_request");
        expect(failureOf(await ask("/revoke", { form: { token: list } }))).toBe("400 invalid_request");
      }
      // The same one 5,000 times, and 5,000 of none, are few.
      expect(failureOf(await ask("/revoke", { form: { token: ",".repeat(5_000) } }))).toBe("200");
      expect(await isGood(token)).toBe(true);
      const repeated = Array.from({ length: 2_000 }, () => token.slice(0, 20)).join(",");
      expect(failureOf(await ask("/revoke", { basic: service, form: { token: `${repeated},${token}` } }))).toBe("200");
      expect(await isGood(token)).toBe(false);
    });

    test("RFC 7009 2.1, RFC 7662 2.1, RFC 7662 4: by POST alone, and never as a script (JSONP)", async () => {
      const { service, ask } = stage();
      const token = await ownToken();
      for (const path of ["/revoke", "/introspect"]) {
        for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH"]) {
          const query = new URLSearchParams({ token, client_id: service.id, client_secret: service.secret }).toString();
          const answer = await ask(`${path}?${query}`, { method, basic: service });
          expect([answer.status, header(answer, "allow")]).toEqual([405, "POST, OPTIONS"]);
        }
        const answer = await ask(`${path}?callback=evil&jsonp=evil`, {
          basic: service,
          form: { token: "x", callback: "evil" },
        });
        expect(header(answer, "content-type")).toBe("application/json");
        expect(answer.text).not.toContain("evil");
      }
      expect(await isGood(token)).toBe(true);
    });

    test("RFC 7009 5, RFC 7662 4: who proves nothing learns nothing, good token or not", async () => {
      const { service, web, ask } = stage();
      const { access_token, refresh_token } = await tokensFor(stage(), web);
      const tokens = [await ownToken(), access_token as string, refresh_token as string, "x", "a.b.c", "é", "\0"];
      const wrong = { id: service.id, secret: "w".repeat(43) };
      for (const more of [{}, { basic: wrong }]) {
        const answers: object[] = [];
        for (const token of tokens) answers.push(bare(await ask("/introspect", { form: { token }, ...more })));
        for (const answer of answers) expect(answer).toEqual(answers[0]);
        expect(answers[0]).toMatchObject({ status: 401 });
      }
      for (const token of tokens)
        expect(failureOf(await ask("/revoke", { basic: wrong, form: { token } }))).toBe("401 invalid_client");
      for (const token of tokens.slice(1))
        expect((await ask("/introspect", { basic: service, form: { token } })).text).toBe('{"active":false}');
      expect(await isGood(access_token as string)).toBe(true);
    });
  });
}
