import type { FindingKind, Stage } from "./model.ts";

/**
 * The runs of the consistency report in D1, and what they found. A step of a run writes all that it did in one batch, under
 * the condition that the run is still where the step began: of two that do the same step, one writes.
 */
export interface RunStore {
  /** A new run, unless one is under way; the one that is under way then. `audit` is written with a new one alone. */
  start(run: { readonly id: string } & Times, audit: D1PreparedStatement): Promise<Run>;
  /** Done → repairing, unless another run is under way; the run as it is then. `audit` is written with the change. */
  startRepair(
    id: string,
    by: { readonly actor: string; readonly requestId: string } & Times,
    audit: D1PreparedStatement,
  ): Promise<Run | undefined>;
  find(id: string): Promise<Run | undefined>;
  /** From the newest on, behind `before`. */
  page(before: RunKey | undefined, limit: number, skip: number): Promise<readonly Run[]>;
  /** In the order in which they were found. */
  findings(id: string, afterSeq: number, limit: number, skip: number): Promise<readonly KeptFinding[]>;
  /** The end of a step of comparing; false when another one was faster. */
  advance(from: Run, to: Progress, findings: readonly Finding[]): Promise<boolean>;
  /** The end of a step of repairing: what is to change in D1 changes in the same batch. False as above. */
  repair(from: Run, work: RepairWork): Promise<boolean>;
  finishRepair(from: Run, nowMs: number, audit: D1PreparedStatement): Promise<boolean>;
  /** Runs under way that were not heard of; each is told once until `dueAt`. */
  takeStalled(nowMs: number, dueAt: number): Promise<readonly string[]>;
  /** One run that was started so long ago, with its findings. */
  forget(startedUntil: number): Promise<void>;
}

export type RepairableKind = "orphan_object" | "missing_bytes" | "missing_variant";

interface Times {
  readonly nowMs: number;
  /** When the run is taken for stalled. */
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
  readonly stage: Stage;
  readonly position: string;
  readonly repairedThrough: number;
  readonly checked: { readonly files: number; readonly variants: number; readonly objects: number };
  readonly found: Readonly<Record<FindingKind, number>>;
  readonly keptFindings: number;
  readonly repaired: Readonly<Record<RepairableKind, number>>;
}

export interface Progress extends Pick<Run, "stage" | "position" | "checked" | "found"> {
  /** Undefined: the run is at its end. */
  readonly dueAt: number | undefined;
  readonly nowMs: number;
}

/** One place in R2 that is not as D1 says. What the row says is empty for an object without one. */
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
  /** `obsolete`: when the repair came it was not so any more. */
  readonly outcome: "repaired" | "obsolete" | null;
}

export interface RepairWork {
  readonly nowMs: number;
  readonly dueAt: number;
  /** When a variant that is made again is taken for lost. */
  readonly variantsDueAt: number;
  /** Of all findings of this step that can be repaired; the last one is how far the run is then. */
  readonly done: readonly {
    readonly seq: number;
    /** Of changes in D1: only if they happen. */
    readonly outcome: "repaired" | "obsolete";
    readonly remove?: { readonly fileId: string };
    readonly remake?: { readonly fileId: string; readonly nonce: string; readonly newNonce: string };
  }[];
  readonly through: number;
}

const RUN = `SELECT id, state, started_at, finished_at, repair_started_at, repaired_at, repair_actor, repair_request_id,
  step, stage, position, repaired_through, checked_files, checked_variants, checked_objects, found_orphan_object,
  found_missing_bytes, found_missing_variant, found_size_differs, found_etag_differs, kept_findings,
  repaired_orphan_object, repaired_missing_bytes, repaired_missing_variant FROM consistency_run`;
/** A run has a due time while it is under way; so asked, that is found by an index. */
const UNDER_WAY = `due_at >= 0`;
const NONE_UNDER_WAY = `NOT EXISTS (SELECT 1 FROM consistency_run WHERE ${UNDER_WAY})`;
/** The run ?1 is still at step ?2. */
const isAt = (state: Run["state"]): string =>
  `EXISTS (SELECT 1 FROM consistency_run WHERE id = ?1 AND step = ?2 AND state = '${state}')`;
