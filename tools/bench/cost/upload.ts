import { call } from "../lib/exchange.ts";
import { formOf } from "../media/upload.ts";
import type { Meter } from "./meter.ts";
import { TENANT, type Client, type Platform } from "../lib/platform.ts";
import type { Row } from "./tables.ts";

export interface Content {
  readonly type: string;
  readonly bytes: Buffer;
}

export const CONTENT: Content = { type: "application/pdf", bytes: Buffer.alloc(64 * 1024, "a line of a file\n") };
const METADATA = { order: "o-4711", color: "red", price: 129.9 };

type Collection = "files" | "public/files";

/** Uploads of one client, three requests a file. */
export class Uploader {
  readonly #media: string;
  readonly headers: Record<string, string>;

  private constructor(media: string, headers: Record<string, string>) {
    this.#media = media;
    this.headers = headers;
  }

  static async open({ base }: Platform, client: Client): Promise<Uploader> {
    return new Uploader(`${base}/media/v2`, await client.authorize());
  }

  /** Uploads and commits a file; returns its id. */
  async upload(collection: Collection = "files", content: Content = CONTENT): Promise<string> {
    const file = await this.create(collection, content);
    await this.put(file, content);
    await this.commit(file);
    return file.id;
  }

  async create(collection: Collection = "files", { type }: Content = CONTENT): Promise<Created> {
    const request = { headers: this.headers, json: { "Content-Type": type } };
    return (await call("POST", `${this.#media}/${collection}`, request)).json();
  }

  /** The link is the permission. */
  put({ uploadLink }: Created, file: Content = CONTENT): Promise<unknown> {
    return call("PUT", uploadLink, { file });
  }

  commit({ commitLink }: Created): Promise<unknown> {
    return call("POST", `${commitLink}?tenant=${TENANT}`, { status: 202, headers: this.headers, json: METADATA });
  }
}

/** Stores a file in one request. */
function store({ base }: Platform, headers: Record<string, string>): Promise<unknown> {
  const request = { status: 202, headers, file: formOf(CONTENT, METADATA) };
  return call("POST", `${base}/media/v2/files?tenant=${TENANT}`, request);
}

interface Created {
  readonly id: string;
  readonly uploadLink: string;
  readonly commitLink: string;
}

/** Uploads through the Worker, or straight to R2 if the platform's links lead there. */
export async function uploadRows(platform: Platform, meter: Meter, repetitions: number): Promise<Row[]> {
  const uploader = await Uploader.open(platform, await makeUploader(platform));
  const files: Created[] = [];
  const measure = (label: string, step: (index: number) => Promise<unknown>) =>
    meter.measure({ label, repetitions, step });
  const create = async (index: number): Promise<void> => void (files[index] = await uploader.create());
  const rows = [await measure("create a file", create)];
  const isStraight = !files[0]!.uploadLink.startsWith(platform.base);
  const put = await measure("PUT 64 KiB to its link", (index) => uploader.put(files[index]!));
  // R2 sees the request and the Worker does not, so it costs no processor time here.
  rows.push(isStraight ? { ...put, counts: { ...put.counts, cpuMs: 0, r2ClassA: 1 } } : put);
  rows.push(await measure("commit it with three attributes", (index) => uploader.commit(files[index]!)));
  if (!isStraight) rows.push(await measure("all of it in one request", () => store(platform, uploader.headers)));
  return rows;
}

export const makeUploader = (platform: Platform): Promise<Client> =>
  platform.client("uploader", ["media_view", "media_manage"]);
