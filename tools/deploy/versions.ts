import type { Cloudflare } from "./cloudflare.ts";
import type { Deployment } from "./deployment.ts";
import { workerOf, type Binding, type FoundWorker } from "./found.ts";

/** A version of the Worker: its code with the bindings and variables of its upload, which a rollback brings back. */
export interface Version extends FoundWorker {
  readonly id: string;
  /** Versions are numbered in the order of their upload. */
  readonly number: number;
  /** The number of the release, if known. */
  readonly release: string | undefined;
}

/** A version that gets requests, and its part of them. */
export interface RunningVersion extends Version {
  readonly percentage: number;
}

interface WorkerDeployment {
  readonly versions: { readonly version_id: string; readonly percentage: number }[];
}

interface ApiVersion {
  readonly id: string;
  readonly number: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly resources: { readonly bindings: readonly Binding[] };
}

/** Ends the message of a version that was uploaded without secrets: it has those of the version before it. */
const SECRETS_AS_BEFORE = ", secrets as before";
/** Otherwise the message ends with the names of those that came with it. The others are as before. */
const WITH_SECRETS = /, with secrets ([A-Z0-9_ ]+)$/;

/** The end of the message of a version that is uploaded with these secrets. */
export const aboutSecrets = (names: readonly string[]): string =>
  names.length === 0 ? SECRETS_AS_BEFORE : `, with secrets ${names.join(" ")}`;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export async function findVersion(
  { account }: Cloudflare,
  { worker }: Deployment,
  id: string,
): Promise<Version | undefined> {
  if (!UUID.test(id)) return undefined;
  const found = await account.find<ApiVersion>(`/workers/scripts/${worker}/versions/${id}`);
  if (found === undefined) return undefined;
  const { number, annotations, resources } = found;
  return { id, number, release: annotations?.["workers/tag"], ...workerOf(resources.bindings) };
}

/** The id of the version that was uploaded last. */
export async function newestVersion({ account }: Cloudflare, { worker }: Deployment): Promise<string | undefined> {
  const found = await account.find<{ items: ApiVersion[] }>(`/workers/scripts/${worker}/versions`);
  return (found?.items ?? []).toSorted((one, other) => other.number - one.number)[0]?.id;
}

/**
 * True if these versions surely have the same secrets: every upload after the first of them says that it took over
 * those of the version before it. Nobody can read a secret back, and versions of other tools say nothing.
 */
export async function haveSameSecrets(
  cloudflare: Cloudflare,
  deployment: Deployment,
  versions: readonly Version[],
): Promise<boolean> {
  const numbers = versions.map(({ number }) => number);
  const all = await uploads(cloudflare, deployment);
  return allTookOver(all, Math.min(...numbers), Math.max(...numbers), (names) => names.length === 0);
}

/**
 * True if the next upload surely takes over the secrets that this version has, or the one of this name. It takes those
 * of the newest upload, which is another version after a rollback.
 */
export async function nextTakesOver(
  cloudflare: Cloudflare,
  deployment: Deployment,
  { number }: Version,
  secret?: string,
): Promise<boolean> {
  const all = await uploads(cloudflare, deployment);
  const newest = Math.max(number, ...all.map((one) => one.number));
  return allTookOver(all, number, newest, (names) =>
    secret === undefined ? names.length === 0 : !names.includes(secret),
  );
}

const uploads = ({ account }: Cloudflare, { worker }: Deployment): Promise<ApiVersion[]> =>
  account.list<ApiVersion>(`/workers/scripts/${worker}/versions`);

/** True if every upload after `first` up to `last` names its secrets, and `isSame` is true of these names. */
function allTookOver(
  all: readonly ApiVersion[],
  first: number,
  last: number,
  isSame: (names: readonly string[]) => boolean,
): boolean {
  const given = new Map(all.map((one) => [one.number, secretsGiven(one)]));
  for (let number = first + 1; number <= last; number++) {
    const names = given.get(number);
    if (names === undefined || !isSame(names)) return false;
  }
  return true;
}

/** The names of the secrets that came with an upload. Undefined: not known. */
function secretsGiven({ annotations = {} }: ApiVersion): readonly string[] | undefined {
  const { "workers/message": message = "", "workers/triggered_by": trigger } = annotations;
  if (trigger === "secret") return undefined;
  if (message.endsWith(SECRETS_AS_BEFORE)) return [];
  return WITH_SECRETS.exec(message)?.[1]?.split(" ");
}

/** The versions that share the requests, the older one first. None for a Worker that is not there. */
export async function runningVersions(cloudflare: Cloudflare, deployment: Deployment): Promise<RunningVersion[]> {
  const [newest] = await deployments(cloudflare, deployment);
  const found = await Promise.all(
    (newest?.versions ?? []).map(async ({ version_id: id, percentage }) => {
      const version = await findVersion(cloudflare, deployment, id);
      return version === undefined ? [] : [{ ...version, percentage }];
    }),
  );
  return found.flat().toSorted((one, other) => one.number - other.number);
}

/** Ids of the versions that once had all requests, the latest first. */
export async function provenVersions(cloudflare: Cloudflare, deployment: Deployment): Promise<string[]> {
  const all = await deployments(cloudflare, deployment);
  return [...new Set(all.flatMap(({ versions }) => (versions.length === 1 ? versions[0]!.version_id : [])))];
}

/** The latest deployments of the Worker, the newest first. A version without a part of the requests is left out. */
async function deployments({ account }: Cloudflare, { worker }: Deployment): Promise<WorkerDeployment[]> {
  const found = await account.find<{ deployments: WorkerDeployment[] }>(`/workers/scripts/${worker}/deployments`);
  return (found?.deployments ?? []).map(({ versions }) => ({
    versions: versions.filter(({ percentage }) => percentage > 0),
  }));
}
