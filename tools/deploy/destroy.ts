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
    ...(found.backupBucket?.isEmpty ? [`- bucket ${backupBucket}, which is empty`] : []),
    ...(found.backupBucket?.isEmpty === false ? [`  bucket ${backupBucket}, with backups, stays`] : []),
    ...databasesOf(found).flatMap((database, shard) =>
      database === undefined ? [] : [`- database ${databases[shard]}, with all records`],
    ),
  ];
}

const AT_ONCE = 20;
const NOT_EMPTY = 10_008;

/** Destroys a deployment. May be repeated after it broke off. */
export async function destroy(
  { account, within }: Cloudflare,
  deployment: Deployment,
  found: Found,
  say: (line: string) => void,
): Promise<void> {
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
  if (found.bucket !== undefined) await destroyBucket(within(deployment.jurisdiction), deployment.bucket, say);
  // Backups outlive the platform: their bucket is deleted only if it is empty.
  if (found.backupBucket?.isEmpty) await destroyBucket(within(deployment.jurisdiction), deployment.backupBucket, say);
  // The directory comes last, since it lists what there was.
  for (const [shard, database] of [...databasesOf(found).entries()].toReversed()) {
    if (database === undefined) continue;
    say(`delete database ${deployment.databases[shard]}`);
    await account.send("DELETE", `/d1/database/${database.id}`);
  }
}

const databasesOf = ({ database, shards }: Found) => [database, ...shards];

/** Deletes a bucket. Its objects are deleted first, a page at a time, since it must be empty. */
async function destroyBucket(account: Cloudflare["account"], name: string, say: (line: string) => void): Promise<void> {
  let gone = 0;
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
    else
      try {
        say(`delete bucket ${name}`);
        return void (await account.send("DELETE", `/r2/buckets/${name}`));
      } catch (error) {
        // A link that is still valid was used meanwhile, so the bucket is not empty: repeat.
        if (!(error instanceof CloudflareError && error.codes.includes(NOT_EMPTY))) throw error;
      }
  }
}
