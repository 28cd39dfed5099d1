import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineRoute, empty } from "../../src/http/route.ts";
import { RIGHTS, rightOf, type Operation } from "../../src/http/callers/rights.ts";
import type { Route } from "../../src/http/route.ts";
import { TOKEN_KINDS } from "../../src/http/callers/token-kind.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { isSearch } from "../support/model-runs.ts";
import { everyRoute, fill, named, platformRoutes } from "../support/route-table.ts";
import {
  makeOwned,
  makeOwnedFile,
  makeOwnedTopic,
  makePendingFile,
  SAMPLES,
  type Asked,
  type Owned,
  type Sample,
} from "./rights-samples.ts";
import { makeWorld, type HeldToken, type World } from "./rights-world.ts";

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

  it("lets everybody call public routes, and no others", () => {
    for (const [operation, { access }] of Object.entries(RIGHTS)) {
      if (operation === "readUserInfo") continue; // which looks at its token by itself
      const rights = TOKEN_KINDS.map((kind) => rightOf(operation as Operation, kind));
      expect([operation, rights.every((right) => right === "all")]).toEqual([operation, access.kind === "public"]);
    }
  });
});

describe("an attack that worked once", () => {
  const refused = (who: readonly string[], kinds: readonly (typeof TOKEN_KINDS)[number][]) => {
    for (const [operation, row] of Object.entries(RIGHTS))
      if (who.includes(row.who))
        for (const kind of kinds)
          expect([operation, kind, [403, 404]]).toEqual([
            operation,
            kind,
            expect.arrayContaining([rightOf(operation as Operation, kind)]),
          ]);
  };

  it("on files fails: with a client's id without its secret, of no client, for no tenant", () => {
    refused(
      ["file", "newFile", "filesOfTenant"],
      ["personUnproven", "noTenant", "organization", "clientless", "unproven"],
    );
  });

  it("on topics and subscriptions fails with any person's token", () => {
    const persons = ["person", "personUnproven", "noTenant", "organization", "clientless", "unproven"] as const;
    refused(["newTopic", "topicOwner", "topicConsumer", "subscriber"], persons);
    refused(["topicReader"], persons.slice(2));
  });
});

const OWN_COLUMNS = new Set(["client", "person", "personUnproven"]);
const protectedBySample = everyRoute.filter(
  ({ route }) => !["everybody", "operator"].includes(RIGHTS[route.operation].who),
);
const ofOperator = everyRoute.filter(({ route }) => RIGHTS[route.operation].who === "operator");
const ofEverybody = everyRoute.filter(({ route }) => RIGHTS[route.operation].who === "everybody");

