import { missingOf, type CompareDeps, type ComparedPage } from "./compare.ts";
import { fileIdOf, KEYSPACES, type KeyspaceName } from "./keyspaces.ts";

/**
 * The end of a comparison, on a platform with tenant objects. Until here, the list of R2 led: each object in R2 was
 * compared with its row, wherever that lies. In the shards of the deployment, rows without bytes were found too. Those
 * in tenant objects are found here: one object after the other, each row asks R2.
 *
 * A position here is `@`, the number of the object, and the last key; all other positions are keys.
 */
export interface ObjectStep extends Pick<ComparedPage, "findings"> {
  readonly places: Readonly<Record<"files" | "variants", number>>;
  /** Undefined: the end. */
  readonly next: { readonly keyspace: KeyspaceName; readonly position: string } | undefined;
}

export const isInObject = (position: string): boolean => position.startsWith("@");

const positionOf = (object: number, after: string): string => `@${object} ${after}`;

/** Our choice: pages of one step, two for a small object. */
const PAGES_PER_STEP = 20;

/** The position of the first row; undefined: there are no tenant objects. */
export async function firstOfObjects({ objects }: CompareDeps): Promise<ObjectStep["next"]> {
  const first = await objects?.next(0);
  return first === undefined ? undefined : { keyspace: "files", position: positionOf(first, "") };
}

/** Checks rows from a position on, until they are as many as one step may check. */
export async function compareInObjects(
  deps: CompareDeps,
  from: { readonly keyspace: KeyspaceName; readonly position: string },
  nowMs: number,
): Promise<ObjectStep> {
  const places = { files: 0, variants: 0 };
  const findings: ObjectStep["findings"][number][] = [];
  let next: ObjectStep["next"] = from;
  let left = deps.limits.suspects;
  for (let pages = 0; next !== undefined && left > 0 && pages < PAGES_PER_STEP; pages++) {
    const [, number = "", after = ""] = /^@(\d+) (.*)$/.exec(next.position) ?? [];
    const object = Number(number);
    const keyspace = next.keyspace === "files" ? KEYSPACES[0] : KEYSPACES[1];
    const rows = await deps.objects!.at(object).page(keyspace.name, after, fileIdOf(keyspace, after), left);
    const checked = await missingOf(deps, keyspace, rows, nowMs);
    places[keyspace.name] += checked.places;
    findings.push(...checked.findings);
    next = await following(
      deps,
      object,
      keyspace.name,
      rows.length < left ? undefined : (rows.at(-1)?.key ?? undefined),
    );
    left -= rows.length;
  }
  return { places, findings, next };
}

/** `key`: the last key of the page; undefined: the rows of this keyspace are done. */
async function following(
  { objects }: CompareDeps,
  object: number,
  keyspace: "files" | "variants",
  key: string | undefined,
): Promise<ObjectStep["next"]> {
  if (key !== undefined) return { keyspace, position: positionOf(object, key) };
  if (keyspace === "files") return { keyspace: "variants", position: positionOf(object, "") };
  const then = await objects!.next(object);
  return then === undefined ? undefined : { keyspace: "files", position: positionOf(then, "") };
}
