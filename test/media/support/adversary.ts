import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import type { Principal } from "../../../src/http/callers/auth.ts";
import type { Result } from "../../../src/platform/model/result.ts";
import { byCode, byImplicit, byPassword, GRANTS, makeServiceClient } from "../../http/rights-world.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { ALL_SCOPES, makeClient, type TestClient } from "../../support/platform/clients.ts";
import { put } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { mediaApp, type MediaCall } from "./media-app.ts";
import { principal } from "./principal.ts";
import { collection } from "./stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { everywhere } from "../../support/shards.ts";

/**
 * A client stores a file step by step. Before, during and after each step, strangers try every operation on it with
 * every token that they can get from the token endpoint. Only the client's steps change the file, all of them succeed,
 * and no answer to a stranger reveals anything of it.
 */
const SECRET = "a word of the victim";

const PICTURE = await encodePng(gradient(4, 4));

const { oauth } = createDeps(env);

const app = mediaApp({ verifier: oauth.verifier, access: oauth.access });

/** The claims of a token, as the other media tests make them up. */
type Said = Partial<Principal>;

/** A token of each kind, and its claims. */
interface Stranger {
  readonly how: string;
  readonly token: string | undefined;
  readonly said: Said;
}

interface World {
  /** The tenants of the file's client, and of most strangers. */
  readonly victim: string;
  readonly other: string;
  readonly owner: Stranger;
  readonly strangers: readonly Stranger[];
  /** A stranger's own file. */
  readonly strangersLink: string;
  /** Address of the report of a deletion by the client. */
  readonly erasure: string;
}

async function makeWorld(): Promise<World> {
  const hers = await makeApp({ grantTypes: GRANTS });
  const { tenant: other } = hers;
  // The file's client also serves the other tenant, so people of that tenant can get a token for it.
  const client = await makeServiceClient([other]);
  const { tenant: victim } = client;
  const colleague = await makeClient({ tenant: victim });
  const servant = await makeServiceClient([victim, other]);
  // She has every role that her tenant and its organization can give her.
  const eve = await makeUser({ tenant: other });
  const role = unique("role");
  await put(`roles/${role}`, { scopes: ALL_SCOPES });
  await put(`organizations/${other}-org/members/${eve.email}`, { roles: [role] });
  const forOther = { scope: `plat.tenant=${other}` };
  const proven = (at: TestApp) => byPassword(eve, forOther, { authorization: basic(at) });
  const unproven = (at: TestApp) => byPassword(eve, { client_id: at.clientId, ...forOther });
  const outside = { tenant: "", tenantExplicit: false };
  const held: readonly (readonly [how: string, token: Promise<string>, said: Said])[] = [
    ["another client of the tenant", tokenFor(colleague), ofClient(colleague)],
    ["a client of another tenant", tokenFor(hers), ofClient(hers)],
    ["… for its tenant", tokenFor(hers, forOther.scope), { ...ofClient(hers), tenantExplicit: true }],
    ["a client that serves the tenant", tokenFor(servant), ofClient(servant)],
    [
      "… for the tenant",
      tokenFor(servant, `plat.tenant=${victim}`),
      { ...ofClient(servant), tenant: victim, tenantExplicit: true },
    ],
    ["a person at a client of the person's tenant", proven(hers), ofPerson(eve, hers)],
    ["… at one that serves both tenants", proven(servant), ofPerson(eve, servant)],
    ["… at the very client", proven(client), ofPerson(eve, client)],
    ["… without its secret", unproven(client), { ...ofPerson(eve, client), clientAuthenticated: false }],
    [
      "… by the implicit flow",
      byImplicit(client, eve, forOther),
      { ...ofPerson(eve, client), clientAuthenticated: false },
    ],
    ["… for no tenant", byCode(client, eve, { scope: "plat.no_tenant" }), { ...ofPerson(eve, client), ...outside }],
    [
      "… for an organization",
      byCode(client, eve, { scope: `plat.org=${other}-org` }),
      { ...ofPerson(eve, client), ...outside, org: `${other}-org` },
    ],
    [
      "… at no client",
      byPassword(eve, forOther),
      { ...ofPerson(eve, client), clientId: "", clientName: "", clientAuthenticated: false },
    ],
  ];
  const strangers: Stranger[] = [{ how: "nobody", token: undefined, said: {} }];
  for (const [how, token, said] of held) strangers.push({ how, token: await token, said });
  const owner = { how: "the client itself", token: await tokenFor(client), said: ofClient(client) };
  // The clock is not ahead of the tokens.
  app.clock.nowMs = Date.now() + 1000;
  const create = async (token: string) =>
    expectJson(await app.call(collection(), { token, json: { "Content-Type": "image/png" } }), 200);
  const { uploadLink: strangersLink } = await create(strangers[2]!.token!);
  const { id } = await create(owner.token);
  const deleted = await app.call(`${collection()}/${id}`, { token: owner.token, method: "DELETE" });
  return { victim, other, owner, strangers, strangersLink, erasure: deleted.headers.get("location")! };
}

