import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as api from "../../api/plinth.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { TourError, type Answer } from "./exchange.ts";
import { jpegSize } from "./jpeg.ts";
import { signIn, type Cast } from "./people.ts";
import type { Session } from "./session.ts";

const PHOTO = readFileSync(join(ROOT, "scripts", "data", "photo.jpg"));
const FILE_NAME = "長崎 boats.jpg";
const METADATA = { title: "Boats at Nagasaki", year: 1865, tags: ["boats", "長崎"] };
const CLIP = { clip: "320x240" };
const CROP = { crop: "200x200" };
/** The photo is 1024 × 819: a clip keeps that shape, a crop fills its frame. */
const VARIANTS = [
  { size: CLIP, name: "clip=320x240", width: 300, height: 240 },
  { size: CROP, name: "crop=200x200", width: 200, height: 200 },
];
const VARIANT_PATIENCE_MS = 60_000;

/** The same operations on private and on public files. */
const PRIVATE = {
  path: "/media/v2/files",
  create: api.createPrivateFile,
  commit: api.commitPrivateFile,
  metadata: api.getPrivateMetadata,
};
const PUBLIC: typeof PRIVATE = {
  path: "/media/v2/public/files",
  create: api.createPublicFile,
  commit: api.commitPublicFile,
  metadata: api.getPublicMetadata,
};

/** The shop stores one photograph privately and publicly, has it resized, and fetches everything back. */
export async function tellMedia(session: Session, cast: Cast): Promise<void> {
  session.chapter("A private photograph: upload, commit, metadata");
  const token = await signIn(session, cast.shop);
  const privateFile = await store(session, cast, token, PRIVATE);
  await fetchPrivate(session, token, privateFile);

  session.chapter("The same photograph, public");
  const publicFile = await store(session, cast, token, PUBLIC);
  await fetchPublic(session, publicFile);
}

/** Creates, uploads and commits; returns the file's id. */
async function store(session: Session, { tenant }: Cast, token: string, files: typeof PRIVATE): Promise<string> {
  const type = { "Content-Type": "image/jpeg" };
  const { data: created } = await session.expect(200, (to) => files.create(type, { ...CLIP, ...CROP }, to), { token });
  const { id, uploadLink, commitLink } = created;
  const uploaded = await session.call(200, "PUT", uploadLink, {
    headers: {
      "content-type": "image/jpeg",
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(FILE_NAME)}`,
    },
    bytes: PHOTO,
    note: `${PHOTO.length} bytes`,
  });
  session.holds("the upload has an ETag", uploaded.header("etag") !== "");
  const { pathname } = new URL(`${session.base}${files.path}/${id}/commit`);
  session.same("its commitLink leads to the commit", new URL(commitLink).pathname, pathname);
  await session.expect(202, (to) => files.commit(id, METADATA, { tenant }, to), { token });
  const metadata = await session.expect(200, (to) => files.metadata(id, to), { token });
  session.same("the metadata is what was committed", metadata.data, METADATA);
  return id;
}

async function fetchPrivate(session: Session, token: string, id: string): Promise<void> {
  session.chapter("Fetched by temporary links, which need no token");
  await session.expect(401, (to) => api.getPrivateFile(id, {}, to), { note: "no token, no link" });
  const master = await session.expect(200, (to) => api.getPrivateFile(id, {}, to), { token });
  const etag = master.header("etag");
  checkMaster(session, await session.call(200, "GET", master.data.link));
  await session.expect(304, (to) => api.getPrivateFile(id, { ifNoneMatch: etag }, to), { token });
  for (const variant of VARIANTS) {
    const { size } = variant;
    const ready = await untilReady(session, () =>
      session.expect([200, 404], (to) => api.getPrivateFile(id, size, to), { token }),
    );
    checkVariant(session, await session.call(200, "GET", ready.data.link), variant);
    const own = ready.header("etag");
    session.holds("a variant has an ETag of its own", own !== etag);
    await session.expect(304, (to) => api.getPrivateFile(id, { ...size, ifNoneMatch: own }, to), { token });
  }
}

async function fetchPublic(session: Session, id: string): Promise<void> {
  session.chapter("Fetched by redirects, without any token");
  const master = await session.expect(302, (to) => api.getPublicFile(id, {}, to));
  checkMaster(session, await session.call(200, "GET", master.header("location")));
  await session.expect(304, (to) => api.getPublicFile(id, { ifNoneMatch: master.header("etag") }, to));
  for (const variant of VARIANTS) {
    const ready = await untilReady(session, () =>
      session.expect([302, 404], (to) => api.getPublicFile(id, variant.size, to)),
    );
    checkVariant(session, await session.call(200, "GET", ready.header("location")), variant);
  }
}

function checkMaster(session: Session, { bytes, headers }: Answer): void {
  session.holds(`${PHOTO.length} bytes, the very same`, bytes.equals(PHOTO), `${bytes.length} bytes`);
  const name = headers.get("content-disposition") ?? "";
  session.holds("under the name it came with", name.includes(encodeURIComponent(FILE_NAME)), name);
}

function checkVariant(session: Session, { bytes, headers }: Answer, variant: (typeof VARIANTS)[number]): void {
  const { name, width, height } = variant;
  session.same(`${name}: a JPEG of ${width} × ${height}`, jpegSize(bytes), { width, height });
  session.same("served as one", headers.get("content-type"), "image/jpeg");
  session.holds(`with ${bytes.length} bytes instead of ${PHOTO.length}`, bytes.length < PHOTO.length);
}

/** Variants are made in the background: 404 with Retry-After until then. */
async function untilReady<A extends { status: number; header: Answer["header"] }>(
  session: Session,
  ask: () => Promise<A>,
): Promise<Exclude<A, { status: 404 }>> {
  for (const deadline = Date.now() + VARIANT_PATIENCE_MS; Date.now() < deadline;) {
    const answer = await ask();
    if (answer.status !== 404) return answer as Exclude<A, { status: 404 }>;
    const seconds = Number(answer.header("retry-after"));
    session.note(`not made yet; to be asked again in ${seconds} s`);
    await sleep(seconds * 1_000);
  }
  throw new TourError(`the variant is ready within ${VARIANT_PATIENCE_MS / 1_000} s`);
}
