import type { Log } from "../../platform/runtime/log.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import type { MediaJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { confirm, type CompareDeps, type Confirmed } from "./compare.ts";
import { KEYSPACES } from "./keyspaces.ts";
import type { Finding, KeptFinding, RepairWork, Run, RunStore } from "./run-store.ts";

export interface RepairDeps extends CompareDeps {
  readonly log: Log;
  readonly random: Random;
  readonly runs: RunStore;
  /** After a restore of the database, objects younger than this may be all that is left of a file; undefined: none. */
  readonly heldFrom: () => Promise<number | undefined>;
}

type Done = RepairWork["done"][number];

/**
 * Repairs findings of a run, each only if it is still true:
 * - `orphan_object`: the object is deleted, before D1 says so. A step that breaks off in between does no harm. While
 *   objects are held after a restore, it is left alone, without an outcome.
 * - `missing_variant`: its row gets a new rendition, and a message asks for it.
 * - `missing_bytes`: the file is removed, since nobody can restore its bytes.
 * - `size_differs`, `etag_differs`: left alone, since nothing says which side is right.
 *
 * Returns the messages to send; undefined: another one did this step.
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

  const done = findings.flatMap(
    (finding) =>
      decide(deps.random, finding, isStill(finding), !now.present.has(finding.key), heldFrom !== undefined) ?? [],
  );
  const written = await deps.runs.repair(run, {
    nowMs,
    dueAt: nowMs + deps.limits.stalledMs,
    variantsDueAt: nowMs + LIMITS.variantResendMs,
    done,
    through: findings.at(-1)?.seq ?? run.repairedThrough,
  });
  if (!written) return undefined;
  for (const { kind, key, client, tenant } of present)
    if (kind === "missing_bytes")
      deps.log.error("removed a file without bytes", {
        run: run.id,
        key,
        client: client ?? "",
        tenant: tenant ?? "",
      });
  return done.flatMap(({ remake }) =>
    remake === undefined ? [] : [{ fileId: remake.fileId, nonce: remake.newNonce }],
  );
}

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

/** The outcome of a finding; undefined: it cannot be repaired. */
function decide(
  random: Random,
  { seq, kind, fileId, nonce }: KeptFinding,
  isStill: boolean,
  isGone: boolean,
  isHeld: boolean,
): Done | undefined {
  switch (kind) {
    case "orphan_object":
      // A missing object may have been deleted by an earlier attempt of this repair.
      if (isStill || isGone) return { seq, outcome: "repaired" };
      return isHeld ? undefined : { seq, outcome: "obsolete" };
    case "missing_bytes":
      return isStill && fileId !== null
        ? { seq, outcome: "repaired", remove: { fileId } }
        : { seq, outcome: "obsolete" };
    case "missing_variant":
      return isStill && fileId !== null && nonce !== null
        ? { seq, outcome: "repaired", remake: { fileId, nonce, newNonce: randomId(random) } }
        : { seq, outcome: "obsolete" };
    case "size_differs":
    case "etag_differs":
      return undefined;
  }
}
