import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { gzipSync } from "node:zlib";
import { blockOf, isDensity, SMALL, type Density } from "./rows.ts";

/**
 * The service behind the gateway and the baseline. It runs in the server's own process beside the runtime, so that it
 * costs both the same. `/v1/small`; `/v1/<density>?blocks=…&type=…&gzip` repeats one block.
 */
export async function startService(): Promise<string> {
  /** Plain and compressed, made once. */
  const blocks = new Map<Density, { readonly plain: Buffer; readonly compressed: Buffer }>();
  const contentOf = (density: Density) => {
    const known = blocks.get(density);
    if (known !== undefined) return known;
    const plain = blockOf(source, density);
    const made = { plain, compressed: gzipSync(plain) };
    blocks.set(density, made);
    return made;
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? "", source);
    const what = pathname.slice("/v1/".length);
    if (what === "small") return void sendSmall(response);
    if (!isDensity(what)) return void response.writeHead(404).end();
    const { plain, compressed } = contentOf(what);
    const isCompressed = query.has("gzip");
    const headers = { "content-type": query.get("type") ?? "", ...(isCompressed && { "content-encoding": "gzip" }) };
    response.writeHead(200, headers);
    // Several gzip members make one body (RFC 1952 section 2.2).
    void send(isCompressed ? compressed : plain, Number(query.get("blocks")), response);
  });
  const sendSmall = (response: ServerResponse): unknown => {
    const body = JSON.stringify(SMALL(source));
    return response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const source = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return source;
}

const CHUNK_BYTES = 64 * 1024;

/** Sends like a file: in chunks of 64 KiB, as fast as they are taken. */
async function send(block: Buffer, blocks: number, response: ServerResponse): Promise<void> {
  const chunks = function* () {
    for (let sent = 0; sent < blocks; sent++)
      for (let at = 0; at < block.length; at += CHUNK_BYTES) yield block.subarray(at, at + CHUNK_BYTES);
  };
  await pipeline(Readable.from(chunks(), { highWaterMark: 1 }), response).catch(() => undefined);
}
