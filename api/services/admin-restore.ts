import type { Entry, Named } from "../model/entry.ts";
import { bool, int, list, obj, oneOf, orNull, ref, str, time } from "../model/schema.ts";
import { TAGS } from "./admin-resources.ts";

const TIME = 1_763_000_040_000;

/** The same for every object that goes back in time. */
const TO = "`{timeMs}`: a time in ms since 1970; `{bookmark}`: the `undo` of an earlier restore.";
const RESTORED = {
  200: {
    text: "It is restored.",
    json: obj({ undo: str("A bookmark: a restore to it undoes this one.") }),
    example: { undo: "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683" },
  },
};
const NOT_RESTORED =
  "`maintenance_off`: the platform is not in maintenance. `no_past`: the object cannot be restored to this time.";

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
  PlatformCheck: {
    schema: obj({
      checked: obj(
        {
          topics: int("Topics."),
          consumers: int("Consumers of topics."),
          pushSubscriptions: int("Push subscriptions."),
        },
        "What this answer is about.",
      ),
      findings: list(
        obj({
          kind: oneOf(
            ["topic_without_log", "cursor_beyond_log", "push_beyond_log", "push_without_object"],
            "What does not fit.",
          ),
          topic: str("The topic: `<owner>.<event type>`."),
          shard: orNull(int("The shard, if it is about one.")),
          subject: orNull(str("The consumer's name, or the id of the push subscription.")),
          position: orNull(int("The position up to which it has read.")),
          end: orNull(int("The position of the log's last event.")),
          next: str("What to type."),
        }),
      ),
      next: orNull(str("Pass it as `after` for the next part; null: everything was checked.")),
    }),
    example: {
      checked: { topics: 20, consumers: 31, pushSubscriptions: 2 },
      findings: [
        {
          kind: "topic_without_log",
          topic: "acme.shop.order",
          shard: 0,
          subject: null,
          position: null,
          end: null,
          next: "platform reopen-topic acme.shop.order, or restore its events from a backup",
        },
      ],
      next: null,
    },
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
            "`erased`, `absent`, `made_since` (made after the restore, so it is kept), or why it was refused.",
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
  "GET /platform-check": {
    id: "checkPlatform",
    tag: TAGS.upkeep,
    about: "Changes nothing. Each answer is about some topics; repeat it with `next` until that is null.",
    parameters: { after: { text: "The `next` of the answer before." } },
    answers: { 200: { text: "What was checked and found.", json: ref("PlatformCheck") } },
  },
  "POST /platform-check/topics/{topic}/restore": {
    id: "restoreObject",
    tag: TAGS.upkeep,
    about:
      "Readers of a restored log go back to where it ends then. A restored consumer reads again what it committed since, " +
      "and a restored push subscription pushes again. Cloudflare keeps 30 days.",
    parameters: { topic: { text: "The topic: `<owner>.<event type>`.", example: "acme.shop.order" } },
    body: {
      fields: {
        object: "`{kind: log, shard}`, `{kind: consumer, name}` or `{kind: push, id}`.",
        to: TO,
      },
      example: { object: { kind: "log", shard: 0 }, to: { timeMs: TIME } },
    },
    answers: RESTORED,
    errors: {
      404: "",
      409: NOT_RESTORED,
    },
  },
  "POST /shards/{shard}/restore": {
    id: "restoreShard",
    tag: TAGS.upkeep,
    about:
      "Of a shard that is an object; one that is a database goes back by `wrangler d1 time-travel`. All shards and the " +
      "directory must go back to the same time. The number of a tenant's own object takes the files of this tenant back. " +
      "Cloudflare keeps 30 days.",
    parameters: { shard: { text: "The number of the shard, or of a tenant's own object.", example: "4" } },
    body: {
      fields: { to: TO },
      example: { to: { timeMs: TIME } },
    },
    answers: RESTORED,
    errors: {
      404: "The shard is no object, or no tenant has an object of this number.",
      409: NOT_RESTORED,
    },
  },
  "POST /platform-check/topics/{topic}/reopen": {
    id: "reopenTopic",
    tag: TAGS.upkeep,
    about:
      "Readers get every event that is published from then on. Where a log exists, nothing changes for readers who are " +
      "not further than it.",
    parameters: { topic: { text: "The topic: `<owner>.<event type>`.", example: "acme.shop.order" } },
    answers: {
      200: {
        text: "What was done for each shard.",
        json: obj({
          opened: list(int("A shard whose log did not exist.")),
          marked: list(int("A shard whose log exists: readers who are further go back to its end.")),
        }),
        example: { opened: [0], marked: [1] },
      },
    },
    errors: { 404: "" },
  },
  "POST /platform-check/push-subscriptions/{id}/reopen": {
    id: "reopenPushSubscription",
    tag: TAGS.upkeep,
    about: "An object that exists is unchanged.",
    parameters: { id: { text: "The id of the push subscription.", example: "3f9a12bc" } },
    answers: { 200: { text: "It is open.", json: obj({ opened: bool("True.") }), example: { opened: true } } },
    errors: { 404: "" },
  },
  "GET /restore-point": {
    id: "getRestorePoint",
    tag: TAGS.upkeep,
    about:
      "After a restore, younger objects of the bucket may be the only copy of a file. Repairs leave them alone while `holds` is true.",
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
