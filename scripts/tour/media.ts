import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../lib/root.ts";
import { jpegSize } from "./jpeg.ts";
import { signIn, type Cast } from "./people.ts";
import { TourError, type Answer, type Session } from "./session.ts";

const PHOTO = readFileSync(join(ROOT, "scripts", "data", "photo.jpg"));
const FILE_NAME = "長崎 boats.jpg";
const METADATA = { title: "Boats at Nagasaki", year: 1865, tags: ["boats", "長崎"] };
/** The photo is 1024 × 819: a clip keeps that shape, a crop fills its frame. */
const VARIANTS = [
  { query: "clip=320x240", width: 300, height: 240 },
  { query: "crop=200x200", width: 200, height: 200 },
];
const VARIANT_PATIENCE_MS = 60_000;

/** The shop stores one photograph privately and publicly, has it resized, and fetches everything back. */
export async function tellMedia(session: Session, cast: Cast): Promise<void> {
  session.chapter("A private photograph: upload, commit, metadata");
  const token = await signIn(session, cast.shop);
  const privateFile = await store(session, cast, token, "/media/v2/files");
  await fetchPrivate(session, token, privateFile);

  session.chapter("The same photograph, public");
  const publicFile = await store(session, cast, token, "/media/v2/public/files");
  await fetchPublic(session, publicFile);
}

/** Create, PUT, commit; returns the file's path. */
async function store(session: Session, cast: Cast, token: string, files: string): Promise<string> {
  const created = await session.call(200, "POST", `${files}?${VARIANTS.map(({ query }) => query).join("&")}`, {
    token,
    json: { "Content-Type": "image/jpeg" },
  });
  const { id, uploadLink, commitLink } = created.json();
  const uploaded = await session.call(200, "PUT", uploadLink, {
    headers: {
      "content-type": "image/jpeg",
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(FILE_NAME)}`,
    },
    bytes: PHOTO,
    note: `${PHOTO.length} bytes`,
  });
  session.holds("the upload has an ETag", uploaded.header("etag") !== "");
  const commit = new URL(commitLink);
  commit.searchParams.set("tenant", cast.tenant);
  await session.call(202, "POST", commit.href, { token, json: METADATA });
  const metadata = await session.call(200, "GET", `${files}/${id}/metadata`, { token });
  session.same("the metadata is what was committed", metadata.json(), METADATA);
  return `${files}/${id}`;
}

async function fetchPrivate(session: Session, token: string, file: string): Promise<void> {
  session.chapter("Fetched by temporary links, which need no token");
  await session.call(401, "GET", file, { note: "no token, no link" });
  const master = await session.call(200, "GET", file, { token });
  const content = await session.call(200, "GET", master.json().link);
  checkMaster(session, content);
  await session.call(304, "GET", file, { token, headers: { "if-none-match": master.header("etag") } });
  for (const variant of VARIANTS) {
    const address = `${file}?${variant.query}`;
    const ready = await untilReady(session, address, 200, token);
    checkVariant(session, await session.call(200, "GET", ready.json().link), variant);
    session.holds("a variant has an ETag of its own", ready.header("etag") !== master.header("etag"));
    const headers = { "if-none-match": ready.header("etag") };
    await session.call(304, "GET", address, { token, headers });
  }
}

async function fetchPublic(session: Session, file: string): Promise<void> {
  session.chapter("Fetched by redirects, without any token");
  const master = await session.call(302, "GET", file);
  checkMaster(session, await session.call(200, "GET", master.header("location")));
  await session.call(304, "GET", file, { headers: { "if-none-match": master.header("etag") } });
  for (const variant of VARIANTS) {
    const ready = await untilReady(session, `${file}?${variant.query}`, 302);
    checkVariant(session, await session.call(200, "GET", ready.header("location")), variant);
  }
}

function checkMaster(session: Session, { bytes, headers }: Answer): void {
  session.holds(`${PHOTO.length} bytes, the very same`, bytes.equals(PHOTO), `${bytes.length} bytes`);
  const name = headers.get("content-disposition") ?? "";
  session.holds("under the name it came with", name.includes(encodeURIComponent(FILE_NAME)), name);
}

function checkVariant(
  session: Session,
  { bytes, headers }: Answer,
  variant: { query: string; width: number; height: number },
): void {
  const { width, height } = variant;
  session.same(`${variant.query}: a JPEG of ${width} × ${height}`, jpegSize(bytes), { width, height });
  session.same("served as one", headers.get("content-type"), "image/jpeg");
  session.holds(`with ${bytes.length} bytes instead of ${PHOTO.length}`, bytes.length < PHOTO.length);
}

/** Variants are made in the background: 404 with Retry-After until then. */
async function untilReady(session: Session, address: string, status: number, token?: string): Promise<Answer> {
  for (const deadline = Date.now() + VARIANT_PATIENCE_MS; Date.now() < deadline;) {
    const answer = await session.ask("GET", address, { token });
    if (answer.status === status) return answer;
    session.holds("not made yet, come again later", answer.status === 404, answer.bytes.toString("utf8"));
    await sleep(Number(answer.header("retry-after")) * 1_000);
  }
  throw new TourError(`expected: ${address} is ready within ${VARIANT_PATIENCE_MS / 1_000} s`);
}
