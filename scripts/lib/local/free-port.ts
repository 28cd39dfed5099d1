import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** The range is below the ports that Linux (from 32768) and others choose for connections. Browsers allow all of it. */
const FIRST = 20_000;
const LAST = 32_767;

/**
 * Finds a port that nothing listens on, for a process that is started next. A port that the system chose would be from
 * the range for connections, so another process would often take it first.
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