const ofClient = ({ clientId, tenant }: TestClient): Said => ({
  clientId,
  clientName: clientId,
  tenant,
  subject: clientId,
});

const ofPerson = (user: TestUser, client: TestClient): Said => ({
  ...ofClient(client),
  tenant: user.tenant,
  tenantExplicit: true,
  user: user.email,
  subject: user.email,
});

/** The verifier reads each token as the other media tests make up one of its kind. */
export async function expectWorld(): Promise<void> {
  await expectJson(await app.call(world.erasure, { token: world.owner.token! }), 200);
  for (const { how, token, said } of [world.owner, ...world.strangers]) {
    if (token === undefined) continue;
    const { scopes, ...verified } = expectOk(await oauth.verifier.verify(token, app.clock.nowMs));
    const { scopes: all, ...made } = principal(said);
    const issued = {
      plan: expect.any(String),
      tokenId: expect.any(String),
      grantId: expect.any(String),
      sessionId: expect.any(String),
      issuedAtSec: expect.any(Number),
      expiresAtSec: expect.any(Number),
    };
    expect([how, verified]).toMatchObject([how, { ...made, ...issued }]);
    expect([how, scopes]).toEqual([how, expect.arrayContaining(said.tenant === "" ? [] : [...all])]);
  }
}

const expectOk = <T>(result: Result<T, unknown>): T => {
  if (!result.ok) throw new Error(String(result.error));
  return result.value;
};

const world = await makeWorld();

const { victim: VICTIM, other: OTHER, strangers: STRANGERS } = world;

interface Target {
  readonly id: string;
  readonly visibility: "private" | "public";
  readonly uploadLink: string;
}

type Attempt = (target: Target) => readonly [path: string, init: MediaCall];

const at =
  (below: string, method: string, json?: unknown): Attempt =>
  ({ id, visibility }) => [`${collection(visibility)}/${id}${below}`, { method, json }];

const ofAll =
  (query: string, method: string, bulk = false): Attempt =>
  ({ visibility }) => [
    `${bulk ? collection(visibility).replace("files", "bulk/variants") : collection(visibility)}?tenant=${VICTIM}${query}`,
    { method },
  ];

const ATTEMPTS: readonly Attempt[] = [
  at("", "GET"),
  at(`?tenant=${VICTIM}`, "GET"),
  at("", "DELETE"),
  at("/commit", "POST", { stolen: true }),
  at(`/commit?tenant=${VICTIM}`, "POST", { stolen: true }),
  at(`/commit?tenant=${OTHER}`, "POST", { stolen: true }),
  at("/metadata", "GET"),
  at("/metadata", "PUT", { stolen: true }),
  at("/variants", "GET"),
  at("/variants?clip=2x2", "POST"),
  at("/variants", "DELETE"),
  ofAll("", "GET"),
  ofAll("&q=album:*", "GET"),
  ofAll("", "DELETE"),
  ofAll(`&q=album:"${encodeURIComponent(SECRET)}"`, "DELETE"),
  ofAll("&clip=2x2", "POST", true),
  ofAll("&clip=3x3", "DELETE", true),
  () => [`/media/v2/erasures?tenant=${VICTIM}`, { method: "GET" }],
  () => [world.erasure, { method: "GET" }],
  ({ id }) => [`/media/v2/content/${id}/clip-3x3`, { method: "GET" }],
  ({ id }) => [`/media/v2/content/${id}?expires=9999999999999&signature=x`, { method: "GET" }],
  ({ id }) => [`/media/v2/uploads/${id}?type=image%2Fpng&expires=9999999999999&signature=x`, sent(PICTURE)],
  // The link of the stranger's own file, changed to the victim's.
  ({ id }) => [world.strangersLink.replace(/uploads\/\w+/, `uploads/${id}`), sent(PICTURE)],
];

function sent(body: Uint8Array<ArrayBuffer>): MediaCall {
  return { method: "PUT", body, headers: { "content-type": "image/png", "content-length": String(body.length) } };
}

