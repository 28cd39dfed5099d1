import { Buffer } from "node:buffer";
import type { Env } from "../../../src/env.ts";
import { aroundMethods, aroundObjects, counting, type Around } from "../../../test/support/counting.ts";
import { realMs } from "./clock.ts";
import { NO_COUNTS, type Controlled, type Counts } from "./counts.ts";

/** Counts since the isolate began. Locally, objects and Worker share one isolate. */
const own = {
  workerRequests: 0,
  alarms: 0,
  objectMs: 0,
  alarmsSet: 0,
  rowsRead: 0,
  rowsWritten: 0,
  r2Parts: 0,
  r2ByAddress: 0,
  queueOperations: 0,
  images: 0,
  lines: 0,
  lineBytes: 0,
};
/** Stored bytes by object id. */
const sizes = new Map<string, number>();
let counted: ReturnType<typeof counting> | undefined;

/** Operations of R2 by billing class; `delete` and `abort` are free. */
const CLASS_A = ["put", "list", "createMultipartUpload"];
const CLASS_B = ["get", "head"];

/** Wraps the bindings once for the whole isolate, so that they count. */
export function countedEnv(env: Env): Env {
  if (counted !== undefined) return counted.env;
  const inner = counting({ ...env, MEDIA: countParts(env.MEDIA) });
  const timed: Around = (_, call) => timing(call);
  const objects = ["TOPIC_LOG", "TOPIC_CONSUMER", "PUSH_SUBSCRIPTION", "LOGIN_ATTEMPTS", "GUESS_COUNTER"] as const;
  const namespaces = Object.fromEntries(objects.map((name) => [name, aroundObjects(inner.env[name] as object, timed)]));
  // Other methods of a queue are missing here, so that using one fails at once.
  const MEDIA_JOBS: Pick<Env["MEDIA_JOBS"], "sendBatch"> = {
    async sendBatch(messages) {
      const sent = [...messages];
      own.queueOperations += sent.length;
      return env.MEDIA_JOBS.sendBatch(sent);
    },
  };
  const IMAGES = aroundMethods(env.IMAGES, (_, call) => {
    // `input` begins one transformation; `info` is a call by itself.
    own.images += 1;
    return call();
  });
  const bindings = { ...namespaces, IMAGES, MEDIA_JOBS };
  counted = { ...inner, env: { ...inner.env, ...bindings } as Env };
  return counted.env;
}

/** Adds the wall time of a call to an object. */
export async function timing<T>(call: () => T): Promise<Awaited<T>> {
  const startedMs = performance.now();
  try {
    return await call();
  } finally {
    own.objectMs += performance.now() - startedMs;
  }
}

/** Counts the parts and completions of multipart uploads. */
function countParts(bucket: R2Bucket): R2Bucket {
  const upload = (real: R2MultipartUpload): R2MultipartUpload =>
    aroundMethods(real, (method, call) => {
      if (method !== "abort") own.r2Parts += 1;
      return call();
    });
  return aroundMethods(bucket, (method, call) => {
    const made = call();
    if (method === "resumeMultipartUpload") return upload(made as R2MultipartUpload);
    return method === "createMultipartUpload" ? (made as Promise<R2MultipartUpload>).then(upload) : made;
  });
}

/** Wraps an object's storage, before its constructor uses it, so that rows and alarms count. */
export function countStorage(context: DurableObjectState): void {
  const { storage, id } = context;
  const sql = new Proxy(storage.sql, {
    get(target, name) {
      if (name === "exec")
        return (query: string, ...values: SqlStorageValue[]) => {
          const cursor = target.exec(query, ...values);
          // A cursor knows its rows only after it is read to the end, which the objects do synchronously, and tells
          // only its own object.
          queueMicrotask(() => {
            own.rowsRead += cursor.rowsRead;
            own.rowsWritten += cursor.rowsWritten;
            sizes.set(id.toString(), target.databaseSize);
          });
          return cursor;
        };
      return bound(target, name);
    },
  });
  const proxy = new Proxy(storage, {
    get(target, name) {
      if (name === "sql") return sql;
      if (name === "setAlarm")
        return (timeMs: number) => {
          own.alarmsSet += 1;
          return target.setAlarm(realMs(timeMs));
        };
      return bound(target, name);
    },
  });
  Object.defineProperty(context, "storage", { value: proxy });
}

function bound(target: object, name: PropertyKey): unknown {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === "function" ? (value.bind(target) as unknown) : value;
}

export function countAlarm(run: () => Promise<void>): Promise<void> {
  own.alarms += 1;
  return timing(run);
}

export function countInvocation(): void {
  own.workerRequests += 1;
}

/** A message is read once for each delivery, and deleted on acknowledgement. */
export function countBatch(batch: MessageBatch): void {
  countInvocation();
  for (const message of batch.messages) {
    own.queueOperations += 1;
    const ack = message.ack.bind(message);
    Object.defineProperty(message, "ack", {
      value: () => {
        own.queueOperations += 1;
        ack();
      },
    });
  }
}

/** Copies go to R2's S3 address, past the binding. */
export function countCopies(): void {
  const send = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    if (input instanceof Request && input.headers.has("x-amz-copy-source")) own.r2ByAddress += 1;
    return send(input, init);
  };
}

export function countLines(): void {
  for (const level of ["log", "debug", "info", "warn", "error"] as const) {
    const write = console[level].bind(console);
    console[level] = (...args: unknown[]) => {
      own.lines += 1;
      own.lineBytes += Buffer.byteLength(args.map(String).join(" "));
      write(...args);
    };
  }
}

export const controlled = (): Controlled => ({
  counts: countsNow(),
  objectBytes: sum([...sizes.values()]),
});

function countsNow(): Counts {
  if (counted === undefined) return NO_COUNTS;
  const { tally } = counted;
  const r2 = (methods: readonly string[]): number => sum(methods.map((method) => tally.r2Operations[method] ?? 0));
  const objectRequests = sum(Object.values(tally.objectCalls)) + own.alarms;
  return {
    ...NO_COUNTS,
    workerRequests: own.workerRequests,
    d1Statements: tally.d1Statements + tally.auditRows,
    d1RoundTrips: tally.d1RoundTrips + tally.auditRows,
    d1RowsRead: tally.d1RowsRead,
    d1RowsWritten: tally.d1RowsWritten,
    objectRequests,
    objectMs: own.objectMs,
    objectRowsRead: own.rowsRead,
    // "Each setAlarm() is billed as a single row written."
    objectRowsWritten: own.rowsWritten + own.alarmsSet,
    r2ClassA: r2(CLASS_A) + own.r2Parts + own.r2ByAddress,
    r2ClassB: r2(CLASS_B),
    queueOperations: own.queueOperations,
    images: own.images,
    logEvents: own.lines,
    logBytes: own.lineBytes,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
