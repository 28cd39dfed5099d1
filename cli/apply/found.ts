import { isDeepStrictEqual } from "node:util";
import { find, type AdminClient } from "../client/admin-client.ts";
import type { Body } from "../terminal/values.ts";
import { RESOURCES } from "../resources/all.ts";
import { collectionOf, type Description } from "./check.ts";
import { keyOf, KIND, KINDS, normalize, type Item, type KindName } from "./kinds.ts";
import type { Rules } from "./rules.ts";

/** A record as the platform shows it. */
export interface FoundItem extends Item {
  /** Only for users. */
  readonly hasPassword?: boolean;
  /** Belongs to the platform and cannot change. */
  readonly builtIn: boolean;
  /** As the platform showed it. */
  readonly row: Body;
}

/** True if the platform still shows the record so. */
export const isStill = ({ row }: FoundItem, now: Body | undefined): boolean =>
  now !== undefined && isDeepStrictEqual(normalize(now), normalize(row));

/** By kind and key: whole collections if the file describes them, otherwise referenced records. */
export type Found = ReadonlyMap<KindName, ReadonlyMap<string, FoundItem>>;

/** Concurrent calls. These records are all in one database, so more calls would not be faster. */
const CALLS_AT_ONCE = 8;
/** The longest page of the service. */
const PAGE_SIZE = 1000;
/** Kinds that may depend on removed records. */
const DEPENDENTS: readonly KindName[] = ["tenants", "services", "packages", "clients"];

/** Reads the records to compare with; changes nothing. */
export async function readFound(
  client: AdminClient,
  { references, named, described }: Description,
  rules: Rules,
  prune: boolean,
): Promise<Found> {
  const found = new Map<KindName, Map<string, FoundItem>>(KINDS.map((kind) => [kind, new Map<string, FoundItem>()]));
  const take = (kind: KindName, owner: string, row: Body): void => {
    const item = toItem(kind, owner, row, rules);
    found.get(kind)?.set(keyOf(item), item);
  };
  const list = async (kind: KindName, owner: string): Promise<void> => {
    const owners = owner === "" ? [] : [owner];
    for await (const row of RESOURCES[kind].list(client, owners, { pageSize: PAGE_SIZE })) take(kind, owner, row);
  };

  const listed = KINDS.filter(
    (kind) => isOnItsOwn(kind) && (described.has(kind) || (prune && DEPENDENTS.includes(kind))),
  );
  await inParallel(listed, (kind) => list(kind, ""));

  const single = new Map<string, () => Promise<void>>();
  for (const { to, id } of references) {
    if (listed.includes(to)) continue;
    single.set(`${to} ${id}`, async () => {
      const row = await find(RESOURCES[to].show(client, [id]));
      if (row !== undefined) take(to, "", row);
    });
  }
  await inParallel([...single.values()], (read) => read());

  const nested: (readonly [KindName, string])[] = [];
  for (const kind of KINDS.filter((one) => !isOnItsOwn(one))) {
    const owners = KIND[kind].references.find(({ from }) => from === "owner")?.to ?? "tenants";
    for (const owner of found.get(owners)?.keys() ?? []) {
      const goes = prune && described.has(owners) && !named.get(owners)?.has(owner);
      if (goes || described.has(collectionOf(kind, owner))) nested.push([kind, owner]);
    }
  }
  await inParallel(nested, ([kind, owner]) => list(kind, owner));
  return found;
}

export const isOnItsOwn = (kind: KindName): boolean => KIND[kind].references.every(({ from }) => from !== "owner");

function toItem(kind: KindName, owner: string, row: Body, rules: Rules): FoundItem {
  const { idField, secret } = KIND[kind];
  const id = String(row[idField]);
  const shown = Object.keys(rules.shape(kind)).filter((name) => name !== secret);
  return {
    kind,
    owner,
    id,
    fields: normalize(Object.fromEntries(shown.map((name) => [name, row[name]]))),
    builtIn: rules.isBuiltIn(kind, id),
    row,
    ...(kind === "users" && { hasPassword: row["hasPassword"] === true }),
  };
}

/** Runs the work for all items, `CALLS_AT_ONCE` at a time. After a failure, no further call begins. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed) {
      try {
        await work(items[next++] as T);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(CALLS_AT_ONCE, items.length) }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
