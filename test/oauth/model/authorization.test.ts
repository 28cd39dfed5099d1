import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBuiltIn } from "../../../src/platform/model/built-in.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { tokenState } from "../../../src/oauth/grants/refresh-rotation.ts";
import { narrow, type Authorization } from "../../../src/oauth/model/authorization.ts";
import { matchesChallenge } from "../../../src/oauth/model/pkce.ts";
import { grantScopes, parseScopes } from "../../../src/oauth/model/granted-scopes.ts";
import { runs } from "../../support/model-runs.ts";

/** The rules for an earlier authorization. */
const names = createNames("plat");
const builtIn = createBuiltIn(names);

/** Scopes and patterns over a tiny alphabet, so that they often overlap. */
const scope = fc.stringMatching(/^[ab]{1,3}(\.[ab]{1,2})?\*?$/);
const plain = fc.stringMatching(/^[ab]{1,3}(\.[ab]{1,2})?$/);
/** The model: every short scope that a list of patterns matches. */
const WORLD = [...words(3), ...words(3).flatMap((head) => words(2).map((tail) => `${head}.${tail}`))];
function words(max: number): string[] {
  return max === 0 ? [] : [...words(max - 1), ...Array.from({ length: 2 ** max }, (_, n) => toWord(n, max))];
}
function toWord(n: number, length: number): string {
  return n.toString(2).padStart(length, "0").replaceAll("0", "a").replaceAll("1", "b");
}
const worldOf = (patterns: readonly string[]): Set<string> =>
  new Set(
    WORLD.filter((word) =>
      patterns.some((pattern) => (pattern.endsWith("*") ? word.startsWith(pattern.slice(0, -1)) : word === pattern)),
    ),
  );

const place = fc.constantFrom({ tenant: "acme", org: "" }, { tenant: "", org: "corp" }, { tenant: "", org: "" });
const authorization: fc.Arbitrary<Authorization> = fc
  .record({
    openid: fc.boolean(),
    profile: fc.subarray(["profile", "email"]),
    scopes: fc.array(scope, { maxLength: 4 }),
    tenantExplicit: fc.boolean(),
    sessionId: fc.constant("s"),
    authenticatedAtMs: fc.constant(1),
  })
  .chain((rest) => place.map((where) => ({ ...rest, ...where })));
const placeScopes = fc.constantFrom("", "plat.tenant=acme", "plat.tenant=other", "plat.org=corp", "plat.no_tenant");
const asked = fc.record({
  place: placeScopes,
  openid: fc.boolean(),
  profile: fc.subarray(["profile", "email"]),
  scopes: fc.array(scope, { maxLength: 3 }),
});

interface Asked {
  readonly place: string;
  readonly openid: boolean;
  readonly profile?: readonly string[];
  readonly scopes: readonly string[];
}
const request = ({ place: where, openid, profile = [], scopes }: Asked) => {
  const parsed = parseScopes([where, openid ? "openid" : "", ...profile, ...scopes].join(" "), names);
  if (!parsed.ok) throw new Error("the generator makes requests that parse");
  return parsed.value;
};

const isSamePlace = ({ tenant, org }: Authorization, where: string): boolean =>
  where === "" ||
  where === (tenant !== "" ? `plat.tenant=${tenant}` : org !== "" ? `plat.org=${org}` : "plat.no_tenant");

/** Without a tenant, the request means the client's parent tenant. */
const meansParent = ({ tenant }: Authorization, where: string, parent: string): boolean =>
  where === "plat.no_tenant" && tenant === parent;

