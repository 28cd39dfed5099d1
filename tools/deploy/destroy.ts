import { UserError } from "../../scripts/lib/user-error.ts";
import { CloudflareError, type Cloudflare } from "./cloudflare.ts";
import type { Deployment } from "./deployment.ts";
import type { Found } from "./found.ts";

/** Everything that a destruction deletes, in order: first the public hosts, last the data. */
export function destruction(deployment: Deployment, found: Found): string[] {
  const { worker, databases, bucket, backupBucket, queues, hosts } = deployment;
  return [
    ...found.hosts
      .filter(({ host, service }) => hosts.includes(host) && service === worker)
      .map(({ host }) => `- host ${host}`),
    ...(found.worker === undefined
      ? []
      : [`- worker ${worker}, with its secrets, the events of all topics and shards that are objects`]),
    ...queues.filter((name) => found.queues.has(name)).map((name) => `- queue ${name}`),
    ...(found.bucket === undefined ? [] : [`- bucket ${bucket}, with all files`]),
    ...(found.backupBucket?.isEmpty ? [`- bucket ${backupBucket}, if it is still empty then`] : []),
    ...(found.backupBucket?.isEmpty === false ? [`  bucket ${backupBucket}, with backups, stays`] : []),
    ...databasesOf(found).flatMap((database, shard) =>
      database === undefined ? [] : [`- database ${databases[shard]}, with all records`],
    ),
  ];
}

const AT_ONCE = 20;
const NOT_EMPTY = 10_008;
/** How often a bucket that lists no object is tried again. A link to upload may still be in use. */
const ATTEMPTS = 10;
const PAUSE_MS = 3000;

/** Destroys a deployment. May be repeated after it broke off. */
export async function destroy(
  { account, within }: Cloudflare,
  deployment: Deployment,
  found: Found,
  say: (line: string) => void,
  pause: (timeMs: number) => Promise<unknown> = (timeMs) => new Promise((resolve) => setTimeout(resolve, timeMs)),
): Promise<void> {
  const bucketsOf = within(deployment.jurisdiction);
  for (const { host, service, domainId } of found.hosts)
    if (service === deployment.worker && domainId !== undefined) {
      say(`detach ${host}`);
      await account.send("DELETE", `/workers/domains/${domainId}`);
    }
  const ids = new Map(
    (await account.list<{ queue_name: string; queue_id: string }>("/queues")).map((one) => [
      one.queue_name,
      one.queue_id,
    ]),
  );
  for (const name of deployment.queues) {
    const id = ids.get(name);
    if (id === undefined) continue;
    // Neither a queue with a consumer nor a Worker that consumes can be deleted.
    const consumers = await account.list<{ consumer_id: string }>(`/queues/${id}/consumers`);
    for (const { consumer_id: consumer } of consumers)
      await account.send("DELETE", `/queues/${id}/consumers/${consumer}`);
  }
  if (found.worker !== undefined) {
    say(`delete worker ${deployment.worker}`);
    await account.send("DELETE", `/workers/scripts/${deployment.worker}?force=true`);
  }
  for (const name of deployment.queues.filter((one) => ids.has(one))) {
    say(`delete queue ${name}`);
    await account.send("DELETE", `/queues/${ids.get(name)!}`);
  }
  if (found.bucket !== undefined) await destroyBucket(bucketsOf, deployment.bucket, { say, pause });
  // Backups outlive the platform. One may have been made since we looked, so it is Cloudflare who decides.
  if (found.backupBucket?.isEmpty && !(await deleteBucket(bucketsOf, deployment.backupBucket, say)))
    say(`bucket ${deployment.backupBucket} is not empty any more, so it stays with its backups`);
  // The directory comes last, since it lists what there was.
  for (const [shard, database] of [...databasesOf(found).entries()].toReversed()) {
    if (database === undefined) continue;
    say(`delete database ${deployment.databases[shard]}`);
    await account.send("DELETE", `/d1/database/${database.id}`);
  }
}

const databasesOf = ({ database, shards }: Found) => [database, ...shards];

/** Deletes a bucket. Its objects are deleted first, a page at a time, since it must be empty. */
async function destroyBucket(
  account: Cloudflare["account"],
  name: string,
  { say, pause }: { say(line: string): void; pause(timeMs: number): Promise<unknown> },
): Promise<void> {
  let [gone, refused] = [0, 0];
  for (;;) {
    const page = (await account.find<{ key: string }[]>(`/r2/buckets/${name}/objects?per_page=1000`)) ?? [];
    for (let at = 0; at < page.length; at += AT_ONCE)
      await Promise.all(
        page
          .slice(at, at + AT_ONCE)
          .map(({ key }) => account.send("DELETE", `/r2/buckets/${name}/objects/${encodeURIComponent(key)}`)),
      );
    gone += page.length;
    if (page.length > 0) say(`deleted ${gone} objects`);
    else if (await deleteBucket(account, name, say)) return;
    else if (++refused === ATTEMPTS)
      throw new UserError(
        `Cloudflare says that the bucket ${name} is not empty, and lists no object of it. A broken upload may have left parts: delete them in the dashboard, then run it again.`,
      );
    else await pause(PAUSE_MS);
  }
}

/** False: the bucket has objects, so it is still there. */
async function deleteBucket(
  account: Cloudflare["account"],
  name: string,
  say: (line: string) => void,
): Promise<boolean> {
  say(`delete bucket ${name}`);
  try {
    await account.send("DELETE", `/r2/buckets/${name}`);
    return true;
  } catch (error) {
    if (error instanceof CloudflareError && error.codes.includes(NOT_EMPTY)) return false;
    throw error;
  }
}
