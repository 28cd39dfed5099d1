import { isDeepStrictEqual } from "node:util";
import { KEPT_FIELDS } from "../../src/admin/model/fields.ts";
import { keyOf, KIND, KINDS, type KindName, type Wanted } from "./kinds.ts";
import { collectionOf, type Description } from "./check.ts";
import { isOnItsOwn, type Found, type FoundItem } from "./found.ts";

/** One call to make. */
export interface Step {
  readonly action: "make" | "change" | "remove";
  readonly kind: KindName;
  readonly owner: string;
  readonly id: string;
  /** Changed fields; all fields of a new item, none of a removed one. */
  readonly fields: readonly FieldChange[];
  /**
   * `given`: sent from the environment; `made`: generated here. The platform does not show secrets, so they are sent
   * only if there is none, or on request.
   */
  readonly secret: "none" | "given" | "made";
  readonly wanted?: Wanted;
  /** The record that it was compared with. */
  readonly found?: FoundItem;
}

export interface FieldChange {
  readonly name: string;
  readonly from: unknown;
  readonly to: unknown;
}

export interface DifferenceOptions {
  /** Removes records that the file's collections do not name. */
  readonly prune: boolean;
  /** Also sends passwords of users who have one. */
  readonly setPasswords: boolean;
  /** Also sends secrets of clients and providers that have one. */
  readonly setSecrets: boolean;
}

/**
 * Computes the steps from the found to the wanted state, in waves; the steps of a wave may run in any order. Pure. An
 * item is made before its dependents and removed after them. A unique value (a path, a name) is released in an earlier
 * wave than it is taken. Clients, which have no dependents, are removed before any is made.
 */
export function difference(
  { wanted, named, described }: Pick<Description, "wanted" | "named" | "described">,
  found: Found,
  options: DifferenceOptions,
): readonly (readonly Step[])[] {
  const removed = options.prune ? toRemove(found, named, described) : [];
  const removals = (kind: KindName): Step[] => removed.filter((item) => item.kind === kind).map(removal);
  const waves: Step[][] = [];
  for (const kind of KINDS) {
    if (kind === "clients") waves.push(removals(kind));
    const items = wanted.filter((item) => item.kind === kind);
    const { waitsFor } = whoWaits(items, found);
    const byTurn = new Map<number, Step[]>();
    for (const item of items) {
      const step = compare(item, found.get(kind)?.get(keyOf(item)), options);
      if (step === undefined) continue;
      const turn = turnOf(item, waitsFor);
      const steps = byTurn.get(turn);
      if (steps === undefined) byTurn.set(turn, [step]);
      else steps.push(step);
    }
    waves.push(...[...byTurn].sort(([a], [b]) => a - b).map(([, steps]) => steps));
  }
  for (const kind of KINDS.toReversed()) if (kind !== "clients") waves.push(removals(kind));
  return waves.filter((steps) => steps.length > 0);
}

/** Records of described collections that the file does not name, and everything that belongs to a removed owner. */
export function toRemove(
  found: Found,
  named: Description["named"],
  described: Description["described"],
): readonly FoundItem[] {
  const goes = (item: FoundItem): boolean => {
    const { kind, owner } = item;
    if (item.builtIn || named.get(kind)?.has(keyOf(item)) === true) return false;
    if (described.has(collectionOf(kind, owner))) return true;
    const owners = KIND[kind].references.find(({ from }) => from === "owner")?.to;
    return owners !== undefined && described.has(owners) && named.get(owners)?.has(owner) !== true;
  };
  return KINDS.flatMap((kind) => [...(found.get(kind)?.values() ?? [])].filter(goes));
}

/** Counts unnamed records that stay. */
export const leftAlone = (found: Found, { named, described }: Pick<Description, "named" | "described">): number =>
  toRemove(found, named, described).filter(
    ({ kind, owner }) => isOnItsOwn(kind) || described.has(collectionOf(kind, owner)),
  ).length;

function removal(found: FoundItem): Step {
  const { kind, owner, id } = found;
  return { action: "remove", kind, owner, id, fields: [], secret: "none", found };
}

function compare(wanted: Wanted, found: FoundItem | undefined, options: DifferenceOptions): Step | undefined {
  const { kind, owner, id } = wanted;
  const names = new Set([...Object.keys(wanted.fields), ...Object.keys(found?.fields ?? {})]);
  const fields = [...names]
    // The service keeps these fields if they are absent, so an absent field matches any value.
    .filter((name) => name in wanted.fields || !KEPT_FIELDS.includes(name))
    .map((name): FieldChange => ({ name, from: found?.fields[name], to: wanted.fields[name] }))
    .filter(({ from, to }) => !isDeepStrictEqual(from, to));
  const secret = secretOf(wanted, found, options);
  if (found !== undefined && fields.length === 0 && secret === "none") return undefined;
  if (found === undefined) return { action: "make", kind, owner, id, fields, secret, wanted };
  return { action: "change", kind, owner, id, fields, secret, wanted, found };
}

function secretOf(wanted: Wanted, found: FoundItem | undefined, options: DifferenceOptions): Step["secret"] {
  const isGiven = wanted.secretFrom !== undefined;
  switch (wanted.kind) {
    case "users":
      return isGiven && (found?.hasPassword !== true || options.setPasswords) ? "given" : "none";
    case "clients":
      if (wanted.fields["confidential"] !== true) return "none";
      if (found?.fields["confidential"] !== true) return isGiven ? "given" : "made";
      return isGiven && options.setSecrets ? "given" : "none";
    case "identityProviders": {
      // A provider keeps its secret unless its issuer changes.
      const isKept = found !== undefined && found.fields["issuer"] === wanted.fields["issuer"];
      return !isKept || (isGiven && options.setSecrets) ? "given" : "none";
    }
    default:
      return "none";
  }
}

/**
 * Finds items that take a unique value which another item releases or keeps. The caller handles holders outside the
 * file.
 */
export function whoWaits(
  items: readonly Wanted[],
  found: Found,
): { readonly waitsFor: ReadonlyMap<Wanted, Wanted>; readonly takes: ReadonlyMap<Wanted, FoundItem> } {
  const waitsFor = new Map<Wanted, Wanted>();
  const takes = new Map<Wanted, FoundItem>();
  const kind = items[0]?.kind;
  const unique = kind === undefined ? undefined : KIND[kind].unique;
  if (kind === undefined || unique === undefined) return { waitsFor, takes };
  const holders = new Map([...(found.get(kind)?.values() ?? [])].map((item) => [item.fields[unique], item]));
  const byKey = new Map(items.map((item) => [keyOf(item), item]));
  for (const item of items) {
    const holder = holders.get(item.fields[unique]);
    if (holder === undefined || keyOf(holder) === keyOf(item)) continue;
    takes.set(item, holder);
    const same = byKey.get(keyOf(holder));
    if (same !== undefined) waitsFor.set(item, same);
  }
  return { waitsFor, takes };
}

/** Number of items that must go first; infinite in a circle. */
export function turnOf(item: Wanted, waitsFor: ReadonlyMap<Wanted, Wanted>): number {
  let turn = 0;
  for (let at = waitsFor.get(item); at !== undefined; at = waitsFor.get(at))
    if (++turn > waitsFor.size) return Number.POSITIVE_INFINITY;
  return turn;
}
