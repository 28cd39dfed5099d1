import type { FindingKind, KeyspaceName } from "./keyspaces.ts";

/**
 * Runs of the consistency report, and their findings. A step writes everything in one batch, on condition that the run
 * is still where the step began. If two invocations do the same step, only one of them writes.
 */
export type RunStore = ReturnType<typeof createRunStore>;

type RepairableKind = "orphan_object" | "missing_bytes" | "missing_variant";

interface Times {
  readonly nowMs: number;
  /** The time at which the run counts as stalled. */
  readonly dueAt: number;
}

export interface RunKey {
  readonly startedAt: number;
  readonly id: string;
}

export interface Run extends RunKey {
  readonly state: "running" | "done" | "repairing" | "repaired";
  readonly finishedAt: number | null;
  readonly repairStartedAt: number | null;
  readonly repairedAt: number | null;
  readonly repairActor: string;
  readonly repairRequestId: string;
  readonly step: number;
  readonly keyspace: KeyspaceName;
  readonly position: string;
  readonly repairedThrough: number;
  readonly checked: { readonly files: number; readonly variants: number; readonly objects: number };
  readonly found: Readonly<Record<FindingKind, number>>;
  readonly keptFindings: number;
  readonly repaired: Readonly<Record<RepairableKind, number>>;
}

export interface Progress extends Pick<Run, "keyspace" | "position" | "checked" | "found"> {
  /** Undefined: the run is done. */
  readonly dueAt: number | undefined;
  readonly nowMs: number;
}

/** A key in R2 whose object differs from the rows in D1. The fields of the row are null if the object has no row. */
export interface Finding {
  readonly kind: FindingKind;
  readonly key: string;
  readonly fileId: string | null;
  readonly nonce: string | null;
  readonly client: string | null;
  readonly tenant: string | null;
  readonly rowBytes: number | null;
  readonly rowEtag: string | null;
  readonly objectBytes: number | null;
  readonly objectEtag: string | null;
}

export interface KeptFinding extends Finding {
  readonly seq: number;
  /** `obsolete`: the finding was no longer true when the repair ran. */
  readonly outcome: "repaired" | "obsolete" | null;
}

export interface Outcome {
  readonly seq: number;
  readonly outcome: "repaired" | "obsolete";
}

/** The end of a step of repairing. */
export interface RepairStep {
  readonly dueAt: number;
  /** The outcomes of the findings that this step could decide. */
  readonly outcomes: readonly Outcome[];
  /** `seq` of the last finding of this step. */
  readonly through: number;
}

const RUN = `SELECT id, state, started_at AS startedAt, finished_at AS finishedAt, repair_started_at AS repairStartedAt,
  repaired_at AS repairedAt, repair_actor AS repairActor, repair_request_id AS repairRequestId, step,
  stage AS keyspace, position,
  repaired_through AS repairedThrough, kept_findings AS keptFindings,
  json_object('files', checked_files, 'variants', checked_variants, 'objects', checked_objects) AS checked,
  json_object('orphan_object', found_orphan_object, 'missing_bytes', found_missing_bytes,
    'missing_variant', found_missing_variant, 'size_differs', found_size_differs,
    'etag_differs', found_etag_differs) AS found,
  json_object('orphan_object', repaired_orphan_object, 'missing_bytes', repaired_missing_bytes,
    'missing_variant', repaired_missing_variant) AS repaired FROM consistency_run`;
/** SQL: the run is under way. Only then it has a due time, and the condition uses the index of that column. */
const UNDER_WAY = `due_at >= 0`;
const NONE_UNDER_WAY = `NOT EXISTS (SELECT 1 FROM consistency_run WHERE ${UNDER_WAY})`;
/** SQL: the run ?1 is still at step ?2. */
const isAt = (state: Run["state"]): string =>
  `EXISTS (SELECT 1 FROM consistency_run WHERE id = ?1 AND step = ?2 AND state = '${state}')`;
/** SQL: the number of findings that this step repaired. */
const repairedNow = (kind: RepairableKind): string => `(SELECT count(*) FROM consistency_finding AS done
  WHERE done.run_id = ?1 AND done.seq > consistency_run.repaired_through AND done.seq <= ?3
  AND done.kind = '${kind}' AND done.outcome = 'repaired')`;

