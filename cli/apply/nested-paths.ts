import type { Description } from "./check.ts";
import type { Found } from "./found.ts";
import { keyOf, labelOf, type Item, type Wanted } from "./kinds.ts";
import type { Mistake } from "./mistake.ts";

/** Finds nested paths of services of different tenants, which the platform would refuse. */
export function nestedPaths({ wanted: all, named }: Description, found: Found): Mistake[] {
  const wanted = all.filter(({ kind }) => kind === "services");
  const there = found.get("services") ?? new Map<string, Item>();
  // Includes services that --prune removes, because removal comes last.
  const staying = [...there.values()].filter((item) => named.get("services")?.has(keyOf(item)) !== true);
  const after: readonly Item[] = [...staying, ...wanted];
  return wanted.flatMap((item): Mistake[] => {
    // Existing nested paths stay.
    if (isWhereItWas(item, there.get(keyOf(item)))) return [];
    const other = after.find(
      (one) => one !== item && one.fields["tenant"] !== item.fields["tenant"] && nest(one, item),
    );
    if (other === undefined) return [];
    const [path, its] = [pathOf(item), pathOf(other)];
    const reason = `proxyPath ${path} and ${its} of ${labelOf(other)} are one below the other, and belong to different tenants.`;
    return [{ place: item.at("proxyPath"), reason }];
  });
}

const pathOf = ({ fields }: Item): string => String(fields["proxyPath"]);

const isWhereItWas = (item: Wanted, was: Item | undefined): boolean =>
  was !== undefined && pathOf(was) === pathOf(item) && was.fields["tenant"] === item.fields["tenant"];

const nest = (one: Item, other: Item): boolean =>
  pathOf(one).startsWith(`${pathOf(other)}/`) || pathOf(other).startsWith(`${pathOf(one)}/`);
