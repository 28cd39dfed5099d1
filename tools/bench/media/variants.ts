import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PLINTH_ON_DISK, type ServerModule } from "../lib/server-module.ts";
import { BrokenAnswer } from "../lib/connection.ts";
import { figure, spread } from "../lib/statistics.ts";
import type { Study, StudyContext } from "../lib/study.ts";
import { CLIP, drawJpeg, PICTURES, type Picture } from "./pictures.ts";
import { openPlinth, type Target } from "./target.ts";
import { collectionOf, uploadOne } from "./upload.ts";

const SHARP: ServerModule = { id: "sharp", module: "tools/bench/media/sharp-server.ts" };
/** A batch of the queue (wrangler.toml). With another number, the last masters would wait for more messages. */
const MASTERS_A_SECOND = 10;
/** As many as the platform makes at a time. */
const IN_PARALLEL = 4;
const SIZE = `${CLIP.width}x${CLIP.height}`;
const POLL_MS = 20;
/** After so long, a variant will not come. */
const PATIENCE_MS = 60_000;

/**
 * Requests a clip of every master at once and times it from the first request until the last clip is ready. `sharp`,
 * which the local Images binding is made of, does the same work on the same core without HTTP, queue, D1 and R2.
 */
export const variantsStudy: Study = {
  id: "variants",
  label: `Clips of ${SIZE}`,
  async run(context) {
    const plinth = await openPlinth(await context.serverOf(PLINTH_ON_DISK));
    const alone = await context.serverOf(SHARP);
    const count = Math.ceil(context.seconds * MASTERS_A_SECOND);
    const dir = mkdtempSync(join(tmpdir(), "plinth-bench-pictures-"));
    const rows: string[][] = [];
    try {
      for (const picture of PICTURES) {
        context.progress(`clips of ${picture.label}: uploading`);
        const bytes = await drawJpeg(picture);
        const file = join(dir, "picture.jpg");
        writeFileSync(file, bytes);
        const masters: string[] = [];
        for (let master = 0; master < count; master++)
          masters.push(await uploadOne(plinth, { visibility: "private", type: "image/jpeg", bytes }));
        const byPlinth: number[] = [];
        const bySharp: number[] = [];
        for (let round = 0; round < context.rounds; round++) {
          context.progress(`clips of ${picture.label}: round ${round + 1} of ${context.rounds}`);
          byPlinth.push(await clipAll(plinth, masters, context));
          const { elapsedMs } = await alone.ask({ file, times: count, inParallel: IN_PARALLEL });
          bySharp.push(perSec(count, elapsedMs));
        }
        rows.push(rowOf(picture, bytes, byPlinth, bySharp));
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
    const head = [`${count} masters, a clip of each`, "MB each", "Plinth, clips/s", "sharp alone, clips/s", "ratio"];
    return { tables: [{ head, rows }], marks: [] };
  },
};

const perSec = (count: number, elapsedMs: number): number => (count * 1_000) / elapsedMs;

function rowOf({ label, width, height }: Picture, bytes: Buffer, byPlinth: number[], bySharp: number[]): string[] {
  const ratios = byPlinth.map((value, round) => value / bySharp[round]!);
  const cell = (values: readonly number[], digits: number): string =>
    spread(figure(values)!, (value) => value.toFixed(digits));
  const megabytes = (bytes.byteLength / 1_000_000).toFixed(1);
  return [`${label}, ${width}x${height}`, megabytes, cell(byPlinth, 1), cell(bySharp, 1), cell(ratios, 2)];
}

/** Clips made in a second. The clips of the round before are deleted first. */
async function clipAll(target: Target, masters: readonly string[], { stopping }: StudyContext): Promise<number> {
  const headers = await target.authorize("uploader");
  const call = async (method: "GET" | "POST" | "DELETE", id: string): Promise<Response> => {
    const clip = method === "GET" ? "" : `?clip=${SIZE}`;
    const path = `${collectionOf(target, "private")}/${id}/variants${clip}`;
    const response = await fetch(new URL(path, target.server.origin), { method, headers, signal: stopping });
    if (!response.ok) throw new BrokenAnswer(`${method} ${path}: status ${response.status}\n${await response.text()}`);
    return response;
  };
  for (const id of masters) await call("DELETE", id);
  const startedMs = performance.now();
  await Promise.all(masters.map((id) => call("POST", id)));
  for (const id of masters)
    for (let state = ""; state !== "ready";) {
      const [variant] = (await (await call("GET", id)).json()) as { state: string; reason?: string }[];
      state = variant?.state ?? "gone";
      if (state === "ready") break;
      if (state !== "pending") throw new BrokenAnswer(`a clip is ${state}: ${variant?.reason}`);
      if (performance.now() - startedMs > PATIENCE_MS) throw new BrokenAnswer("a clip does not become ready");
      await sleep(POLL_MS);
    }
  return perSec(masters.length, performance.now() - startedMs);
}
