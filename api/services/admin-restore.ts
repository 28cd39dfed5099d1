import type { Entry, Named } from "../model/entry.ts";
import { bool, list, obj, orNull, ref, str, time } from "../model/schema.ts";
import { TAGS } from "./admin-resources.ts";

const TIME = 1_763_000_040_000;

/** Components of what follows a restore of the database, and operations on it. */
export const RESTORE_SCHEMAS: Readonly<Record<string, Named>> = {
  RestorePoint: {
    schema: obj({
      restoredTo: orNull(time("The database was restored to this time; null: never.")),
      markedAt: orNull(time("The operator said so at this time.")),
      holds: bool("Repairs delete no object of the bucket that is younger than `restoredTo`."),
    }),
    example: { restoredTo: TIME, markedAt: TIME + 3_600_000, holds: true },
  },
  ReplayStep: {
    schema: obj({
      done: bool("No copy is left: everything was replayed."),
      copy: orNull(str("The copy of the audit log that this step read.")),
      lines: list(
        obj({
          subject: str("What was removed then, as the audit log names it."),
          at: time("When it was removed."),
          outcome: str(
            "`erased`, `absent`, `made_since` (made after the restore, so it stays), or why it was refused.",
          ),
        }),
      ),
    }),
    example: {
      done: false,
      copy: "audit/2026/11/23-000041-0c5e8f21aa90b7d3.jsonl",
      lines: [{ subject: "users/ada@acme.example", at: TIME + 60_000, outcome: "erased" }],
    },
  },
};

export const RESTORE_ENTRIES: Readonly<Record<string, Entry>> = {
  "GET /restore-point": {
    id: "getRestorePoint",
    tag: TAGS.upkeep,
    answers: { 200: { text: "The last restore.", json: ref("RestorePoint") } },
  },
  "PUT /restore-point": {
    id: "markRestored",
    tag: TAGS.upkeep,
    about:
      "Do this after each restore of the database. Isolates forget what they keep of the database within seconds, " +
      "repairs of the bucket hold objects that are younger than the time, and the replay of erasures begins there.",
    body: {
      fields: { restoredTo: "The time to which the database was restored, in ms since 1970." },
      example: { restoredTo: TIME },
    },
    answers: { 200: { text: "The restore.", json: ref("RestorePoint") } },
  },
  "DELETE /restore-point/hold": {
    id: "releaseHold",
    tag: TAGS.upkeep,
    about: "From now on a repair deletes objects that no row owns, whatever their age.",
    answers: { 200: { text: "The restore, without a hold.", json: ref("RestorePoint") } },
  },
  "POST /restore-point/replay": {
    id: "replayErasures",
    tag: TAGS.upkeep,
    about:
      "Reads the copies of the audit log in the bucket and removes again what somebody removed between the time of the " +
      "restore and the restore itself: at most 20 things. Repeat it until `done`.",
    answers: { 200: { text: "What this step did.", json: ref("ReplayStep") } },
    errors: { 409: "`never_restored`: nobody said that the database was restored." },
  },
};
