import { randomBytes } from "node:crypto";
import { Connection } from "../lib/connection.ts";
import { askFor, requestBytes } from "../lib/exchange.ts";
import type { Client, Work } from "../lib/load.ts";
import { TENANT } from "../lib/platform.ts";
import type { Target } from "./target.ts";

/** A file to upload. */
export interface Upload {
  readonly visibility: "private" | "public";
  readonly type: string;
  readonly bytes: Buffer;
}

export const CONTENT_BYTES = 64 * 1024;
/** The same for every subject of a run. */
export const CONTENT = randomBytes(CONTENT_BYTES);
export const PRIVATE_FILE: Upload = { visibility: "private", type: "application/pdf", bytes: CONTENT };
export const PUBLIC_FILE: Upload = { ...PRIVATE_FILE, visibility: "public" };

/** Metadata as of an invoice: eight values of six attributes. */
const METADATA = {
  order: "o-4711",
  customer: { id: "c-1", country: "AT" },
  color: "red",
  price: 129.9,
  paid: true,
  tags: ["invoice", "2026"],
};

export const collectionOf = ({ base }: Target, visibility: Upload["visibility"]): string =>
  `${base}${visibility === "public" ? "/public" : ""}/files`;

/** Uploads and commits, three requests one after another. */
export const uploading = (target: Target, headers: Record<string, string>, upload: Upload): Work => ({
  connect: () => Uploader.open(target, headers, upload),
});

const BOUNDARY = "boundary-of-the-bench";

/** The body of a request that stores a file: a form with its bytes and its metadata. */
export function formOf(
  { type, bytes }: Pick<Upload, "type" | "bytes">,
  metadata: object,
): Pick<Upload, "type" | "bytes"> {
  const part = (disposition: string, content: Buffer) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    content,
    Buffer.from("\r\n"),
  ];
  const file = `name="file"; filename="invoice.pdf"\r\nContent-Type: ${type}`;
  const form = Buffer.concat([
    ...part('name="metadata"', Buffer.from(JSON.stringify(metadata))),
    ...part(file, bytes),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
  return { type: `multipart/form-data; boundary=${BOUNDARY}`, bytes: form };
}

/** Creates, uploads and commits with one request. */
export function storing(target: Target, headers: Record<string, string>, upload: Upload): Work {
  const { host, port } = target.server;
  const request = requestBytes({
    method: "POST",
    path: `${collectionOf(target, upload.visibility)}?tenant=${TENANT}`,
    host: `${host}:${port}`,
    headers,
    file: formOf(upload, METADATA),
  });
  return {
    async connect() {
      const connection = await Connection.open(target.server);
      return { step: () => askFor(202, connection, request), close: () => connection.close() };
    },
  };
}

/** Uploads one file; returns its id. */
export async function uploadOne(target: Target, upload: Upload): Promise<string> {
  const uploader = await Uploader.open(target, await target.authorize("uploader"), upload);
  try {
    return await uploader.step();
  } finally {
    uploader.close();
  }
}

class Uploader implements Client {
  readonly #connection: Connection;
  readonly #origin: string;
  readonly #create: Buffer;
  readonly #put: (path: string) => Buffer;
  readonly #commit: (path: string) => Buffer;

  private constructor(connection: Connection, target: Target, headers: Record<string, string>, upload: Upload) {
    const host = `${target.server.host}:${target.server.port}`;
    const json = { "Content-Type": upload.type };
    this.#connection = connection;
    this.#origin = target.server.origin;
    this.#create = requestBytes({ method: "POST", path: collectionOf(target, upload.visibility), host, headers, json });
    // The link is the permission.
    this.#put = (path) => requestBytes({ method: "PUT", path, host, file: upload });
    this.#commit = (path) => requestBytes({ method: "POST", path, host, headers, json: METADATA });
  }

  static async open(target: Target, headers: Record<string, string>, upload: Upload): Promise<Uploader> {
    return new Uploader(await Connection.open(target.server), target, headers, upload);
  }

  async step(): Promise<string> {
    const created = await askFor(200, this.#connection, this.#create);
    const { id, uploadLink, commitLink } = JSON.parse(created.body()) as Record<"id" | Link, string>;
    await askFor(200, this.#connection, this.#put(this.#pathOf(uploadLink)));
    await askFor(202, this.#connection, this.#commit(`${this.#pathOf(commitLink)}?tenant=${TENANT}`));
    return id;
  }

  close(): void {
    this.#connection.close();
  }

  #pathOf(link: string): string {
    return link.slice(this.#origin.length);
  }
}

type Link = "uploadLink" | "commitLink";