describe("narrow", () => {
  // shows: oauth/post-token/refresh_token-scope
  it("never gives more than was authorized, gives what was requested or refuses, and all if nothing was named", () => {
    fc.assert(
      fc.property(authorization, asked, fc.constantFrom("acme", "other"), (authorized, wanted, parent) => {
        const result = narrow(authorized, request(wanted), parent, names);
        const nothingNamed = wanted.scopes.length === 0 && wanted.profile.length === 0 && !wanted.openid;
        const limitedTo = worldOf(authorized.scopes);
        const beyond =
          !(isSamePlace(authorized, wanted.place) || meansParent(authorized, wanted.place, parent)) ||
          (wanted.openid && !authorized.openid) ||
          wanted.scopes.some((one) => [...worldOf([one])].some((word) => !limitedTo.has(word)));
        if (!result.ok) {
          // Several narrower patterns together may match a pattern. It is refused then, which grants less, not more.
          expect(beyond || wanted.scopes.some((one) => one.endsWith("*"))).toBe(true);
          return;
        }
        expect(beyond).toBe(false);
        const { openid, profile = [], scopes } = authorized;
        const known = wanted.openid ? wanted.profile.filter((one) => profile.includes(one)) : [];
        expect(result.value.profile).toEqual(nothingNamed ? profile : known);
        if (nothingNamed) expect(result.value).toEqual({ openid, profile, scopes });
        else {
          expect(result.value.openid).toBe(wanted.openid);
          expect(new Set(result.value.scopes)).toEqual(new Set(wanted.scopes));
        }
      }),
      { numRuns: runs(700) },
    );
  });

  it("gives no more in two steps than in one", () => {
    /** Requests made of the authorization, so most of them are granted. */
    const twoRequests = authorization.chain((authorized) => {
      const part = fc.record({
        place: fc.constant(""),
        openid: fc.boolean().map((wanted) => wanted && authorized.openid),
        scopes: fc.subarray([...authorized.scopes]),
      });
      return fc.tuple(fc.constant(authorized), part, part);
    });
    let narrowedTwice = 0;
    fc.assert(
      fc.property(twoRequests, ([authorized, first, second]) => {
        const once = narrow(authorized, request(first), "acme", names);
        if (!once.ok) throw new Error("what was authorized is granted");
        const twice = narrow({ ...authorized, ...once.value }, request(second), "acme", names);
        if (!twice.ok) return;
        narrowedTwice += 1;
        const outer = worldOf(once.value.scopes);
        expect([...worldOf(twice.value.scopes)].filter((word) => !outer.has(word))).toEqual([]);
        expect(twice.value.openid && !once.value.openid).toBe(false);
      }),
      { numRuns: runs(300) },
    );
    expect(narrowedTwice).toBeGreaterThan(200);
  });
});

describe("A request for everything authorized", () => {
  it("is limited by the client's list, the tenant's services, the roles and the authorization", () => {
    const lists = fc.tuple(...Array.from({ length: 4 }, () => fc.array(scope, { maxLength: 4 })));
    fc.assert(
      fc.property(lists, plain, ([listed = [], offered = [], held = [], limitedTo = []], word) => {
        const client = { id: "a.b", tenant: "acme", service: undefined, scopes: listed };
        const service = { name: "x", proxyPath: "/x", scopes: offered, essential: true, tenant: "acme" };
        const granted = grantScopes(
          { everything: true, named: [], limitedTo },
          client,
          { id: "acme", services: [service] },
          builtIn,
          { user: "u", scopes: held },
        );
        if (!granted.ok) throw new Error("everything is never refused");
        const allowed = [listed, offered, held, limitedTo].every((list) => worldOf(list).has(word));
        expect(worldOf(granted.value).has(word)).toBe(allowed && WORLD.includes(word));
      }),
      { numRuns: runs(700) },
    );
  });
});

describe("The state of a refresh token", () => {
  const used = { sealedSuccessor: "sealed", successorUsed: false };
  it.each([
    ["not used", { usedAtMs: undefined, sealedSuccessor: undefined, successorUsed: false }, 5_000, "living"],
    ["used this moment", { usedAtMs: 5_000, ...used }, 5_000, "superseded"],
    ["used 30 s ago", { usedAtMs: 5_000, ...used }, 35_000, "superseded"],
    ["used longer ago", { usedAtMs: 5_000, ...used }, 35_001, "spent"],
    ["its successor was used", { usedAtMs: 5_000, ...used, successorUsed: true }, 5_000, "spent"],
    ["used, by the clock of an isolate that is ahead", { usedAtMs: 5_050, ...used }, 5_000, "superseded"],
  ])("%s: %4$s", (_, token, nowMs, kind) => {
    expect(tokenState(token, nowMs).kind).toBe(kind);
  });
});

describe("PKCE", () => {
  // shows: oauth/get-authorize/code_challenge
  // shows: oauth/authentication/pkce
  it("accepts for S256 the verifier of RFC 7636 appendix B, and no other", async () => {
    const challenge = { value: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", method: "S256" } as const;
    expect(await matchesChallenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", challenge)).toBe(true);
    expect(await matchesChallenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXj", challenge)).toBe(false);
    expect(await matchesChallenge(challenge.value, challenge)).toBe(false);
  });

  // shows: oauth/get-authorize/code_challenge
  it("accepts for plain the same text, if it is too long to guess", async () => {
    const text = "x".repeat(43);
    expect(await matchesChallenge(text, { value: text, method: "plain" })).toBe(true);
    expect(await matchesChallenge(`${text}x`, { value: text, method: "plain" })).toBe(false);
    for (const short of ["", "x", "x".repeat(42), "x".repeat(129), "é".repeat(43)])
      expect(await matchesChallenge(short, { value: short, method: "plain" })).toBe(false);
  });
});
