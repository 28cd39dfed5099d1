import type { Log } from "../../platform/runtime/log.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import type { Random } from "../../platform/runtime/random.ts";
import type { AuditTrail } from "../../platform/ports/audit.ts";
import type { LocationHint } from "../../platform/storage/object-shards.ts";
import type { Shards } from "../../platform/storage/shards.ts";
import type { TenantObjects } from "../../platform/storage/tenant-objects.ts";

/** A topic, with the fields of its row that name its objects. */
export interface TopicAddress {
  readonly owner: string;
  readonly eventType: string;
  readonly incarnation: string;
  readonly shards: number;
}

/** A page of the import of one object. Pages are numbered without a gap; the last one opens the object for use. */
export interface ImportPlace {
  readonly id: string;
  readonly number: number;
  readonly isLast: boolean;
}
export type ImportOutcome = "imported" | "again" | "out_of_order" | "not_empty" | "other_format";

export interface Gone {
  readonly kind: "gone";
}
/** A page of a log's readers. Pages are JSON; outside of the objects, only the fields here and below are read. */
export interface RegisterPage {
  readonly kind: "register";
  readonly consumers: readonly string[];
  readonly subscribers: readonly string[];
  readonly next?: string | undefined;
  readonly lastSeq: number;
  readonly retention: { readonly ageMs: number };
  readonly resets?: readonly LogReset[] | undefined;
}
/** The last reset of a log. After it, the log assigns positions again. */
interface LogReset {
  readonly id: string;
}
export interface EventsPage {
  readonly kind: "events";
  readonly beforeSeq: number;
  readonly endSeq: number;
  readonly atEnd: boolean;
  readonly segments: readonly { readonly createdAtMs: number }[];
  readonly resets?: readonly LogReset[] | undefined;
}
export interface ConsumerPage {
  readonly kind: "consumer";
}
export interface PushPage {
  readonly kind: "push";
  readonly next?: number | undefined;
}

/** Port to the events service: exports and imports everything in its objects, in pages. */
export interface EventObjects {
  exportRegister(topic: TopicAddress, shard: number, after?: string): Promise<RegisterPage | Gone>;
  exportEvents(
    topic: TopicAddress,
    shard: number,
    from: { readonly afterSeq?: number; readonly fromMs?: number },
  ): Promise<EventsPage | Gone>;
  importLog(
    topic: TopicAddress,
    shard: number,
    place: ImportPlace,
    page: RegisterPage | EventsPage,
  ): Promise<ImportOutcome>;
  exportConsumer(topic: TopicAddress, name: string): Promise<ConsumerPage | Gone>;
  importConsumer(topic: TopicAddress, name: string, place: ImportPlace, page: ConsumerPage): Promise<ImportOutcome>;
  exportPush(name: string, after?: number): Promise<PushPage | Gone>;
  importPush(name: string, place: ImportPlace, page: PushPage): Promise<ImportOutcome>;
}

export interface StorePage {
  readonly next?: unknown;
}

/** Port to the metrics service. */
interface MetricsObjects {
  readonly storeNames: readonly string[];
  exportStore(name: string, after?: unknown): Promise<StorePage>;
  importStore(name: string, place: ImportPlace, page: StorePage): Promise<ImportOutcome>;
}

/** Port to the seal keys. Secrets in a backup stay sealed, so they open only where the same keys are configured. */
interface SealProofs {
  /** An HMAC by each configured key. */
  proofs(): Promise<readonly { readonly id: string; readonly proof: string }[]>;
  /** Ids of the keys that something is sealed with. */
  used(): Promise<ReadonlySet<string>>;
}

/** Port to the record of restores. */
interface RestorePoint {
  generation(): Promise<string>;
  /** Notes that the platform was restored to a time. Isolates drop their copies; repairs keep later objects. */
  mark(restored: Restored): Promise<void>;
}
interface Restored {
  readonly generation: string;
  readonly toMs: number;
  readonly atMs: number;
  readonly actor: string;
}

/** A tenant object that the directory lists. */
export interface ListedObject {
  readonly number: number;
  readonly near: LocationHint | null;
}

/** Port to the copies of tenants in their shards and objects. */
interface CopyTenants {
  /** Makes every copy due. */
  begin(nowMs: number): Promise<void>;
  /** Writes some copies that are due. False: none is left. */
  more(): Promise<boolean>;
}

/** A move that has not ended, also while the old rows are removed. */
export interface MovingTenant {
  readonly tenant: string;
  readonly state: string;
}

export interface BackupDeps {
  readonly shards: Shards;
  /** Undefined: the deployment has no tenant objects. */
  readonly tenantObjects: Pick<TenantObjects, "at" | "place"> | undefined;
  /** The tenant objects that the directory lists after a number, in order. */
  readonly listObjects: (after: number, limit: number) => Promise<readonly ListedObject[]>;
  readonly copyTenants: CopyTenants;
  /** A tenant that moves, if there is one: a backup reads one shard after the other, so none may move meanwhile. */
  readonly movingTenant: () => Promise<MovingTenant | undefined>;
  readonly media: R2Bucket;
  /** Undefined: the deployment binds no bucket for backups. */
  readonly bucket: R2Bucket | undefined;
  readonly objects: EventObjects;
  readonly metrics: MetricsObjects;
  readonly seals: SealProofs;
  readonly restorePoint: RestorePoint;
  /** The job's object. */
  readonly job: () => JobStub;
  readonly platform: string;
  readonly migration: string;
  readonly isMaintained: boolean;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The job's object, as the Worker calls it; records travel as JSON. */
interface JobStub {
  start(asked: string): Promise<{ readonly started: boolean; readonly job: string }>;
  read(): Promise<string | undefined>;
  cancel(): Promise<string | undefined>;
}
