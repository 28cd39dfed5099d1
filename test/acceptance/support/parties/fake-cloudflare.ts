import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";

/**
 * Cloudflare's API on loopback, as far as a deployment calls it, ours and the real wrangler's. It keeps what it is
 * told: databases are SQLite's, buckets and queues have their rules, Workers their versions. What it does not know is a
 * 404 that is counted in `unknown`, so a test sees a call that nobody answered.
 */
export interface FakeCloudflare {
  readonly url: string;
  readonly token: string;
  readonly accountId: string;
  /** Every call that changes something, in order: `POST /queues`. */
  readonly calls: string[];
  readonly unknown: string[];
  readonly databases: Map<string, FakeDatabase>;
  readonly buckets: Map<string, FakeBucket>;
  readonly queues: Map<string, FakeQueue>;
  readonly workers: Map<string, FakeWorker>;
  /** Custom domains, by host. */
  readonly domains: Map<string, FakeDomain>;
  /** DNS records that somebody made by hand. */
  readonly records: FakeRecord[];
  readonly zoneSettings: Map<string, unknown>;
  /** The n-th changing call from now on is refused, once. */
  failAt(call: number): void;
  /** Whether a planned failure has happened. */
  hasFailed(): boolean;
  close(): Promise<void>;
}

interface FakeDatabase {
  readonly uuid: string;
  readonly name: string;
  readonly location: string | undefined;
  readonly jurisdiction: string | null;
  readonly sqlite: DatabaseSync;
}
interface FakeBucket {
  readonly name: string;
  readonly location: string | undefined;
  readonly jurisdiction: string | undefined;
  readonly objects: Map<string, string>;
  /** Parts of broken uploads, which no list shows. The bucket is not empty. */
  parts?: number;
  cors: unknown[];
  lifecycle: unknown[];
}
interface FakeQueue {
  readonly queue_id: string;
  readonly queue_name: string;
  readonly jurisdiction: string | null;
  readonly consumers: Map<string, any>;
}
interface FakeWorker {
  readonly versions: {
    readonly id: string;
    readonly number: number;
    readonly bindings: any[];
    readonly metadata: any;
    /** Of the version's time: a deployment of it brings them back. */
    readonly secrets: ReadonlyMap<string, string>;
  }[];
  /** Newest first. */
  readonly deployments: { readonly id: string; readonly versions: { version_id: string; percentage: number }[] }[];
  /** The newest. The next upload takes them over. */
  readonly secrets: Map<string, string>;
  schedules: unknown[];
  /** Not of a version: what is logged. */
  readonly settings: { observability?: { enabled: boolean; redact_query_string?: boolean } };
  migrationTag: string | undefined;
  /** Static assets of the last upload, by path. */
  assets: Record<string, { hash: string; size: number }>;
}
interface FakeDomain {
  readonly id: string;
  readonly hostname: string;
  readonly service: string;
  readonly zone_id: string;
}
interface FakeRecord {
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: any;
  /** Of the header that buckets alone know. */
  readonly jurisdiction: string | undefined;
}

class Refusal {
  constructor(status: number, code: number, message: string) {
    Object.assign(this, { status, code, message });
  }
  declare readonly status: number;
  declare readonly code: number;
  declare readonly message: string;
}
const NOT_FOUND = (code: number, what: string): Refusal => new Refusal(404, code, `${what} not found`);

export const ZONE = { id: "zone-of-example-com", name: "example.com" };

