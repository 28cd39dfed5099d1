import { randomBytes } from "node:crypto";
import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { UserError } from "../../scripts/lib/user-error.ts";
import type { Io } from "../terminal/io.ts";
import { Interrupted, stopOnSignal } from "../terminal/stop.ts";
import { clean } from "../terminal/values.ts";

/** Writes a new file. It gets its name when it is complete. A failure or Ctrl-C leaves nothing. */
export async function writeNewFile(
  { cwd }: Pick<Io, "cwd">,
  name: string,
  source: Readable | AsyncIterable<string>,
  mode?: number,
): Promise<void> {
  const file = resolve(cwd, name);
  const refuseIfThere = (): void => {
    if (existsSync(file)) throw new UserError(`${clean(name)} is there already. Name another file: --out <file>.`);
  };
  refuseIfThere();
  const making = `${file}.${randomBytes(4).toString("hex")}.part`;
  const stop = stopOnSignal();
  const target = createWriteStream(making, { flags: "wx", ...(mode !== undefined && { mode }) });
  const closed = new Promise<void>((done) => target.once("close", () => done()));
  try {
    await pipeline(source, target, { signal: stop.signal });
    refuseIfThere();
    renameSync(making, file);
  } catch (error) {
    throw stop.signal.aborted ? new Interrupted(`Stopped. ${clean(name)} was not written.`) : error;
  } finally {
    // If the source fails at once, the file is still being opened, and would be there after its removal.
    await closed;
    rmSync(making, { force: true });
    stop.end();
  }
}
