import * as z from "zod/mini";
import { conflict, noSuch } from "../../../http/errors/errors.ts";
import { pageOf, invalidCursor, pageLinks, type Paging } from "../../../http/input/paging.ts";
import { defineRoute, json, jsonPage, type Route } from "../../../http/route.ts";
import type { Result } from "../../../platform/model/result.ts";
import { actorOf } from "../../../platform/ports/audit.ts";

/** The port to the media service: comparisons of R2 with D1, and their repair. Each start writes an audit row. */
export interface MediaConsistency {
  /** Starts a run, or returns the running one. */
  start(by: Operator): Promise<Result<ConsistencyRun, "repairing">>;
  repair(id: string, by: Operator): Promise<Result<ConsistencyRun, "unknown" | "running" | "other_run">>;
  find(id: string): Promise<ConsistencyRun | undefined>;
  /** Lists the runs that started before `before`, the newest first. */
  page(before: RunKey | undefined, limit: number, skip: number): Promise<readonly ConsistencyRun[]>;
  findings(id: string, afterSeq: number, limit: number, skip: number): Promise<readonly ConsistencyFinding[]>;
}

interface Operator {
  readonly actor: string;
  readonly requestId: string;
  readonly nowMs: number;
}

interface RunKey {
  readonly startedAt: number;
  readonly id: string;
}

interface ConsistencyRun extends RunKey {
  readonly state: "running" | "done" | "repairing" | "repaired";
  readonly finishedAt: number | null;
  readonly repairStartedAt: number | null;
  readonly repairedAt: number | null;
  readonly checked: { readonly files: number; readonly variants: number; readonly objects: number };
  readonly found: Readonly<Record<Kind, number>>;
  /** The number of stored findings. A run stores only the first ones. */
  readonly keptFindings: number;
  readonly repaired: Readonly<Record<RepairableKind, number>>;
}

type RepairableKind = "orphan_object" | "missing_bytes" | "missing_variant";
type Kind = RepairableKind | "size_differs" | "etag_differs";

interface ConsistencyFinding {
  readonly seq: number;
  readonly kind: Kind;
  readonly key: string;
  readonly outcome: "repaired" | "obsolete" | null;
  readonly fileId: string | null;
  readonly client: string | null;
  readonly tenant: string | null;
  readonly rowBytes: number | null;
  readonly rowEtag: string | null;
  readonly objectBytes: number | null;
  readonly objectEtag: string | null;
}

const COLLECTION = "/media/consistency";
const params = z.object({ id: z.string() });

export const mediaConsistencyRoutes = (consistency: MediaConsistency): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: COLLECTION,
    summary: "List the comparisons of R2 with D1, the newest first",
    operation: "listComparisons",
    paged: true,
    handle: async ({ url, paging }) => {
      const before = readRunKey(paging);
      if (before === "invalid") return invalidCursor();
      const found = await pageOf(paging, {
        after: before,
        beginning: undefined,
        read: (from, { limit, skip }) => consistency.page(from, limit, skip),
        keyOf: ({ startedAt, id }) => [startedAt, id],
      });
      return jsonPage({ url, paging }, found, toReport);
    },
  }),
  defineRoute({
    method: "POST",
    path: COLLECTION,
    summary: "Start a comparison of R2 with D1; while one runs, the answer is that one",
    operation: "startComparison",
    handle: async ({ url, principal, requestId, nowMs }) => {
      const started = await consistency.start({ actor: actorOf(principal), requestId, nowMs });
      if (!started.ok)
        return conflict("repair_under_way", "", "A repair is running. Start a comparison when it is done.");
      return json(202, toReport(started.value), { location: addressOf(url, COLLECTION, started.value.id) });
    },
  }),
  defineRoute({
    method: "GET",
    path: `${COLLECTION}/{id}`,
    summary: "A comparison of R2 with D1: its counts, and what it found, in pages",
    operation: "readComparison",
    params,
    paged: true,
    handle: async ({ url, paging, params: { id } }) => {
      const [after = 0] = paging.cursor ?? [];
      if (typeof after !== "number") return invalidCursor();
      const run = await consistency.find(id);
      if (run === undefined) return noSuch("comparison");
      const found = await pageOf(paging, {
        after,
        beginning: 0,
        read: (from, { limit, skip }) => consistency.findings(id, from, limit, skip),
        keyOf: ({ seq }) => [seq],
      });
      const report = { ...toReport(run), findings: found.items.map(toFinding) };
      return json(200, report, { link: pageLinks(url, paging, found) });
    },
  }),
  defineRoute({
    method: "POST",
    path: `${COLLECTION}/{id}/repair`,
    summary: "Repair what a comparison found",
    operation: "repairComparison",
    params,
    handle: async ({ url, principal, requestId, nowMs, params: { id } }) => {
      const repairing = await consistency.repair(id, { actor: actorOf(principal), requestId, nowMs });
      if (repairing.ok)
        return json(202, toReport(repairing.value), { location: addressOf(url, `${COLLECTION}/${id}/repair`, id) });
      switch (repairing.error) {
        case "unknown":
          return noSuch("comparison");
        case "running":
          return conflict(
            "comparison_running",
            "",
            "The comparison is still running. Wait until the state of its report is done.",
          );
        case "other_run":
          return conflict("other_run_under_way", "", "Another comparison or repair is running.");
      }
    },
  }),
];

/** Returns the address of a run, from the address of a request whose path ends in `path`. */
function addressOf(url: URL, path: string, id: string): string {
  const base = url.pathname.slice(0, -path.length);
  return new URL(`${base}${COLLECTION}/${id}`, url).href;
}

function readRunKey({ cursor }: Paging): RunKey | undefined | "invalid" {
  if (cursor === undefined) return undefined;
  const [startedAt, id] = cursor;
  return typeof startedAt === "number" && typeof id === "string" ? { startedAt, id } : "invalid";
}

const toReport = ({ found, repaired, ...run }: ConsistencyRun) => ({
  id: run.id,
  state: run.state,
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
  checked: run.checked,
  found: byKind(found),
  keptFindings: run.keptFindings,
  repairStartedAt: run.repairStartedAt,
  repairedAt: run.repairedAt,
  repaired: byKind(repaired),
});

/** The names of the kinds in JSON, for counts and findings. */
const KINDS: Readonly<Record<Kind, string>> = {
  orphan_object: "orphanObject",
  missing_bytes: "missingBytes",
  missing_variant: "missingVariant",
  size_differs: "sizeDiffers",
  etag_differs: "etagDiffers",
};

const byKind = (counts: Readonly<Partial<Record<Kind, number>>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(counts).map(([kind, count]) => [KINDS[kind as Kind], count]));

/** Shows the row in D1 and the object in R2; each is null if it does not exist. */
const toFinding = (finding: ConsistencyFinding) => ({
  kind: KINDS[finding.kind],
  key: finding.key,
  fileId: finding.fileId,
  client: finding.client,
  tenant: finding.tenant,
  row: finding.fileId === null ? null : { size: finding.rowBytes, etag: quoted(finding.rowEtag) },
  object: finding.objectBytes === null ? null : { size: finding.objectBytes, etag: quoted(finding.objectEtag) },
  outcome: finding.outcome,
});

/** Writes an ETag as headers do. */
const quoted = (etag: string | null): string | null => (etag === null ? null : `"${etag}"`);
