import type { Deployment } from "./deployment.ts";
import { parseObjectShards } from "../../src/platform/storage/object-shards.ts";
import { shardBinding } from "../../src/platform/storage/shards.ts";
import type { Found, FoundDatabase, FoundPlace, FoundWorker } from "./found.ts";

/**
 * The difference between a deployment's file and the account, as sentences: new resources, changes, changes that lose
 * data, and impossible changes. Pure: the same file and account give the same plan.
 */
export interface Plan {
  readonly changes: readonly string[];
  /** Changes that need a flag of their own, besides --yes. */
  readonly dangers: readonly Danger[];
  /** Reasons to stop before anything is changed. */
  readonly refusals: readonly string[];
}

export interface Danger {
  readonly flag: DangerFlag;
  readonly text: string;
}

export const DANGER_FLAGS = [
  "lose-events",
  "lose-sealed",
  "old-secrets",
  "rename-platform",
  "rename-people",
  "move-host",
  "move-sign-in",
  "take-over",
  "move-jurisdiction",
] as const;
export type DangerFlag = (typeof DANGER_FLAGS)[number];

/** The part of the plan that secrets.ts decides. */
export interface SecretPlan {
  readonly changes: readonly string[];
  readonly dangers: readonly Danger[];
  readonly refusals: readonly string[];
}

export function makePlan(
  deployment: Deployment,
  found: Found,
  migrations: readonly string[],
  secrets: SecretPlan,
  newClasses: readonly string[],
  running: readonly FoundWorker[],
): Plan {
  const parts: Part[] = [
    database(deployment.databases[0], deployment, found.database, migrations),
    ...found.shards.flatMap((shard, at) => {
      const name = deployment.databases[at + 1];
      return name === undefined ? [] : [database(name, deployment, shard, migrations)];
    }),
    ...(running.length === 0 ? [undefined] : running).map((one) => shards(deployment, one, found.database)),
    bucket(deployment, found),
    backupBucket(deployment, found),
    queues(deployment, found),
    jurisdiction(deployment, found),
    worker(deployment, running),
    { changes: newClasses.map((name) => `+ objects of class ${name}; no rollback goes back over that`) },
    hosts(deployment, found),
    secrets,
  ];
  return merged(parts);
}

/** All parts, with each sentence once. */
function merged(parts: readonly Part[]): Plan {
  const dangers = parts.flatMap((part) => part.dangers ?? []);
  return {
    changes: [...new Set(parts.flatMap((part) => part.changes))],
    dangers: [...new Map(dangers.map((danger) => [danger.text, danger])).values()],
    refusals: [...new Set(parts.flatMap((part) => part.refusals ?? []))],
  };
}

interface Part {
  readonly changes: readonly string[];
  readonly dangers?: readonly Danger[];
  readonly refusals?: readonly string[];
}

/** Plans the shards. A shard that is left out or changes its kind would lose the files of its tenants. */
function shards(
  { databases, vars }: Deployment,
  running: FoundWorker | undefined,
  directory: FoundDatabase | undefined,
): Part {
  const objects = parseObjectShards(vars["OBJECT_SHARDS"] ?? "") ?? new Map<number, undefined>();
  const before = parseObjectShards(running?.vars["OBJECT_SHARDS"] ?? "") ?? new Map<number, undefined>();
  const refusals: string[] = [];
  const had = running === undefined ? 0 : running.databases.size + before.size;
  if (had > databases.length)
    refusals.push(
      `The platform has ${had} shards, and the file says ${databases.length}: a shard cannot be taken away. Set shards.`,
    );
  for (const shard of databases.keys()) {
    if (objects.has(shard) && running?.databases.has(shardBinding(shard)))
      refusals.push(
        `Shard ${shard} is a database, and the file says object: its files would be gone. Take it out of object_shards.`,
      );
    if (before.has(shard) && !objects.has(shard))
      refusals.push(
        `Shard ${shard} is an object, and the file says database: its files would be gone. Add it to object_shards.`,
      );
  }
  const tenants = [running?.vars["TENANT_OBJECTS"] ?? "", vars["TENANT_OBJECTS"] ?? ""] as const;
  if (tenants[0] !== "" && tenants[1] === "" && directory?.hasTenantObjects)
    refusals.push(
      `The platform has objects of tenants, and the file says none: their files would be gone. Set tenant_objects = "${tenants[0]}".`,
    );
  const made = [...objects].filter(([shard]) => !before.has(shard));
  const changes = made.map(
    ([shard, place]) => `+ shard ${shard}, an object${place === undefined ? "" : ` in ${place}`}, for ever`,
  );
  if (tenants[0] === "" && tenants[1] !== "") changes.push("+ objects of tenants' own, for ever");
  return { changes, refusals };
}

