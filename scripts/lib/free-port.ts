import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** Finds a port that nothing listens on. */
export async function freePort(host: string): Promise<number> {
  const probe = createServer().listen(0, host);
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
