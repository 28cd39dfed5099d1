import type { AuditCopies } from "../admin/audit/copies.ts";
import { createAdminRoutes } from "../admin/service.ts";
import type { Gateway } from "../gateway/service.ts";
import type { PushPorts } from "../events/push/types.ts";
import type { Events } from "../events/service.ts";
import type { Route } from "../http/route.ts";
import type { Media } from "../media/service.ts";
import type { Metrics } from "../metrics/service.ts";
import type { OAuth } from "../oauth/service.ts";
import type { Outbox } from "../oauth/subscription-events/outbox.ts";
import type { Moves } from "../shards/moves.ts";
import type { ShardRoom } from "../shards/service.ts";
import type { Base } from "./base.ts";

/** Counts the sealed texts of each kind under each key. It reads at most `most` texts of a kind. */
export type CountSealed = (most: number) => Promise<Readonly<Record<string, ReadonlyMap<string, number>>>>;

/** The services that operators work on. */
interface Operated {
  readonly oauth: OAuth;
  readonly gateway: Gateway;
  readonly outbox: Outbox;
  readonly events: Events;
  readonly push: PushPorts;
  readonly media: Media;
  readonly shards: ShardRoom;
  readonly moves: Moves;
  readonly metrics: Metrics;
  readonly auditCopies: AuditCopies;
  readonly countSealed: CountSealed;
}

export function wireAdmin(base: Base, operated: Operated): readonly Route[] {
  const { oauth, gateway, outbox, events, push, media, shards, moves, metrics, auditCopies, countSealed } = operated;
  return createAdminRoutes({
    ...base,
    db: base.dbFor("admin"),
    allowLoopback: base.config.allowLoopback,
    recordsChanged() {
      oauth.recordsChanged();
      gateway.recordsChanged();
    },
    oauth,
    outbox,
    events,
    media,
    shards: {
      ...shards,
      moves,
      status: (nowMs) =>
        shards.sizes.status(
          {
            stored: media.storedIn,
            countPushSubscriptions: push.store.countIn,
            roundTrips: metrics.roundTripsByShard,
          },
          nowMs,
        ),
    },
    metrics,
    auditCopies,
    sealKeys: { configured: base.sealer.keyIds, counts: countSealed },
  });
}
