import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Log } from "../../platform/runtime/log.ts";
import type { MediaJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { confirm, type CompareDeps, type Confirmed } from "./compare.ts";
import { KEYSPACES } from "./keyspaces.ts";
import type { RepairStore, RepairWork } from "./repair-store.ts";
import type { Finding, KeptFinding, Outcome, Run, RunStore } from "./run-store.ts";

export interface RepairDeps extends CompareDeps {
  readonly log: Log;
  readonly runs: RunStore;
  /** Changes the rows of files in all shards. */
  readonly rows: RepairStore;
  /**
   * After a restore of the database, objects from this time on may be the last copy of a file; undefined: no restore.
   */
  readonly heldFrom: () => Promise<number | undefined>;
}

/**
 * Repairs findings of a run, each only if it is still true. Objects and rows change before the run records it, because
 * they lie in other stores. If a step breaks off in between, it is repeated and recognizes its own changes:
 * - `orphan_object`: the object is deleted. An object that is held after a restore stays, and its finding has no
 *   outcome.
 * - `missing_variant`: its row gets a new rendition, and a message asks for it.
 * - `missing_bytes`: the file is removed, since nobody can restore its bytes.
 * - `size_differs`, `etag_differs`: left alone, since nothing says which side is right.
 *
 * Returns the messages to send; undefined: another attempt did this step.
 */
export async function repairPage(
  deps: RepairDeps,
  run: Run,
  findings: readonly KeptFinding[],
  nowMs: number,
): Promise<readonly MediaJob[] | undefined> {
  const heldFrom = await deps.heldFrom();
  const now = await confirmAll(deps, findings, nowMs, heldFrom);
  const isStill = ({ key, kind }: Finding): boolean => now.findings.get(key)?.kind === kind;
  const present = findings.filter(isStill);
  await deps.blobs.delete(present.flatMap(({ kind, key }) => (kind === "orphan_object" ? [key] : [])));

  const work = await workOf(run, findings, isStill, nowMs);
  const repaired = await deps.rows.repair(work);
  const outcomes = findings.flatMap((finding) => {
    const { key, seq } = finding;
    const state = { isStill: isStill(finding), isGone: !now.present.has(key), isRepaired: repaired.has(seq) };
    const outcome = outcomeOf(finding, state, heldFrom !== undefined);
    return outcome === undefined ? [] : [{ seq, outcome }];
  });
  const through = findings.at(-1)?.seq ?? run.repairedThrough;
  const written = await deps.runs.repair(run, { dueAt: nowMs + deps.limits.stalledMs, outcomes, through });
  if (!written) return undefined;
  for (const { kind, key, client, tenant } of present)
    if (kind === "missing_bytes")
      deps.log.error("removed a file without bytes", {
        run: run.id,
        key,
        client: client ?? "",
        tenant: tenant ?? "",
      });
  return work.variants.flatMap(({ seq, fileId, newNonce: nonce }) => {
    const shard = repaired.get(seq);
    return shard === undefined ? [] : [{ fileId, nonce, ...(shard === 0 ? {} : { shard }) }];
  });
}

/** Returns the rows to change. A repeated step gives a rendition the same new nonce. */
async function workOf(
  run: Run,
  findings: readonly KeptFinding[],
  isStill: (finding: Finding) => boolean,
  nowMs: number,
): Promise<RepairWork> {
  const files: RepairWork["files"][number][] = [];
  const variants: RepairWork["variants"][number][] = [];
  for (const finding of findings) {
    const { seq, kind, fileId, nonce } = finding;
    if (fileId === null) continue;
    if (kind === "missing_bytes") files.push({ seq, fileId, isToRemove: isStill(finding) });
    if (kind === "missing_variant" && nonce !== null) {
      const newNonce = (await sha256Hex(`${run.id} ${seq}`)).slice(0, NONCE_CHARS);
      variants.push({ seq, fileId, nonce, newNonce, isToRemake: isStill(finding) });
    }
  }
  return {
    nowMs,
    sinceMs: run.repairStartedAt ?? nowMs,
    variantsDueAt: nowMs + LIMITS.variantResendMs,
    files,
    variants,
  };
}

/** The length of a random nonce. */
const NONCE_CHARS = 32;

async function confirmAll(
  deps: CompareDeps,
  findings: readonly Finding[],
  nowMs: number,
  heldFrom = Infinity,
): Promise<Confirmed> {
  const [all, present] = [new Map<string, Finding>(), new Set<string>()];
  for (const keyspace of KEYSPACES) {
    const keys = findings.map(({ key }) => key).filter((key) => key.startsWith(keyspace.prefix));
    const confirmed = await confirm(deps, keyspace, keys, nowMs, heldFrom);
    for (const [key, finding] of confirmed.findings) all.set(key, finding);
    for (const key of confirmed.present) present.add(key);
  }
  return { findings: all, present };
}

/** Returns the outcome of a finding; undefined: it was not repaired and may still be true. */
function outcomeOf(
  { kind }: Finding,
  {
    isStill,
    isGone,
    isRepaired,
  }: { readonly isStill: boolean; readonly isGone: boolean; readonly isRepaired: boolean },
  isHeld: boolean,
): Outcome["outcome"] | undefined {
  switch (kind) {
    case "orphan_object":
      // An earlier attempt of this step may have deleted the object.
      if (isStill || isGone) return "repaired";
      return isHeld ? undefined : "obsolete";
    case "missing_bytes":
    case "missing_variant":
      return isRepaired ? "repaired" : "obsolete";
    case "size_differs":
    case "etag_differs":
      return undefined;
  }
}
