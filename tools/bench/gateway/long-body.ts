import { createHash } from "node:crypto";
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { BrokenAnswer } from "../lib/connection.ts";
import type { Work } from "../lib/load.ts";
import { blockOf, type Density } from "./rows.ts";
import type { Target } from "./target.ts";

export interface LongBody {
  readonly density: Density;
  /** JSON is rewritten, other bytes are not. */
  readonly isRewritten: boolean;
  /** The service compresses it. The gateway decodes it, because the client accepts no coding. */
  readonly isCompressed?: boolean;
  readonly blocks: number;
}

/** Requests the body repeatedly over one connection. Compares the first answer, and the length of the others. */
export function reading(target: Target, headers: Record<string, string>, body: LongBody): Work {
  return {
    async connect() {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const expected = expectedBlock(target, body);
      let isFirst = true;
      return {
        async step() {
          const message = await open(target, headers, body, agent);
          const hash = isFirst ? createHash("sha256") : undefined;
          let bytes = 0;
          for await (const chunk of message as AsyncIterable<Buffer>) {
            bytes += chunk.length;
            hash?.update(chunk);
          }
          if (bytes !== expected.length * body.blocks)
            throw new BrokenAnswer(`${bytes} bytes instead of ${expected.length * body.blocks}`);
          if (hash !== undefined && hash.digest("hex") !== digestOf(expected, body.blocks))
            throw new BrokenAnswer("not the body that it must be");
          isFirst = false;
        },
        close: () => agent.destroy(),
      };
    },
  };
}

/** Each block as the client must receive it. */
const expectedBlock = ({ base, source }: Target, { density, isRewritten }: LongBody): Buffer =>
  blockOf(isRewritten ? base : source, density);

export async function open(
  { server, path }: Target,
  headers: Record<string, string>,
  { density, isRewritten, isCompressed, blocks }: LongBody,
  agent?: Agent,
): Promise<IncomingMessage> {
  const type = isRewritten ? "application/json" : "application/octet-stream";
  const query = `blocks=${blocks}&type=${type}${isCompressed === true ? "&gzip" : ""}`;
  const call = get(`${server.origin}${path}/${density}?${query}`, { headers, agent: agent ?? false });
  const [message] = (await once(call, "response")) as [IncomingMessage];
  if (message.statusCode !== 200) throw new BrokenAnswer(`status ${message.statusCode}`);
  return message;
}

function digestOf(block: Buffer, blocks: number): string {
  const hash = createHash("sha256");
  for (let index = 0; index < blocks; index++) hash.update(block);
  return hash.digest("hex");
}
