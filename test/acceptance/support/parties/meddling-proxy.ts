import { createServer, request as ask, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/**
 * The fate of a call: `hold`, the platform does it and its answer never arrives; `refuse`, it never gets there and
 * is answered with 500; a function, its answer is another one; undefined, nothing is done to it.
 */
export type Meddling = (method: string, path: string) => Fate | Promise<Fate>;
type Fate = "hold" | "refuse" | ((answer: string) => string) | undefined;

/** Stands in front of a platform and hands everything on, but for the calls that are meddled with. */
export interface MeddlingProxy {
  readonly url: string;
  /** The platform has done a call that is held. */
  readonly held: Promise<void>;
  close(): void;
}

export async function startMeddling(platform: string, meddle: Meddling): Promise<MeddlingProxy> {
  const held = Promise.withResolvers<void>();
  const server = createServer((asked, answer) => void pass(asked, answer));
  const pass = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { method = "GET", url = "/", headers } = asked;
    const what = await meddle(method, url);
    if (what === "refuse") {
      asked.resume();
      answer.writeHead(500, { "content-type": "application/json" });
      answer.end(JSON.stringify({ status: 500, type: "refused", message: "Refused by the test.", details: [] }));
      return;
    }
    const onward = ask(`${platform}${url}`, { method, headers, agent: false }, (came) => {
      if (what === "hold") {
        came.resume().once("end", () => held.resolve());
        return;
      }
      if (typeof what === "function") {
        const { "content-length": _, ...kept } = came.headers;
        answer.writeHead(came.statusCode ?? 502, kept);
        void text(came).then((given) => answer.end(what(given)));
        return;
      }
      answer.writeHead(came.statusCode ?? 502, came.rawHeaders);
      came.pipe(answer);
    });
    onward.once("error", () => answer.destroy());
    asked.pipe(onward);
  };
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held: held.promise,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