function database(
  name: string,
  deployment: Deployment,
  found: FoundDatabase | undefined,
  migrations: readonly string[],
): Part {
  const place = placeOf(deployment) ?? "near where this runs";
  if (found === undefined)
    return { changes: [`+ database ${name}, ${place}, for ever`, `+ ${migrations.length} migrations`] };
  const { applied, tables } = found;
  if (applied === undefined && tables > 0)
    return {
      changes: [],
      refusals: [`The database ${name} has tables and was not made by Plinth. Name another worker.`],
    };
  const unknown = (applied ?? []).filter((one) => !migrations.includes(one));
  if (unknown.length > 0)
    return {
      changes: [],
      refusals: [`The database ${name} has migrations of a newer release: ${unknown.join(", ")}. Deploy that release.`],
    };
  const missing = migrations.filter((one) => !applied?.includes(one));
  return {
    changes: missing.map((one) => `+ migration ${one}${name === deployment.databases[0] ? "" : ` in ${name}`}`),
  };
}

function placeOf({ location, jurisdiction: law }: Deployment): string | undefined {
  if (law !== undefined) return `in jurisdiction ${law}`;
  return location === undefined ? undefined : `in ${location}`;
}

function bucket(deployment: Deployment, found: Found): Part {
  const { bucket: name } = deployment;
  const place = placeOf(deployment);
  if (found.bucket === undefined) return { changes: [`+ bucket ${name}${place === undefined ? "" : `, ${place}`}`] };
  if (found.database?.hasRecords || found.bucket.isEmpty) return { changes: [] };
  return {
    changes: [],
    dangers: [
      {
        flag: "take-over",
        text: `The bucket ${name} has objects, and the database none that they could belong to. They would be deleted as orphans.`,
      },
    ],
  };
}

function backupBucket(deployment: Deployment, found: Found): Part {
  const place = placeOf(deployment);
  const made = `+ bucket ${deployment.backupBucket}, for backups${place === undefined ? "" : `, ${place}`}`;
  return { changes: found.backupBucket === undefined ? [made] : [] };
}

const queues = ({ queues: names }: Deployment, found: Found): Part => ({
  changes: names.filter((name) => !found.queues.has(name)).map((name) => `+ queue ${name}`),
});

/** Plans the jurisdiction, which is permanent: Cloudflare moves no data, so another one would begin empty. */
function jurisdiction(
  { jurisdiction: wanted, queues: names }: Deployment,
  { database: there, shards: others, queues: found }: Found,
): Part {
  const dangers: Danger[] = [];
  const compare = (what: string, { jurisdiction: from }: FoundPlace): void => {
    if (from !== undefined && (from ?? undefined) !== wanted)
      dangers.push({
        flag: "move-jurisdiction",
        text: `${what} is in ${lawOf(from)}, and the file says ${lawOf(wanted)}. It stays where it is.`,
      });
  };
  if (there !== undefined) compare("The database", there);
  for (const [at, shard] of others.entries())
    if (shard !== undefined) compare(`The database of shard ${at + 1}`, shard);
  for (const name of names) compare(`The queue ${name}`, found.get(name) ?? {});
  return { changes: [], dangers };
}

const lawOf = (law: string | null | undefined): string =>
  law === undefined || law === null ? "no jurisdiction" : `jurisdiction ${law}`;

function worker({ worker: name, vars }: Deployment, running: readonly FoundWorker[]): Part {
  if (running.length === 0) return { changes: [`+ worker ${name}`] };
  if (running.some((one) => one.vars["PLATFORM"] === undefined))
    return { changes: [], refusals: [`There is a Worker ${name}, and it is not Plinth. Name another one.`] };
  return merged([
    { changes: [`~ worker ${name}: a new version`] },
    ...running.map((one) => changeVars(one.vars, vars)),
  ]);
}

