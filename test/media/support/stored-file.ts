import { expect } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import type { MediaApp } from "./media-app.ts";
import { expectJson } from "../../support/platform/call.ts";

export interface StoredFile {
  readonly id: string;
  /** `/media/v2/files/{id}` */
  readonly path: string;
  readonly uploadLink: string;
  readonly commitLink: string;
  /** The ETag of the upload. */
  readonly etag: string;
}

export interface StoreOptions {
  readonly as: Principal;
  readonly visibility?: "private" | "public";
  readonly type?: string;
  readonly query?: string;
  readonly disposition?: string;
  readonly metadata?: unknown;
}

export const collection = (visibility: "private" | "public" = "private"): string =>
  visibility === "public" ? "/media/v2/public/files" : "/media/v2/files";

/** Create and PUT, as a client does. */
export async function uploaded(
  app: MediaApp,
  bytes: Uint8Array<ArrayBuffer>,
  options: StoreOptions,
): Promise<StoredFile> {
  const type = options.type ?? "image/png";
  const root = collection(options.visibility);
  const created = await app.call(`${root}${options.query ?? ""}`, {
    as: options.as,
    json: { "Content-Type": type },
  });
  const { id, uploadLink, commitLink } = await expectJson(created, 200);
  const headers = {
    "content-type": type,
    "content-length": String(bytes.byteLength),
    ...(options.disposition === undefined ? {} : { "content-disposition": options.disposition }),
  };
  const put = await app.call(uploadLink, { method: "PUT", body: bytes, headers });
  expect([put.status, await put.text()]).toEqual([200, ""]);
  return { id, path: `${root}/${id}`, uploadLink, commitLink, etag: put.headers.get("etag") ?? "" };
}

/** Create, PUT and commit. */
export async function stored(
  app: MediaApp,
  bytes: Uint8Array<ArrayBuffer>,
  options: StoreOptions,
): Promise<StoredFile> {
  const file = await uploaded(app, bytes, options);
  await expectJson(await app.call(file.commitLink, { method: "POST", as: options.as, json: options.metadata }), 202);
  await app.settle();
  return file;
}
