import type { Study, StudyContext } from "../lib/study.ts";
import { open } from "./long-body.ts";
import { residentMegabytes } from "../lib/machine.ts";
import { blockOf } from "./rows.ts";
import { PLINTH } from "../lib/server-module.ts";
import { openPlinth } from "./target.ts";

const [MEGABYTE, GIGABYTE] = [1_000_000, 1_000_000_000];
const POINTS = 10;
/** Small objects may stay in memory until the collector's next full pass. */
const MAX_GROWTH_MEGABYTES = 96;

/** Measures the runtime's memory while one long body is rewritten. */
export const gigabyteStudy: Study = {
  id: "gigabyte",
  label: "Memory of the runtime while a gigabyte is rewritten",
  async run(context) {
    const server = await context.serverOf(PLINTH);
    const target = await openPlinth(server);
    const total = bytesOf(context);
    const block = blockOf(target.source, "dense");
    const rewritten = blockOf(target.base, "dense").length;
    const body = { density: "dense", isRewritten: true } as const;
    const headers = await target.authorize();
    for await (const _ of await open(target, headers, { ...body, blocks: Math.ceil(total / 20 / block.length) }));
    const resident: number[] = [residentMegabytes(server.pid) ?? Number.NaN];
    const blocks = Math.ceil(total / block.length);
    const startedMs = performance.now();
    let bytes = 0;
    for await (const chunk of (await open(target, headers, { ...body, blocks })) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes >= (rewritten * blocks * resident.length) / POINTS) {
        context.progress(`${Math.round(bytes / MEGABYTE)} MB`);
        resident.push(residentMegabytes(server.pid) ?? Number.NaN);
      }
      context.stopping.throwIfAborted();
    }
    const seconds = (performance.now() - startedMs) / 1_000;
    if (bytes !== rewritten * blocks) throw new Error(`${bytes} bytes instead of ${rewritten * blocks}`);
    const growth = Math.max(...resident) - resident[0]!;
    return {
      tables: [
        {
          head: [
            "MB that went through",
            ...resident.map((_, at) => String(Math.round((at * total) / POINTS / MEGABYTE))),
          ],
          rows: [["MB in memory", ...resident.map((megabytes) => megabytes.toFixed(0))]],
        },
      ],
      marks: [
        {
          text:
            `${Math.round(bytes / MEGABYTE)} MB in ${seconds.toFixed(1)} s: ${growth.toFixed(0)} MB more at most, ` +
            `mark: at most ${MAX_GROWTH_MEGABYTES}`,
          reached: growth <= MAX_GROWTH_MEGABYTES,
        },
      ],
    };
  },
};

/** Less goes through if `--seconds` is below one: the run only shows that everything works. */
const bytesOf = ({ seconds }: StudyContext): number => Math.min(GIGABYTE, GIGABYTE * seconds);