const SQL = {
  start: `INSERT INTO consistency_run (id, state, started_at, due_at, stage)
    SELECT ?1, 'running', ?2, ?3, 'files' WHERE ${NONE_UNDER_WAY}`,
  underWay: `${RUN} WHERE ${UNDER_WAY}`,
  startRepair: `UPDATE consistency_run SET state = 'repairing', repair_started_at = ?2, due_at = ?3, repair_actor = ?4,
    repair_request_id = ?5 WHERE id = ?1 AND state = 'done' AND ${NONE_UNDER_WAY}`,
  find: `${RUN} WHERE id = ?1`,
  page: `${RUN} WHERE started_at <= ?1 AND (started_at < ?1 OR id < ?2)
    ORDER BY started_at DESC, id DESC LIMIT ?3 OFFSET ?4`,
  findings: `SELECT seq, kind, key, outcome, file_id AS fileId, nonce, client, tenant, row_bytes AS rowBytes,
    row_etag AS rowEtag, object_bytes AS objectBytes, object_etag AS objectEtag
    FROM consistency_finding WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3 OFFSET ?4`,
  keep: `INSERT INTO consistency_finding
    (run_id, kind, key, file_id, nonce, client, tenant, row_bytes, row_etag, object_bytes, object_etag)
    SELECT ?1, value ->> 'kind', value ->> 'key', value ->> 'fileId', value ->> 'nonce', value ->> 'client',
    value ->> 'tenant', value ->> 'rowBytes', value ->> 'rowEtag', value ->> 'objectBytes', value ->> 'objectEtag'
    FROM json_each(?3) WHERE ${isAt("running")} ORDER BY json_each.key`,
  advance: `UPDATE consistency_run SET step = step + 1, stage = ?3, position = ?4, due_at = ?5,
    state = iif(?5 IS NULL, 'done', 'running'), finished_at = iif(?5 IS NULL, ?6, NULL),
    checked_files = ?7, checked_variants = ?8, checked_objects = ?9, found_orphan_object = ?10,
    found_missing_bytes = ?11, found_missing_variant = ?12, found_size_differs = ?13, found_etag_differs = ?14,
    kept_findings = kept_findings + ?15 WHERE id = ?1 AND step = ?2 AND state = 'running'`,
  recordOutcomes: `UPDATE consistency_finding SET outcome = done.outcome
    FROM (SELECT value ->> 'seq' AS seq, value ->> 'outcome' AS outcome FROM json_each(?3)) AS done
    WHERE consistency_finding.seq = done.seq AND ${isAt("repairing")}`,
  repair: `UPDATE consistency_run SET step = step + 1, repaired_through = ?3, due_at = ?4,
    repaired_orphan_object = repaired_orphan_object + ${repairedNow("orphan_object")},
    repaired_missing_bytes = repaired_missing_bytes + ${repairedNow("missing_bytes")},
    repaired_missing_variant = repaired_missing_variant + ${repairedNow("missing_variant")}
    WHERE id = ?1 AND step = ?2 AND state = 'repairing'`,
  finishRepair: `UPDATE consistency_run SET step = step + 1, state = 'repaired', repaired_at = ?3, due_at = NULL
    WHERE id = ?1 AND step = ?2 AND state = 'repairing'`,
  takeStalled: `UPDATE consistency_run SET due_at = ?2 WHERE due_at <= ?1 RETURNING id`,
  deleteOld: `DELETE FROM consistency_run WHERE id = (SELECT id FROM consistency_run
    WHERE started_at <= ?1 AND due_at IS NULL ORDER BY started_at, id LIMIT 1)`,
} as const;

