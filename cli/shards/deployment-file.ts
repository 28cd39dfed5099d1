import { MOST_SHARDS } from "../../src/platform/storage/object-shards.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** `shards = 4`. In a new file the line is a comment, which counts too. */
const LINE = /^(#\s*)?shards\s*=\s*(\d+)[^\S\n]*(#.*)?$/m;
/** The beginning of a TOML table. Keys of the file itself come before it. */
const TABLE = /^\[/m;

export interface Changed {
  readonly text: string;
  readonly before: number;
  readonly after: number;
}

/** The text of a deployment's file with more shards. `wanted`: their number; undefined: one more. */
export function withMoreShards(text: string, wanted: number | undefined): Changed {
  const end = TABLE.exec(text)?.index ?? text.length;
  const [keys, tables] = [text.slice(0, end), text.slice(end)];
  const found = LINE.exec(keys);
  const before = found === null || found[1] !== undefined ? 1 : Number(found[2]);
  const after = wanted ?? before + 1;
  if (after > MOST_SHARDS)
    throw new UsageError(`A platform has at most ${MOST_SHARDS} shards; this one has ${before}.`);
  if (after <= before)
    throw new UsageError(
      `It has ${before} ${before === 1 ? "shard" : "shards"} already, and a shard cannot be taken away: name a larger number.`,
    );
  const line = `shards = ${after}`;
  const comment = found?.[3] === undefined ? "" : ` ${found[3]}`;
  const changed =
    found === null
      ? `${keys}${keys === "" || keys.endsWith("\n") ? "" : "\n"}${line}\n${tables === "" ? "" : "\n"}`
      : keys.slice(0, found.index) + line + comment + keys.slice(found.index + found[0].length);
  return { text: changed + tables, before, after };
}
