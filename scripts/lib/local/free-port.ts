import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that Linux (32768) and others give to connections by themselves; browsers refuse none of these. */
const FIRST = 20_000;
const LAST = 32_767;

/**
 * Finds a port that nothing listens on, for a process that is started next. The system's own choice would be one of
 * those that it gives to the next connection, too: some other process would often have it first.
 */
export async function freePort(host: string): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    if (await isFree(host, port)) return port;
  }
}

async function isFree(host: string, port: number): Promise<boolean> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
  probe.close();
  await once(probe, "close");
  return true;
}