const OWNER_LIVES = `EXISTS (SELECT 1 FROM owner WHERE owner.id = file.owner_id AND owner.erasure_id IS NULL)`;
/** How many findings of this step, behind the last one, were repaired. */
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
  removeFiles: `UPDATE file SET state = 'removed', removed_at = ?4, due_at = ?4
    WHERE id IN (SELECT value -> 'remove' ->> 'fileId' FROM json_each(?3)) AND state = 'committed'
    AND ${OWNER_LIVES} AND ${isAt("repairing")}`,
  remakeVariants: `UPDATE variant SET nonce = wanted.newNonce, state = 'pending', due_at = ?4, content_type = NULL,
    width = NULL, height = NULL, size_bytes = NULL, etag = NULL
    FROM (SELECT value -> 'remake' ->> 'fileId' AS fileId, value -> 'remake' ->> 'nonce' AS nonce,
      value -> 'remake' ->> 'newNonce' AS newNonce FROM json_each(?3)) AS wanted
    WHERE variant.file_id = wanted.fileId AND variant.nonce = wanted.nonce AND variant.state = 'ready'
    AND EXISTS (SELECT 1 FROM file WHERE file.id = variant.file_id AND file.state = 'committed' AND ${OWNER_LIVES})
    AND ${isAt("repairing")}`,
  // A change in D1 that somebody else forestalled is none of the repair.
  settle: `UPDATE consistency_finding SET outcome = CASE
      WHEN kind = 'missing_bytes' AND NOT EXISTS (SELECT 1 FROM file WHERE file.id = consistency_finding.file_id
        AND file.state = 'removed' AND file.removed_at = ?4 AND file.erasure_id IS NULL) THEN 'obsolete'
      WHEN kind = 'missing_variant' AND NOT EXISTS (SELECT 1 FROM variant
        WHERE variant.file_id = consistency_finding.file_id AND variant.nonce = done.newNonce) THEN 'obsolete'
      ELSE done.outcome END
    FROM (SELECT value ->> 'seq' AS seq, value ->> 'outcome' AS outcome, value -> 'remake' ->> 'newNonce' AS newNonce
      FROM json_each(?3)) AS done
    WHERE consistency_finding.seq = done.seq AND ${isAt("repairing")}`,
  repair: `UPDATE consistency_run SET step = step + 1, repaired_through = ?3, due_at = ?4,
    repaired_orphan_object = repaired_orphan_object + ${repairedNow("orphan_object")},
    repaired_missing_bytes = repaired_missing_bytes + ${repairedNow("missing_bytes")},
    repaired_missing_variant = repaired_missing_variant + ${repairedNow("missing_variant")}
    WHERE id = ?1 AND step = ?2 AND state = 'repairing'`,
  finishRepair: `UPDATE consistency_run SET step = step + 1, state = 'repaired', repaired_at = ?3, due_at = NULL
    WHERE id = ?1 AND step = ?2 AND state = 'repairing'`,
  takeStalled: `UPDATE consistency_run SET due_at = ?2 WHERE due_at <= ?1 RETURNING id`,
  forget: `DELETE FROM consistency_run WHERE id = (SELECT id FROM consistency_run
    WHERE started_at <= ?1 AND due_at IS NULL ORDER BY started_at, id LIMIT 1)`,
} as const;

