import type { Env } from "../env.ts";
import { createMedia, type Media } from "../media/service.ts";
import type { OAuth } from "../oauth/service.ts";
import { createRestorePointStore } from "../restore/restore-point-store.ts";
import { createDirectoryOwners } from "../shards/directory-store.ts";
import type { ShardRoom } from "../shards/service.ts";
import type { Base } from "./base.ts";

export function wireMedia(env: Env, base: Base, access: OAuth["access"], shards: ShardRoom): Media {
  const { config, tracing, dbFor, shardsFor } = base;
  const restores = createRestorePointStore(dbFor("media"));
  return createMedia({
    ...base,
    heldFrom: restores.heldFrom,
    lastRestoreAt: restores.lastRestoreAt,
    shards: shardsFor("media"),
    objects: base.objectsFor("media"),
    objectReports: shards.objects,
    placement: shards.placement,
    owners: createDirectoryOwners(dbFor("media")),
    bucket: env.MEDIA,
    images: env.IMAGES,
    jobs: env.MEDIA_JOBS,
    access,
    contentUrl: config.contentUrl,
    maxUploadBytes: config.maxUploadBytes,
    queryRowBudget: config.queryRowBudget,
    edgeCache: edgeCacheAt(config.contentUrl || config.publicUrl),
    s3: config.s3 && {
      ...config.s3,
      fetch: (request) => tracing.child(`R2 ${request.method}`, {}, () => fetch(request)),
    },
  });
}

/** The cache needs one origin for all keys. A platform without a public address runs locally. */
const edgeCacheAt = (origin: string) =>
  typeof caches === "undefined" ? undefined : { cache: caches.default, origin: origin || "http://localhost" };
