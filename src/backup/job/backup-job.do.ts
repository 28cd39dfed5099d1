import { DurableObject } from "cloudflare:workers";
import { newJob, type JobRecord } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { JobTables } from "./job-tables.ts";
import { advance, pauseMs, type JobPorts } from "./run.ts";

type NewJob = Pick<JobRecord, "id" | "kind" | "actor" | "backup" | "options">;

/** The key of the time from which on no late call of a job takes effect that `mayHarmLate`. */
const ALONE_FROM = "alone from";

/** True if a late call of the job could delete a part of the next one's backup, or make a removed one seem whole. */
const mayHarmLate = ({ kind, state, options }: JobRecord): boolean =>
  kind === "remove" || (kind === "backup" && (options.keep !== null || state === "cancelled"));

/**
 * The job of the backup service. There is one object, so one job runs at a time.
 *
 *   none, done, failed, cancelled ── start ──→ running ── last step ──→ done
 *                                        │ ├── a step fails for good (`Refused`) ──→ failed
 *                                        │ └── cancel ──→ cancelled
 *                                        └── a step fails otherwise: it is retried, with growing pauses
 *
 * The alarm does one step after the other for some seconds and then sets itself again. It is also set before the first
 * step, for the case that the object is stopped. A step's result is stored with the job in one transaction; a step that
 * was not stored runs again, which does no harm (model/stage.ts). Steps do not overlap: the runtime runs one alarm at a
 * time, and the result of a step is dropped if the job has ended or is another one by then. Such a step deletes nothing
 * more (`stillRuns`). If the object was stopped during a step, a call of that step to R2 may still take effect. To a
 * repeat of the step it does no harm, but it might delete what the next job writes. So after a job that deletes, and
 * after a backup that was cancelled, the next ones wait (`lateCallMs`).
 */
export class BackupJob extends DurableObject {
  readonly #tables = new JobTables(this.ctx.storage);
  readonly #ports: JobPorts;
  /** The time from which on no call of an earlier instance takes effect; 0: this one began the job. */
  #aloneFromMs: number | undefined;

  constructor(context: DurableObjectState, env: unknown, ports: JobPorts) {
    super(context, env as never);
    this.#ports = ports;
  }

  /** Begins a job. If one is running, returns that one instead. */
  async start(asked: string): Promise<{ readonly started: boolean; readonly job: string }> {
    const running = this.#tables.load();
    if (running?.state === "running") return { started: false, job: JSON.stringify(running) };
    const wanted = JSON.parse(asked) as NewJob;
    // The call was repeated since its answer was lost.
    if (running?.id === wanted.id) return { started: true, job: JSON.stringify(running) };
    const nowMs = this.#ports.clock.nowMs();
    const job = newJob(wanted, this.#ports.stagesOf(wanted)[0]!.name, nowMs);
    this.#tables.begin(job);
    this.#aloneFromMs = 0;
    // Not longer, if the clock was set back.
    const laterMs = Math.min(this.#laterMs(), nowMs + LIMITS.lateCallMs);
    await this.ctx.storage.setAlarm(Math.max(nowMs, laterMs));
    return { started: true, job: JSON.stringify(job) };
  }

  read(): string | undefined {
    const job = this.#tables.load();
    return job && JSON.stringify(job);
  }

  async cancel(): Promise<string | undefined> {
    const job = this.#tables.load();
    if (job?.state !== "running") return job && JSON.stringify(job);
    const cancelled: JobRecord = { ...job, state: "cancelled", finishedAt: this.#ports.clock.nowMs() };
    this.#noteEarlier(cancelled);
    this.#tables.store(cancelled, {});
    await this.ctx.storage.deleteAlarm();
    return JSON.stringify(cancelled);
  }

  override async alarm(): Promise<void> {
    const { clock, log, stagesOf } = this.#ports;
    const endMs = clock.nowMs() + LIMITS.runMs;
    this.#noteEarlier(this.#tables.load());
    await this.ctx.storage.setAlarm(clock.nowMs() + LIMITS.watchMs);
    for (;;) {
      const job = this.#tables.load();
      if (job?.state !== "running") return this.ctx.storage.deleteAlarm();
      const advanced = await advance(job, stagesOf(job), this.#tables, clock.nowMs(), log);
      const now = this.#tables.load();
      // The job was cancelled meanwhile, and perhaps another one has begun.
      if (now?.id !== job.id || now.state !== "running") continue;
      this.#tables.store(advanced.job, advanced.result);
      if (advanced.job.state !== "running") return this.ctx.storage.deleteAlarm();
      const waitMs = pauseMs(advanced.job);
      if (waitMs > 0 || clock.nowMs() > endMs) return this.ctx.storage.setAlarm(clock.nowMs() + waitMs);
    }
  }

  #laterMs(): number {
    return this.ctx.storage.kv.get<number>(ALONE_FROM) ?? 0;
  }

  /** Notes until when calls of an earlier instance may do harm, if the job was its. */
  #noteEarlier(job: JobRecord | undefined): void {
    this.#aloneFromMs ??= this.#ports.clock.nowMs() + LIMITS.lateCallMs;
    if (job !== undefined && mayHarmLate(job) && this.#aloneFromMs > this.#laterMs())
      this.ctx.storage.kv.put(ALONE_FROM, this.#aloneFromMs);
  }
}
