import { describe, expect, test } from "vitest";
import { TENANT } from "../support/world.ts";
import { bare, failureOf, fieldsOf, landing } from "./answer.ts";
import { asClient, REDIRECT, requestOf, tokenForm, tokensFor, Visitor, type Stage } from "./stage.ts";

/** Refresh tokens, which never expire by themselves. */
export function refreshSuite(stage: () => Stage): void {
  describe("a refresh token", () => {
    test("RFC 9700 4.14.2, RFC 6749 10.4: is worth no more than its client and its user are now", async () => {
      const { world, ask } = stage();
      const email = "may@acme.example";
      const password = "a password of May";
      const user = async (changes: object) => world.put(`users/${email}`, changes);
      const member = async (roles: readonly string[]) => world.put(`tenants/${TENANT}/members/${email}`, { roles });
      const client = async (changes: object): Promise<string> => {
        const registered = { tenant: TENANT, confidential: true, redirectUris: [REDIRECT] };
        const grants = { grantTypes: ["authorization_code", "refresh_token"], scopes: ["plat.media_view"] };
        return (await world.put("clients/acme.short-lived", { ...registered, ...grants, ...changes }))
          .clientSecret as string;
      };
      await user({ password });
      await member(["everything"]);
      let secret = await client({});
      const self = () => ({ id: "acme.short-lived", secret });
      const visitor = new Visitor(ask);
      const fields = fieldsOf(await visitor.authorize(requestOf(self())));
      const code =
        landing(await visitor.go("/sign-in", { form: { ...fields, email, password } })).query.get("code") ?? "";
      const { json: tokens } = await ask("/token", asClient(self(), tokenForm(code)));
      const use = async (scope = ""): Promise<string> => {
        const form = { grant_type: "refresh_token", refresh_token: tokens.refresh_token as string, scope };
        const answer = await ask("/token", asClient(self(), form));
        return answer.status === 200 ? (answer.json.scope as string) : failureOf(answer);
      };
      const all = "plat.tenant=acme plat.media_view";
      expect(await use()).toBe(all);
      await member([]);
      expect([await use(), await use("plat.media_view")]).toEqual(["plat.tenant=acme", "400 invalid_scope"]);
      await (await world.operate("DELETE", `tenants/${TENANT}/members/${email}`)).arrayBuffer();
      expect(await use()).toBe("400 invalid_grant");
      await member(["everything"]);
      expect(await use()).toBe(all);
      await client({ disabled: true });
      expect(await use()).toBe("401 invalid_client");
      await client({ disabled: false, grantTypes: ["authorization_code"] });
      expect(await use()).toBe("400 unauthorized_client");
      await client({});
      expect(await use()).toBe(all);
      const replaced = "r".repeat(43);
      await client({ clientSecret: replaced });
      expect(await use()).toBe("401 invalid_client");
      secret = replaced;
      expect(await use()).toBe(all);
      await user({ disabled: true });
      expect(await use()).toBe("400 invalid_grant");
      await user({ disabled: false });
      expect(await use()).toBe("400 invalid_grant");
      expect((await ask("/userinfo", { token: tokens.access_token as string })).status).toBe(401);
      expect(failureOf(await visitor.authorize(requestOf(self(), { prompt: "none" })))).toBe("302 login_required");
    });

    test("RFC 6749 10.4: nobody lists or deletes another user's", async () => {
      const { web, ask, bob } = stage();
      const { access_token: adas } = await tokensFor(stage(), web);
      const done = landing(await bob.authorize(requestOf(web))).query.get("code") ?? "";
      const { json: bobs } = await ask("/token", asClient(web, tokenForm(done)));
      const list = async (token: string) =>
        (await ask("/refreshtokens?pageSize=1000", { token })).json as { id: string }[];
      const [hers, his] = [await list(adas), await list(bobs.access_token)];
      expect(hers.length * his.length).toBeGreaterThan(0);
      expect(hers.filter(({ id }) => his.some((one) => one.id === id))).toEqual([]);
      for (const { id } of his) {
        const answer = await ask(`/refreshtokens/${id}`, { method: "DELETE", token: adas });
        expect(bare(answer, id)).toEqual(
          bare(await ask(`/refreshtokens/${"0".repeat(32)}`, { method: "DELETE", token: adas })),
        );
        expect(answer.status).toBe(404);
      }
      for (const id of ["%00", "..", "%2e%2e", "*", "%25", "__proto__", "' OR 1=1 --", "x".repeat(2000)])
        expect((await ask(`/refreshtokens/${encodeURI(id)}`, { method: "DELETE", token: adas })).status, id).toBe(404);
      expect(await list(bobs.access_token)).toEqual(his);
      // The token where its id belongs, as people do: logs.ts looks whether it was written down with the address.
      for (const token of [bobs.refresh_token, bobs.access_token] as string[])
        expect((await ask(`/refreshtokens/${token}`, { method: "DELETE", token: adas })).status).toBe(404);
    });
  });
}
