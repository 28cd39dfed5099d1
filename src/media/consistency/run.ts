/**
 * The operator's consistency report shows whether R2 holds exactly the objects that D1 expects. It compares the files
 * of all shards. The run and its findings are rows of the directory.
 *
 * States of a run, in its row; only one run is under way at a time:
 *
 *   POST consistency → running ──→ done ── POST repair ──→ repairing ──→ repaired
 *
 * - Keys of `blob/` sort as the files do, keys of `variant/` as the variants do. So each step compares a page of R2's
 *   list with a page of rows (compare.ts).
 * - Other work continues during a run. So each suspect is checked again before it is recorded, and once more before it
 *   is repaired (repair.ts).
 * - A step ends with one conditional write, and whoever wrote sends the message for the next step. A repeated message
 *   repeats at most one step; the sweep replaces lost messages.
 */
import type { AuditRecord, AuditTrail } from "../../platform/ports/audit.ts";
import { describeError } from "../../platform/runtime/log.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { DeadWorkStore } from "../dead/dead-work-store.ts";
import type { JobQueue, LongJob, MediaJob } from "../model/job.ts";
import { comparePage } from "./compare.ts";
import { compareInObjects, firstOfObjects, isInObject } from "./compare-objects.ts";
import { KEYSPACES } from "./keyspaces.ts";
import { repairPage, type RepairDeps } from "./repair.ts";
import type { Run } from "./run-store.ts";

export interface ConsistencyDeps extends RepairDeps {
  readonly random: Random;
  readonly queue: JobQueue;
  readonly audit: AuditTrail;
  readonly deadWork: DeadWorkStore;
}

export type Consistency = ReturnType<typeof createConsistency>;

/** The operator, for the audit log. */
export interface Operator {
  readonly actor: string;
  readonly requestId: string;
  readonly nowMs: number;
}

export function createConsistency(deps: ConsistencyDeps) {
  const { runs, queue, log, limits } = deps;
  const dueAfter = (nowMs: number): number => nowMs + limits.stalledMs;

  /** Sends the message for the next step. If the message is lost, the sweep sends another. */
  async function wake(id: string): Promise<void> {
    try {
      await queue.send([nextStep(id)]);
    } catch (thrown) {
      log.warn("could not queue the next step of a consistency run", { run: id, error: describeError(thrown) });
    }
  }

  return {
    /** Starts a run, or returns the one that is under way. */
    async start(by: Operator): Promise<Result<Run, "repairing">> {
      const id = randomId(deps.random);
      const audit = deps.audit.statement("if changed", auditRecord(by, "compare", id, ""));
      const run = await runs.start({ id, nowMs: by.nowMs, dueAt: dueAfter(by.nowMs) }, audit);
      if (run.state === "repairing") return err("repairing");
      await wake(run.id);
      return ok(run);
    },

    /** Starts the repair of a run's findings. A repeated call changes nothing. */
    async repair(id: string, by: Operator): Promise<Result<Run, "unknown" | "running" | "other_run">> {
      const audit = deps.audit.statement("if changed", auditRecord(by, "repair", id, "started"));
      const run = await runs.startRepair(id, { ...by, dueAt: dueAfter(by.nowMs) }, audit);
      if (run === undefined) return err("unknown");
      if (run.state === "running") return err("running");
      if (run.state === "done") return err("other_run");
      if (run.state === "repairing") await wake(id);
      return ok(run);
    },

    find: runs.find,
    page: runs.page,
    findings: runs.findings,

    /** Does the next step of a run. Throws if another attempt may succeed. */
    async step(id: string, nowMs: number): Promise<undefined> {
      const run = await runs.find(id);
      if (run?.state === "running") await queue.send(await compareStep(deps, run, nowMs));
      if (run?.state === "repairing") await queue.send(await repairStep(deps, run, nowMs));
    },

    /** Resumes stalled runs, and deletes one old run. Returns the number of stalled runs. */
    async sweep(nowMs: number): Promise<number> {
      const stalled = await runs.takeStalled(nowMs, dueAfter(nowMs));
      await queue.send(await deps.deadWork.sendable(stalled.map(nextStep), nowMs));
      await runs.deleteOld(nowMs - limits.keptMs);
      return stalled.length;
    },
  };
}

/** Returns the messages to send: none if the run is done or if another attempt did this step. */
async function compareStep(deps: ConsistencyDeps, run: Run, nowMs: number): Promise<readonly MediaJob[]> {
  const page = isInObject(run.position)
    ? { objects: 0, ...(await compareInObjects(deps, run, nowMs)) }
    : await compareInOrder(deps, run, nowMs);
  const { next } = page;
  const found = { ...run.found };
  for (const { kind } of page.findings) found[kind] += 1;
  const checked = {
    files: run.checked.files + page.places.files,
    variants: run.checked.variants + page.places.variants,
    objects: run.checked.objects + page.objects,
  };
  const progress = {
    keyspace: next?.keyspace ?? run.keyspace,
    position: next?.position ?? "",
    dueAt: next === undefined ? undefined : nowMs + deps.limits.stalledMs,
    nowMs,
    checked,
    found,
  };
  const mayKeep = deps.limits.keptFindings - run.keptFindings;
  const written = await deps.runs.advance(run, progress, page.findings.slice(0, Math.max(0, mayKeep)));
  if (written && next === undefined) deps.log.info("consistency run done", { run: run.id, ...checked, ...found });
  return written && next !== undefined ? [nextStep(run.id)] : [];
}

/** Compares a page of R2's list with a page of rows. */
async function compareInOrder(deps: ConsistencyDeps, run: Run, nowMs: number) {
  const at = KEYSPACES.findIndex(({ name }) => name === run.keyspace);
  const keyspace = KEYSPACES[at]!;
  const { end, objects, findings, places } = await comparePage(deps, keyspace, run.position, nowMs);
  const nextKeyspace = end === undefined ? KEYSPACES[at + 1] : keyspace;
  return {
    objects,
    findings,
    places: { files: 0, variants: 0, ...(keyspace.name === "incoming" ? {} : { [keyspace.name]: places }) },
    next:
      nextKeyspace === undefined ? await firstOfObjects(deps) : { keyspace: nextKeyspace.name, position: end ?? "" },
  };
}

/** Returns the messages to send, as `compareStep` does. The last step has no finding left, so its counts are final. */
async function repairStep(deps: ConsistencyDeps, run: Run, nowMs: number): Promise<readonly MediaJob[]> {
  const findings = await deps.runs.findings(run.id, run.repairedThrough, deps.limits.repairs, 0);
  if (findings.length > 0) {
    const jobs = await repairPage(deps, run, findings, nowMs);
    return jobs === undefined ? [] : [...jobs, nextStep(run.id)];
  }
  const { orphan_object: objects, missing_variant: variants, missing_bytes: files } = run.repaired;
  const reason = `objects deleted: ${objects}, variants made again: ${variants}, files removed: ${files}`;
  const by = { actor: run.repairActor, requestId: run.repairRequestId, nowMs };
  const audit = deps.audit.statement("if changed", auditRecord(by, "repair", run.id, reason));
  await deps.runs.finishRepair(run, nowMs, audit);
  return [];
}

const nextStep = (id: string): LongJob => ({ work: "compare", id });

const auditRecord = (by: Operator, action: "compare" | "repair", id: string, reason: string): AuditRecord => ({
  atMs: by.nowMs,
  requestId: by.requestId,
  actor: by.actor,
  action,
  outcome: "done",
  subject: `media/consistency/${id}`,
  reason,
});
