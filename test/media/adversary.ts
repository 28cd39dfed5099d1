import * as fc from "fast-check";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { encodePng, gradient } from "../support/images.ts";
import { collection, mediaApp, principal, type MediaCall } from "./media-app.ts";

/**
 * A client stores a file, step by step; before, at the same time as, and after each step strangers try every operation on it
 * with every token that they can get. Nothing of the file changes but by its client's steps, all of which succeed, and no
 * answer to a stranger has anything of it.
 */
const VICTIM = "victim";
const OTHER = "other";
const SECRET = "a word of the victim";
const PICTURE = await encodePng(gradient(4, 4));

const app = mediaApp();
/** The victim's tenant has other clients, one of them a service's that it subscribes to. */
const owner = principal({ tenant: VICTIM });
const service = principal({ tenant: OTHER });
app.actsFor.add(`${service.clientId} ${VICTIM}`);
const eve = { user: "eve@other.example", subject: "eve@other.example" };

type Caller = ReturnType<typeof principal> | undefined;
const STRANGERS: readonly Caller[] = [
  undefined,
  principal({ tenant: VICTIM }),
  principal({ tenant: OTHER }),
  principal({ tenant: OTHER, tenantExplicit: true }),
  service,
  { ...service, tenant: VICTIM, tenantExplicit: true },
  // A person's at the victim's own client, which did not send its secret; at no client; for no tenant.
  { ...owner, ...eve, clientAuthenticated: false },
  { ...owner, ...eve, tenant: "" },
  { ...owner, ...eve, tenant: "", org: "victim-org" },
  { ...owner, ...eve, clientId: "", clientName: "" },
  { ...owner, clientAuthenticated: false },
];

const strangersFile = await app.call(collection("private"), {
  as: STRANGERS[2]!,
  json: { "Content-Type": "image/png" },
});
const { uploadLink: strangersLink } = await strangersFile.json<{ uploadLink: string }>();

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
  ({ id }) => [`/media/v2/content/${id}?expires=9999999999999&signature=x`, { method: "GET" }],
  ({ id }) => [`/media/v2/uploads/${id}?type=image%2Fpng&expires=9999999999999&signature=x`, put(PICTURE)],
  // The link of a file of the stranger's own, for the victim's.
  ({ id }) => [strangersLink.replace(/uploads\/\w+/, `uploads/${id}`), put(PICTURE)],
];

function put(body: Uint8Array<ArrayBuffer>): MediaCall {
  return { method: "PUT", body, headers: { "content-type": "image/png", "content-length": String(body.length) } };
}

/** What the client does; each but the first one needs those before. */
const STEPS: readonly ((target: Target) => readonly [string, MediaCall, status: number])[] = [
  ({ uploadLink }) => [uploadLink, put(PICTURE), 200],
  (target) => [...as(at("/commit", "POST", { album: SECRET })(target)), 202],
  (target) => [...as(at("/metadata", "PUT", { album: SECRET, more: 1 })(target)), 200],
  (target) => [...as(at("/variants?clip=3x3", "POST")(target)), 200],
  (target) => [...as(at("", "DELETE")(target)), 204],
];
const as = ([path, init]: readonly [string, MediaCall]) => [path, { ...init, as: owner }] as const;

interface Schedule {
  readonly visibility: "private" | "public";
  readonly steps: number;
  /** For each step: who tries what, and whether at the same time. */
  readonly attempts: readonly { readonly tries: readonly (readonly [number, number])[]; readonly atOnce: boolean }[];
}

export const adversarySchedule: fc.Arbitrary<Schedule> = fc.record({
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

/** All that there is of the file but what its client's own calls change in passing. */
async function shown(id: string): Promise<unknown> {
  const [files, variants, attributes] = await env.DB.batch([
    env.DB.prepare("SELECT * FROM file JOIN owner ON owner.id = file.owner_id WHERE file.id = ?1").bind(id),
    env.DB.prepare("SELECT type, size, state FROM variant WHERE file_id = ?1 ORDER BY type, size").bind(id),
    env.DB.prepare(
      "SELECT key, value FROM attribute WHERE file_id = ?1 AND owner_id = (SELECT owner_id FROM file WHERE id = ?1)",
    ).bind(id),
  ]);
  const { files: _files, bytes: _bytes, ...file } = (files?.results[0] ?? {}) as Record<string, unknown>;
  const object = await env.MEDIA.head(`blob/${id}`);
  return [file, variants?.results, attributes?.results, object?.etag];
}

export async function runAdversary({ visibility, steps, attempts }: Schedule): Promise<void> {
  const created = await app.call(collection(visibility), { as: owner, json: { "Content-Type": "image/png" } });
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
  app.jobs.length = 0;
  app.longJobs.length = 0;
}

async function attempt(target: Target, who: number, what: number, step: number): Promise<void> {
  const [path, init] = ATTEMPTS[what]!(target);
  // Public content is for everybody, from its commit on.
  if (target.visibility === "public" && step > 0 && (what < 2 || path.includes("/content/"))) return;
  const stranger = STRANGERS[who];
  const answer = await app.call(path, stranger === undefined ? init : { ...init, as: stranger });
  const text = await answer.text();
  const told = `${who} ${init.method} ${path}: ${answer.status} ${text}`;
  expect(text.includes(SECRET) || text.includes(target.id), told).toBe(false);
  const isOfAll = path.includes(`?tenant=${VICTIM}`) && !path.includes(target.id);
  if (isOfAll) expect([200, 202, 204, 401, 403, 404], told).toContain(answer.status);
  else expect([400, 401, 403, 404], told).toContain(answer.status);
}
