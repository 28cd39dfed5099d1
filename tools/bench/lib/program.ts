import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Offered, Place } from "./offer.ts";

/** Servers may be installed outside a user's PATH. */
const SYSTEM_DIRS = ["/usr/sbin", "/usr/local/sbin"];
const START_MS = 10_000;

/** The absolute path of a program; undefined if it is not installed. */
export function findProgram(name: string): string | undefined {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), ...SYSTEM_DIRS];
  return dirs.map((dir) => join(dir, name)).find(isExecutable);
}

/** Says why the program cannot run; undefined if it can. */
export const missing = (name: string): string | undefined =>
  findProgram(name) === undefined ? `${name} is not installed` : undefined;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts a server program in this process's group and waits until it takes connections. For `offer` (lib/offer.ts). */
export async function runProgram(name: string, args: readonly string[], { host, port }: Place): Promise<Offered> {
  const child = spawn(findProgram(name) ?? name, args, { stdio: ["ignore", "ignore", "inherit"] });
  const gone = once(child, "exit");
  const ended = gone.then(([code, signal]) => {
    throw new Error(`${name} ended: ${signal ?? `exit code ${code}`}`);
  });
  await Promise.race([takesConnections(host, port), ended]);
  ended.catch(() => undefined);
  return {
    async stop() {
      child.kill("SIGTERM");
      await gone;
    },
  };
}

async function takesConnections(host: string, port: number): Promise<void> {
  for (const endMs = performance.now() + START_MS; performance.now() < endMs; await sleep(20)) {
    const socket = connect({ host, port });
    const isUp = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isUp) return;
  }
  throw new Error(`nothing listens at ${host}:${port}`);
}