describe("every operation with a token of every kind", () => {
  let world: World;
  let owned: Owned;
  /** A batch of the shared topic that the owner holds. */
  let ownersLock: string;
  /** The client's resources before the first call. */
  let before: unknown;

  beforeAll(async () => {
    world = await makeWorld();
    owned = await makeOwned(world);
    ownersLock = await lockOf(owned.topic, world.own);
    before = await snapshot();
  });

  // Compares once: after every operation, it would take half the time of this file. `-t` finds the operation.
  afterAll(async () => {
    expect(await snapshot(), "an operation changed what another caller has").toEqual(before);
  });

  const lockOf = async ({ topicOwnerClient, eventType }: Owned["topic"], token: string): Promise<string> => {
    const path = `/pubsub/v1/topics/${topicOwnerClient}/${eventType}/read`;
    return (await expectJson(await call(path, { token, json: { ttlMs: 3_600_000 } }), 200)).token;
  };

  let askedSoFar = 0;
  /** A token of each kind, each time by the next way to get one. A search tries all ways with every operation. */
  const tokens = (): readonly HeldToken[] => {
    if (isSearch) return world.tokens;
    askedSoFar++;
    const byColumn = Object.groupBy(world.tokens, ({ column }) => column);
    return Object.values(byColumn).map((held) => held[askedSoFar % held.length]!);
  };

  const visibilityOf = (route: Route) => (route.path.startsWith("/public/") ? "public" : "private");

  const send = (base: string, route: Route, token: string, { params = {}, query, init }: Sample): Promise<Response> => {
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? "missing");
    const search = query === undefined ? "" : `?${new URLSearchParams(query).toString()}`;
    return call(`${base}${path}${search}`, { method: route.method, token, ...init });
  };

  const sampleOf = async (route: Route, asked: Omit<Asked, "world" | "visibility" | "unique">): Promise<Sample> => {
    const sample = SAMPLES[route.operation];
    if (sample === undefined) throw new Error(`${route.operation} has no sample`);
    return sample({ ...asked, world, visibility: visibilityOf(route), unique: unique("new") });
  };

  /** Resources that another caller may change: a topic, a file. */
  const fresh = async (route: Route): Promise<Owned> => {
    const visibility = visibilityOf(route);
    if (route.path.includes("{eventType}"))
      return { ...owned, topic: await makeOwnedTopic(world.own, /{(name|subscriberId)}/.test(route.path)) };
    if (route.operation === "commitFile")
      return { ...owned, pending: { ...owned.pending, [visibility]: await makePendingFile(world.own, visibility) } };
    if (!route.path.includes("{fileId}")) return owned;
    return { ...owned, files: { ...owned.files, [visibility]: await makeOwnedFile(world.own, visibility) } };
  };

  /** Everything that the client has, as it sees it. */
  const snapshot = async (): Promise<unknown> => {
    const { topicOwnerClient, eventType } = owned.topic;
    const topic = `/pubsub/v1/topics/${topicOwnerClient}/${eventType}`;
    const addresses = [topic, `${topic}/events`, `${topic}/subscriptions`, `${topic}/subscriptions/warehouse`];
    for (const below of ["files/" + owned.files.private, "public/files/" + owned.files.public])
      addresses.push(`/media/v2/${below}/metadata`, `/media/v2/${below}/variants`);
    const seen: unknown[] = [];
    for (const address of addresses) seen.push(await expectJson(await call(address, { token: world.own }), 200));
    return seen;
  };

  it.each(named(protectedBySample))("%s", async (_, base, route) => {
    const wrong: unknown[] = [];
    const ask = async ({ how, column, token }: HeldToken): Promise<void> => {
      const right = rightOf(route.operation, column);
      const mine = OWN_COLUMNS.has(column);
      const shared = await sampleOf(route, { owned, mine, lock: async () => ownersLock });
      if (typeof right === "number") {
        const answer = await send(base, route, token, shared);
        if (answer.status !== right) wrong.push([how, right, answer.status, await answer.text()]);
        return;
      }
      const own = shared.changes === true ? await fresh(route) : owned;
      const sample = await sampleOf(route, { owned: own, mine, lock: () => lockOf(own.topic, token) });
      const answer = await send(base, route, token, sample);
      const text = await answer.text();
      const isRight =
        sample.owner === undefined
          ? answer.status < 400 && (right !== "none" || text === "[]")
          : answer.status === sample.owner;
      if (!isRight) wrong.push([how, right, answer.status, text]);
    };
    for (const held of tokens()) await ask(held);
    expect(wrong).toEqual([]);
  });

  const knock = (base: string, route: Route, token?: string): Promise<Response> =>
    call(base + fill(route.path), {
      method: route.method,
      ...(token === undefined ? {} : { token }),
      ...(route.body.kind === "json" ? { json: {} } : {}),
    });

  it.each(named(ofOperator))("%s: is only for the operator", async (_, base, route) => {
    for (const { how, column, token } of tokens()) {
      const right = rightOf(route.operation, column);
      const { status } = await knock(base, route, token);
      expect([how, status]).toEqual([how, right === "scope" ? 403 : right]);
    }
    expect([401, 403]).not.toContain((await knock(base, route, await tokenFor(OPERATOR))).status);
  });

  it.each(named(ofEverybody))("%s: ignores a token", async (_, base, route) => {
    const { status } = await knock(base, route);
    for (const { how, token } of tokens())
      expect([how, (await knock(base, route, token)).status]).toEqual([how, status]);
  });

  it("leaves an uncommitted file to its client", async () => {
    for (const [below, id] of [
      ["files", owned.pending.private],
      ["public/files", owned.pending.public],
    ])
      await expectJson(await call(`/media/v2/${below}/${id}/commit`, { method: "POST", token: world.own }), 202);
  });
});
