import { describe, expect, it } from "vitest";
import { defineRoute, empty } from "../../src/http/route.ts";
import { RIGHTS, rightOf, type Operation } from "../../src/http/rights.ts";
import { TOKEN_KINDS } from "../../src/http/token-kind.ts";
import { everyRoute, platformRoutes } from "../support/route-table.ts";

describe("the table of rights", () => {
  it("has a row for every route, or the route does not compile", () => {
    const route = { method: "GET", path: "/new", summary: "New", handle: async () => empty(204) } as const;
    // @ts-expect-error: no row is named
    expect(() => defineRoute(route)).toThrow(TypeError);
    // @ts-expect-error: the table has no such row
    expect(() => defineRoute({ ...route, operation: "somethingNew" })).toThrow(TypeError);
  });

  it("has no row without a route", () => {
    const used = new Set([...everyRoute, ...platformRoutes].map(({ route }) => route.operation));
    expect([...used].sort()).toEqual(Object.keys(RIGHTS).sort());
  });

  it("lets everybody in where no token is asked for, and nobody else", () => {
    for (const [operation, { access }] of Object.entries(RIGHTS)) {
      if (operation === "readUserInfo") continue; // which looks at its token by itself
      const rights = TOKEN_KINDS.map((kind) => rightOf(operation as Operation, kind));
      expect([operation, rights.every((right) => right === "all")]).toEqual([operation, access.kind === "public"]);
    }
  });
});
