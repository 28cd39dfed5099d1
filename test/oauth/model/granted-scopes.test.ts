import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBuiltIn, type ServiceRecord } from "../../../src/platform/model/built-in.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { scopeMatches } from "../../../src/platform/model/scope-pattern.ts";
import {
  grantScopes,
  mayActFor,
  parseScopes,
  type ClientRights,
  type TenantRights,
} from "../../../src/oauth/model/granted-scopes.ts";
import { runs } from "../../support/model-runs.ts";
import { anyText } from "../../support/any-text.ts";

const names = createNames("plat");
const builtIn = createBuiltIn(names);

const word = fc.constantFrom("a", "b", "ab", "a.x", "a.y", "b.x", "plat.admin", "plat.admin_write");
const pattern = fc.oneof(
  word,
  word.map((text) => `${text}*`),
  fc.constant("*"),
);
const service = (name: string, scopes: readonly string[]): ServiceRecord => ({
  name,
  scopes,
  proxyPath: `/${name}`,
  essential: false,
  tenant: "own",
});
const world = fc.record({
  listed: fc.array(pattern, { maxLength: 4 }),
  offered: fc.array(fc.array(pattern, { maxLength: 3 }), { maxLength: 3 }),
});

const client = (listed: readonly string[]): ClientRights => ({
  id: "own.app",
  tenant: "own",
  service: undefined,
  scopes: listed,
});
const tenant = (offered: readonly (readonly string[])[]): TenantRights => ({
  id: "own",
  disabled: false,
  plan: "standard",
  subscribed: [],
  services: offered.map((scopes, n) => service(`s${n}`, scopes)),
});

/** The model: a scope is allowed if a listed pattern and an offered pattern match it as text. */
const matches = (one: string, scope: string): boolean =>
  new RegExp(`^${one.replace(/[.]/g, "\\.").replace(/\*$/, ".*")}$`).test(scope);
/** No tenant's service can offer a pattern that matches a scope of operators. */
const allowed = (scope: string, listed: readonly string[], offered: readonly (readonly string[])[]): boolean =>
  listed.some((one) => matches(one, scope)) &&
  offered.flat().some((one) => !OPERATORS.some((own) => matches(one, own)) && matches(one, scope));
const OPERATORS = ["plat.admin", "plat.admin_write"];

describe("grantScopes", () => {
  // shows: oauth/what-the-service-does/scopes-by-subscription
  // shows: oauth/who-gets-which-scope/a-service-scope
  // shows: oauth/who-gets-which-scope/a-client-s-list
  it("grants a named scope exactly when the model allows it", () => {
    fc.assert(
      fc.property(
        world,
        fc.constantFrom("a", "b", "ab", "a.x", "a.y", "b.x", "c", "plat.admin", "plat.admin_write"),
        ({ listed, offered }, scope) => {
          const request = parseScopes(scope, names);
          if (!request.ok) throw new Error("a plain scope parses");
          const granted = grantScopes(request.value, client(listed), tenant(offered), builtIn);
          expect(granted.ok).toBe(allowed(scope, listed, offered));
          if (granted.ok) expect(granted.value).toEqual([scope]);
        },
      ),
      { numRuns: runs(700) },
    );
  });

  // shows: oauth/who-gets-which-scope/nothing-named
  it("grants patterns that together match exactly what the model allows, if none is named", () => {
    fc.assert(
      fc.property(
        world,
        fc.constantFrom("a", "b", "ab", "a.x", "a.y", "b.x", "a.z", "zz", "plat.admin", "plat.admin_write"),
        ({ listed, offered }, probe) => {
          const request = parseScopes("", names);
          if (!request.ok) throw new Error("an empty parameter parses");
          const granted = grantScopes(request.value, client(listed), tenant(offered), builtIn);
          if (!granted.ok) throw new Error("an unnamed request is never refused");
          expect(granted.value.some((one) => scopeMatches(one, probe))).toBe(allowed(probe, listed, offered));
        },
      ),
      { numRuns: runs(700) },
    );
  });

  // shows: oauth/who-gets-which-scope/a-scope-that-cannot-be-granted
  it("refuses a whole request if one scope cannot be granted, and names it", () => {
    const request = parseScopes("a.x a.y", names);
    if (!request.ok) throw new Error("parses");
    const granted = grantScopes(request.value, client(["a.x"]), tenant([["a.*"]]), builtIn);
    expect(granted).toMatchObject({ ok: false, error: { scope: "a.y" } });
  });
});

describe("mayActFor", () => {
  const stranger: TenantRights = { ...tenant([]), id: "other" };
  // shows: oauth/who-gets-which-scope/plat.tenant-of-a-client
  it.each([
    ["its own tenant", client([]), tenant([]), true],
    ["a stranger", client([]), stranger, false],
    ["a stranger, as the client of a service that is not subscribed", { ...client([]), service: "s" }, stranger, false],
    ["a subscriber of its service", { ...client([]), service: "s" }, { ...stranger, subscribed: ["s"] }, true],
    [
      "a disabled subscriber",
      { ...client([]), service: "s" },
      { ...stranger, subscribed: ["s"], disabled: true },
      false,
    ],
    ["its own tenant, disabled", client([]), { ...tenant([]), disabled: true }, false],
  ])("%s", (_, from, to, may) => {
    expect(mayActFor(from, to).ok).toBe(may);
  });
});

describe("parseScopes", () => {
  it("never throws, and keeps every service scope that it accepts", () => {
    fc.assert(
      fc.property(anyText({ maxLength: 200 }), (text) => {
        const parsed = parseScopes(text, names);
        if (!parsed.ok) return;
        const items = text.split(" ").filter((item) => item !== "");
        for (const scope of parsed.value.named) expect(items).toContain(scope);
        expect(parsed.value.everything).toBe(
          items.every(
            (item) => item.startsWith("plat.tenant=") || item.startsWith("plat.org=") || item === "plat.no_tenant",
          ),
        );
      }),
      { numRuns: runs(700) },
    );
  });

  // shows: oauth/scopes/plat.org-is-alone
  // shows: oauth/who-gets-which-scope/two-places
  it.each([
    "plat.tenant=a plat.tenant=b",
    "plat.tenant=a plat.org=b",
    "plat.no_tenant plat.org=b",
    "plat.no_tenant plat.tenant=a",
    "plat.org=a plat.org=b",
  ])("refuses %s", (text) => {
    expect(parseScopes(text, names).ok).toBe(false);
  });
});
