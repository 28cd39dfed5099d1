import { pinnedOrMaster, type FileLine } from "../files/file-copies.ts";
import type { Finding, JobRecord } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { SECTIONS, tableSection, type Part } from "../model/part.ts";
import { Refused, placeIn, type Stage } from "../model/stage.ts";
import { tableOfKey } from "../model/tables.ts";
import type { StageDeps } from "./stage-deps.ts";
import { FORMAT, type Manifest } from "../bucket/manifest-store.ts";
import { filesAt } from "./file-lines.ts";
import { readIndex } from "./index-parts.ts";
import { logInfo } from "./object-stage.ts";

/** Verifies a backup: reads every part, and checks digests, counts and references between parts. Writes nothing. */
export function verifyStages(deps: StageDeps): readonly Stage[] {
  return [
    { name: "check", step: async ({ job }) => ({ next: undefined, facts: await usableManifest(deps, job) }) },
    loadIndex(deps),
    readParts(deps),
    readFiles(deps),
    compareFiles(deps),
    compareTotals(deps),
  ];
}

/** The manifest, if this deployment could restore the backup. */
export async function usableManifest({ manifests, platform, seals }: StageDeps, job: JobRecord): Promise<Manifest> {
  const manifest = await manifests.read(job.backup);
  if (manifest === undefined) throw new Refused(`There is no whole backup ${job.backup}.`);
  if (manifest.format !== FORMAT)
    throw new Refused(`The backup has format ${String(manifest.format)}; this release reads 1.`);
  if (manifest.platform !== platform)
    throw new Refused(`The backup is of the platform ${manifest.platform}, and PLATFORM is ${platform} here.`);
  const ours = new Map((await seals.proofs()).map(({ id, proof }) => [id, proof]));
  for (const { id, proof, isUsed } of manifest.sealKeys)
    if (isUsed && ours.get(id) !== proof)
      throw new Refused(
        `Secrets in the backup are sealed with the key ${id}, and SEAL_KEYS ${ours.has(id) ? "has another key under that id" : "lacks it"}.`,
      );
  return manifest;
}

/** Reads the list of parts from the index. */
export function loadIndex({ parts }: StageDeps): Stage {
  return {
    name: "index",
    async step({ position, job }) {
      const { lines, next } = await readIndex(parts, job.facts.index, position);
      return { next, parts: lines };
    },
  };
}

function readParts({ parts }: StageDeps): Stage {
  return {
    name: "parts",
    async step({ position, lists, job }) {
      const from = placeIn(position, 0);
      const page = lists.parts(from, LIMITS.parallel);
      if (page.length === 0) return { next: undefined };
      const reads = await Promise.all(page.map(async (part) => ({ part, read: await parts.read(part.digest) })));
      const findings: Finding[] = [];
      const marks: string[] = [];
      for (const { part, read } of reads) {
        const subject = `${part.section} part/${part.digest}`;
        if (!read.ok) findings.push({ kind: read.error, subject });
        else if (read.value.length !== part.count) findings.push({ kind: "count_differs", subject });
        else marks.push(...marksOf(part, read.value, job));
      }
      return { next: String(from + page.length), counts: countsOf(page), findings, marks };
    },
  };
}

/** Marks for the topics and files of a part, to which other parts refer. */
function marksOf({ section }: Part, lines: readonly string[], { facts }: JobRecord): readonly string[] {
  if (section === SECTIONS.media) return lines.map((line) => `file/${(JSON.parse(line) as FileLine).key}`);
  if (section !== tableSection("topic")) return [];
  const at = facts.tables["topic"]?.columns.indexOf("incarnation") ?? -1;
  return lines.map((line) => `topic/${String((JSON.parse(line) as unknown[])[at])}`);
}

function countsOf(page: readonly Part[]) {
  const count = (isWanted: (part: Part) => boolean, of: (part: Part) => number): number =>
    page.filter(isWanted).reduce((sum, part) => sum + of(part), 0);
  return {
    parts: page.length,
    partBytes: count(
      () => true,
      ({ bytes }) => bytes,
    ),
    rows: count(
      ({ section }) => section.startsWith("table:"),
      ({ count: rows }) => rows,
    ),
    events: count(
      ({ section }) => section.startsWith("log:"),
      (part) => logInfo(part).events ?? 0,
    ),
    consumers: count(
      ({ section }) => section === SECTIONS.consumers,
      (part) => part.count,
    ),
    files: count(
      ({ section }) => section === SECTIONS.media,
      (part) => part.count,
    ),
  };
}

/** Checks the bytes of files. */
function readFiles({ copies, parts }: StageDeps): Stage {
  return {
    name: "files",
    async step({ position, lists }) {
      const page = await filesAt(position, lists, async ({ digest }) => {
        const read = await parts.read(digest);
        // The stage `parts` has reported a part that cannot be read.
        return read.ok ? read.value : [];
      });
      if (page === undefined) return { next: undefined };
      const { files: some, next } = page;
      const checks = await Promise.all(some.map(async (file) => ({ file, check: await copies.check(file) })));
      const findings = checks.flatMap(({ file, check }) =>
        check.ok ? [] : [{ kind: check.error, subject: file.key } as const],
      );
      const fileBytes = some.reduce((sum, { size }) => sum + size, 0);
      return { next, counts: { fileBytes }, findings };
    },
  };
}

/** Checks that each committed file has bytes and each log a topic. Deletions while the backup ran can break both. */
function compareFiles({ parts }: StageDeps): Stage {
  return {
    name: "references",
    async step({ position, lists, job }) {
      const from = placeIn(position, 0);
      const [part] = lists.parts(from, 1);
      if (part === undefined) return { next: undefined };
      const next = String(from + 1);
      const [, incarnation] = /^log:([^:]+):/.exec(part.section) ?? [];
      if (incarnation !== undefined && !lists.isMarked(`topic/${incarnation}`))
        return { next, findings: [{ kind: "topic_unknown", subject: part.section }] };
      const [, table = ""] = /^table:(.*)$/.exec(part.section) ?? [];
      if (tableOfKey(table) !== "file") return { next };
      const read = await parts.read(part.digest);
      const columns = job.facts.tables[table]?.columns ?? [];
      const keys = read.ok ? read.value.flatMap((line) => pinnedOrMaster(JSON.parse(line) as unknown[], columns)) : [];
      const missing = keys.filter((key) => !lists.isMarked(`file/${key}`));
      return { next, findings: missing.map((subject) => ({ kind: "file_missing", subject })) };
    },
  };
}

function compareTotals({ manifests }: StageDeps): Stage {
  return {
    name: "totals",
    async step({ job }) {
      const manifest = await manifests.read(job.backup);
      if (manifest === undefined) throw new Refused("The manifest has been deleted.");
      const names = ["rows", "events", "consumers", "files", "fileBytes", "parts", "partBytes"] as const;
      const differing = names.filter((name) => manifest.counts[name] !== job.counts[name]);
      return {
        next: undefined,
        findings: differing.map((name) => ({
          kind: "count_differs",
          subject: `${name}: ${manifest.counts[name]} in the manifest, ${job.counts[name]} in the parts`,
        })),
      };
    },
  };
}
