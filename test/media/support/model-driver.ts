import { env } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect } from "vitest";
import { FIRST_TENANT_OBJECT } from "../../../src/platform/storage/tenant-objects.ts";
import { createTenantObjectStore } from "../../../src/shards/tenant-object-store.ts";
import type { MediaJob, VariantJob } from "../../../src/media/model/job.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { encodePng, gradient, PNG_SIGNATURE, quarters } from "../../support/images.ts";
import { FaultyBindings } from "./faults.ts";
import {
  CALLERS,
  METADATA,
  NO_ANSWER,
  TENANTS,
  type Answer,
  type Call,
  type Content,
  type Listing,
  type UploadWay,
  type Visibility,
  type Whose,
} from "./file-model.ts";
import { mediaApp, ORIGIN, START_MS, type MediaApp, type Settled } from "./media-app.ts";
import { scriptedS3, type ScriptedS3 } from "../uploads/scripted-s3.ts";
import { principal } from "./principal.ts";
import { collection } from "./stored-file.ts";
import { keptPlacement, MovingTenants, placeTenants } from "./moving-tenants.ts";
import { everywhere, isOwn } from "../../support/shards.ts";

/** Contents to upload: two images, and a text. */
export const CONTENTS: readonly (Content & { readonly data: Uint8Array<ArrayBuffer> })[] = [
  await encodePng(gradient(8, 6)),
  await encodePng(quarters(5, 5)),
  Uint8Array.from(new TextEncoder().encode("no image")),
].map((data, at) => ({ data, bytes: data.length, isImage: at < 2 }));

const ETAGS = CONTENTS.map(({ data }) => `"${createHash("md5").update(data).digest("hex")}"`);

/** A rendition of a variant. */
export interface Making {
  readonly file: string;
  readonly variant: string;
  readonly state: string;
}

/** The tables and the bucket, as far as the model knows them. */
export interface Shown {
  /** By id. */
  readonly files: Readonly<Record<string, object>>;
  readonly erasures: readonly string[];
}

/** Where the files of tenants lie at first: one has an object of its own. */
const PLACES: Readonly<Record<(typeof TENANTS)[number], number>> = {
  acme: isOwn ? FIRST_TENANT_OBJECT + 1 : 0,
  globex: FIRST_TENANT_OBJECT,
  initech: 2,
};

const TABLES = [
  "moved_file",
  "variant",
  "attribute",
  "key_set",
  "file",
  "owner",
  "reservation",
  "erasure",
  "consistency_finding",
  "consistency_run",
];

/** So that variants wait in these small worlds, too. */
const { sentPerLane } = LIMITS;
beforeAll(() => void Object.assign(LIMITS, { sentPerLane: 2 }));
afterAll(() => void Object.assign(LIMITS, { sentPerLane }));

let rooms = 0;

/** Drives the real service with faulty bindings as a client does, and looks behind it. */
export class Driver {
  readonly bindings = new FaultyBindings(() => this.app.clock.nowMs);
  readonly app: MediaApp;
  readonly moving: MovingTenants;
  /** By nonce, as of the latest look. */
  makings: ReadonlyMap<string, Making> = new Map();
  /** The keys of masters by file, as of the latest look. */
  masters: ReadonlyMap<string, string> = new Map();
  /** Copies of public content are stored by the names of clients. */
  readonly #room = `room${++rooms}`;
  readonly #links = new Map<string, { readonly upload: string; readonly commit: string; readonly type: string }>();
  readonly #content = new Map<string, string>();
  /** The latest page of a listing. */
  #next: string | undefined;
  /** Undefined: uploads go through the Worker. */
  readonly #s3: ScriptedS3 | undefined;

  constructor(uploads: UploadWay) {
    const { shards, objects, bucket, soundBucket, queue: jobs } = this.bindings;
    if (uploads === "r2") {
      this.#s3 = scriptedS3(() => this.app.clock.nowMs, soundBucket);
      this.#s3.onCopy = this.bindings.around;
    }
    const objectReports = createTenantObjectStore(env.DB);
    const s3 = this.#s3?.access;
    this.app = mediaApp({ shards, objects, objectReports, bucket, jobs, placement: keptPlacement(), s3 });
    this.moving = new MovingTenants(this.app.media, shards, this.app.clock, objects);
    this.app.clock.nowMs = START_MS;
    for (const { client, home } of CALLERS) this.app.homes.set(this.#nameOf(client), home);
    for (const { client, tenant, tenantExplicit, reaches } of CALLERS)
      for (const other of reaches)
        if (!tenantExplicit && other !== tenant) this.app.actsFor.add(`${this.#nameOf(client)} ${other}`);
  }

  #nameOf(client: string): string {
    return `${client}-client.${this.#room}`;
  }

