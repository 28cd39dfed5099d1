import { setTimeout as sleep } from "node:timers/promises";
import type { Miniflare } from "miniflare";

const ASK_AGAIN_MS = 100;

/** What the inspector lists: every Worker, those that stand for databases and buckets too. */
interface Target {
  readonly id: string;
  readonly webSocketDebuggerUrl: string;
}

export interface Heap {
  /** Bytes that the isolate's JavaScript holds, its garbage collected before. */
  usedBytes(): Promise<number>;
  close(): void;
}

/** The heap of a Worker's isolate, in which its Durable Objects live too. The server is inspected (`isInspected`). */
export async function openHeap(server: Miniflare, worker: string): Promise<Heap> {
  const inspector = await server.getInspectorURL();
  const listed = await fetch(new URL("/json", inspector.href.replace(/^ws/, "http")));
  const targets = (await listed.json()) as readonly Target[];
  const target = targets.find(({ id }) => id === `core:user:${worker}`);
  if (target === undefined)
    throw new Error(`the inspector knows no Worker ${worker}, but ${targets.map(({ id }) => id).join(", ")}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error(`no connection to ${target.webSocketDebuggerUrl}`)));
  });
  const waiting = new Map<number, (message: Answer) => void>();
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  let last = 0;
  const ask = async (method: string): Promise<any> => {
    const id = ++last;
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method }));
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  for (const domain of ["Runtime", "HeapProfiler"]) await ask(`${domain}.enable`);
  return {
    async usedBytes() {
      const collected = ask("HeapProfiler.collectGarbage").then(() => "collected" as const);
      // The isolate collects beside a request, and says so with one, perhaps the next.
      do {
        const asked = await (await server.getWorker(worker)).fetch("http://plinth.test/");
        await asked.arrayBuffer();
      } while ((await Promise.race([collected, sleep(ASK_AGAIN_MS)])) === undefined);
      const { usedSize } = await ask("Runtime.getHeapUsage");
      return usedSize;
    },
    close() {
      socket.close();
    },
  };
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: unknown;
}
