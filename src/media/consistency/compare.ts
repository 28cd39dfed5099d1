import type { BlobStore } from "../blobs/blob-store.ts";
import { inParallel } from "../blobs/parallel.ts";
import { LIMITS } from "../model/limits.ts";
import type { ClaimStore } from "./expected-store.ts";
import { claimantOf, compareKeys, fileIdOf, judge, type Part } from "./keyspaces.ts";
import type { Claim } from "./model.ts";
import type { Finding } from "./run-store.ts";

export interface CompareDeps {
  readonly blobs: BlobStore;
  readonly claims: ClaimStore;
  readonly limits: { readonly [name in keyof typeof LIMITS.consistency]: number };
}

export interface ComparedPage {
  /** Objects seen, and places in which a row says that bytes are. */
  readonly objects: number;
  readonly places: number;
  readonly findings: readonly Finding[];
  /** The last key that was compared; undefined: the part is at its end. */
  readonly end: string | undefined;
}

/**
 * Compares one page of the keys of R2 behind `after` with one page of rows in the same order. The page that ends first
 * ends both, and so does the last of the suspects that one step may look at again.
 */
export async function comparePage(deps: CompareDeps, part: Part, after: string, nowMs: number): Promise<ComparedPage> {
  const { pageKeys, suspects: maxSuspects, youngMs } = deps.limits;
  const listed = await deps.blobs.listPage(part.prefix, after, pageKeys);
  const objects = new Map(listed.objects.map((object) => [object.key, object]));
  const page = await claimsOf(deps.claims, part, after, [...objects.keys()], pageKeys);
  const claims = new Map(page.claims.map((claim) => [claim.claimant, claim]));
  const places = page.claims.flatMap(({ need, key }) => (need === "bytes" && key !== null ? [key] : []));

  const isSuspect = (key: string): boolean =>
    judge(part, key, claims.get(claimantOf(part, key)), objects.get(key), nowMs - youngMs) !== undefined;
  const suspects = [...new Set([...objects.keys(), ...places])].filter(isSuspect).toSorted(compareKeys);
  const cut = suspects.length > maxSuspects ? suspects[maxSuspects - 1] : undefined;
  const end = [listed.end, page.end, cut].filter((key) => key !== undefined).toSorted(compareKeys)[0];
  const isWithin = (key: string): boolean => end === undefined || compareKeys(key, end) <= 0;

  const { findings } = await confirm(deps, part, suspects.filter(isWithin), nowMs);
  return {
    objects: [...objects.keys()].filter(isWithin).length,
    places: places.filter(isWithin).length,
    findings: [...findings.values()],
    end,
  };
}

/** Of `incoming/` the rows have no order of their own: nothing there has to be. */
async function claimsOf(
  store: ClaimStore,
  part: Part,
  after: string,
  keys: readonly string[],
  limit: number,
): Promise<{ readonly claims: readonly Claim[]; readonly end: string | undefined }> {
  if (part.stage === "incoming")
    return { claims: await store.named(part.stage, claimantsOf(part, keys)), end: undefined };
  const claims = await store.page(part.stage, after, fileIdOf(part, after), limit);
  return { claims, end: claims.length < limit ? undefined : (claims.at(-1)?.key ?? undefined) };
}

export interface Confirmed {
  /** By key, of those that are wrong. */
  readonly findings: ReadonlyMap<string, Finding>;
  /** Keys that R2 has. */
  readonly present: ReadonlySet<string>;
}

/**
 * What is wrong with these places, for certain: two looks at D1 say the same of it, and one at R2 between them. A row goes
 * from state to state in one direction only, so what both looks say was so at the time of the other look too, whatever
 * else runs.
 */
export async function confirm(
  { blobs, claims, limits }: CompareDeps,
  part: Part,
  keys: readonly string[],
  nowMs: number,
): Promise<Confirmed> {
  const look = async (): Promise<ReadonlyMap<string, Claim>> =>
    new Map((await claims.named(part.stage, claimantsOf(part, keys))).map((claim) => [claim.claimant, claim]));
  const before = await look();
  const objects = new Map<string, R2Object>();
  await inParallel(keys, LIMITS.parallelLists, async (key) => {
    const object = await blobs.head(key);
    if (object !== null) objects.set(key, object);
  });
  const after = await look();
  const oldUntilMs = nowMs - limits.youngMs;
  const findings = new Map<string, Finding>();
  for (const key of keys) {
    const [object, claimant] = [objects.get(key), claimantOf(part, key)];
    const kind = judge(part, key, before.get(claimant), object, oldUntilMs);
    if (kind === undefined || kind !== judge(part, key, after.get(claimant), object, oldUntilMs)) continue;
    findings.set(key, { kind, key, ...rowOf(kind, after.get(claimant)), ...bytesOf(object) });
  }
  return { findings, present: new Set(objects.keys()) };
}

const claimantsOf = (part: Part, keys: readonly string[]): readonly string[] => [
  ...new Set(keys.map((key) => claimantOf(part, key))),
];

function rowOf(kind: Finding["kind"], claim: Claim | undefined) {
  if (kind === "orphan_object" || claim === undefined)
    return { fileId: null, nonce: null, client: null, tenant: null, rowBytes: null, rowEtag: null };
  const { fileId, nonce, client, tenant, sizeBytes, etag } = claim;
  return { fileId, nonce, client, tenant, rowBytes: sizeBytes, rowEtag: etag };
}

const bytesOf = (object: R2Object | undefined) => ({
  objectBytes: object?.size ?? null,
  objectEtag: object?.etag ?? null,
});
