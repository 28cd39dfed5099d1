import { setTimeout as sleep } from "node:timers/promises";
import type { Ask, Reply } from "./world/caller.ts";
import type { AuditRow } from "./ledgers/changes.ts";
import type { SoakFile } from "./ledgers/files.ts";
import { checkContent } from "./load/files.ts";
import { expectStatus, type Stage } from "./load/operation.ts";
import type { Random } from "./lib/random.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import type { Damage } from "./options.ts";

/** Time for work that follows: the second attempt of a push, variants, erasures. */
const PATIENCE_MS = 90_000;
/** Files that are checked at the same time. */
const TOGETHER = 4;

/** Waits for pending work, then checks everything that the run made. The load and the faults are over. */
export async function checkAll(stage: Stage, random: Random, beforeLooking: () => void): Promise<void> {
  const ask = async (init: Omit<Ask, "kind">): Promise<Reply> => {
    const reply = await stage.caller.insist({ kind: "check", ...init }, random);
    if (reply === undefined) throw new Error(`The platform does not answer any more: ${init.method} ${init.path}`);
    return reply;
  };
  await until(() => Promise.resolve(stage.events.missingPushes().length === 0));
  beforeLooking();
  stage.events.check();
  await checkTokens(stage, ask);
  await checkFiles(stage, ask);
  await checkUsage(stage, ask);
  await checkAudit(stage, ask);
}

type AskFor = (init: Omit<Ask, "kind">) => Promise<Reply>;

async function until(isDone: () => Promise<boolean>): Promise<boolean> {
  for (const endMs = performance.now() + PATIENCE_MS; ; await sleep(200)) {
    if (await isDone()) return true;
    if (performance.now() > endMs) return false;
  }
}

async function checkTokens({ tokens, violations }: Stage, ask: AskFor): Promise<void> {
  for (const { text, state, grant } of tokens.all) {
    // A revocation without an answer may or may not have been done.
    if (state === "ending") continue;
    const { status } = await ask({ method: "GET", path: `/oauth2/v1/tokeninfo?access_token=${text}` });
    if (state === "valid") violations.expect("a valid token is taken", status === 200, () => `${grant}: ${status}`);
    else violations.expect("a revoked token is refused", status === 400, () => `${grant}: ${status}`);
  }
}

async function checkFiles(stage: Stage, ask: AskFor): Promise<void> {
  const { files, world, violations } = stage;
  const get = async (path: string): Promise<Reply> =>
    ask({ method: "GET", path, headers: { authorization: await world.authorization("shop") } });

  const checkCommitted = async (file: SoakFile): Promise<void> => {
    const link = await get(`/media/v2/files/${file.id}`);
    if (!expectStatus(stage, `the committed file ${file.id}`, link, [200])) return;
    checkContent(stage, file, await ask({ method: "GET", path: link.body.link }));
    if (file.type !== "image/jpeg") return;
    let variants: { state: string; reason?: string }[] = [];
    const isDone = await until(async () => {
      variants = (await get(`/media/v2/files/${file.id}/variants`)).body;
      return variants.every(({ state }) => state !== "pending");
    });
    const shown = (): string => `file ${file.id}: ${JSON.stringify(variants)}`;
    const isSaid = variants.every(({ state, reason }) => state === "ready" || (reason ?? "") !== "");
    violations.expect("variants are ready, or failed with a reason", isDone && isSaid, shown);
    // The photograph and the sizes are valid.
    violations.expect("variants of a good image are ready", !isDone || variants.every(isReady), shown);
  };
  const checkDeleted = async (file: SoakFile): Promise<void> => {
    const reply = await get(`/media/v2/files/${file.id}`);
    violations.expect("a deleted file is gone", reply.status === 404, () => `file ${file.id}: ${reply.status}`);
    const { erasure } = file;
    if (erasure === undefined) return;
    let state: unknown;
    const isDone = await until(async () => {
      ({ state } = (await get(erasure)).body);
      return state === "deleted" || state === "verified";
    });
    violations.expect("the bytes of a deleted file go", isDone, () => `file ${file.id}: ${String(state)}`);
  };
  await inTurns(files.of("committed"), checkCommitted);
  await inTurns(files.of("deleted"), checkDeleted);
}

const isReady = ({ state }: { readonly state: string }): boolean => state === "ready";

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const go = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: TOGETHER }, go));
}

async function checkUsage({ files, world, violations }: Stage, ask: AskFor): Promise<void> {
  // A deletion without an answer makes the usage unknown.
  if (files.all.some(({ state }) => state === "deleting")) return;
  for (const tenant of world.tenants) {
    const headers = { authorization: await world.authorization("operator") };
    const { body } = await ask({ method: "GET", path: `/admin/v1/tenants/${tenant}/usage`, headers });
    const own = files.of("committed").filter((file) => file.tenant === tenant);
    const bytes = own.reduce((sum, file) => sum + file.bytes.length, 0);
    violations.expect(
      "usage is what is stored",
      body.files === own.length && body.bytes === bytes,
      () => `${tenant}: ${body.files} files and ${body.bytes} bytes, not ${own.length} and ${bytes}`,
    );
  }
}

async function checkAudit({ world, changes, violations, setUpMs }: Stage, ask: AskFor): Promise<void> {
  const rows: AuditRow[] = [];
  for (const subject of [`roles/${world.run}-`, `tenants/${world.run}d`]) {
    let path: string | undefined = `/admin/v1/audit?subject=${subject}&since=${setUpMs}&pageSize=1000`;
    while (path !== undefined) {
      const headers = { authorization: await world.authorization("operator") };
      const page: Reply = await ask({ method: "GET", path, headers });
      rows.push(...(page.body as AuditRow[]));
      path = /<([^>]*)>; rel="next"/.exec(String(page.headers.link))?.[1];
    }
  }
  changes.check(rows, violations);
}

/** Spoils one entry in the way a fault of the platform would show. */
export function damage({ events, files, changes }: Stage, what: Damage): void {
  // Only acknowledged entries are checked.
  const known = [...events.published.keys()];
  const pushed = known.find((id) => events.pushed.has(id));
  const committed = known.find((id) => events.committed.has(id));
  const [file] = files.of("committed");
  /** Returns whether there was something to spoil. */
  const spoil: Readonly<Record<Damage, () => boolean>> = {
    // The receiver forgets an event.
    push: () => events.pushed.delete(pushed ?? ""),
    events: () => events.committed.delete(committed ?? ""),
    media: () => file?.bytes.writeUInt8(file.bytes.readUInt8(0) ^ 1, 0) !== undefined,
    audit: () => changes.done.set("a-request-that-left-no-row", "roles/none").size > 0,
  };
  if (!spoil[what]()) throw new UserError(`There is nothing for --damage ${what} to spoil: ask more or longer.`);
}