/** The client's steps. Each needs those before. */
const STEPS: readonly ((target: Target) => readonly [string, MediaCall, status: number])[] = [
  ({ uploadLink }) => [uploadLink, sent(PICTURE), 200],
  (target) => [...as(at("/commit", "POST", { album: SECRET })(target)), 202],
  (target) => [...as(at("/metadata", "PUT", { album: SECRET, more: 1 })(target)), 200],
  (target) => [...as(at("/variants?clip=3x3", "POST")(target)), 200],
  (target) => [...as(at("", "DELETE")(target)), 204],
];

const as = ([path, init]: readonly [string, MediaCall]) => [path, { ...init, token: world.owner.token! }] as const;

interface Schedule {
  readonly visibility: "private" | "public";
  readonly steps: number;
  /** For each step: who tries what, before, during or after it. */
  readonly attempts: readonly { readonly tries: readonly (readonly [number, number])[]; readonly atOnce: boolean }[];
}

const adversarySchedule: fc.Arbitrary<Schedule> = fc.record({
  visibility: fc.constantFrom("private" as const, "public" as const),
  steps: fc.integer({ min: 1, max: STEPS.length }),
  attempts: fc.array(
    fc.record({
      tries: fc.array(fc.tuple(fc.nat(STRANGERS.length - 1), fc.nat(ATTEMPTS.length - 1)), {
        minLength: 2,
        maxLength: 4,
      }),
      atOnce: fc.boolean(),
    }),
    { minLength: STEPS.length, maxLength: STEPS.length },
  ),
});

/** The file's state without the parts that its client's own calls change. */
async function shown(id: string): Promise<unknown> {
  const [files, variants, attributes] = await everywhere.batch([
    everywhere.prepare("SELECT * FROM file JOIN owner ON owner.id = file.owner_id WHERE file.id = ?1").bind(id),
    everywhere.prepare("SELECT type, size, state FROM variant WHERE file_id = ?1 ORDER BY type, size").bind(id),
    everywhere
      .prepare(
        "SELECT key, value FROM attribute WHERE file_id = ?1 AND owner_id = (SELECT owner_id FROM file WHERE id = ?1)",
      )
      .bind(id),
  ]);
  const { files: _files, bytes: _bytes, ...file } = (files?.results[0] ?? {}) as Record<string, unknown>;
  const object = await env.MEDIA.head(`blob/${id}`);
  return [file, variants?.results, attributes?.results, object?.etag];
}

async function runAdversary({ visibility, steps, attempts }: Schedule): Promise<void> {
  const created = await app.call(collection(visibility), {
    token: world.owner.token!,
    json: { "Content-Type": "image/png" },
  });
  const { id, uploadLink } = await created.json<{ id: string; uploadLink: string }>();
  const target = { id, visibility, uploadLink };
  for (const [number, step] of STEPS.slice(0, steps).entries()) {
    const { tries, atOnce } = attempts[number]!;
    const trying = async () => {
      for (const [who, what] of tries) await attempt(target, who, what, number);
    };
    const [path, init, status] = step(target);
    const doing = async () => expect([path, (await app.call(path, init)).status]).toEqual([path, status]);
    if (atOnce) await Promise.all([trying(), doing()]);
    else {
      const before = await shown(id);
      await trying();
      expect(await shown(id)).toEqual(before);
      await doing();
    }
    await app.settle();
  }
}

/** Schedules that run at the same time. */
export const BESIDE = 5;

export const adversarySchedules = fc.array(adversarySchedule, { minLength: BESIDE, maxLength: BESIDE });

export async function runAdversaries(schedules: readonly Schedule[]): Promise<void> {
  await Promise.all(schedules.map(runAdversary));
  app.jobs.length = 0;
  app.longJobs.length = 0;
}

async function attempt(target: Target, who: number, what: number, step: number): Promise<void> {
  const [path, init] = ATTEMPTS[what]!(target);
  // Public content is readable by everybody once it is committed.
  if (target.visibility === "public" && step > 0 && (what < 2 || path.includes("/content/"))) return;
  const { how, token } = STRANGERS[who]!;
  const answer = await app.call(path, token === undefined ? init : { ...init, token });
  const text = await answer.text();
  const told = `${how} ${init.method} ${path}: ${answer.status} ${text}`;
  expect(text.includes(SECRET) || text.includes(target.id), told).toBe(false);
  const isOfAll = path.includes(`?tenant=${VICTIM}`) && !path.includes(target.id);
  if (isOfAll) expect([200, 202, 204, 401, 403, 404], told).toContain(answer.status);
  else expect([400, 401, 403, 404], told).toContain(answer.status);
}
