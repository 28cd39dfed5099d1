import { describe, expect, test } from "vitest";
import { EVE, type Client } from "../support/world.ts";
import { bare, failureOf, fieldsOf, header, type Answer } from "./answer.ts";
import {
  asClient,
  codeFor,
  DISABLED,
  requestOf,
  tokenForm,
  tokensFor,
  Visitor,
  WITHOUT_PASSWORD,
  type Stage,
} from "./stage.ts";
import { medians } from "./timing.ts";
import { basic, type Ask } from "./wire.ts";

const GRANT = { grant_type: "client_credentials" };

/** Nobody learns whether a client, a user, a tenant or a token exists: not by words, not by headers, not by time. */
export function existenceSuite(stage: () => Stage): void {
  describe("whether a client exists", () => {
    const unknown = (secret = "x".repeat(40)): Client => ({ id: "acme.nobody", secret });

    test("RFC 6749 5.2, RFC 9700 2.5: unknown, disabled, of another tenant and the right one with a wrong secret answer alike", async () => {
      const { web, disabled, foreign, service, ask } = stage();
      const wrong = "w".repeat(43);
      const strangers = [
        unknown(),
        unknown(""),
        disabled,
        { ...disabled, secret: wrong },
        { ...foreign, secret: wrong },
      ];
      const mistaken = [
        ...strangers,
        { ...web, secret: wrong },
        { ...service, secret: wrong },
        { ...service, secret: "" },
      ];
      const forms = [
        GRANT,
        { ...GRANT, scope: "plat.tenant=acme" },
        { ...GRANT, scope: "plat.tenant=nobody" },
        tokenForm("x".repeat(43)),
        { grant_type: "refresh_token", refresh_token: "x".repeat(43) },
      ];
      const waysOf = (client: Client, form: Record<string, string>) => [
        { form, basic: client },
        { form: { ...form, client_id: client.id, client_secret: client.secret } },
      ];
      const places = [
        ...forms.map((form) => ["/token", form] as const),
        ["/introspect", { token: "x".repeat(43) }] as const,
        ["/introspect", { token: "x.y.z" }] as const,
      ];
      for (const [path, form] of places) {
        const answers: object[] = [];
        for (const client of mistaken)
          for (const way of waysOf(client, form)) answers.push(bare(await ask(path, way), client.id));
        for (const answer of answers) expect(answer, path).toEqual(answers[0]);
        expect(answers[0]).toMatchObject({ status: 401 });
      }
      const revoked: object[] = [];
      for (const client of mistaken.filter(({ secret }) => secret !== ""))
        revoked.push(bare(await ask("/revoke", { basic: client, form: { token: "x" } })));
      for (const answer of revoked) expect(answer).toEqual(revoked[0]);
    });

    test("RFC 6749 4.1.2.1: at /authorize an unknown, a disabled and another's client show one page", async () => {
      const { ada, web, disabled, foreign, service } = stage();
      const requests = [
        requestOf(unknown()),
        requestOf(disabled),
        requestOf(service),
        requestOf(foreign, { redirect_uri: "https://evil.example/" }),
        requestOf(web, { redirect_uri: "https://evil.example/" }),
        { ...requestOf(disabled), prompt: "none" },
        { ...requestOf(unknown()), prompt: "none", scope: "plat.tenant=globex" },
      ];
      const pages: object[] = [];
      for (const request of requests) pages.push(bare(await ada.authorize(request)));
      for (const page of pages) expect(page).toEqual(pages[0]);
      expect(pages[0]).toMatchObject({ status: 400 });
    });

    test("RFC 6749 4.1.2.1: at /authorize a tenant that exists and one that does not answer alike", async () => {
      const { ada, web, ask } = stage();
      const refusal = async (name: string): Promise<object> => {
        const answer = await ada.authorize(requestOf(web, { scope: `plat.tenant=${name}` }));
        return { at: header(answer, "location").replaceAll(name, "(sent)"), status: answer.status };
      };
      expect(await refusal("globex")).toEqual(await refusal("nobody"));
      const { service } = stage();
      const token = async (name: string): Promise<object> =>
        bare(await ask("/token", { basic: service, form: { ...GRANT, scope: `plat.tenant=${name}` } }), name);
      expect(await token("globex")).toEqual(await token("nobody"));
    });

    test("RFC 6749 5.2: a token of another client, and one that nobody has, answer alike", async () => {
      const { web, other, foreign, ask } = stage();
      const code = await codeFor(stage(), web);
      const { refresh_token } = await tokensFor(stage(), web);
      const refused = async (client: Client, form: Record<string, string>): Promise<object> =>
        bare(await ask("/token", asClient(client, form)));
      const refresh = (token: string) => ({ grant_type: "refresh_token", refresh_token: token });
      for (const client of [other, foreign]) {
        const nobodys = await refused(client, refresh("x".repeat(43)));
        expect(nobodys).toMatchObject({ status: 400 });
        for (const form of [
          refresh(refresh_token),
          tokenForm(code),
          tokenForm("x".repeat(43)),
          refresh(code),
          tokenForm(refresh_token),
        ])
          expect(await refused(client, form)).toEqual(nobodys);
        const looked = async (token: string): Promise<object> =>
          bare(await ask("/introspect", { basic: client, form: { token } }));
        expect(await looked(refresh_token)).toEqual(await looked("x".repeat(43)));
      }
      expect(failureOf(await ask("/token", asClient(web, refresh(refresh_token))))).toBe("200");
      expect(failureOf(await ask("/token", asClient(web, tokenForm(code))))).toBe("200");
    });

    test("OIDC Core 16.12: a known client with a wrong secret, and an unknown one, take the same time", async () => {
      const { web, disabled, ask } = stage();
      const kinds: Record<string, Client> = {
        known: { ...web, secret: "w".repeat(43) },
        disabled: { ...disabled, secret: "w".repeat(43) },
        unknown: unknown("w".repeat(43)),
      };
      const took = await medians(Object.keys(kinds), 15, (kind) => {
        const authorization = basic(kinds[kind] ?? unknown());
        return ask("/token", { form: GRANT, headers: { authorization } });
      });
      const times = Object.values(took);
      expect(Math.max(...times), JSON.stringify(took)).toBeLessThan(Math.min(...times) * 3 + 20);
    });
  });

  /** Of one length, since nothing else about the answers may differ. */
  const nobody = (n: number): string => `n${String(n).padStart(2, "0")}@acme.example`;
  const grant = (username: string, password: string) => ({
    grant_type: "password",
    plat_id_provider: "legacy_idp",
    username,
    password,
  });

  describe("whether a user exists", () => {
    const WRONG = "not the password";
    const attempts: readonly (readonly [who: string, address: string, password: string])[] = [
      ["unknown", nobody(1), WRONG],
      ["wrong password", EVE.email, WRONG],
      ["disabled, right password", DISABLED.email, DISABLED.password],
      ["without a password", WITHOUT_PASSWORD, WRONG],
      ["no address", "not-an-addres.ex", WRONG],
    ];

    test("RFC 6749 10.10, RFC 9700 2.4: /token answers alike, byte for byte, whoever is meant", async () => {
      const { legacy, ask } = stage();
      const ways: readonly ((form: Record<string, string>) => Ask)[] = [
        (form) => ({ basic: legacy, form }),
        (form) => ({ form: { ...form, client_id: legacy.id } }),
        (form) => ({ form }),
      ];
      const answers: object[] = [];
      for (const [who, address, password] of attempts) {
        const way = ways[answers.length % ways.length]!;
        const answer = await ask("/token", way(grant(address, password)));
        expect(failureOf(answer), who).toBe("400 invalid_grant");
        answers.push(bare(answer, address));
      }
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    });

    // shows: asvs/v6-authentication/6.3.8
    test("RFC 6749 10.11, OIDC Core 3.1.2.3: the sign-in page is the same, byte for byte, whoever is meant", async () => {
      const { web, ask } = stage();
      const visitor = new Visitor(ask);
      const fields = fieldsOf(await visitor.authorize(requestOf(web)));
      const pages: object[] = [];
      for (const [who, email, password] of attempts) {
        const page = await visitor.go("/sign-in", { form: { ...fields, email, password } });
        expect(failureOf(page), who).toBe("400");
        pages.push(bare(page, email));
      }
      for (const page of pages) expect(page).toEqual(pages[0]);
    });

    test("OIDC Core 3.1.2.1: login_hint tells nobody whether there is such a user", async () => {
      const { web, ask } = stage();
      const visitor = new Visitor(ask);
      await visitor.authorize(requestOf(web));
      const shown = async (login_hint: string): Promise<object> => {
        const page = await visitor.authorize(requestOf(web, { login_hint }));
        return bare(page, login_hint, encodeURIComponent(login_hint));
      };
      for (const address of [EVE.email, DISABLED.email, WITHOUT_PASSWORD])
        expect(await shown(address)).toEqual(await shown(nobody(2)));
    });

    // shows: asvs/v6-authentication/6.3.8
    test("OIDC Core 16.12: known and unknown users take the same time, at /token and at the page", async () => {
      const { legacy, web, ask } = stage();
      const visitor = new Visitor(ask);
      const fields = fieldsOf(await visitor.authorize(requestOf(web)));
      const addresses: Record<string, (n: number) => string> = {
        known: () => EVE.email,
        disabled: () => DISABLED.email,
        unknown: nobody,
      };
      const kinds = Object.keys(addresses);
      const of = (kind: string, round: number): string => addresses[kind]!(round + 10);
      const places: Record<string, (address: string) => Promise<Answer>> = {
        token: (address) => ask("/token", { basic: legacy, form: grant(address, WRONG) }),
        page: (email) => visitor.go("/sign-in", { form: { ...fields, email, password: WRONG } }),
      };
      // Whoever has failed 15 times is not looked at any more, and that is quick.
      for (const { email } of [EVE, DISABLED]) await stage().world.operate("POST", `users/${email}/unlock`);
      for (const [place, attempt] of Object.entries(places)) {
        // Each attempt costs a hash: at the page the two that matter most will do.
        const [meant, rounds] = place === "token" ? [kinds, 5] : [["known", "unknown"], 3];
        const took = await medians(meant, rounds, (kind, round) =>
          attempt(of(kind, round + (place === "token" ? 0 : 5))),
        );
        const times = Object.values(took);
        // A password that is not looked at takes a tenth.
        expect(Math.max(...times), `${place} ${JSON.stringify(took)}`).toBeLessThan(Math.min(...times) * 3 + 20);
      }
    });
  });
}
