import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/root.ts";
import type { Ask, Reply } from "../world/caller.ts";
import type { SoakFile } from "../ledgers/files.ts";
import type { Random } from "../lib/random.ts";
import { expectStatus, isSentAgain, type Operation, type Stage, type Turn } from "./operation.ts";

const PHOTO = readFileSync(join(ROOT, "scripts", "data", "photo.jpg"));
/** Share of photographs; other files are random bytes. */
const PHOTOS = 0.2;
const MAX_BYTES = 65_536;
const SIZES = ["64x64", "100x80", "320x240"];

/** Each arrival takes one file a step further: create, upload, commit. Then it is fetched, listed, varied, deleted. */
export function filesLoad(stage: Stage): Operation[] {
  const { world, caller, files, violations } = stage;
  const asShop = async () => ({ authorization: await world.authorization("shop") });

  const create = async ({ dueMs, random }: Turn): Promise<void> => {
    // The first file is a photograph, so that the queue has work.
    const isPhoto = files.all.length === 0 || random.chance(PHOTOS);
    const type = isPhoto ? "image/jpeg" : "application/octet-stream";
    const path = `/media/v2/files${isPhoto ? `?crop=${random.pick(SIZES)}` : ""}`;
    const headers = await asShop();
    const ask = { kind: "media: create", method: "POST", path, headers, json: { "Content-Type": type }, dueMs };
    const reply = await caller.once(ask, random);
    if (reply === undefined || !expectStatus(stage, "create", reply, [200])) return;
    const { id, uploadLink, commitLink } = reply.body;
    const bytes = isPhoto ? Buffer.from(PHOTO) : noise(random);
    const tenant = random.pick(world.tenants);
    files.all.push({ id, uploadLink, commitLink, bytes, type, tenant, mark: `m${id}`, state: "created", busy: false });
  };

  /** Takes a step with a file that nobody else works on. */
  const step = async (turn: Turn, from: SoakFile["state"], work: (file: SoakFile) => Promise<void>): Promise<void> => {
    const file = turn.random.pick(files.free(from));
    file.busy = true;
    try {
      await work(file);
    } finally {
      file.busy = false;
    }
  };

  const upload =
    ({ dueMs, random }: Turn) =>
    async (file: SoakFile) => {
      const { uploadLink: path, bytes, type } = file;
      const headers = { "content-type": type };
      const reply = await caller.insist({ kind: "media: upload", method: "PUT", path, headers, bytes, dueMs }, random);
      if (reply === undefined || !expectStatus(stage, "upload", reply, [200, 409])) return;
      // An upload whose answer was lost may have worked; only then the second one finds a file.
      const isFirst = reply.status === 200 || reply.isRepeat;
      violations.expect("nothing is there before the first upload", isFirst, () => `file ${file.id}`);
      file.state = "uploaded";
    };

  const commit = (turn: Turn) => async (file: SoakFile) => {
    const { dueMs, random } = turn;
    const link = new URL(file.commitLink);
    link.searchParams.set("tenant", file.tenant);
    const json = { mark: file.mark, place: files.all.length };
    const ask: Ask = { kind: "media: commit", method: "POST", path: link.href, headers: await asShop(), json, dueMs };
    const reply = await caller.insist(ask, random);
    if (reply === undefined || !expectStatus(stage, "commit", reply, [202])) return;
    if (isSentAgain(stage, turn)) {
      const again = await caller.once({ ...ask, dueMs: performance.now() }, random);
      if (again !== undefined) expectStatus(stage, "a repeated commit", again, [202]);
    }
    file.state = "committed";
  };

  const remove =
    ({ dueMs, random }: Turn) =>
    async (file: SoakFile) => {
      file.state = "deleting";
      const path = `/media/v2/files/${file.id}`;
      const ask = { kind: "media: delete", method: "DELETE", path, headers: await asShop(), dueMs };
      const reply = await caller.insist(ask, random);
      if (reply === undefined || !expectStatus(stage, "delete", reply, reply.isRepeat ? [204, 404] : [204])) return;
      const { location } = reply.headers;
      if (location !== undefined) file.erasure = location;
      file.state = "deleted";
    };

  const fetchFile = async ({ dueMs, random }: Turn): Promise<void> => {
    const file = random.pick([...files.of("committed"), ...files.of("deleted").slice(-5)]);
    const before = file.state;
    const path = `/media/v2/files/${file.id}`;
    const reply = await caller.once(
      { kind: "media: link", method: "GET", path, headers: await asShop(), dueMs },
      random,
    );
    if (reply === undefined) return;
    const isThere = file.state === "committed";
    const can = before === "deleted" ? [404] : isThere ? [200] : [200, 404];
    if (!expectStatus(stage, `a file that is ${before}`, reply, can) || reply.status !== 200) return;
    const content = await caller.once({ kind: "media: content", method: "GET", path: reply.body.link }, random);
    if (content !== undefined) checkContent(stage, file, content);
  };

  const list = async ({ dueMs, random }: Turn): Promise<void> => {
    const file = random.pick(files.of("committed"));
    const path = `/media/v2/files?tenant=${file.tenant}&q=${encodeURIComponent(`mark:${file.mark}`)}&sort=place`;
    const reply = await caller.once(
      { kind: "media: list", method: "GET", path, headers: await asShop(), dueMs },
      random,
    );
    if (reply === undefined || !expectStatus(stage, "list", reply, [200]) || file.state !== "committed") return;
    const ids: string[] = reply.body.map(({ id }: { id: string }) => id);
    violations.expect("a committed file is found", ids.join() === file.id, () => `${file.id} among ${ids.join()}`);
  };

  const vary = async ({ dueMs, random }: Turn): Promise<void> => {
    const file = random.pick(photos());
    const method = random.chance(0.3) ? "POST" : "GET";
    const path = `/media/v2/files/${file.id}/variants${method === "POST" ? `?clip=${random.pick(SIZES)}` : ""}`;
    const reply = await caller.once({ kind: "media: variants", method, path, headers: await asShop(), dueMs }, random);
    if (reply !== undefined) expectStatus(stage, "variants", reply, file.state === "committed" ? [200] : [200, 404]);
  };

  const photos = (): SoakFile[] => files.of("committed").filter(({ type }) => type === "image/jpeg");
  const some = (state: SoakFile["state"]) => () => files.free(state).length > 0;
  const isAny = (): boolean => files.of("committed").length > 0;
  return [
    { weight: 5, run: create },
    { weight: 5, isReady: some("created"), run: (turn) => step(turn, "created", upload(turn)) },
    { weight: 5, isReady: some("uploaded"), run: (turn) => step(turn, "uploaded", commit(turn)) },
    // Keeps one file for the operations that look at files.
    {
      weight: 1,
      isReady: () => files.free("committed").length > 1,
      run: (turn) => step(turn, "committed", remove(turn)),
    },
    { weight: 7, isReady: isAny, run: fetchFile },
    { weight: 4, isReady: isAny, run: list },
    { weight: 1, isReady: () => photos().length > 0, run: vary },
  ];
}

export function checkContent({ violations }: Stage, file: SoakFile, reply: Reply): void {
  // The link outlives a deleted file.
  if (reply.status === 404 && file.state !== "committed") return;
  const isSame = reply.status === 200 && reply.bytes.equals(file.bytes);
  const found = (): string => `file ${file.id}: ${reply.status}, ${reply.bytes.length} of ${file.bytes.length} bytes`;
  violations.expect("a committed file is readable with its bytes", isSame, found);
}

function noise(random: Random): Buffer {
  const bytes = Buffer.alloc(1 + random.below(MAX_BYTES));
  for (let at = 0; at < bytes.length; at += 64) bytes[at] = random.below(256);
  return bytes;
}
