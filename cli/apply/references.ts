import { collectionOf, type Description, type Reference } from "./check.ts";
import { toRemove, turnOf, whoWaits } from "./difference.ts";
import type { Found } from "./found.ts";
import { keyOf, KIND, KINDS, labelOf, referred, type KindName, type Wanted } from "./kinds.ts";
import { didYouMean } from "../terminal/nearest.ts";
import { nestedPaths } from "./nested-paths.ts";
import { inOrder, START, type Mistake } from "./mistake.ts";

/** Names to suggest for a wrong one. */
const MAX_COMPARED = 1000;

/** Mistakes of the file as a whole and against the platform's records, which the service would refuse half-way. */
export function checkReferences(description: Description, found: Found, prune: boolean): Mistake[] {
  const unknown = description.references.flatMap((reference): Mistake[] => {
    const reason = whyUnknown(reference, description, found, prune);
    return reason === undefined ? [] : [{ place: reference.place, reason }];
  });
  const taken = KINDS.flatMap((kind) => takenValues(kind, description, found, prune));
  return [
    ...unknown,
    ...taken,
    ...nestedPaths(description, found),
    ...(prune ? neededRemovals(description, found) : []),
  ];
}

function whyUnknown(
  { by, to, id }: Reference,
  { named, described }: Description,
  found: Found,
  prune: boolean,
): string | undefined {
  const inFile = named.get(to) ?? new Set<string>();
  const there = found.get(to)?.get(id);
  const { noun } = KIND[to];
  // The platform's own services have no clients.
  if (by === "clients" && there?.builtIn === true)
    return `the service "${id}" is built in: a client's own service is a registered one.`;
  const goes = prune && described.has(to) && there?.builtIn !== true;
  if (inFile.has(id) || (there !== undefined && !goes)) return undefined;
  if (there !== undefined) return `the ${noun} "${id}" is not in the file, so --prune would remove it.`;
  const known = [...inFile, ...(found.get(to)?.keys() ?? [])];
  return `there is no ${noun} "${id}", neither in the file nor on the platform.${didYouMean(id, known.slice(0, MAX_COMPARED))}`;
}

/** Paths of services, names of clients. */
function takenValues(kind: KindName, description: Description, found: Found, prune: boolean): Mistake[] {
  const { unique } = KIND[kind];
  if (unique === undefined) return [];
  const items = [...description.wanted, ...description.flawed]
    .filter((item) => item.kind === kind && item.fields[unique] !== undefined)
    .sort(inOrder);
  const mistakes: Mistake[] = [];
  const first = new Map<unknown, Wanted>();
  for (const item of items) {
    const value = item.fields[unique];
    const other = first.get(value);
    if (other === undefined) first.set(value, item);
    else {
      const reason = `${unique} ${String(value)} is that of ${labelOf(other)} in line ${other.place.line} too.`;
      mistakes.push({ place: item.at(unique), reason });
    }
  }
  const { waitsFor, takes } = whoWaits(items, found);
  for (const [item, holder] of takes) {
    const place = item.at(unique);
    const has = `${unique} ${String(item.fields[unique])} is that of ${labelOf(holder)} on the platform`;
    const goes = prune && description.described.has(kind) && !holder.builtIn;
    if (description.named.get(kind)?.has(keyOf(holder)) === true) {
      if (turnOf(item, waitsFor) === Number.POSITIVE_INFINITY)
        mistakes.push({
          place,
          reason: `${has}, which wants another's in turn: give one of them a third value first.`,
        });
    } else if (!goes) mistakes.push({ place, reason: `${has}.` });
    else if (kind !== "clients")
      mistakes.push({
        place,
        reason: `${has}, which --prune removes after what uses it: give that another one first.`,
      });
  }
  return mistakes;
}

/** Remaining records that refer to removed ones. */
function neededRemovals({ named, described }: Description, found: Found): Mistake[] {
  const removed = toRemove(found, named, described);
  const going = new Set(removed);
  const mistakes: Mistake[] = [];
  for (const item of KINDS.flatMap((kind) => [...(found.get(kind)?.values() ?? [])])) {
    if (going.has(item) || item.builtIn || named.get(item.kind)?.has(keyOf(item)) === true) continue;
    for (const { from, to } of KIND[item.kind].references) {
      for (const id of referred(item, from)) {
        const target = found.get(to)?.get(id);
        if (target === undefined || !going.has(target)) continue;
        const place = described.get(collectionOf(to, "")) ?? START;
        const reason = `--prune would remove ${labelOf(target)}, but ${labelOf(item)} uses it, and the file does not say what becomes of that.`;
        mistakes.push({ place, reason });
      }
    }
  }
  return mistakes;
}