/** The names of the variables that differ. A missing one counts as empty. */
export const changedVars = (before: Vars, after: Vars): string[] =>
  Object.keys({ ...before, ...after })
    .toSorted()
    .filter((key) => (before[key] ?? "") !== (after[key] ?? ""));

type Vars = FoundWorker["vars"];

/** Plans other variables, of a new version or of an old one that comes back. */
export function changeVars(running: Vars, vars: Vars): Required<Omit<Part, "refusals">> {
  const changed = changedVars(running, vars);
  const changes = changed.map((key) => `~ ${key}: ${shown(running[key])} → ${shown(vars[key])}`);
  const dangers: Danger[] = [];
  for (const key of changed) {
    const [before, after] = [running[key] ?? "", vars[key] ?? ""];
    if (
      (key === "EVENT_RETENTION_DAYS" || key === "EVENT_LOG_MAX_BYTES") &&
      before !== "" &&
      Number(after) < Number(before)
    )
      dangers.push({
        flag: "lose-events",
        text: `${key} falls from ${before} to ${shown(after)}: older events are deleted at once.`,
      });
    if (key === "PLATFORM" || key === "PATH_PREFIX")
      dangers.push({
        flag: "rename-platform",
        text: `${key} changes from ${shown(before)} to ${shown(after)}: ${key === "PLATFORM" ? "scopes, headers and built-in clients get other names" : "every address changes"}; all callers break.`,
      });
    if (key === "PUBLIC_URL" && before !== "")
      dangers.push({
        flag: "move-host",
        text: `The platform moves from ${before} to ${shown(after)}: all tokens and links end${pagesOf(running) === pagesOf(vars) ? "" : ", and so do passkeys and browser sessions"}.`,
      });
    if (key === "AUTH_URL" && pagesOf(running) !== pagesOf(vars))
      dangers.push({
        flag: "move-sign-in",
        text: `The pages for people move from ${shown(pagesOf(running))} to ${shown(pagesOf(vars))}: all passkeys and browser sessions end, and identity providers refuse sign-ins until they know the callbacks there.`,
      });
    if (key === "SUBJECT" && subjectOf(running) !== subjectOf(vars))
      dangers.push({
        flag: "rename-people",
        text: `SUBJECT changes from ${subjectOf(running)} to ${subjectOf(vars)}: everybody gets another sub, so every application takes each person for a new one.`,
      });
    if (key === "JURISDICTION")
      dangers.push({
        flag: "move-jurisdiction",
        text: `JURISDICTION changes from ${shown(before)} to ${shown(after)}: topics, consumers and push subscriptions lose their objects, files their bucket.`,
      });
  }
  return { changes, dangers };
}

/** Where people sign in. Passkeys, cookies and the callbacks of identity providers belong to this origin. */
const pagesOf = ({ AUTH_URL: own = "", PUBLIC_URL: main = "" }: Vars): string => {
  const url = own || main;
  return URL.parse(url)?.origin ?? url;
};

/** What `sub` is. A version without the variable has the default. */
const subjectOf = ({ SUBJECT: subject }: Vars): string => subject || "email";

const shown = (value: string | undefined): string => (value === undefined || value === "" ? '""' : value);

function hosts({ worker: name, hosts: wanted }: Deployment, found: Found): Part {
  const changes: string[] = [];
  const refusals: string[] = [];
  for (const { host, zoneId, service, records } of found.hosts) {
    if (!wanted.includes(host)) changes.push(`- host ${host}`);
    else if (zoneId === undefined) refusals.push(`${host} lies in no zone of this account.`);
    else if (service !== undefined && service !== name) refusals.push(`${host} belongs to the Worker ${service}.`);
    else if (records.length > 0)
      refusals.push(`${host} has DNS records: ${records.join(", ")}. Another site may be there. Remove them first.`);
    else if (service === undefined) changes.push(`+ host ${host}`);
  }
  return { changes, refusals };
}