export function createRunStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const firstRun = (found: D1Result | undefined): Run | undefined => ((found?.results ?? []) as RunRow[]).map(toRun)[0];
  const hasChanged = (result: D1Result | undefined): boolean => result?.meta.changes === 1;
  return {
    /** Starts a run unless one is under way. Returns the run under way. `audit` is written only with a new run. */
    async start({ id, nowMs, dueAt }: { readonly id: string } & Times, audit: D1PreparedStatement): Promise<Run> {
      const results = await db.batch([prepared(SQL.start, id, nowMs, dueAt), audit, prepared(SQL.underWay)]);
      const run = firstRun(results[2]);
      if (run === undefined) throw new Error("a run is missing after it was started");
      return run;
    },

    /**
     * Done → repairing unless another run is under way. Returns the run afterwards. `audit` is written with the change.
     */
    async startRepair(
      id: string,
      { nowMs, dueAt, actor, requestId }: { readonly actor: string; readonly requestId: string } & Times,
      audit: D1PreparedStatement,
    ): Promise<Run | undefined> {
      const change = prepared(SQL.startRepair, id, nowMs, dueAt, actor, requestId);
      return firstRun((await db.batch([change, audit, prepared(SQL.find, id)]))[2]);
    },

    find: async (id: string): Promise<Run | undefined> => firstRun(await prepared(SQL.find, id).all()),

    /** Lists the runs that started before `before`, newest first. */
    async page(before: RunKey | undefined, limit: number, skip: number): Promise<readonly Run[]> {
      const [startedAt, id] = [before?.startedAt ?? Number.MAX_SAFE_INTEGER, before?.id ?? ""];
      return (await prepared(SQL.page, startedAt, id, limit, skip).all<RunRow>()).results.map(toRun);
    },

    /** Lists the findings of a run, oldest first. */
    async findings(id: string, afterSeq: number, limit: number, skip: number): Promise<readonly KeptFinding[]> {
      return (await prepared(SQL.findings, id, afterSeq, limit, skip).all<KeptFinding>()).results;
    },

    /** Ends a step of comparing. False: another attempt has ended it. */
    async advance(
      { id, step }: Run,
      { keyspace, position, dueAt, nowMs, checked, found }: Progress,
      findings: readonly Finding[],
    ): Promise<boolean> {
      const places = [keyspace, position, dueAt ?? null, nowMs, checked.files, checked.variants, checked.objects];
      const { orphan_object, missing_bytes, missing_variant, size_differs, etag_differs } = found;
      const counts = [orphan_object, missing_bytes, missing_variant, size_differs, etag_differs, findings.length];
      const update = prepared(SQL.advance, id, step, ...places, ...counts);
      const keep = findings.length === 0 ? [] : [prepared(SQL.keep, id, step, JSON.stringify(findings))];
      return hasChanged((await db.batch([...keep, update])).at(-1));
    },

    /** Ends a step of repairing, after its changes. False: another attempt has ended it. */
    async repair({ id, step }: Run, { dueAt, outcomes, through }: RepairStep): Promise<boolean> {
      const results = await db.batch([
        prepared(SQL.recordOutcomes, id, step, JSON.stringify(outcomes)),
        prepared(SQL.repair, id, step, through, dueAt),
      ]);
      return hasChanged(results.at(-1));
    },

    async finishRepair({ id, step }: Run, nowMs: number, audit: D1PreparedStatement): Promise<boolean> {
      return hasChanged((await db.batch([prepared(SQL.finishRepair, id, step, nowMs), audit]))[0]);
    },

    /** Takes stalled runs, each once until `dueAt`. */
    async takeStalled(nowMs: number, dueAt: number): Promise<readonly string[]> {
      return (await prepared(SQL.takeStalled, nowMs, dueAt).all<{ id: string }>()).results.map(({ id }) => id);
    },

    /** Deletes the oldest ended run that started up to this time, with its findings. */
    async deleteOld(startedUntil: number): Promise<void> {
      await prepared(SQL.deleteOld, startedUntil).run();
    },
  };
}

/** The counts are JSON. */
interface RunRow extends Omit<Run, "checked" | "found" | "repaired"> {
  readonly checked: string;
  readonly found: string;
  readonly repaired: string;
}

const toRun = (row: RunRow): Run => ({
  ...row,
  checked: JSON.parse(row.checked) as Run["checked"],
  found: JSON.parse(row.found) as Run["found"],
  repaired: JSON.parse(row.repaired) as Run["repaired"],
});