export function createRunStore(db: D1Database): RunStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const runOf = (found: D1Result | undefined): Run | undefined => {
    const row = found?.results[0] as RunColumns | undefined;
    return row === undefined ? undefined : toRun(row);
  };
  const hasChanged = (result: D1Result | undefined): boolean => result?.meta.changes === 1;
  return {
    async start({ id, nowMs, dueAt }, audit) {
      const results = await db.batch([prepared(SQL.start, id, nowMs, dueAt), audit, prepared(SQL.underWay)]);
      const run = runOf(results[2]);
      if (run === undefined) throw new Error("a run is missing after it was started");
      return run;
    },
    async startRepair(id, { nowMs, dueAt, actor, requestId }, audit) {
      const change = prepared(SQL.startRepair, id, nowMs, dueAt, actor, requestId);
      return runOf((await db.batch([change, audit, prepared(SQL.find, id)]))[2]);
    },
    async find(id) {
      const row = await prepared(SQL.find, id).first<RunColumns>();
      return row === null ? undefined : toRun(row);
    },
    async page(before, limit, skip) {
      const [startedAt, id] = [before?.startedAt ?? Number.MAX_SAFE_INTEGER, before?.id ?? ""];
      return (await prepared(SQL.page, startedAt, id, limit, skip).all<RunColumns>()).results.map(toRun);
    },
    async findings(id, afterSeq, limit, skip) {
      return (await prepared(SQL.findings, id, afterSeq, limit, skip).all<KeptFinding>()).results;
    },
    async advance({ id, step }, { stage, position, dueAt, nowMs, checked, found }, findings) {
      const places = [stage, position, dueAt ?? null, nowMs, checked.files, checked.variants, checked.objects];
      const { orphan_object, missing_bytes, missing_variant, size_differs, etag_differs } = found;
      const counts = [orphan_object, missing_bytes, missing_variant, size_differs, etag_differs, findings.length];
      const update = prepared(SQL.advance, id, step, ...places, ...counts);
      const keep = findings.length === 0 ? [] : [prepared(SQL.keep, id, step, JSON.stringify(findings))];
      return hasChanged((await db.batch([...keep, update])).at(-1));
    },
    async repair({ id, step }, { nowMs, dueAt, variantsDueAt, done, through }) {
      const json = JSON.stringify(done);
      const results = await db.batch([
        prepared(SQL.removeFiles, id, step, json, nowMs),
        prepared(SQL.remakeVariants, id, step, json, variantsDueAt),
        prepared(SQL.settle, id, step, json, nowMs),
        prepared(SQL.repair, id, step, through, dueAt),
      ]);
      return hasChanged(results.at(-1));
    },
    async finishRepair({ id, step }, nowMs, audit) {
      return hasChanged((await db.batch([prepared(SQL.finishRepair, id, step, nowMs), audit]))[0]);
    },
    async takeStalled(nowMs, dueAt) {
      return (await prepared(SQL.takeStalled, nowMs, dueAt).all<{ id: string }>()).results.map(({ id }) => id);
    },
    async forget(startedUntil) {
      await prepared(SQL.forget, startedUntil).run();
    },
  };
}

interface RunColumns {
  readonly id: string;
  readonly state: Run["state"];
  readonly started_at: number;
  readonly finished_at: number | null;
  readonly repair_started_at: number | null;
  readonly repaired_at: number | null;
  readonly repair_actor: string;
  readonly repair_request_id: string;
  readonly step: number;
  readonly stage: Stage;
  readonly position: string;
  readonly repaired_through: number;
  readonly checked_files: number;
  readonly checked_variants: number;
  readonly checked_objects: number;
  readonly found_orphan_object: number;
  readonly found_missing_bytes: number;
  readonly found_missing_variant: number;
  readonly found_size_differs: number;
  readonly found_etag_differs: number;
  readonly kept_findings: number;
  readonly repaired_orphan_object: number;
  readonly repaired_missing_bytes: number;
  readonly repaired_missing_variant: number;
}

const toRun = (row: RunColumns): Run => ({
  id: row.id,
  state: row.state,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  repairStartedAt: row.repair_started_at,
  repairedAt: row.repaired_at,
  repairActor: row.repair_actor,
  repairRequestId: row.repair_request_id,
  step: row.step,
  stage: row.stage,
  position: row.position,
  repairedThrough: row.repaired_through,
  checked: { files: row.checked_files, variants: row.checked_variants, objects: row.checked_objects },
  found: {
    orphan_object: row.found_orphan_object,
    missing_bytes: row.found_missing_bytes,
    missing_variant: row.found_missing_variant,
    size_differs: row.found_size_differs,
    etag_differs: row.found_etag_differs,
  },
  keptFindings: row.kept_findings,
  repaired: {
    orphan_object: row.repaired_orphan_object,
    missing_bytes: row.repaired_missing_bytes,
    missing_variant: row.repaired_missing_variant,
  },
});
