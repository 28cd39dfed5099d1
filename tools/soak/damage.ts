import { UserError } from "../../scripts/lib/user-error.ts";
import type { Stage } from "./load/operation.ts";
import type { Damage } from "./options.ts";

/** Spoils what the checks look at, each as a fault of the platform would look. */
export function damage({ events, files, changes }: Stage, what: Damage): void {
  // Of what got no answer nobody misses anything.
  const known = [...events.published.keys()];
  const pushed = known.find((id) => events.pushed.has(id));
  const committed = known.find((id) => events.committed.has(id));
  const [file] = files.of("committed");
  /** Whether there was something to spoil. */
  const spoil: Readonly<Record<Damage, () => boolean>> = {
    // The receiver forgets.
    push: () => events.pushed.delete(pushed ?? ""),
    events: () => events.committed.delete(committed ?? ""),
    media: () => file?.bytes.writeUInt8(file.bytes.readUInt8(0) ^ 1, 0) !== undefined,
    audit: () => changes.done.set("a-request-that-left-no-row", "roles/none").size > 0,
  };
  if (!spoil[what]()) throw new UserError(`There is nothing for --damage ${what} to spoil: ask more or longer.`);
}
