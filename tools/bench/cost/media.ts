import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/root.ts";
import type { Server } from "../lib/server.ts";
import type { StudyContext } from "../lib/study.ts";
import { copyId } from "../media/archive.ts";
import { call } from "../lib/exchange.ts";
import { QUEUE_QUIET_MS, type Meter } from "./meter.ts";
import { COUNTED } from "./study.ts";
import { TENANT, type Client, type Platform } from "../lib/platform.ts";
import type { Row } from "./tables.ts";
import { makeUploader, Uploader } from "./upload.ts";

export const ARCHIVE_FILES = 1_000;
const PAGE_SIZE = 16;
/** Copies of a public file, each fetched for the first time. */
const COPIES = 1_000;
/** The erasure is proven a day after the file was made or an hour after its deletion, whichever is later. */
const PROOF_DUE_MS = 26 * 60 * 60_000;

/** Operations on stored files. */
export async function mediaRows(
  platform: Platform,
  meter: Meter,
  repetitions: number,
  { serverOf }: StudyContext,
): Promise<Row[]> {
  const server = await serverOf(COUNTED);
  const client = await makeUploader(platform);
  const archivist = await makeArchivist(platform, server);
  const media = `${platform.base}/media/v2`;
  const uploader = await Uploader.open(platform, client);
  const { headers } = uploader;
  const measure = (label: string, step: (index: number) => Promise<unknown>) =>
    meter.measure({ label, repetitions, step });

  const rows: Row[] = [];
  const privateId = await uploader.upload();
  const link = () => call("GET", `${media}/files/${privateId}`, { headers });
  rows.push(await measure("link to a private file", link));
  const content = (await link()).json().link;
  rows.push(await measure("64 KiB by a temporary link", () => call("GET", content)));

  const publicId = await uploader.upload("public/files");
  const publicFile = () => call("GET", `${media}/public/files/${publicId}`, { status: 302 });
  rows.push(await measure("redirection to a public file", publicFile));
  const publicContent = (await publicFile()).headers.get("location") ?? "";
  await server.ask({ copy: { of: publicId, files: COPIES } });
  const copyAt = (index: number): string => publicContent.replace(publicId, copyId(index));
  rows.push(await measure("64 KiB of a public file, not at the edge yet", (index) => call("GET", copyAt(index))));
  rows.push(await measure("64 KiB of a public file, copied at the edge", () => call("GET", publicContent)));

  const reading = { headers: await archivist.authorize() };
  const page = (query: string) => () =>
    call("GET", `${media}/files?tenant=${TENANT}&pageSize=${PAGE_SIZE}${query}`, reading);
  rows.push(await measure(`list ${PAGE_SIZE} of 1,000 files`, page("")));
  rows.push(await measure(`list ${PAGE_SIZE} of 250 matching files of 1,000`, page("&q=color:red")));

  // Tokens expire meanwhile.
  rows.push(...(await variantRows(media, await Uploader.open(platform, client), meter)));
  const runCron = (cronAtMs: number) => server.ask({ cronAtMs });
  rows.push(...(await deletionRows(media, await Uploader.open(platform, client), meter, repetitions, runCron)));
  return rows;
}

/** The client whose files are listed. */
export async function makeArchivist(platform: Platform, server: Server): Promise<Client> {
  const archivist = await platform.client("archivist", ["media_view"]);
  await server.ask({ fill: { client: archivist.id, tenant: TENANT, files: ARCHIVE_FILES } });
  return archivist;
}

/** Makes each size once, in a message of its own, and four in a batch. */
async function variantRows(media: string, uploader: Uploader, meter: Meter): Promise<Row[]> {
  const photo = { type: "image/jpeg", bytes: readFileSync(join(ROOT, "scripts", "data", "photo.jpg")) };
  const id = await uploader.upload("files", photo);
  let width = 100;
  const ask = async (variants: number): Promise<void> => {
    const sizes = Array.from({ length: variants }, () => `${width++}x100`).join(",");
    await call("POST", `${media}/files/${id}/variants?clip=${sizes}`, { headers: uploader.headers });
  };
  const rows: Row[] = [];
  // The first variant probes the Images binding, so it is not counted.
  for (const [variants, label] of [
    [1, ""],
    [1, "a variant made"],
    [4, "a variant made, of four asked for at once"],
  ] as const) {
    const counts = await meter.count(variants, () => ask(variants), QUEUE_QUIET_MS);
    if (label !== "") rows.push({ label, counts });
  }
  return rows;
}

/** Deletes files one by one, then proves all erasures in one run of the cron a day later. */
async function deletionRows(
  media: string,
  uploader: Uploader,
  meter: Meter,
  repetitions: number,
  runCron: (atMs: number) => Promise<unknown>,
): Promise<Row[]> {
  const ids: string[] = [];
  for (let file = 0; file <= repetitions; file++) ids.push(await uploader.upload());
  const step = (index: number) =>
    call("DELETE", `${media}/files/${ids[index]}`, { status: 204, headers: uploader.headers });
  const deleted = await meter.measure({ label: "delete a file", repetitions, step });
  await meter.advance(PROOF_DUE_MS);
  const counts = await meter.count(ids.length, () => runCron(meter.nowMs()), QUEUE_QUIET_MS);
  return [deleted, { label: `its erasure proven, a day later, ${ids.length} in one run of the cron`, counts }];
}
