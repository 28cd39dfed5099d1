import type { BlobStore } from "../blobs/blob-store.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { LIMITS } from "../model/limits.ts";
import type { ExpectedEverywhere, ExpectedStore } from "./expected-store.ts";
import { classify, compareKeys, fileIdOf, rowKeyOf, type Keyspace, type ExpectedObject } from "./keyspaces.ts";
import type { Finding } from "./run-store.ts";

export interface CompareDeps {
  readonly blobs: BlobStore;
  readonly expected: ExpectedEverywhere;
  readonly limits: { readonly [name in keyof typeof LIMITS.consistency]: number };
  /** Undefined: the platform has no tenant objects. */
  readonly objects: ObjectWalk | undefined;
}

/** The tenant objects, one after the other. */
interface ObjectWalk {
  /** Returns the next number after this one; undefined: there is none. */
  next(after: number): Promise<number | undefined>;
  at(object: number): Pick<ExpectedStore, "page">;
}

export interface ComparedPage {
  /** The number of objects seen in R2, and of objects that the rows expect there. */
  readonly objects: number;
  readonly places: number;
  readonly findings: readonly Finding[];
  /** The last key that was compared; undefined: the end of the keyspace. */
  readonly end: string | undefined;
}

/**
 * Compares a page of R2's keys after `after` with a page of rows in the same order. The comparison ends where the
 * shorter page ends, or at the last suspect that one step may check.
 */
export async function comparePage(
  deps: CompareDeps,
  keyspace: Keyspace,
  after: string,
  nowMs: number,
): Promise<ComparedPage> {
  const { pageKeys, suspects: maxSuspects, youngMs } = deps.limits;
  const listed = await deps.blobs.listPage(keyspace.prefix, after, pageKeys);
  const objects = new Map(listed.objects.map((object) => [object.key, object]));
  const page = await expectedOf(deps.expected, keyspace, after, [...objects.keys()], pageKeys, listed.end);
  const expected = new Map(page.expected.map((row) => [row.rowKey, row]));
  const unexpected = rowKeysOf(keyspace, [...objects.keys()]).filter((rowKey) => !expected.has(rowKey));
  for (const row of await deps.expected.inObjects(keyspace.name, unexpected)) expected.set(row.rowKey, row);
  const places = page.expected.flatMap(({ need, key }) => (need === "bytes" && key !== null ? [key] : []));

  const isSuspect = (key: string): boolean =>
    classify(keyspace, key, expected.get(rowKeyOf(keyspace, key)), objects.get(key), nowMs - youngMs) !== undefined;
  const suspects = [...new Set([...objects.keys(), ...places])].filter(isSuspect).toSorted(compareKeys);
  const cut = suspects.length > maxSuspects ? suspects[maxSuspects - 1] : undefined;
  const end = [listed.end, page.end, cut].filter((key) => key !== undefined).toSorted(compareKeys)[0];
  const isWithin = (key: string): boolean => end === undefined || compareKeys(key, end) <= 0;

  const { findings } = await confirm(deps, keyspace, suspects.filter(isWithin), nowMs);
  return {
    objects: [...objects.keys()].filter(isWithin).length,
    places: places.filter(isWithin).length,
    findings: [...findings.values()],
    end,
  };
}

/** Returns the expected objects of a page. No row expects an object in `incoming/`, so the listed keys lead there. */
async function expectedOf(
  store: Pick<ExpectedStore, "page" | "named">,
  keyspace: Keyspace,
  after: string,
  keys: readonly string[],
  limit: number,
  until: string | undefined,
): Promise<{ readonly expected: readonly ExpectedObject[]; readonly end: string | undefined }> {
  if (keyspace.name === "incoming")
    return { expected: await store.named(keyspace.name, rowKeysOf(keyspace, keys)), end: undefined };
  const expected = await store.page(keyspace.name, after, fileIdOf(keyspace, after), limit, until);
  return { expected, end: expected.length < limit ? undefined : (expected.at(-1)?.key ?? undefined) };
}

export interface Confirmed {
  /** The findings by key. */
  readonly findings: ReadonlyMap<string, Finding>;
  /** Keys that exist in R2. */
  readonly present: ReadonlySet<string>;
}

/**
 * Confirms suspects: reads the rows, then R2, then the rows again, and reports only findings on which both reads of the
 * rows agree. A row's state changes in one direction only, so a state that both reads show was also true in between. An
 * object that was written at `heldFrom` or later is no orphan.
 */
export async function confirm(
  { blobs, expected, limits }: CompareDeps,
  keyspace: Keyspace,
  keys: readonly string[],
  nowMs: number,
  heldFrom = Infinity,
): Promise<Confirmed> {
  const look = async (): Promise<ReadonlyMap<string, ExpectedObject>> =>
    new Map((await expected.named(keyspace.name, rowKeysOf(keyspace, keys))).map((row) => [row.rowKey, row]));
  const before = await look();
  const objects = new Map<string, R2Object>();
  await inParallel(keys, LIMITS.parallelLists, async (key) => {
    const object = await blobs.head(key);
    if (object !== null) objects.set(key, object);
  });
  const after = await look();
  const oldUntilMs = Math.min(nowMs - limits.youngMs, heldFrom);
  const findings = new Map<string, Finding>();
  for (const key of keys) {
    const [object, rowKey] = [objects.get(key), rowKeyOf(keyspace, key)];
    const kind = classify(keyspace, key, before.get(rowKey), object, oldUntilMs);
    if (kind === undefined || kind !== classify(keyspace, key, after.get(rowKey), object, oldUntilMs)) continue;
    findings.set(key, { kind, key, ...rowOf(kind, after.get(rowKey)), ...bytesOf(object) });
  }
  return { findings, present: new Set(objects.keys()) };
}

/** The bytes that rows of this page expect and R2 does not have, confirmed. */
export async function missingOf(
  deps: CompareDeps,
  keyspace: Keyspace,
  rows: readonly ExpectedObject[],
  nowMs: number,
): Promise<Pick<ComparedPage, "places" | "findings">> {
  const places = rows.flatMap(({ need, key }) => (need === "bytes" && key !== null ? [key] : []));
  const missing: string[] = [];
  await inParallel(places, LIMITS.parallelLists, async (key) => {
    if ((await deps.blobs.head(key)) === null) missing.push(key);
  });
  const { findings } = await confirm(deps, keyspace, missing, nowMs);
  return { places: places.length, findings: [...findings.values()].filter(({ kind }) => kind === keyspace.missing) };
}

const rowKeysOf = (keyspace: Keyspace, keys: readonly string[]): readonly string[] => [
  ...new Set(keys.map((key) => rowKeyOf(keyspace, key))),
];

function rowOf(kind: Finding["kind"], expected: ExpectedObject | undefined) {
  if (kind === "orphan_object" || expected === undefined)
    return { fileId: null, nonce: null, client: null, tenant: null, rowBytes: null, rowEtag: null };
  const { fileId, nonce, client, tenant, sizeBytes, etag } = expected;
  return { fileId, nonce, client, tenant, rowBytes: sizeBytes, rowEtag: etag };
}

const bytesOf = (object: R2Object | undefined) => ({
  objectBytes: object?.size ?? null,
  objectEtag: object?.etag ?? null,
});
