import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../../scripts/lib/local/free-port.ts";
import { ROOT } from "../../../scripts/lib/root.ts";
import type { ServerModule } from "./server-module.ts";
import type { Question, Reply } from "./offer.ts";

/** A running server: a process of its own, bound to one core if possible. */
export interface Server {
  readonly host: string;
  readonly port: number;
  readonly origin: string;
  readonly pid: number;
  /** Facts that it reported when it was ready. */
  readonly facts: any;
  /** Asks its process past HTTP (lib/offer.ts). */
  ask(question: object): Promise<any>;
  /** Ends it with everything that it started; returns when it is gone. */
  stop(): Promise<void>;
}

const HOST = "127.0.0.1";
const START_MS = 60_000;
/** Between SIGTERM and SIGKILL. */
const STOP_MS = 3_000;

export async function startServer(
  { id, module, env }: ServerModule,
  stateDir: string,
  core: number | undefined,
  stopping: AbortSignal,
): Promise<Server> {
  stopping.throwIfAborted();
  const port = await freePort(HOST);
  const place = { BENCH_HOST: HOST, BENCH_PORT: String(port), BENCH_STATE_DIR: stateDir };
  const node = [process.execPath, ...process.execArgv, join(ROOT, module)];
  const [command = "", ...args] = core === undefined ? node : ["taskset", "--cpu-list", String(core), ...node];
  const child = spawn(command, args, {
    env: { ...process.env, NODE_ENV: "production", ...env, ...place },
    // The server logs, since that is part of its work; the lines are dropped.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    // Its own process group, so that Ctrl-C reaches the bench alone and the whole group can be killed.
    detached: true,
  });
  const stop = (): Promise<void> => end(child);
  try {
    const facts = await ready(child, id, AbortSignal.any([stopping, AbortSignal.timeout(START_MS)]));
    return {
      host: HOST,
      port,
      origin: `http://${HOST}:${port}`,
      pid: child.pid ?? 0,
      facts,
      ask: asking(child, id),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function ready(child: ChildProcess, id: string, over: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`${id} ended: ${signal ?? `exit code ${code}`}`)));
    over.addEventListener("abort", () => reject(over.reason as Error), { once: true });
  });
}

function asking(child: ChildProcess, server: string): Server["ask"] {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;
  child.on("message", ({ id, answer, fault }: Reply) => {
    if (fault === undefined) waiting.get(id)?.resolve(answer);
    else waiting.get(id)?.reject(new Error(`${server}: ${fault}`));
    waiting.delete(id);
  });
  child.once("exit", () => waiting.forEach(({ reject }) => reject(new Error(`${server} ended`))));
  return (question) => {
    const id = asked++;
    const answered = Promise.withResolvers<unknown>();
    waiting.set(id, answered);
    child.send({ id, question } satisfies Question);
    return answered.promise;
  };
}

async function end(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    await Promise.race([gone, sleep(STOP_MS, undefined, { ref: false })]);
  }
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}