export async function startFakeCloudflare(): Promise<FakeCloudflare> {
  const databases = new Map<string, FakeDatabase>();
  const buckets = new Map<string, FakeBucket>();
  const queues = new Map<string, FakeQueue>();
  const workers = new Map<string, FakeWorker>();
  const domains = new Map<string, FakeDomain>();
  const records: FakeRecord[] = [];
  const zoneSettings = new Map<string, unknown>();
  const calls: string[] = [];
  const unknown: string[] = [];
  const accountId = randomBytes(16).toString("hex");
  const token = randomBytes(20).toString("base64url");
  let failAfter = Infinity;
  let failed = false;

  const database = (id: string): FakeDatabase => databases.get(id) ?? raise(NOT_FOUND(7404, "The database"));
  /** A bucket is seen from its own jurisdiction alone. */
  const bucket = (name: string, { jurisdiction }: Call): FakeBucket => {
    const found = buckets.get(name);
    if (found === undefined || found.jurisdiction !== jurisdiction) throw NOT_FOUND(10006, "The specified bucket");
    return found;
  };
  const queue = (id: string): FakeQueue => queues.get(id) ?? raise(NOT_FOUND(11000, "Queue"));
  const worker = (name: string): FakeWorker => workers.get(name) ?? raise(NOT_FOUND(10007, "This Worker"));
  const scriptOf = (name: string): FakeWorker => {
    const found = workers.get(name) ?? {
      versions: [],
      deployments: [],
      secrets: new Map(),
      schedules: [],
      settings: {},
      migrationTag: undefined,
      assets: {},
    };
    workers.set(name, found);
    return found;
  };

  /** What wrangler uploads: `metadata` as JSON beside the modules. */
  function upload(name: string, metadata: any): FakeWorker["versions"][number] {
    const script = scriptOf(name);
    const inherited = [...script.secrets.keys()].map((secret) => ({ type: "secret_text", name: secret }));
    for (const { type, name: secret, text } of metadata.bindings)
      if (type === "secret_text" && text !== undefined) script.secrets.set(secret, text);
    const given = metadata.bindings.map(({ text, ...binding }: any) =>
      binding.type === "secret_text" ? binding : { ...binding, ...(text === undefined ? {} : { text }) },
    );
    const names = new Set(given.map((binding: any) => binding.name));
    const bindings = [...given, ...inherited.filter((binding) => !names.has(binding.name))];
    const version = {
      id: randomUUID(),
      number: script.versions.length + 1,
      bindings,
      metadata,
      secrets: new Map(script.secrets),
    };
    script.versions.push(version);
    if (metadata.migrations?.new_tag !== undefined) script.migrationTag = metadata.migrations.new_tag;
    return version;
  }

  const deploy = (name: string, versions: { version_id: string; percentage: number }[], asked: object = {}) => {
    const made = {
      ...asked,
      id: randomUUID(),
      created_on: new Date().toISOString(),
      source: "wrangler",
      strategy: "percentage",
      versions,
    };
    worker(name).deployments.unshift(made);
    return made;
  };
  type Handler = (call: Call, one: string, two: string) => unknown;
  const account: [string, RegExp, Handler][] = [
    [
      "GET",
      /^\/d1\/database$/,
      ({ query }) =>
        [...databases.values()]
          .filter(({ name }) => !query.has("name") || name.includes(query.get("name")!))
          .map(({ uuid, name }) => ({ uuid, name, version: "production" })),
    ],
    [
      "POST",
      /^\/d1\/database$/,
      ({ body }) => {
        if ([...databases.values()].some(({ name }) => name === body.name))
          throw new Refusal(400, 7502, "Database with name already exists");
        const uuid = randomUUID();
        const made = {
          uuid,
          name: body.name,
          location: body.primary_location_hint,
          jurisdiction: body.jurisdiction ?? null,
          sqlite: new DatabaseSync(":memory:"),
        };
        databases.set(uuid, made);
        return { uuid, name: body.name };
      },
    ],
    [
      "GET",
      /^\/d1\/database\/([^/]+)$/,
      (_, id) => {
        const { name, jurisdiction } = database(id);
        return { uuid: id, name, jurisdiction, file_size: 1, num_tables: 1, version: "production" };
      },
    ],
    ["DELETE", /^\/d1\/database\/([^/]+)$/, (_, id) => (database(id), databases.delete(id), null)],
    [
      "POST",
      /^\/d1\/database\/([^/]+)\/query$/,
      ({ body }, id) => statements(body.sql).map((sql) => runSql(database(id).sqlite, sql, body.params)),
    ],
    ["GET", /^\/r2\/buckets\/([^/]+)$/, (call, name) => ({ name: bucket(name, call).name })],
    [
      "POST",
      /^\/r2\/buckets$/,
      ({ body, jurisdiction }) => {
        if (buckets.has(body.name)) throw new Refusal(409, 10004, "The bucket you tried to create already exists");
        const made = {
          name: body.name,
          location: body.locationHint,
          jurisdiction,
          objects: new Map(),
          cors: [],
          lifecycle: [MULTIPART_RULE],
        };
        buckets.set(body.name, made);
        return { name: body.name };
      },
    ],
    [
      "DELETE",
      /^\/r2\/buckets\/([^/]+)$/,
      (call, name) => {
        const { objects, parts = 0 } = bucket(name, call);
        if (objects.size + parts > 0) throw new Refusal(409, 10008, "The bucket you tried to delete is not empty");
        buckets.delete(name);
        return {};
      },
    ],
    [
      "GET",
      /^\/r2\/buckets\/([^/]+)\/objects$/,
      (call, name) =>
        [...bucket(name, call).objects.keys()].slice(0, Number(call.query.get("per_page"))).map((key) => ({ key })),
    ],
    [
      "DELETE",
      /^\/r2\/buckets\/([^/]+)\/objects\/(.+)$/,
      (call, name, key) => (bucket(name, call).objects.delete(decodeURIComponent(key)), {}),
    ],
    [
      "GET",
      /^\/r2\/buckets\/([^/]+)\/cors$/,
      (call, name) => {
        const { cors } = bucket(name, call);
        if (cors.length === 0) throw NOT_FOUND(10059, "The CORS configuration");
        return { rules: cors };
      },
    ],
    ["PUT", /^\/r2\/buckets\/([^/]+)\/cors$/, (call, name) => ((bucket(name, call).cors = call.body.rules), {})],
    ["GET", /^\/r2\/buckets\/([^/]+)\/lifecycle$/, (call, name) => ({ rules: bucket(name, call).lifecycle })],
    [
      "PUT",
      /^\/r2\/buckets\/([^/]+)\/lifecycle$/,
      (call, name) => ((bucket(name, call).lifecycle = call.body.rules), {}),
    ],
    [
      "GET",
      /^\/queues$/,
      ({ query }) =>
        [...queues.values()]
          .filter(({ queue_name: name }) => !query.has("name") || query.getAll("name").includes(name))
          .map(({ consumers, ...one }) => ({ ...one, consumers: [...consumers.values()] })),
    ],
    [
      "POST",
      /^\/queues$/,
      ({ body }) => {
        const { queue_name, jurisdiction = null } = body;
        const made = { queue_id: randomBytes(8).toString("hex"), queue_name, jurisdiction, consumers: new Map() };
        queues.set(made.queue_id, made);
        return { queue_id: made.queue_id, queue_name, jurisdiction };
      },
    ],
    ["DELETE", /^\/queues\/([^/]+)$/, (_, id) => (queue(id), queues.delete(id), {})],
    ["GET", /^\/queues\/([^/]+)\/consumers$/, (_, id) => [...queue(id).consumers.values()]],
    [
      "POST",
      /^\/queues\/([^/]+)\/consumers$/,
      ({ body }, id) => {
        const consumer = { ...body, script: body.script_name, consumer_id: randomBytes(8).toString("hex") };
        queue(id).consumers.set(consumer.consumer_id, consumer);
        return consumer;
      },
    ],
    [
      "PUT",
      /^\/queues\/([^/]+)\/consumers\/([^/]+)$/,
      ({ body }, id, consumer) => (
        queue(id).consumers.set(consumer, { ...body, script: body.script_name, consumer_id: consumer }),
        body
      ),
    ],
    [
      "DELETE",
      /^\/queues\/([^/]+)\/consumers\/([^/]+)$/,
      (_, id, consumer) => (queue(id).consumers.delete(consumer), {}),
    ],
    [
      "GET",
      /^\/workers\/services\/([^/]+)$/,
      (_, name) => ({
        id: name,
        default_environment: {
          environment: "production",
          script: { id: name, last_deployed_from: "wrangler", migration_tag: worker(name).migrationTag, tag: name },
        },
      }),
    ],
    [
      "GET",
      /^\/workers\/workers\/([^/]+)$/,
      (_, name) => (worker(name), { id: name, name, subdomain: { enabled: false, previews_enabled: false } }),
    ],
    [
      "GET",
      /^\/workers\/scripts\/([^/]+)\/settings$/,
      // Cloudflare does not say which version they are of. If it is the newest upload, it may be one that does not run.
      (_, name) => {
        const { metadata, bindings } = worker(name).versions.at(-1) ?? raise(NOT_FOUND(10007, "This Worker"));
        return { ...metadata, bindings };
      },
    ],
    [
      "GET",
      /^\/workers\/scripts\/([^/]+)\/secrets$/,
      (_, name) => [...worker(name).secrets.keys()].map((secret) => ({ name: secret, type: "secret_text" })),
    ],
    [
      "PUT",
      /^\/workers\/scripts\/([^/]+)$/,
      ({ body }, name) => {
        const made = upload(name, body.metadata);
        deploy(name, [{ version_id: made.id, percentage: 100 }]);
        return {
          id: name,
          tag: name,
          deployment_id: made.id,
          pipeline_hash: made.id,
          startup_time_ms: 5,
          entry_point: "worker.js",
        };
      },
    ],
    [
      "POST",
      /^\/workers\/scripts\/([^/]+)\/versions$/,
      ({ body }, name) => {
        const made = upload(name, body.metadata);
        return { ...versionOf(made), startup_time_ms: 5 };
      },
    ],
    ["GET", /^\/workers\/scripts\/([^/]+)\/versions$/, (_, name) => ({ items: worker(name).versions.map(versionOf) })],
    [
      "GET",
      /^\/workers\/scripts\/([^/]+)\/versions\/([^/]+)$/,
      (_, name, id) =>
        versionOf(worker(name).versions.find((version) => version.id === id) ?? raise(NOT_FOUND(10007, "The version"))),
    ],
    ["GET", /^\/workers\/scripts\/([^/]+)\/deployments$/, (_, name) => ({ deployments: worker(name).deployments })],
    [
      "POST",
      /^\/workers\/scripts\/([^/]+)\/deployments$/,
      ({ body, query }, name) => {
        const changed = changedSecrets(worker(name), body.versions);
        if (changed.length > 0 && query.get("force") !== "true")
          throw new Refusal(
            400,
            10_220,
            `A secret has changed since this version was active. The following secrets have changed: ${changed.join(", ")}`,
          );
        return deploy(name, body.versions, body);
      },
    ],
    [
      "PATCH",
      /^\/workers\/scripts\/([^/]+)\/script-settings$/,
      ({ body }, name) => Object.assign(worker(name).settings, body),
    ],
    ["GET", /^\/workers\/scripts\/([^/]+)\/script-settings$/, () => ({})],
    ["GET", /^\/workers\/scripts\/([^/]+)\/subdomain$/, () => ({ enabled: false, previews_enabled: false })],
    ["POST", /^\/workers\/scripts\/([^/]+)\/subdomain$/, ({ body }) => body],
    ["GET", /^\/workers\/subdomain$/, () => ({ subdomain: "somebody" })],
    [
      "PUT",
      /^\/workers\/scripts\/([^/]+)\/schedules$/,
      ({ body }, name) => ((worker(name).schedules = body), { schedules: body }),
    ],
    [
      "POST",
      /^\/workers\/scripts\/([^/]+)\/assets-upload-session$/,
      ({ body }, name) => {
        // No bucket: Cloudflare has every file already.
        scriptOf(name).assets = body.manifest;
        return { jwt: "the-assets-are-complete", buckets: [] };
      },
    ],
    ["GET", /^\/workers\/scripts\/([^/]+)\/schedules$/, (_, name) => ({ schedules: worker(name).schedules })],
    ["DELETE", /^\/workers\/(?:scripts|services)\/([^/]+)$/, (_, name) => (worker(name), workers.delete(name), null)],
    ["GET", /^\/workers\/scripts\/([^/]+)\/(?:references|tails|usage-model)$/, () => []],
    ["GET", /^\/workers\/durable_objects\/namespaces$/, () => []],
    ["GET", /^\/workers\/domains$/, () => [...domains.values()]],
    [
      "PUT",
      /^\/workers\/domains$/,
      ({ body }) => {
        if (records.some(({ name }) => name === body.hostname))
          throw new Refusal(409, 100_117, "Hostname already has externally managed DNS records");
        const made = { id: randomUUID(), hostname: body.hostname, service: body.service, zone_id: body.zone_id };
        domains.set(made.hostname, made);
        return made;
      },
    ],
    [
      "DELETE",
      /^\/workers\/domains\/([^/]+)$/,
      (_, id) => {
        for (const [host, domain] of domains) if (domain.id === id) domains.delete(host);
        return null;
      },
    ],
  ];
  const root: [string, RegExp, Handler][] = [
    ["GET", /^\/accounts$/, () => [{ id: accountId, name: "An account" }]],
    ["GET", /^\/user\/tokens\/verify$/, () => ({ status: "active" })],
    ["GET", /^\/user$/, () => ({ email: "somebody@example.com" })],
    ["GET", /^\/memberships$/, () => [{ account: { id: accountId, name: "An account" } }]],
    ["GET", /^\/zones$/, () => [ZONE]],
    [
      "GET",
      /^\/zones\/([^/]+)\/dns_records$/,
      ({ query }, zone) => records.filter((one) => one.zone === zone && one.name === query.get("name")),
    ],
    [
      "GET",
      /^\/zones\/[^/]+\/(settings\/[a-z_]+|bot_management)$/,
      (_, path) => zoneSettings.get(path) ?? raise(new Refusal(403, 9109, "Unauthorized")),
    ],
  ];

  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? "/", "http://fake");
      const path = url.pathname.replace(/^\/client\/v4/, "");
      const method = request.method ?? "GET";
      const inAccount = path.startsWith(`/accounts/${accountId}/`);
      const rest = inAccount ? path.slice(`/accounts/${accountId}`.length) : path;
      const [jurisdiction] = [request.headers["cf-r2-jurisdiction"]].flat();
      const call = { method, path: rest, query: url.searchParams, body: await readBody(request), jurisdiction };
      const answer = (status: number, envelope: object): void => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(envelope));
      };
      const refuse = ({ status, code, message }: Refusal): void =>
        answer(status, { success: false, errors: [{ code, message }], messages: [], result: null });
      if (request.headers.authorization !== `Bearer ${token}`)
        return refuse(new Refusal(401, 10_000, "Authentication error"));
      const isChange = method !== "GET" && !isRead(call);
      if (isChange) {
        calls.push(`${method} ${rest}`);
        if (--failAfter === 0) {
          failed = true;
          return refuse(new Refusal(400, 10_001, "A failure that was asked for"));
        }
      }
      for (const [ofMethod, pattern, handle] of inAccount ? account : root) {
        const match = ofMethod === method ? pattern.exec(rest) : null;
        if (match === null) continue;
        try {
          const result = handle(call, match[1] ?? "", match[2] ?? "");
          return answer(200, {
            success: true,
            errors: [],
            messages: [],
            result,
            result_info: { page: 1, total_pages: 1 },
          });
        } catch (error) {
          if (error instanceof Refusal) return refuse(error);
          return refuse(new Refusal(400, 7500, String(error)));
        }
      }
      unknown.push(`${method} ${path}`);
      return refuse(new Refusal(404, 7003, `Could not route to ${path}`));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`,
    token,
    accountId,
    calls,
    unknown,
    databases,
    buckets,
    queues,
    workers,
    domains,
    records,
    zoneSettings,
    failAt: (call) => {
      failAfter = call;
      failed = false;
    },
    hasFailed: () => failed,
    close: () => closeServer(server),
  };
}

const MULTIPART_RULE = {
  id: "Default Multipart Abort Rule",
  enabled: true,
  conditions: { prefix: "" },
  abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 604_800 } },
};

/** Secrets that are others now than in one of the versions. Those that are active are not looked at. */
function changedSecrets(
  { deployments, versions, secrets }: FakeWorker,
  wanted: readonly { version_id: string }[],
): readonly string[] {
  const active = new Set(deployments[0]?.versions.map(({ version_id: id }) => id));
  const names = versions
    .filter(({ id }) => !active.has(id) && wanted.some(({ version_id: one }) => one === id))
    .flatMap(({ secrets: before }) => [...secrets].flatMap(([name, now]) => (before.get(name) === now ? [] : [name])));
  return [...new Set(names)];
}

const versionOf = ({ id, number, bindings, metadata }: FakeWorker["versions"][number]) => ({
  id,
  number,
  metadata: { created_on: new Date(0).toISOString(), author_email: "somebody@example.com", source: "wrangler" },
  annotations: metadata.annotations ?? {},
  resources: { bindings, script: { etag: id }, script_runtime: {} },
});

const isRead = ({ path, body }: Call): boolean =>
  path === "/graphql" || (path.endsWith("/query") && /^\s*(SELECT|PRAGMA)/i.test(body?.sql ?? ""));

function raise(error: unknown): never {
  throw error;
}

/**
 * D1 splits what it is sent on its own side. Its splitter is not to be had; this one trusts nothing that has confused
 * it: it takes no comment, and ends a statement at each semicolon before a line's end.
 */
function statements(sql: string): string[] {
  if (/--|\/\*/.test(sql)) throw new Refusal(400, 7500, "a comment confuses the splitter");
  return sql
    .split(/;[ \t]*(?:\n|$)/)
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function runSql(sqlite: DatabaseSync, sql: string, params: any[] = []): object {
  const results = sqlite.prepare(sql).all(...params);
  return { success: true, results, meta: { duration: 0, changes: 0 } };
}

async function readBody(request: IncomingMessage): Promise<any> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("multipart/form-data")) {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    const metadata = form.get("metadata");
    return { metadata: JSON.parse(typeof metadata === "string" ? metadata : await (metadata as Blob).text()) };
  }
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