  #principal(by: number) {
    const { client, tenant, tenantExplicit } = CALLERS[by]!;
    return principal({ clientId: this.#nameOf(client), clientName: this.#nameOf(client), tenant, tenantExplicit });
  }

  /** Removes the rest of an earlier schedule that broke off. */
  static async wipe(): Promise<void> {
    await everywhere.batch(TABLES.map((table) => everywhere.prepare(`DELETE FROM ${table}`)));
    await placeTenants(PLACES);
    for (let keys = await keysLeft(); keys.length > 0; keys = await keysLeft()) await env.MEDIA.delete(keys);
  }

  async call(call: Call): Promise<Answer> {
    const response = await this.#request(call);
    if (response.status >= 500) {
      expect({ call, status: response.status, text: await response.text() }).toMatchObject({ status: NO_ANSWER });
      return { status: NO_ANSWER };
    }
    return this.#read(call, response);
  }

  async #request(call: Call): Promise<Response> {
    const { app } = this;
    const ask = (path: string, method: string, json?: unknown) => this.#ask(call.by, path, method, json);
    if (call.do === "report") return ask(`/media/v2/erasures/${call.erasure}`, "GET");
    const root = collection(call.visibility);
    const file = "file" in call ? `${root}/${call.file}` : "";
    switch (call.do) {
      case "create":
        return ask(`${root}?${sizesOf(call.variants)}`, "POST", { "Content-Type": call.type });
      case "store": {
        const form = new FormData();
        form.set("file", new File([CONTENTS[call.content]!.data], "a file", { type: call.type }));
        form.set("metadata", JSON.stringify(METADATA[call.metadata]));
        const query = commitQuery(call).toString();
        const as = this.#principal(call.by);
        return app.call(`${root}?${sizesOf(call.variants)}&${query}`, { as, method: "POST", body: form });
      }
      case "put": {
        const { upload } = this.#links.get(call.file)!;
        const { headers, body, bytes } = this.#upload(call);
        const s3 = this.#s3;
        if (s3 !== undefined) return this.bindings.around(() => s3.put(upload, bytes, headers)).catch(noAnswer);
        return app.call(upload, { method: "PUT", headers, body });
      }
      case "commit": {
        // The link as it was given, except for a client who takes the other visibility.
        const link = this.#links.get(call.file)?.commit ?? `${file}/commit`;
        const path = new URL(link, ORIGIN).pathname.startsWith(`${root}/`) ? link : `${file}/commit`;
        return ask(`${path}?${commitQuery(call).toString()}`, "POST", METADATA[call.metadata]);
      }
      case "describe":
        return ask(`${file}/metadata`, "PUT", METADATA[call.metadata]);
      case "read metadata":
        return ask(`${file}/metadata`, "GET");
      case "list variants":
        return ask(`${file}/variants`, "GET");
      case "add variants":
        return ask(`${file}/variants?${sizesOf(call.variants)}`, "POST");
      case "delete variants":
        return ask(`${file}/variants?${sizesOf(call.variants)}`, "DELETE");
      case "delete":
        return ask(file, "DELETE");
      case "fetch": {
        const query = new URLSearchParams(sizesOf(call.variant === "" ? [] : [call.variant]));
        if (call.fallback) query.set("fallback", "true");
        if (call.tenant !== undefined) query.set("tenant", call.tenant);
        return ask(`${file}?${query.toString()}`, "GET");
      }
      case "content": {
        const variant = call.variant === "" ? "" : `/${call.variant}`;
        const open = `/media/v2/content/${call.file}${variant}`;
        return app.call(call.signed ? this.#content.get(`${call.file}${variant}`)! : open);
      }
      case "list":
        return ask(`${root}?${listingOf(call).toString()}${this.#whose(call.of)}`, "GET");
      case "bulk add":
      case "bulk delete": {
        const path = `${root.replace("files", "bulk/variants")}?${sizesOf(call.variants)}&${listingOf(call).toString()}`;
        return ask(path, call.do === "bulk add" ? "POST" : "DELETE");
      }
      case "delete all":
        return ask(`${root}?tenant=${call.tenant}`, "DELETE");
      case "delete by query":
        return ask(`${root}?tenant=${call.tenant}&q=${encodeURIComponent(call.q)}`, "DELETE");
    }
  }

  #whose(whose: Whose): string {
    if (whose === "own") return "";
    return `&shared=tenant${whose === "all" ? "" : `&client=${this.#nameOf(whose)}`}`;
  }

  #ask(by: number, path: string, method = "GET", json?: unknown): Promise<Response> {
    return this.app.call(path, { as: this.#principal(by), method, json });
  }

  #upload({ content, how, file }: Call & { do: "put" }) {
    const { type } = this.#links.get(file)!;
    const { data: bytes } = CONTENTS[content]!;
    const headers: Record<string, string> = { "content-type": how === "wrong type" ? "text/wrong" : type };
    if (how !== "no length") headers["content-length"] = String(bytes.length);
    const body = new Response(bytes.slice(0, how === "broken off" ? 3 : bytes.length)).body!;
    return { headers, body, bytes };
  }

  async #read(call: Call, response: Response): Promise<Answer> {
    const { status, headers } = response;
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const location = headers.get("location");
    if (status === 409) return { status, says: JSON.parse(text).details[0].type };
    if (status >= 400) return { status };
    switch (call.do) {
      case "create": {
        const { id, uploadLink, commitLink } = JSON.parse(text);
        this.#links.set(id, { upload: uploadLink, commit: commitLink, type: call.type });
        return { status, id };
      }
      case "store":
        return { status, id: JSON.parse(text).id };
      case "put":
        return { status, says: ETAGS.indexOf(headers.get("etag")!) };
      case "describe":
      case "read metadata":
        return { status, says: JSON.parse(text) };
      case "list variants":
      case "add variants":
        return { status, says: (JSON.parse(text) as any[]).map(readVariant) };
      case "fetch": {
        const link = location ?? JSON.parse(text).link;
        const variant = /content\/\w+\/?([^?]*)/.exec(link)![1]!;
        if (location === null) this.#content.set(`${call.file}${variant === "" ? "" : `/${variant}`}`, link);
        expect(ETAGS.includes(headers.get("etag")!)).toBe(variant === "");
        return { status, says: variant };
      }
      case "content": {
        const at = CONTENTS.findIndex(
          ({ data }) => data.length === bytes.length && data.every((b, i) => b === bytes[i]),
        );
        expect(headers.get("content-length")).toBe(String(bytes.length));
        expect(headers.get("etag")).toEqual(call.variant === "" ? ETAGS[at] : expect.stringMatching(/^"\w{32}"$/));
        if (call.variant !== "") expect(bytes.subarray(0, PNG_SIGNATURE.length)).toEqual(PNG_SIGNATURE);
        return { status, says: call.variant === "" ? at : call.variant };
      }
      case "list":
        this.#next = /<([^>]+)>; rel="next"/.exec(headers.get("link")!)?.[1];
        return {
          status,
          says: { files: (JSON.parse(text) as any[]).map(readRecord), hasNext: this.#next !== undefined },
        };
      case "bulk add":
      case "bulk delete": {
        const done = text === "" ? {} : JSON.parse(text);
        return { status, says: { ...done, hasNext: headers.get("link")!.includes('rel="next"') } };
      }
      case "delete":
      case "delete all":
      case "delete by query":
        return { status, id: location!.split("/").at(-1) };
      case "report": {
        const { kind, visibility, tenant, files, bytes: sizes, state } = JSON.parse(text);
        expect([files.verified <= files.deleted, files.deleted <= files.requested]).toEqual([true, true]);
        expect(state === "verified").toBe(files.verified === files.requested);
        return { status, says: { kind, visibility, tenant, files: files.requested, bytes: sizes.requested } };
      }
      default:
        return { status };
    }
  }

  /** The files of all pages, along the `next` links. */
  async listAll(call: Call & { do: "list" }): Promise<Answer> {
    const files: unknown[] = [];
    for (let page = await this.call(call); ; page = await this.#read(call, await this.#ask(call.by, this.#next!))) {
      if (page.status !== 200) return page;
      const says = page.says as { files: unknown[]; hasNext: boolean };
      expect(says.hasNext ? says.files.length : 0).toBe(says.hasNext ? call.pageSize : 0);
      files.push(...says.files);
      if (!says.hasNext) return { status: 200, says: { files, hasNext: false } };
    }
  }

  /** Consumes messages at once. Acknowledged ones are gone unless they are to come again. */
  async deliver(jobs: readonly MediaJob[], how: { readonly dead?: boolean } = {}): Promise<Settled> {
    const settled = await this.app.consume({ jobs, ...how });
    await this.app.settle();
    return settled;
  }

  /** The state without faults. */
  async look(known: ReadonlySet<string>): Promise<Shown> {
    const [seen, miscounted, misindexed, erasures, leaving, rowsOfFiles] = await everywhere.batch<any>([
      everywhere.prepare(
        `SELECT file.id, file.state, file.blob_key AS blobKey, owner.tenant, file.metadata, file.shared_in IS NOT NULL AS shared, (SELECT json_group_array(json_object('file_id', file_id,
           'nonce', nonce, 'type', type, 'size', size, 'state', state)) FROM variant
           WHERE variant.file_id = file.id AND state <> 'removed') AS variants
         FROM file JOIN owner ON owner.id = file.owner_id
         WHERE file.state <> 'removed' AND owner.erasure_id IS NULL`,
      ),
      everywhere.prepare(MISCOUNTED),
      everywhere.prepare(MISINDEXED),
      everywhere.prepare("SELECT * FROM erasure JOIN requester ON requester.id = erasure.requester_id"),
      everywhere.prepare("SELECT id, row FROM moved_file WHERE row IS NOT NULL"),
      everywhere.prepare("SELECT id FROM file"),
    ]);
    expect([miscounted!.results, misindexed!.results]).toEqual([[], []]);
    // A file that moves with its tenant is in two shards for a moment, and the same in both.
    const files = { results: [...new Map(seen!.results.map((file) => [file.id, file])).values()] };
    const makings = { results: files.results.flatMap(({ variants }) => JSON.parse(variants)) };
    const lists = await Promise.all(["blob/", "incoming/"].map((prefix) => env.MEDIA.list({ prefix })));
    const objects = lists.flatMap((list) => list.objects);
    const uploads = new Map(objects.map(({ key, httpEtag }) => [key, ETAGS.indexOf(httpEtag)]));
    const uploadsTo = this.#s3 === undefined ? "blob" : "incoming";
    // A file that has left a shard and not arrived is pending. One that arrived without a note of it has its row, even
    // if it is removed there.
    const arrived = new Set(rowsOfFiles!.results.map(({ id }) => id));
    for (const { id, row } of leaving!.results) {
      if (arrived.has(id)) continue;
      files.results.push({ id, state: "pending", tenant: "", metadata: null, shared: 0 });
      for (const { nonce, type, size } of JSON.parse(row).variants)
        makings.results.push({ file_id: id, nonce, type, size, state: "declared" });
    }
    this.makings = new Map(
      makings.results.map(({ file_id: file, nonce, type, size, state }) => [
        nonce,
        { file, variant: `${type}-${size}`, state },
      ]),
    );
    this.masters = new Map(files.results.map(({ id, blobKey }) => [id, blobKey ?? `blob/${id}`]));
    const shown: Record<string, object> = {};
    for (const { id, state, tenant, metadata, shared, blobKey } of files.results) {
      // The file of a creation whose answer was lost.
      if (state === "pending" && !known.has(id)) continue;
      shown[id] = {
        state,
        tenant,
        metadata: JSON.parse(metadata ?? "{}"),
        shared: shared === 1,
        upload: uploads.get(state === "pending" ? `${uploadsTo}/${id}` : (blobKey ?? `blob/${id}`)),
        variants: [...this.makings.values()]
          .filter(({ file }) => file === id)
          .map((making) => `${making.variant} ${making.state}`)
          .sort(),
      };
    }
    const rows = erasures!.results.map(({ kind, client, tenant, visibility, files: count, bytes }) =>
      erasureText({ kind, client: client[0], tenant, visibility, files: count, bytes }),
    );
    return { files: shown, erasures: rows.sort() };
  }

  isVariantJob(job: MediaJob): job is VariantJob {
    return "nonce" in job;
  }
}

/** The client learns only that its request failed. */
const noAnswer = (): Response => new Response(null, { status: NO_ANSWER });

const keysLeft = async (): Promise<string[]> => (await env.MEDIA.list()).objects.map(({ key }) => key);

/** Sums of reservations that differ from those of the pending files. */
const MISCOUNTED = `SELECT reservation.*, count(file.id) AS waiting FROM reservation LEFT JOIN file
  ON file.owner_id = reservation.owner_id AND file.reserved_for = reservation.tenant AND file.state = 'pending'
    AND file.known_places IS NULL
  GROUP BY reservation.tenant, reservation.owner_id
  HAVING waiting <> reservation.files OR coalesce(sum(file.reserved_bytes), 0) <> reservation.bytes`;

const LIVE = "JOIN owner ON owner.id = owner_id AND owner.erasure_id IS NULL";
/** Rows of the index that a file lacks, and those that no file has. */
const MISINDEXED = `
  SELECT 'missing' AS what, file.id, pair.value FROM file ${LIVE} CROSS JOIN json_each(file.attributes, '$.rows') AS pair
    WHERE NOT EXISTS (SELECT 1 FROM attribute WHERE owner_id = file.owner_id AND file_id = file.id
      AND key = pair.value ->> 0 AND value = pair.value ->> 1 AND leads = pair.value ->> 2)
  UNION ALL SELECT 'left', file_id, key FROM attribute ${LIVE}
    WHERE NOT EXISTS (SELECT 1 FROM file CROSS JOIN json_each(file.attributes, '$.rows') AS pair
      WHERE file.id = file_id AND file.owner_id = attribute.owner_id
        AND pair.value ->> 0 = attribute.key AND pair.value ->> 1 = attribute.value)
  UNION ALL SELECT 'missing', file_id, value FROM attribute ${LIVE}
    WHERE key = '#keys' AND value NOT IN (SELECT digest FROM key_set WHERE key_set.owner_id = attribute.owner_id)
  UNION ALL SELECT 'left', '', digest FROM key_set ${LIVE}
    WHERE digest NOT IN (SELECT value FROM attribute WHERE attribute.owner_id = key_set.owner_id AND key = '#keys')`;

export const erasureText = (of: {
  kind: string;
  client: string;
  tenant: string;
  visibility: Visibility;
  files: number;
  bytes: number;
}): string => `${of.kind} ${of.client} ${of.tenant} ${of.visibility} ${of.files} ${of.bytes}`;

function commitQuery({ tenant, shared }: { tenant: string | undefined; shared: boolean }): URLSearchParams {
  const query = new URLSearchParams();
  if (tenant !== undefined) query.set("tenant", tenant);
  if (shared) query.set("shared", "tenant");
  return query;
}

/** `clip-4x4` as a parameter. */
function sizesOf(variants: readonly string[]): string {
  const query = new URLSearchParams();
  for (const type of ["clip", "crop"]) {
    const sizes = variants.flatMap((name) => (name.startsWith(`${type}-`) ? [name.slice(5)] : []));
    if (sizes.length > 0) query.set(type, sizes.join(","));
  }
  return query.toString();
}

function listingOf({ tenant, q, types, sort, pageSize, pageNumber }: Listing & { tenant: string }): URLSearchParams {
  const query = new URLSearchParams({ tenant, pageSize: String(pageSize), pageNumber: String(pageNumber) });
  if (q !== "") query.set("q", q);
  if (types.length > 0) query.set("content-type", types.join(","));
  const keys = sort.map(([name, direction]) => `${name === "" ? "Content-Type" : name}:${direction}`);
  if (keys.length > 0) query.set("sort", keys.join(","));
  return query;
}

/** A listed file as the model describes it. */
function readRecord(file: any): object {
  return {
    id: file.id,
    type: file["Content-Type"],
    size: file.size,
    content: ETAGS.indexOf(file.etag),
    tenant: file.tenant,
    times: [file.createdAt, file.committedAt],
    metadata: file.metadata,
    variants: file.variants.map(readVariant),
    ...(file.client === undefined ? {} : { client: file.client[0], shared: file.shared }),
  };
}

const readVariant = ({ type, size, state }: any): string => `${type}-${size} ${state}`;
